"""Bytes of a file or a page as text.

In: bytes, and a charset where one was declared. Out: the text and what to say of how it was read; or nothing, where
it is no text. UTF-8, UTF-16 (with or without a mark) and, as what is left of old European files, Windows-1252.
"""

from __future__ import annotations

import codecs
import re

WEB = re.compile(
    r"utf-?(8|16|16-?le|16-?be)|us-?ascii|ascii|latin-?1|iso-?8859-?\d{1,2}|windows-?125\d|cp125\d|koi8-?[ru]"
    r"|gb18030|gbk|gb2312|big5(-?hkscs)?|shift[-_]?jis|sjis|euc-?(jp|kr)|iso-?2022-?jp|windows-?874|tis-?620",
    re.IGNORECASE,
)
"""The charsets of the web. Others that Python knows are no charsets, or take ages (punycode)."""
_WIDE = re.compile(r"utf-?16-?(le|be)?", re.IGNORECASE)
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]")
_SAMPLE = 8192


def decoded(raw: bytes, charset: str = "", *, cut: bool = False) -> tuple[str, str] | None:
    """Return the text and a remark, "" where there is nothing to remark; None for what is binary. `cut`: it goes on."""
    if _is_known(charset) and not charset.lower().startswith(("utf", "ascii", "us")):
        return raw.decode(charset, errors="replace").removeprefix("\ufeff"), ""
    if wide := utf16(raw, charset):
        return raw.decode(wide, errors="replace").removeprefix("\ufeff"), "UTF-16"
    if b"\0" in raw or len(_CONTROL.findall(raw[:_SAMPLE])) * 20 > len(raw[:_SAMPLE]):
        return None
    try:
        return _utf8(raw, cut=cut), ""
    except UnicodeDecodeError:
        pass
    if sum(byte >= 0x80 for byte in raw[:_SAMPLE]) * 3 > len(raw[:_SAMPLE]):
        return None
    return raw.decode("cp1252", errors="replace"), "not UTF-8, read as Windows-1252"


def _is_known(charset: str) -> bool:
    """Say whether a charset is one of the web that this Python has: there is no ISO-8859-12, whatever a page says."""
    if not WEB.fullmatch(charset):
        return False
    try:
        codecs.lookup(charset)
    except LookupError:
        return False
    return True


def _utf8(raw: bytes, *, cut: bool) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if cut and len(raw) - error.start < 4:  # the last character was cut in two
            return raw[: error.start].decode("utf-8-sig")
        raise


def utf16(raw: bytes, charset: str = "") -> str:
    """
    Name the codec of UTF-16, else "".

    It is told by its mark, then by the declared charset (which means the little end where it names none, as browsers
    have it), then by the zeros that western text has in every second byte.
    """
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if declared := _WIDE.fullmatch(charset):
        return f"utf-16-{(declared[1] or 'le').lower()}"
    sample = raw[:_SAMPLE]
    odd, even = sample[1::2].count(0), sample[::2].count(0)
    if len(sample) >= 4 and max(odd, even) * 2 > len(sample) // 2 and min(odd, even) == 0:
        return "utf-16-le" if odd else "utf-16-be"
    return ""
