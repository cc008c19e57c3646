"""The password: who has given it may use the pages from elsewhere, everybody else gets the login page."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import httpx2
import pytest

from gateway.access import people
from gateway.errors import ConfigError, StorageError
from gateway.web.login import FREE_GUESSES, LOGIN_DAYS, Guesses, Password
from gateway.web.settings import WebSettings, read_password
from tests.unit.web.conftest import Message, Office

SECRET = "correct horse"
JSON = {"content-type": "application/json"}
ELSEWHERE = {"peer": "192.168.1.7", "origin": "http://gateway.example:8642"}


def guarded(office: Office, **options: object) -> httpx2.AsyncClient:
    return office.browser(office.with_site(password=SECRET), **{**ELSEWHERE, **options})


async def log_in(browser: httpx2.AsyncClient, password: str = SECRET) -> httpx2.Response:
    # With escapes, as a browser may send half a surrogate pair.
    return await browser.post("/login", content=json.dumps({"given": password}), headers=JSON)


async def test_the_password_opens_the_page_from_another_machine(office: Office, message: Message) -> None:
    async with guarded(office) as browser:
        answer = await browser.get("/")
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")
        assert "Log in" in (await browser.get("/login")).text
        assert (await log_in(browser)).status_code == 204
        assert (await browser.get("/")).status_code == 200
        assert (await browser.post("/chat/messages", json=message("hi"))).status_code == 202


@pytest.mark.parametrize(
    "path", ["/chat/conversation", "/chat/events", "/metrics", "/version", "/openapi.json", "/nothing"]
)
async def test_without_the_password_nothing_is_shown_not_even_on_this_machine(office: Office, path: str) -> None:
    async with guarded(office, peer="127.0.0.1", origin="http://127.0.0.1:8642") as browser:
        answer = await browser.get(path)
    assert answer.status_code == 401
    assert "Log in" in answer.json()["error"]


async def test_without_the_password_no_browser_is_stored_and_no_owner_made(office: Office) -> None:
    async with guarded(office) as browser:
        assert "set-cookie" not in (await browser.get("/")).headers
        link = await browser.get("/owner", params={"token": "once-only"})
        assert link.headers["location"] == "/login#token=once-only"
        assert "set-cookie" not in link.headers
    assert await office.database.read(people.owners) == set()


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/startupz"])
async def test_probes_need_no_password_and_say_no_more_than_a_status(office: Office, path: str) -> None:
    async with guarded(office) as probe:
        answer = await probe.get(path)
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def basic(password: str, name: str = "prometheus") -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


@pytest.mark.parametrize("header", [basic(SECRET), basic(SECRET, ""), {"authorization": f"Bearer {SECRET}"}], ids=str)
async def test_a_program_may_send_the_password_along(office: Office, header: dict[str, str]) -> None:
    async def broken() -> None:
        raise StorageError("the disk is full")

    site = office.with_site(password=SECRET, checks={"database": broken})
    async with office.browser(site, headers=header, **ELSEWHERE) as program:
        metrics = await program.get("/metrics")
        ready = await program.get("/readyz")
    assert (metrics.status_code, ready.status_code) == (200, 503)
    assert "hermes_gateway_" in metrics.text
    assert ready.json()["failed"] == {"database": "the disk is full"}


@pytest.mark.parametrize(
    "header", ["Bearer no", "Bearer", "Basic !", f"Digest {SECRET}", basic("no")["authorization"], ""], ids=str
)
async def test_a_program_with_a_wrong_password_is_told_so(office: Office, header: str) -> None:
    async with guarded(office, headers={"authorization": header}) as program:
        answer = await program.get("/metrics")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Basic")
    assert "password" in answer.json()["error"]


async def test_a_program_that_guesses_waits_like_a_person(office: Office) -> None:
    async with guarded(office) as program:
        codes = [(await program.get("/metrics", headers=basic(f"no {n}"))).status_code for n in range(FREE_GUESSES)]
        late = await program.get("/metrics", headers=basic(SECRET))
        assert codes == [401] * FREE_GUESSES
        assert (late.status_code, (await log_in(program)).status_code) == (429, 429)
        assert int(late.headers["retry-after"]) >= 1


@pytest.mark.parametrize(
    ("path", "code", "leads_to"),
    [
        ("/", 303, "/login"),
        ("/chat/conversation", 401, None),
        ("/owner?token=once-only", 303, "/login#token=once-only"),
    ],
)
async def test_the_pages_are_not_opened_that_way(office: Office, path: str, code: int, leads_to: str | None) -> None:
    async with guarded(office, headers=basic(SECRET)) as program:
        answer = await program.get(path)
    assert (answer.status_code, answer.headers.get("location")) == (code, leads_to)
    assert await office.database.read(people.owners) == set()


async def test_a_wrong_password_opens_nothing(office: Office) -> None:
    async with guarded(office) as browser:
        for wrong in ("", "correct", SECRET + " ", "\ud800", "p\0", "密码"):
            assert (await log_in(browser, wrong)).status_code in {403, 422, 429}
        assert (await browser.get("/")).status_code == 303


async def test_who_guesses_too_often_has_to_wait(office: Office) -> None:
    async with guarded(office) as browser:
        codes = [(await log_in(browser, f"guess {n}")).status_code for n in range(FREE_GUESSES + 1)]
        assert codes == [403] * FREE_GUESSES + [429]
        refused = await log_in(browser)  # the right one, too early
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
        assert "try again in" in refused.json()["error"]


def test_the_wait_doubles_up_to_a_minute_and_ends_with_success() -> None:
    now = 0.0
    guesses = Guesses(clock=lambda: now)
    waits = []
    for _ in range(14):
        guesses.failed("10.0.0.1")
        waits.append(guesses.wait("10.0.0.1"))
    assert waits == [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    assert guesses.wait("10.0.0.2") == 0
    now = 61.0
    assert guesses.wait("10.0.0.1") == 0
    guesses.succeeded("10.0.0.1")
    guesses.failed("10.0.0.1")
    assert guesses.wait("10.0.0.1") == 0


def test_a_thousand_addresses_do_not_grow_the_memory_of_guesses() -> None:
    guesses = Guesses(clock=lambda: 0.0)
    for n in range(5_000):
        guesses.failed(f"10.0.{n // 256}.{n % 256}")
    assert len(guesses._peers) == 1024


async def test_another_page_cannot_log_a_browser_in(office: Office) -> None:
    async with guarded(office, headers={"sec-fetch-site": "cross-site"}) as browser:
        answer = await log_in(browser)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


async def test_a_login_is_worth_nothing_in_another_browser(office: Office) -> None:
    async with guarded(office) as mine, guarded(office) as others:
        await log_in(mine)
        await log_in(others)
        mixed = {"hermes_8642": others.cookies["hermes_8642"], "hermes_login_8642": mine.cookies["hermes_login_8642"]}
        async with guarded(office) as third:
            third.cookies.update(mixed)
            assert (await third.get("/")).status_code == 303


def test_a_proof_ends_with_its_days_and_with_the_password() -> None:
    now = 1_000_000.0
    password = Password("one", clock=lambda: now)
    proof = password.prove("browser")
    assert password.proven("browser", proof)
    assert not password.proven("", password.prove(""))
    assert not Password("two", clock=lambda: now).proven("browser", proof)
    now += LOGIN_DAYS * 86_400 + 1
    assert not password.proven("browser", proof)


@pytest.mark.parametrize(
    "proof", ["", ".", "1000000", "1000000.", "1000000.ab", "x.y", "²." + "0" * 64, "9" * 99 + ".a", "-1.a", "é.é"]
)
def test_a_made_up_proof_proves_nothing(proof: str) -> None:
    assert not Password("one", clock=lambda: 1_000_000.0).proven("browser", proof)


async def test_the_cookies_are_secure_where_the_browser_speaks_tls(office: Office) -> None:
    async with guarded(office, headers={"sec-fetch-site": "same-origin", "x-forwarded-proto": "https"}) as browser:
        cookies = (await log_in(browser)).headers.get_list("set-cookie")
    assert len(cookies) == 2
    assert all("Secure" in cookie and "HttpOnly" in cookie for cookie in cookies)


# --- what the operator writes


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "gateway.example"])
def test_a_server_open_to_others_without_a_password_does_not_start(tmp_path: Path, host: str) -> None:
    with pytest.raises(ConfigError, match=r"web\.host: .*no password.*admin_password_file"):
        read_password(WebSettings(host=host), tmp_path)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.0.0.2"])
def test_on_this_machine_no_password_is_needed(tmp_path: Path, host: str) -> None:
    assert read_password(WebSettings(host=host), tmp_path) == ""


def test_the_password_is_read_from_its_file_without_the_line_end(tmp_path: Path) -> None:
    (tmp_path / "pw").write_text("  pässword \r\n", encoding="utf-8")
    assert read_password(WebSettings(host="0.0.0.0", admin_password_file="pw"), tmp_path) == "pässword"
    absolute = WebSettings(host="0.0.0.0", admin_password_file=str(tmp_path / "pw"))
    assert read_password(absolute, Path("/nowhere")) == "pässword"


@pytest.mark.parametrize(
    ("content", "says"), [(None, "No such file"), (b" \n", "is empty"), (b"\xff\xfe", "not UTF-8")]
)
def test_a_password_file_that_is_of_no_use_is_named(tmp_path: Path, content: bytes | None, says: str) -> None:
    if content is not None:
        (tmp_path / "pw").write_bytes(content)
    with pytest.raises(ConfigError, match=rf"web\.admin_password_file: .*{says}"):
        read_password(WebSettings(admin_password_file="pw"), tmp_path)


def test_a_name_that_no_file_can_have_is_an_error_and_no_crash(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"web\.admin_password_file"):
        read_password(WebSettings(admin_password_file="a\0b"), tmp_path)
