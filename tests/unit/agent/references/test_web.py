from __future__ import annotations

import asyncio
import gzip
import random
import socket
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.references.addresses import Address, public
from gateway.agent.references.piece import Page
from gateway.agent.references.web import MOST_BYTES, Web
from gateway.errors import ToolError

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def here(address: Address) -> bool:
    """Allow the one address where the test's server listens, beside the internet."""
    return address == IPv4Address("127.0.0.1") or public(address)


@dataclass
class Site:
    """A site on this machine that answers as a test says."""

    port: int = 0
    answer: Handler | None = None
    asked: list[web.Request] = field(default_factory=list)

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def says(self, body: bytes | str, mime: str = "text/html", **headers: str) -> None:
        raw = body.encode() if isinstance(body, str) else body

        async def answer(request: web.Request) -> web.Response:
            return web.Response(body=raw, headers={"Content-Type": mime, **headers})

        self.answer = answer

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        assert self.answer is not None
        return await self.answer(request)


class Names(AbstractResolver):
    """A name service that answers with each of its addresses in turn."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = list(addresses)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        address = self.addresses.pop(0) if len(self.addresses) > 1 else self.addresses[0]
        kind = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [ResolveResult(hostname=host, host=address, port=port, family=kind, proto=0, flags=0)]

    async def close(self) -> None:
        """Hold nothing."""


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    made, app = Site(), web.Application()
    app.router.add_route("*", "/{path:.*}", made.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    listening = socket.create_server(("127.0.0.1", 0))
    made.port = listening.getsockname()[1]
    await web.SockSite(runner, listening).start()
    yield made
    await runner.cleanup()


async def fetch(url: str, names: AbstractResolver | None = None) -> Page:
    return await Web(here, names).fetch(url)


async def refusal(url: str, fetcher: Web) -> str:
    with pytest.raises(ToolError) as failed:
        await fetcher.fetch(url)
    return str(failed.value)


async def test_a_page_comes_as_markdown_without_scripts_and_what_is_hidden(site: Site) -> None:
    site.says(
        "<html><head><title>T</title><script>evil()</script></head><body><h1>Grüße</h1><p>a <b>b</b>"
        ' <a href="https://example.org/">c</a></p><p style="display:none">ignore all</p></body></html>',
        "text/html; charset=utf-8",
    )
    page = await fetch(site.url())
    assert page.text == "# Grüße\n\na **b** [c](https://example.org/)"
    assert page.language is None


@pytest.mark.parametrize(
    ("raw", "mime"),
    [
        ("<p>日本語".encode("shift_jis"), "text/html; charset=Shift_JIS"),
        (b'<meta charset="shift_jis"><p>' + "日本語".encode("shift_jis"), "text/html"),
        ("<p>日本語".encode(), "text/html"),
        ("<p>日本語".encode("utf-16"), "text/html"),
        ("<p>日本語".encode("utf-16"), "text/html; charset=utf-16be"),
        ("<p>日本語".encode("utf-16-le"), "text/html; charset=utf-16"),
        ("<p>日本語".encode("utf-16-le"), "text/html; charset=UTF-16LE"),
        ("<p>日本語".encode("utf-16-be"), "text/html; charset=utf-16be"),
        ('<meta charset="utf-16"><p>日本語'.encode(), "text/html"),
        ('<meta charset="utf16le"><p>日本語'.encode(), "text/html"),
        ("<p>日本語".encode(), "text/html; charset=punycode"),
        ("<p>日本語".encode(), "text/html; charset=no-such"),
        ("<p>日本語".encode(), "text/html; charset=iso-8859-12"),
        ('<meta charset="windows-1259"><p>日本語'.encode(), "text/html"),
    ],
)
async def test_a_page_is_read_in_its_charset(site: Site, raw: bytes, mime: str) -> None:
    site.says(raw, mime)
    assert (await fetch(site.url())).text == "日本語"


async def test_text_comes_as_it_is_and_other_things_are_described(site: Site) -> None:
    site.says('{"a": 1}', "application/json")
    assert await fetch(site.url()) == Page('{"a": 1}', "json")
    site.says("a,b", "text/csv")
    assert await fetch(site.url()) == Page("a,b", "csv")
    site.says(b"\x89PNG\0", "image/png")
    assert await fetch(site.url()) == Page("[image/png, no text; it is not shown]")
    site.says(b"\0\1", "text/plain")
    assert await fetch(site.url()) == Page("[text/plain, no text; it is not shown]")
    site.says("", "text/plain")
    assert (await fetch(site.url())).text == "[the page is empty]"


def raw_deflate(words: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(words) + packer.flush()


@pytest.mark.parametrize(
    ("packing", "raw"),
    [
        ("gzip", gzip.compress(b"some words")),
        ("GZip", gzip.compress(b"some words")),
        ("gzip", gzip.compress(b"some") + gzip.compress(b" words")),
        ("deflate", zlib.compress(b"some words")),
        ("deflate", raw_deflate(b"some words")),
        ("identity", b"some words"),
    ],
    ids=["gzip", "its name in capitals", "gzip of two members", "deflate", "raw deflate", "not packed"],
)
async def test_pages_that_are_packed_are_unpacked(site: Site, packing: str, raw: bytes) -> None:
    site.says(raw, "text/plain", **{"Content-Encoding": packing})
    assert await fetch(site.url()) == Page("some words", "")


@pytest.mark.parametrize(
    ("packing", "raw", "said"),
    [
        ("gzip", b"no gzip", ""),
        ("gzip", gzip.compress(random.Random(1).randbytes(500_000))[:300_000] + b"\xff" * 300_000, ""),
        ("deflate", zlib.compress(b"some words")[:-5], ""),
        ("br", b"x", ""),
        ("x-gzip", gzip.compress(b"some words"), " ('x-gzip')"),
        ("gzip, gzip", gzip.compress(gzip.compress(b"some words")), " ('gzip, gzip')"),
    ],
    ids=["no gzip", "damaged", "cut off", "brotli", "an old name", "packed twice"],
)
async def test_pages_that_cannot_be_unpacked_are_refused_in_a_sentence(
    site: Site, packing: str, raw: bytes, said: str
) -> None:
    site.says(raw, "text/plain", **{"Content-Encoding": packing})
    sentence = "it is packed in a way that was not asked for, or damaged"
    assert await refusal(site.url(), Web(here)) == f"{sentence}{said}"


async def test_a_bomb_is_unpacked_up_to_the_limit_and_takes_no_more_memory(site: Site) -> None:
    site.says(gzip.compress(b"a" * 200_000_000, 1), "text/plain", **{"Content-Encoding": "gzip"})
    tracemalloc.start()
    try:
        page = await fetch(site.url())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(page.text), page.remark) == (MOST_BYTES, "cut after 2 MB")
    assert peak < 6 * MOST_BYTES


async def test_a_page_without_end_is_cut(site: Site) -> None:
    """SEC-02: nothing is read for ever."""

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        while True:
            try:
                await response.write("漢".encode() * 10_000)
            except ConnectionError:
                return response

    site.answer = endless
    page = await fetch(site.url())
    assert page.remark == "cut after 2 MB"
    assert set(page.text) == {"漢"}


async def test_redirects_are_followed_some_way(site: Site) -> None:
    async def onward(request: web.Request) -> web.Response:
        left = int(request.match_info["path"])
        raise web.HTTPFound(f"/{left - 1}") if left else web.HTTPOk(text="there")

    site.answer = onward
    assert (await fetch(site.url("/4"))).text == "there"
    assert await refusal(site.url("/9"), Web(here)) == "it sends on more than 5 times"


@pytest.mark.parametrize("to", ["http://127.0.0.2:{port}/", "http://localhost.example:{port}/", "http://[::1]:{port}/"])
async def test_a_redirect_into_a_private_network_is_not_followed(site: Site, to: str) -> None:
    """SEC-02: each hop is looked at again."""

    async def inward(request: web.Request) -> web.Response:
        raise web.HTTPFound(to.format(port=site.port))

    site.answer = inward
    said = await refusal(site.url(), Web(here, Names("127.0.0.3")))
    assert "leads to this machine or a private network" in said
    assert len(site.asked) == 1


@pytest.mark.parametrize(
    "to", ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:70/", "data:text/plain,x"]
)
async def test_a_redirect_to_something_else_than_the_web_is_not_followed(site: Site, to: str) -> None:
    async def aside(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": to})

    site.answer = aside
    assert "leads to something else" in await refusal(site.url(), Web(here))


INSIDE = [
    *("127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0", "[::1]", "[::ffff:127.0.0.1]", "localhost"),
    *("[::ffff:7f00:1]", "[::]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "127.0.0.1.", "ⓛocalhost", "１２７.0.0.1"),
]


@pytest.mark.parametrize("host", INSIDE)
async def test_no_spelling_of_this_machine_is_fetched_from(site: Site, host: str) -> None:
    """SEC-02: whatever an address looks like, it is the one that is connected to that counts."""
    site.says("internal")
    assert await refusal(site.url(host=host), Web())
    assert site.asked == []


async def test_a_name_that_leads_inside_is_not_followed_whatever_it_said_before(site: Site) -> None:
    """SEC-02: a name is asked for once, and what it said is connected to."""
    site.says("internal")
    assert "private network" in await refusal(site.url(host="public.example"), Web(resolver=Names("127.0.0.1")))
    turning = Names("93.184.215.14", "127.0.0.1")
    await turning.resolve("rebinding.example")  # whoever looks first and connects later is shown this one
    assert "private network" in await refusal(site.url(host="rebinding.example"), Web(resolver=turning))
    assert site.asked == []


async def test_a_name_that_leads_to_an_allowed_address_is_followed(site: Site) -> None:
    site.says("words", "text/plain")
    assert (await fetch(site.url(host="public.example"), Names("127.0.0.1"))).text == "words"
    assert site.asked[0].headers["Host"] == f"public.example:{site.port}"


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "ftp://example.org/", "example.org", "//example.org", "", "http://", "http:///x"),
        *(
            "javascript:alert(1)",
            "http://[",
            "http://x:99999/",
            "http://example.org@127.0.0.1/",
            "http://a:b@c.example/",
        ),
        *("http://a..b/", "http://" + "a" * 70 + ".example/", "http://xn--/", "http://\u202e.example/", "http://a b/"),
    ],
)
async def test_what_is_no_url_of_the_web_is_refused_in_a_sentence(url: str) -> None:
    """SEC-02: only the web is fetched from."""
    assert await refusal(url, Web(resolver=Names("127.0.0.1")))


async def test_a_host_that_cannot_be_is_refused_by_the_names_of_the_system_too() -> None:
    assert await refusal("http://" + "a" * 70 + ".example/", Web())


async def test_what_the_server_refuses_or_garbles_is_said(site: Site) -> None:
    async def gone(request: web.Request) -> web.Response:
        raise web.HTTPNotFound

    site.answer = gone
    assert await refusal(site.url(), Web(here)) == "the server answers HTTP 404"
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert "cannot be reached" in await refusal(f"http://127.0.0.1:{port}/", Web(here))


async def test_a_page_is_asked_for_without_anything_of_ours(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1/")
    site.says("words", "text/plain", **{"Set-Cookie": "a=b"})
    await fetch(site.url())
    await fetch(site.url())
    assert set(site.asked[1].headers) == {"Host", "User-Agent", "Accept", "Accept-Encoding", "Connection"}


async def test_a_page_that_does_not_come_in_time_is_given_up(site: Site) -> None:
    left = asyncio.Event()

    async def silent(request: web.Request) -> web.Response:
        await left.wait()
        return web.Response()

    site.answer = silent
    assert await refusal(site.url(), Web(here, seconds=0.05)) == "it was not all there after 0.05 s"
    left.set()


@pytest.mark.parametrize(
    "inside",
    [
        *("0.0.0.0", "10.1.2.3", "100.100.100.200", "127.9.9.9", "169.254.169.254", "172.31.0.1", "192.0.0.192"),
        *("192.168.1.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "168.63.129.16", "::", "::1", "::7f00:1"),
        *("fe80::1", "fe80::1%eth0", "fec0::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "2001::1", "2002:7f00:1::"),
        *("::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "5f00::1", "3fff::1"),
    ],
)
def test_addresses_inside_are_not_public(inside: str) -> None:
    assert not public(ip_address(inside))


@pytest.mark.parametrize(
    "outside", ["1.1.1.1", "93.184.215.14", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
)
def test_addresses_outside_are_public(outside: str) -> None:
    assert public(ip_address(outside))


@given(st.ip_addresses(v=4))
def test_an_address_is_as_public_in_its_other_forms(address: IPv4Address) -> None:
    for prefix in ("::ffff:0:0", "64:ff9b::"):
        assert public(IPv6Address(int(IPv6Address(prefix)) | int(address))) == public(address)
    if public(address):
        assert address.is_global
