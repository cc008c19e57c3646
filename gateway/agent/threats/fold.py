"""Different spellings of one text made the same: width, case, accents, characters nobody sees, lookalikes."""

from __future__ import annotations

import re
import unicodedata
from itertools import chain

from gateway.agent.threats.scripts import INVISIBLE, UNSPACED
from gateway.agent.threats.variants import VARIANTS

_CYRILLIC = dict(zip("аеорсухіјѕһԁԛԝвкмнтьғԍ", "aeopcyxijshdqwbkmhtbfg", strict=True))
_GREEK = dict(zip("αβγεηικνορτυχω", "abyenikvoptuxw", strict=True))
_TO_LATIN = str.maketrans(_CYRILLIC | _GREEK)
_TO_CYRILLIC = str.maketrans("aeopcyxkmhtb", "аеорсухкмнтв")
_ONLY_CYRILLIC = re.compile("[бгджзийлпфцчшщъыэюя]")
_OTHER = "\u0370-\u03ff\u0400-\u052f"
_MIXED = re.compile(rf"((?<![a-z{_OTHER}])(?:[a-z]++[{_OTHER}]|[{_OTHER}]++[a-z])[a-z{_OTHER}]*+)")

_SPLIT = re.compile(rf"(?<=[{UNSPACED}])(?:[^\S\n]++\n?|\n)[^\S\n]*+(?=[{UNSPACED}])")
_SQUARES = re.compile("[\u3300-\u33ff\ufdf0-\ufdff]")  # one becomes up to 18 characters, and none is a word's part
# The sort inside NFKC takes quadratic time over combining marks, so it gets pieces, cut before ASCII if there is any.
_PIECES = re.compile(r"(?s).{1,255}(?=[\x00-\x7f])|.{1,256}")
_PARTS = re.compile(r"(?s).{1,20000}")  # each is one step, during which every other thread waits
_WORD = re.compile(r"[\x00-\x7f][^\x00-\x7f]*|[^\x00-\x7f]+")


def _accents() -> dict[int, str | None]:
    letters = chain(range(0xC0, 0x250), range(0x1E00, 0x1F00))
    plain = {code: unicodedata.normalize("NFD", chr(code))[0] for code in letters}
    return {code: base for code, base in plain.items() if base.isascii()}


def _members(brackets: str) -> range | chain[int]:
    spans = re.findall(r"(.)(?:-(.))?", brackets, re.DOTALL)
    return chain.from_iterable(range(ord(first), ord(last or first) + 1) for first, last in spans)


_TABLE: dict[int, str | int | None] = {
    **_accents(),
    **dict.fromkeys(_members("\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u0300-\u036f\u0483-\u0489" + INVISIBLE)),
    **str.maketrans("ıɡɑøłđħŧё’‘ʼ", "igaoldhtе'''"),
    **str.maketrans("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz"),
    **VARIANTS,
}


def fold(text: str) -> str:
    """The text as patterns see it. Patterns are folded too, so that they may be written as people write."""
    if not text.isascii():
        text = _SQUARES.sub(" ", text)
        text = "".join(unicodedata.normalize("NFKC", piece) for piece in _PIECES.findall(text))
    text = "".join(part.casefold().translate(_TABLE) for part in _PARTS.findall(text))
    if text.isascii():
        return text
    return _SPLIT.sub("", _one_script(text))


def traced(text: str) -> tuple[str, list[tuple[int, int]]]:
    """
    The folded text, and for each of its characters from where to where in the text it comes.

    What only together became something else (a syllable in parts, its letters) comes from all of it.
    """
    folded, places, start = list[str](), list[tuple[int, int]](), 0
    alone = dict[str, str]()
    for piece in _PIECES.findall(_SQUARES.sub(" ", text)):
        folded.append(_normal(piece))
        places += _places(piece, folded[-1], start, alone)
        start += len(piece)
    whole, kept, last = _one_script("".join(folded)), list[tuple[int, int]](), 0
    for split in _SPLIT.finditer(whole):
        kept += places[last : split.start()]
        last = split.end()
    return _SPLIT.sub("", whole), kept + places[last:]


def _normal(piece: str) -> str:
    return unicodedata.normalize("NFKC", piece).casefold().translate(_TABLE)


def _places(piece: str, folded: str, start: int, alone: dict[str, str]) -> list[tuple[int, int]]:
    """Where each character of a folded piece comes from; `alone` holds what single characters become."""
    alone.update({character: _normal(character) for character in set(piece) - alone.keys()})
    if "".join(map(alone.__getitem__, piece)) == folded:
        return [(at, at + 1) for at, one in enumerate(piece, start) for _ in alone[one]]
    words = [] if _WORD.fullmatch(piece) else _WORD.findall(piece)
    if not words:
        return [(start, start + len(piece))] * len(folded)
    places = list[tuple[int, int]]()
    for word in words:
        places += _places(word, _normal(word), start, alone)
        start += len(word)
    return places


def _one_script(text: str) -> str:
    """Each word of two alphabets in the one it is read in: Cyrillic where a letter looks like no Latin one."""
    parts = _MIXED.split(text)
    latin, cyrillic = ("\n".join(parts[1::2]).translate(table).split("\n") for table in (_TO_LATIN, _TO_CYRILLIC))
    chosen = [
        russian if _ONLY_CYRILLIC.search(word) else roman
        for word, roman, russian in zip(parts[1::2], latin, cyrillic, strict=False)
    ]
    parts[1::2] = chosen
    return "".join(parts)
