"""A page of the public internet.

In: a URL that somebody wrote. Out: its text, of HTML as Markdown. Every address is looked at when it is about to be
connected to, also behind a redirect, so that no name can lead elsewhere meanwhile. Neither a proxy nor a cookie, a
password or a certificate of ours is ever used.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable, Iterator
from ipaddress import ip_address

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.http_exceptions import ContentEncodingError
from html_to_markdown import ConversionError, ConversionOptions, convert
from yarl import URL

from gateway.agent.references.addresses import Address, public
from gateway.agent.references.piece import Page
from gateway.agent.references.text import decoded
from gateway.errors import ToolError
from gateway.toolkit.limits import brief

SECONDS = 20
MOST_BYTES = 2_000_000
"""Of a page, unpacked; more is cut off."""
MOST_REDIRECTS = 5
CHUNK = 64 * 1024
HEADERS = {
    "User-Agent": "hermes-gateway",
    "Accept": "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
}
PACKED = frozenset({"", "identity", "gzip", "deflate"})
GARBLED = "it is packed in a way that was not asked for, or damaged"
HTML = frozenset({"text/html", "application/xhtml+xml"})
TEXT = re.compile(r"text/.*|application/(.*\+)?(json|xml|yaml|javascript|toml|x-(sh|yaml|ndjson|javascript)|sql|rtf)")
LANGUAGES = {"json": "json", "xml": "xml", "yaml": "yaml", "javascript": "javascript", "css": "css", "csv": "csv"}
_META = re.compile(rb"<meta[^>]{0,200}?charset\s{0,8}=\s{0,8}[\"']?\s{0,8}([\w-]{1,40})", re.IGNORECASE)
_OPTIONS = ConversionOptions(extract_metadata=False, skip_images=True)


class _Closed(OSError):
    """The address about to be connected to is none that may be."""


class Web:
    """Fetches pages from addresses that are `allowed`; `resolver` finds them, as the system does by default."""

    def __init__(
        self,
        allowed: Callable[[Address], bool] = public,
        resolver: AbstractResolver | None = None,
        *,
        seconds: float = SECONDS,
    ) -> None:
        self._allowed = allowed
        self._resolver = resolver
        self._seconds = seconds

    async def fetch(self, written: str) -> Page:
        """Return what stands at a URL; raise `ToolError` with a sentence about why it cannot be had."""
        url = _url(written)
        refused = list[str]()
        connector = aiohttp.TCPConnector(
            resolver=self._resolver,
            socket_factory=lambda info: self._socket(info, refused),
            use_dns_cache=False,
            force_close=True,
        )
        try:
            async with (
                asyncio.timeout(self._seconds),
                aiohttp.ClientSession(
                    connector=connector,
                    connector_owner=True,
                    cookie_jar=aiohttp.DummyCookieJar(),
                    headers=HEADERS,
                ) as session,
                session.get(url, max_redirects=MOST_REDIRECTS) as response,
            ):
                return await _page(response)
        except TimeoutError:
            raise ToolError(f"it was not all there after {self._seconds:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:  # ValueError: no host name, behind a redirect
            raise ToolError(_why(error, url, refused)) from error

    def _socket(self, info: aiohttp.AddrInfoType, refused: list[str]) -> socket.socket:
        family, kind, protocol, _, there = info
        if not self._allowed(ip_address(str(there[0]))):
            refused.append(str(there[0]))
            raise _Closed(f"{there[0]} is no address of the public internet")
        return socket.socket(family, kind, protocol)


def _url(written: str) -> URL:
    try:
        url = URL(written)
        host = url.host
    except ValueError:
        raise ToolError("this is no URL") from None
    if url.scheme not in {"http", "https"} or not host:
        raise ToolError("only http:// and https:// are fetched; write the whole URL")
    if url.user or url.password:
        raise ToolError("a URL with a name or a password in it is not fetched")
    return url


def _why(error: Exception, url: URL, refused: list[str]) -> str:
    if refused:
        return f"{brief(url.host or '')} leads to this machine or a private network, where nothing is fetched"
    if isinstance(error, aiohttp.TooManyRedirects):
        return f"it sends on more than {MOST_REDIRECTS} times"
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return "it leads to something else than http:// or https://, or to no URL at all"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"there is no host {brief(url.host or '')}"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"{brief(url.host or '')} cannot be reached"
    garbled = any(isinstance(cause, ContentEncodingError) for cause in _causes(error))
    return GARBLED if garbled else f"the answer cannot be read ({type(error).__name__})"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error:
        yield error
        error = error.__cause__


async def _page(response: aiohttp.ClientResponse) -> Page:
    if response.status >= 400:
        raise ToolError(f"the server answers HTTP {response.status}")
    mime = response.content_type.lower()
    if not (mime in HTML or TEXT.fullmatch(mime) or mime == "application/octet-stream"):
        return Page(f"[{mime}, no text; it is not shown]")
    raw, whole = await _body(response)
    remark = "" if whole else f"cut after {MOST_BYTES // 1_000_000} MB"
    return await asyncio.to_thread(_read, raw, mime, response.charset or "", remark)


async def _body(response: aiohttp.ClientResponse) -> tuple[bytes, bool]:
    """Return what comes, up to the limit, and whether that was all; what is packed is unpacked as it is read."""
    packed = response.headers.get("Content-Encoding", "").strip().lower()
    if packed not in PACKED:
        raise ToolError(f"{GARBLED} ({brief(packed)})")
    kept = bytearray()
    async for piece in response.content.iter_chunked(CHUNK):
        kept += piece
        if len(kept) > MOST_BYTES:
            return bytes(kept[:MOST_BYTES]), False
    return bytes(kept), True


def _read(raw: bytes, mime: str, charset: str, remark: str) -> Page:
    html = mime in HTML
    if html and not charset and (meta := _META.search(raw[:2048])):
        charset = meta[1].decode("ascii", "replace")
        if charset.lower().startswith(("utf-16", "utf16")):  # were it so, this would not have been found
            charset = ""
    read = decoded(raw, charset, cut=bool(remark))
    if read is None:
        return Page(f"[{mime}, no text; it is not shown]")
    text, how = read
    remark = ", ".join(part for part in (remark, how) if part)
    if not html:
        language = LANGUAGES.get(re.split(r"[/+]", mime)[-1], "")
        return Page(text or "[the page is empty]", language if text else None, remark)
    try:
        markdown = convert(text, _OPTIONS).content or ""
    except ConversionError as error:
        raise ToolError(f"its HTML cannot be read: {brief(str(error))}") from error
    return Page(markdown.strip() or "[the page has no text]", None, remark)
