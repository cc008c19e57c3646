"""Who is served, and who is not: how somebody else's page, machine or account might try to get at the gateway."""

from __future__ import annotations

import httpx2
import pytest
from starlette.types import Receive, Scope, Send

from gateway.access import people
from gateway.web.local import loopback
from gateway.web.security import new_token, token_hash
from tests.unit.web.conftest import ORIGIN, Message, Office

EVERYTHING = [
    "/",
    "/healthz",
    "/readyz",
    "/startupz",
    "/metrics",
    "/version",
    "/openapi.json",
    "/assets/chat.js",
    "/nothing",
]


def sentence(response: httpx2.Response) -> str:
    return str(response.json()["error"])


# --- a form or script of another page


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
async def test_a_message_sent_by_another_page_is_not_taken(
    office: Office, browser: httpx2.AsyncClient, message: Message, site: str
) -> None:
    answer = await browser.post("/chat/messages", json=message("hi"), headers={"sec-fetch-site": site})
    assert answer.status_code == 403
    assert "own page" in sentence(answer)
    assert office.events == []


async def test_a_form_posted_from_another_origin_is_refused_with_the_cookie_and_without(
    office: Office, browser: httpx2.AsyncClient
) -> None:
    form = {"id": "message-0001", "text": "transfer everything"}
    for origin in ("http://evil.example", "null", "http://127.0.0.1:9999", "http://127.0.0.1:8642.evil.example", ""):
        del browser.headers["sec-fetch-site"]
        answer = await browser.post("/chat/messages", data=form, headers={"origin": origin, "accept": "text/html"})
        assert answer.status_code == 403, origin
        assert "own page" in answer.text
        browser.headers["sec-fetch-site"] = "same-origin"
    assert office.events == []


@pytest.mark.parametrize("headers", [{"origin": ORIGIN}, {"x-hermes-page": "1"}, {"sec-fetch-site": "same-origin"}])
async def test_a_message_of_our_own_page_is_taken(office: Office, message: Message, headers: dict[str, str]) -> None:
    async with office.browser(headers=headers) as browser:
        await browser.get("/")
        assert (await browser.post("/chat/messages", json=message("hi"))).status_code == 202
    assert [event.text for event in office.events] == ["hi"]


async def test_the_mark_of_our_page_does_not_outweigh_where_the_browser_says_a_request_is_from(
    office: Office, browser: httpx2.AsyncClient, message: Message
) -> None:
    headers = {"sec-fetch-site": "cross-site", "x-hermes-page": "1"}
    assert (await browser.post("/chat/messages", json=message("hi"), headers=headers)).status_code == 403
    del browser.headers["sec-fetch-site"]
    headers = {"origin": "http://evil.example", "x-hermes-page": "1"}
    assert (await browser.post("/chat/messages", json=message("hi"), headers=headers)).status_code == 403
    assert office.events == []


@pytest.mark.parametrize("path", ["/chat/events", "/chat/conversation"])
async def test_another_page_can_neither_stream_nor_read(browser: httpx2.AsyncClient, path: str) -> None:
    del browser.headers["sec-fetch-site"]
    for headers in (
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://evil.example"},
        {},
    ):
        assert (await browser.get(path, headers=headers)).status_code == 403


async def test_no_other_origin_is_ever_given_leave(browser: httpx2.AsyncClient) -> None:
    """SEC-05: no other site may call us."""
    preflight = {
        "origin": "http://evil.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "x-hermes-page",
        "sec-fetch-site": "cross-site",
    }
    answer = await browser.options("/chat/messages", headers=preflight)
    assert answer.status_code >= 400
    assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    "path",
    ["/files?path=/etc/passwd", "/files/..%2f..%2f.env", "/..%2f.env", "/skills/x/SKILL.md", "/.env", "/SOUL.md"],
)
async def test_no_file_of_the_machine_is_served(browser: httpx2.AsyncClient, path: str) -> None:
    """SEC-05: not of the home, not of a skill, not of a workspace; there is no place to ask for one."""
    assert (await browser.get(path)).status_code == 404


# --- a rebound name


@pytest.mark.parametrize("path", EVERYTHING)
async def test_a_name_that_was_rebound_to_this_machine_is_not_served(office: Office, path: str) -> None:
    async with office.browser(origin="http://rebound.example:8642") as browser:
        answer = await browser.get(path)
    assert answer.status_code == 403
    assert "web.admin_password_file" in sentence(answer)
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil.example:127",
        "a@127.0.0.1",
        "0.0.0.0:8642",
        "192.168.1.4:8642",
        "[::ffff:10.0.0.1]",
        "127.0.0.1, evil.example",
        "2130706433",
        "localhost:8642:1",
        "",
    ],
)
async def test_what_only_looks_like_this_machine_is_another_one(office: Office, host: str) -> None:
    async with office.browser(headers={"host": host}) as browser:
        assert (await browser.get("/")).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:8642", "localhost", "LocalHost:8642", "[::1]:8642", "127.8.9.10", "[::1]"])
async def test_every_name_of_this_machine_is_served(office: Office, host: str) -> None:
    async with office.browser(headers={"host": host}) as browser:
        assert (await browser.get("/")).status_code == 200


async def test_two_host_headers_are_refused(office: Office) -> None:
    async with office.browser() as browser:
        headers = [("host", "127.0.0.1:8642"), ("host", "evil.example")]
        assert (await browser.get("/", headers=headers)).status_code == 403


# --- a request from elsewhere, or through somebody


@pytest.mark.parametrize("path", EVERYTHING)
async def test_another_machine_is_told_how_to_set_a_password(office: Office, path: str) -> None:
    async with office.browser(peer="192.168.1.7") as browser:
        answer = await browser.get(path)
    assert answer.status_code == 403
    assert "web.admin_password_file" in sentence(answer)


@pytest.mark.parametrize(
    "header",
    ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded", "Via", "X-Real-IP"],
)
async def test_what_a_proxy_has_forwarded_is_refused(office: Office, header: str) -> None:
    async with office.browser() as browser:
        answer = await browser.get("/", headers={header: "127.0.0.1", "accept": "text/html,*/*"})
    assert answer.status_code == 403
    assert "web.admin_password_file" in answer.text
    assert answer.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost", "LOCALHOST", "::ffff:127.0.0.1"])
def test_loopback_is_recognised_in_every_form(host: str) -> None:
    assert loopback(host)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "10.0.0.1", "fe80::1", "localhost.", "127.0.0.1.", "", "ⅼocalhost", "\0"]
)
def test_nothing_else_is_loopback(host: str) -> None:
    assert not loopback(host)


# --- a second person on the same machine


async def test_a_second_person_sees_nothing_of_the_first(office: Office, message: Message) -> None:
    async with office.browser() as first, office.browser() as second:
        await first.get("/")
        await second.get("/")
        await first.post("/chat/messages", json=message("my secret"))
        await office.answer(office.events[0].sender.id, "your secret answer")
        mine = await first.get("/chat/conversation")
        others = await second.get("/chat/conversation")
    assert [bubble["who"] for bubble in mine.json()["bubbles"]] == ["person", "agent"]
    assert others.json()["bubbles"] == []
    assert "secret" not in others.text


async def test_the_same_message_id_from_two_people_is_two_messages(office: Office) -> None:
    body = {"id": "chosen-by-an-attacker", "text": "hi"}
    async with office.browser() as first, office.browser() as second:
        for browser in (first, second):
            await browser.get("/")
            answer = await browser.post("/chat/messages", json=body)
            assert len(answer.json()["bubbles"]) == 1
    assert len({event.id for event in office.events}) == 2


async def test_a_visitor_is_no_owner_until_the_link_says_so(office: Office, message: Message) -> None:
    async with office.browser() as first, office.browser() as second:
        for browser in (first, second):
            await browser.get("/")
            await browser.post("/chat/messages", json=message("hi"))
        answer = await first.get("/owner", params={"token": "once-only"}, headers={"sec-fetch-site": "none"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    owners = await office.database.read(people.owners)
    assert owners == {f"webchat:{office.events[0].sender.id}"}


async def test_the_owners_link_works_once_and_only_with_its_token(office: Office) -> None:
    async with office.browser() as browser:
        for wrong in ("", "once", "once-only ", "once-onlyx", "é", "x" * 300):
            assert (await browser.get("/owner", params={"token": wrong})).status_code in {403, 422}
        assert (await browser.get("/owner", params={"token": "once-only"})).status_code == 303
        assert (await browser.get("/owner", params={"token": "once-only"})).status_code == 403
    assert len(await office.database.read(people.owners)) == 1


async def test_without_a_token_there_is_no_owners_link(office: Office) -> None:
    async with office.browser(office.with_site(owner_token="")) as browser:
        assert (await browser.get("/owner", params={"token": ""})).status_code == 403


@pytest.mark.parametrize("path", ["/", "/owner?token=once-only", "/?&again", "/owner?token=once-only&again"])
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_link_on_another_site_costs_nobody_their_cookie_and_makes_no_owner(
    office: Office, path: str, site: str
) -> None:
    async with office.browser() as browser:
        answer = await browser.get(path, headers={"sec-fetch-site": site})
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers
    assert await office.database.read(people.owners) == set()
    # Our own page asks again, once.
    assert ("refresh" in answer.text) is not path.endswith("again")


async def test_what_stands_in_such_a_link_does_not_become_markup(office: Office) -> None:
    async with office.browser() as browser:
        answer = await browser.get('/owner?token="><script>x</script>{url}', headers={"sec-fetch-site": "cross-site"})
    assert "<script>" not in answer.text


# --- the cookie


async def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(office: Office) -> None:
    async with office.browser() as browser:
        cookie = (await browser.get("/")).headers["set-cookie"]
    name, _, value = cookie.partition(";")[0].partition("=")
    assert name == "hermes_8642"
    assert len(value) >= 43  # 256 bits
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/" in cookie


async def test_only_the_hash_of_the_cookie_is_stored(office: Office, browser: httpx2.AsyncClient) -> None:
    token = browser.cookies["hermes_8642"]
    assert await office.database.read(lambda connection: people.visitor(connection, token_hash(token))) is not None
    assert await office.database.read(lambda connection: people.visitor(connection, token)) is None


async def test_a_cookie_we_did_not_make_is_nobodys(office: Office, message: Message) -> None:
    async with office.browser() as browser:
        for made_up in (new_token(), "x", "é"):
            headers = {"cookie": f"hermes_8642={made_up}".encode()}
            answer = await browser.post("/chat/messages", json=message("hi"), headers=headers)  # type: ignore[arg-type]
            assert answer.status_code == 401
        answer = await browser.get("/", headers={"cookie": f"hermes_8642={made_up}".encode()})  # type: ignore[arg-type]
        assert answer.status_code == 200
        assert browser.cookies["hermes_8642"] != made_up
    assert office.events == []


async def test_a_browser_keeps_its_cookie_when_it_comes_again(browser: httpx2.AsyncClient) -> None:
    before = browser.cookies["hermes_8642"]
    await browser.get("/")
    assert browser.cookies["hermes_8642"] == before


async def test_a_request_without_the_cookie_is_sent_to_the_page(office: Office, message: Message) -> None:
    async with office.browser() as browser:
        answer = await browser.post("/chat/messages", json=message("hi"))
    assert answer.status_code == 401
    assert "reload the page" in sentence(answer)


# --- what every answer carries


@pytest.mark.parametrize("path", EVERYTHING)
async def test_every_answer_forbids_frames_foreign_scripts_and_guessing(office: Office, path: str) -> None:
    async with office.browser() as browser:
        headers = (await browser.get(path)).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "set-cookie" not in headers or headers["cache-control"] == "no-store"


# --- what platforms call


async def echo_path(scope: Scope, receive: Receive, send: Send) -> None:
    body = f"{scope['method']} {scope['path_params']['route']}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def test_a_hook_is_reached_from_anywhere_and_answers_for_itself(office: Office) -> None:
    site = office.with_site(hooks={"/hooks/{route}": echo_path})
    headers = {"x-forwarded-for": "203.0.113.9", "host": "gateway.example", "sec-fetch-site": "cross-site"}
    async with office.browser(site, peer="198.51.100.7", headers=headers) as platform:
        answer = await platform.post("/hooks/github-issues", content=b"{}")
        assert (answer.status_code, answer.text) == (200, "POST github-issues")
        assert (await platform.get("/hooks/github-issues")).text == "GET github-issues"


async def test_beside_a_hook_nothing_else_is_open(office: Office) -> None:
    site = office.with_site(hooks={"/hooks/{route}": echo_path})
    async with office.browser(site, peer="198.51.100.7") as platform:
        for path in (
            "/hooks",
            "/hooks/",
            "/hooks/a/b",
            "/hooks/../chat/conversation",
            "/hooks/%2e%2e/version",
            "/version",
        ):
            assert (await platform.get(path)).status_code == 403, path
