"""Calls of other programs, from the wire to the event."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import time
from typing import Any
from urllib.parse import quote_plus

import pytest

from adapters.webhook import create
from adapters.webhook.template import NOTE
from gateway.contracts.adapter import Adapter, Run
from gateway.errors import StorageError
from gateway.types import Address, ChatType, Event, Part, Rendered
from tests.adapters.conformance import listening
from tests.adapters.webhook.conftest import HOME, SECRET, Caller, github, serving, settings
from tests.adapters.webhook.test_signature import STANDARD, digest

GITHUB = {"auth": {"scheme": "github", "secret": SECRET}, "prompt": "{issue.title}"}
BEARER: dict[str, Any] = {"auth": {"scheme": "bearer", "secret": "s"}, "prompt": "{text}"}
OPEN = {"auth": {"scheme": "none"}, "prompt": "{text}"}
TOKEN = {"authorization": "Bearer s"}
HI = b'{"text": "hi"}'
BODY = json.dumps({"action": "opened", "issue": {"title": "Grüße 👋", "number": 7}}, ensure_ascii=False).encode()


async def test_a_signed_call_becomes_an_event() -> None:
    async with serving(settings(gh=GITHUB)) as caller:
        answer = await caller.call("gh", BODY, github(BODY, **{"X-GitHub-Delivery": "72d3162e-cc78"}))
        event = await caller.heard_one()
    assert answer.status == 202
    assert event.id == f"gh:{answer.body['run']}"
    assert event.origin == Address(platform="webhook", chat="gh", thread="72d3162e-cc78")
    assert event.chat_type is ChatType.WEBHOOK
    assert event.text == f'<payload name="issue.title">Grüße 👋</payload>{NOTE}'
    assert (event.sender.id, event.addressed, event.deliver) == ("gh", True, ())


async def test_the_caller_hears_ok_only_after_the_event_is_safe() -> None:
    asked, safe = asyncio.Event(), asyncio.Event()

    async def emit(event: Event) -> bool:
        asked.set()
        await safe.wait()
        return True

    async with create("webhook", "", settings(gh=GITHUB)) as adapter, asyncio.TaskGroup() as group:
        listen = group.create_task(adapter.listen(emit))
        await asyncio.sleep(0)
        call = group.create_task(Caller(adapter).call("gh", BODY, github(BODY)))
        await asked.wait()
        assert not call.done()
        safe.set()
        assert (await call).status == 202
        listen.cancel()


async def test_a_call_that_could_not_be_kept_is_to_come_again(caplog: pytest.LogCaptureFixture) -> None:
    async def full(event: Event) -> bool:
        raise StorageError("the disk is full")

    async with create("webhook", "", settings(gh=GITHUB)) as adapter, asyncio.TaskGroup() as group:
        listen = group.create_task(adapter.listen(full))
        await asyncio.sleep(0)
        answer = await Caller(adapter).call("gh", BODY, github(BODY))
        listen.cancel()
    assert answer.status == 503
    assert answer.headers["retry-after"]
    assert "disk is full" in caplog.text


async def test_nobody_is_answered_while_nobody_listens() -> None:
    async with create("webhook", "", settings(gh=GITHUB)) as adapter:
        before = await Caller(adapter).call("gh", BODY, github(BODY))
        async with listening(adapter):
            await asyncio.sleep(0)
        after = await Caller(adapter).call("gh", BODY, github(BODY))
    assert [before.status, after.status] == [503, 503]
    assert before.headers["retry-after"]


# --- who is not let in


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({}, "missing"),
        (github(b"other"), "does not match"),
        (github(BODY, "wrong"), "does not match"),
        ({"X-Hub-Signature-256": "sha256=é"}, "does not match"),
    ],
    ids=["none", "of another body", "of another secret", "no signature at all"],
)
async def test_a_bad_signature_is_one_sentence(headers: dict[str, str], why: str) -> None:
    async with serving(settings(gh=GITHUB)) as caller:
        answer = await caller.call("gh", BODY, headers)
        assert caller.heard.events.empty()
    assert answer.status == 401
    assert why in answer.body["error"]
    assert answer.body.keys() == {"error"}


async def test_two_headers_of_one_name_are_not_one() -> None:
    good = github(BODY)["X-Hub-Signature-256"]
    async with serving(settings(gh=GITHUB)) as caller:
        answer = await caller.call("gh", BODY, [("X-Hub-Signature-256", good), ("x-hub-signature-256", good)])
    assert answer.status == 401


@pytest.mark.parametrize("route", ["nothing", "GH", "gh/", "", "../gh"])
async def test_an_unknown_route_is_not_found(route: str) -> None:
    async with serving(settings(gh=GITHUB)) as caller:
        assert (await caller.call(route, BODY, github(BODY))).status == 404


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
async def test_only_a_post_is_a_call(method: str) -> None:
    async with serving(settings(gh=GITHUB)) as caller:
        answer = await caller.call("gh", BODY, github(BODY), method=method)
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


# --- a route without proof


async def test_a_route_without_proof_takes_a_program_of_this_machine() -> None:
    async with serving(settings(here=OPEN)) as caller:
        assert (await caller.call("here", b'{"text": "hi"}', HOME)).status == 202
        six = await caller.call("here", b'{"text": "hi"}', {"host": "[::1]:8642"}, peer=("::ffff:127.0.0.1", 1))
    assert six.status == 202


@pytest.mark.parametrize(
    ("headers", "peer"),
    [
        ({"host": "127.0.0.1"}, ("192.168.1.5", 1)),
        ({"host": "127.0.0.1"}, None),
        ({"host": "evil.example"}, ("127.0.0.1", 1)),
        ({"host": "127.0.0.1.evil.example"}, ("127.0.0.1", 1)),
        ({"host": "127.0.0.1@evil.example"}, ("127.0.0.1", 1)),
        ({}, ("127.0.0.1", 1)),
        ({"host": "127.0.0.1", "x-forwarded-for": "127.0.0.1"}, ("127.0.0.1", 1)),
        ({"host": "127.0.0.1", "forwarded": "for=127.0.0.1"}, ("127.0.0.1", 1)),
        ({"host": "127.0.0.1", "via": "1.1 proxy"}, ("127.0.0.1", 1)),
        ({"host": "127.0.0.1", "origin": "https://evil.example"}, ("127.0.0.1", 1)),
        ({"host": "127.0.0.1", "origin": "null"}, ("127.0.0.1", 1)),
        ({"host": "127.0.0.1", "sec-fetch-site": "cross-site"}, ("127.0.0.1", 1)),
    ],
    ids=str,
)
async def test_a_route_without_proof_takes_nobody_else(headers: dict[str, str], peer: tuple[str, int] | None) -> None:
    async with serving(settings(here=OPEN)) as caller:
        answer = await caller.call("here", b"{}", headers, peer=peer)
        assert caller.heard.events.empty()
    assert answer.status == 403


# --- bodies


async def test_a_body_over_the_limit_is_not_read_to_its_end() -> None:
    made = settings(talk=BEARER | {"prompt": "{__raw__}"}).model_copy(update={"max_body_bytes": 1000})
    async with serving(made) as caller:
        announced = await caller.call("talk", [b"x" * 2000], TOKEN | {"content-length": "2000"})
        streamed = await caller.call("talk", [b"x" * 600] * 50, TOKEN)
        lied = await caller.call("talk", [b"x" * 600] * 50, TOKEN | {"content-length": "10"})
        exact = await caller.call("talk", b'"' + b"x" * 998 + b'"', TOKEN)
    assert [announced.status, streamed.status, lied.status, exact.status] == [413, 413, 413, 202]
    assert [announced.chunks_read, streamed.chunks_read, lied.chunks_read] == [0, 2, 2]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"not json",
        b'{"a":',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"a":' * 500 + b"1" + b"}" * 500,
        b"9" * 5000,
    ],
    ids=["empty", "cut", "words", "half", "bytes", "bomb", "deep", "digits"],
)
async def test_a_body_that_is_no_data_is_one_sentence(body: bytes) -> None:
    async with serving(settings(talk=BEARER)) as caller:
        answer = await caller.call("talk", body, TOKEN)
        assert caller.heard.events.empty()
    assert answer.status == 400
    assert answer.body["error"].startswith("The body is")


async def test_a_body_is_not_looked_at_before_the_caller_has_proven_itself() -> None:
    async with serving(settings(talk=BEARER)) as caller:
        assert (await caller.call("talk", b"{", {})).status == 401


async def test_a_caller_that_hangs_up_leaves_nothing() -> None:
    async with serving(settings(talk=BEARER)) as caller:
        with pytest.raises(ValueError, match="unpack"):  # nobody is there to be answered
            await caller.call("talk", [], TOKEN)
        assert caller.heard.events.empty()


@pytest.mark.parametrize(
    "body",
    [
        b"payload=" + quote_plus('{"text": "hi 👋"}').encode(),
        b"text=hi+%F0%9F%91%8B&n=1&n=2",
        '{"text": "hi 👋"}'.encode(),
    ],
    ids=["JSON in a form", "fields", "JSON that curl calls a form"],
)
async def test_a_form_is_a_payload_too(body: bytes) -> None:
    headers = TOKEN | {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
    async with serving(settings(talk=BEARER)) as caller:
        assert (await caller.call("talk", body, headers)).status == 202
        assert "hi 👋" in (await caller.heard_one()).text


async def test_a_form_of_too_many_fields_is_refused() -> None:
    headers = TOKEN | {"content-type": "application/x-www-form-urlencoded"}
    async with serving(settings(talk=BEARER)) as caller:
        assert (await caller.call("talk", b"a=1&" * 5000, headers)).status == 400


async def test_json_with_a_byte_order_mark_is_json() -> None:
    async with serving(settings(talk=BEARER)) as caller:
        assert (await caller.call("talk", '{"text": "hi"}'.encode("utf-8-sig"), TOKEN)).status == 202


# --- events, sessions, targets, rates


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [([], True), (["issues"], True), (["issues.opened"], True), (["issues.closed"], False), (["push"], False)],
)
async def test_only_the_events_that_are_wanted_are_taken(wanted: list[str], taken: bool) -> None:
    async with serving(settings(gh=GITHUB | {"events": wanted})) as caller:
        answer = await caller.call("gh", BODY, github(BODY))
        assert caller.heard.events.empty() is not taken
    assert answer.status == (202 if taken else 200)
    if not taken:
        assert answer.body == {"ignored": "issues.opened"}


@pytest.mark.parametrize(
    ("session", "thread"),
    [("delivery", "d1"), ("route", ""), ("issue-{issue.number}", "issue-7"), ("{issue.missing}", "d1")],
)
async def test_whose_conversation_it_is_can_be_said(session: str, thread: str) -> None:
    async with serving(settings(gh=GITHUB | {"session": session})) as caller:
        await caller.call("gh", BODY, github(BODY, **{"X-GitHub-Delivery": "d1"}))
        assert (await caller.heard_one()).origin.thread == thread


async def test_answers_go_where_the_route_says() -> None:
    async with serving(settings(gh=GITHUB | {"deliver": ["telegram:42", "origin"]})) as caller:
        await caller.call("gh", BODY, github(BODY))
        event = await caller.heard_one()
    assert event.deliver == (Address(platform="telegram", chat="42"), event.origin)


async def test_more_calls_than_are_allowed_are_sent_away_for_a_while() -> None:
    async with serving(settings(talk=BEARER | {"rate": "2/h"})) as caller:
        answers = [await caller.call("talk", b'{"text": "hi"}', TOKEN) for _ in range(4)]
        forged = await caller.call("talk", b"{}", {})
    assert [answer.status for answer in answers] == [202, 202, 429, 429]
    assert 1700 < int(answers[-1].headers["retry-after"]) <= 1800
    assert forged.status == 401


# --- the same call again


async def calls(made: dict[str, Any], *given: tuple[bytes, dict[str, str]]) -> list[str]:
    """Return the ids of the events that these calls become."""
    async with serving(settings(r=made)) as caller:
        ids = []
        for body, headers in given:
            assert (await caller.call("r", body, headers)).status == 202
            ids.append((await caller.heard_one()).id)
        return ids


async def test_a_captured_call_under_another_name_is_the_same_call() -> None:
    first, again, other = await calls(
        GITHUB,
        (BODY, github(BODY, **{"X-GitHub-Delivery": "d1"})),
        (BODY, github(BODY, **{"X-GitHub-Delivery": "d2"})),
        (BODY + b" ", github(BODY + b" ", **{"X-GitHub-Delivery": "d3"})),
    )
    assert first == again != other


async def test_a_signed_id_names_the_call() -> None:
    auth, headers, body, _ = STANDARD
    now = str(int(time.time()))

    def signed(id: str) -> dict[str, str]:
        key = base64.b64decode(auth["secret"].removeprefix("whsec_"))
        mac = hmac.new(key, f"{id}.{now}.".encode() + body, "sha256").digest()
        signature = "v1," + base64.b64encode(mac).decode()
        return {"webhook-id": id, "webhook-timestamp": now, "webhook-signature": signature}

    assert headers.keys() == signed("x").keys()
    one, again, other = await calls({"auth": auth}, (body, signed("m1")), (body, signed("m1")), (body, signed("m2")))
    assert (one, again, other) == ("r:m1", "r:m1", "r:m2")


async def test_a_retry_of_stripe_is_the_same_event_though_signed_anew() -> None:
    body = b'{"id": "evt_1", "type": "charge.succeeded"}'

    def signed(seconds: int) -> dict[str, str]:
        at = int(time.time()) - seconds
        return {"stripe-signature": f"t={at},v1={digest('s', f'{at}.'.encode() + body).hex()}"}

    one, again = await calls({"auth": {"scheme": "stripe", "secret": "s"}}, (body, signed(60)), (body, signed(0)))
    assert one == again == "r:evt_1"


async def test_the_same_alarm_of_a_trusted_caller_is_a_new_call_each_time() -> None:
    body = b'{"text": "down"}'
    one, other = await calls(BEARER, (body, TOKEN), (body, TOKEN))
    assert one != other


async def test_a_trusted_callers_own_id_names_its_call() -> None:
    one, again = await calls(BEARER, (HI, TOKEN | {"Idempotency-Key": "k1"}), (HI, TOKEN | {"Idempotency-Key": "k1"}))
    assert one == again == "r:k1"


async def test_an_id_that_is_none_is_not_taken_over() -> None:
    for id in ("a b", "../x", "x" * 300, "é"):
        [made] = await calls(BEARER, (HI, TOKEN | {"Idempotency-Key": id}))
        assert made.removeprefix("r:").isalnum()


async def test_a_call_that_comes_again_is_told_so_and_named_the_same() -> None:
    headers = github(BODY, **{"X-GitHub-Delivery": "d1"})
    async with serving(settings(gh=GITHUB)) as caller:
        first = await caller.call("gh", BODY, headers)
        again = await caller.call("gh", BODY, headers)
    assert first.body.keys() == {"run"}
    assert (again.status, again.body) == (202, first.body | {"duplicate": True})


async def test_slack_is_told_that_we_are_there() -> None:
    body = b'{"type": "url_verification", "challenge": "3eZbrw1a"}'
    now = str(int(time.time()))
    signature = "v0=" + digest("s", f"v0:{now}:".encode() + body).hex()
    async with serving(settings(r={"auth": {"scheme": "slack", "secret": "s"}})) as caller:
        answer = await caller.call("r", body, {"x-slack-request-timestamp": now, "x-slack-signature": signature})
        assert caller.heard.events.empty()
    assert (answer.status, answer.body) == (200, {"challenge": "3eZbrw1a"})


# --- a call with nothing in it


@pytest.mark.parametrize("body", [b"{}", b'{"text": ""}', b'{"text": " \\n\\t "}', b'{"text": null}'], ids=str)
async def test_a_call_with_nothing_to_do_in_it_starts_nothing(body: bytes) -> None:
    async with serving(settings(talk=BEARER)) as caller:
        answer = await caller.call("talk", body, TOKEN)
        assert caller.heard.events.empty()
    assert answer.status == 422
    assert "empty" in answer.body["error"]


async def test_a_blank_value_beside_words_of_the_route_is_left_out() -> None:
    async with serving(settings(talk=BEARER | {"prompt": "Say hello. {text}"})) as caller:
        assert (await caller.call("talk", b'{"text": "  "}', TOKEN)).status == 202
        assert (await caller.heard_one()).text == "Say hello. "


# --- what became of a call


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (Run("waiting"), {"state": "waiting", "answer": ""}),
        (Run("running"), {"state": "running", "answer": ""}),
        (Run("done", "It is *up*."), {"state": "done", "answer": "It is *up*."}),
        (Run("failed", problem="no model"), {"state": "failed", "answer": "", "problem": "no model"}),
    ],
    ids=str,
)
async def test_a_caller_may_ask_what_became_of_its_call(run: Run, told: dict[str, str]) -> None:
    async with serving(settings(talk=BEARER)) as caller:
        id = (await caller.call("talk", HI, TOKEN)).body["run"]
        caller.runs[f"talk:{id}"] = run
        answer = await caller.ask("talk", id, TOKEN)
    assert (answer.status, answer.body) == (200, {"run": id} | told)


async def test_only_who_could_have_called_is_told() -> None:
    async with serving(settings(talk=BEARER, gh=GITHUB, here=OPEN)) as caller:
        caller.runs = {f"{route}:r1": Run("done", "for us") for route in ("talk", "gh", "here")}
        refusals = [
            await caller.ask("talk", "r1", {}),
            await caller.ask("talk", "r1", {"authorization": "Bearer no"}),
            await caller.ask("gh", "r1", github(b"other")),
            await caller.ask("gh", "r1", github(b"")),
            await caller.ask("gh", "r1", github(b"gh/r2")),
            await caller.ask("here", "r1", {"host": "evil.example"}),
        ]
        signed = await caller.ask("gh", "r1", github(b"gh/r1"))
        local = await caller.ask("here", "r1", HOME)
    assert [answer.status for answer in refusals] == [401, 401, 401, 401, 401, 403]
    assert "for us" not in str([answer.body for answer in refusals])
    assert [signed.body["answer"], local.body["answer"]] == ["for us", "for us"]


async def test_a_run_of_another_route_or_of_none_is_not_found() -> None:
    async with serving(settings(talk=BEARER, other=BEARER)) as caller:
        caller.runs["other:r1"] = Run("done", "secret")
        unknown = await caller.ask("talk", "r1", TOKEN)
        nowhere = await caller.ask("nowhere", "r1", TOKEN)
    assert [unknown.status, nowhere.status] == [404, 404]
    assert "no such run" in unknown.body["error"]


async def test_a_run_is_asked_for_with_get_and_again_where_it_cannot_be_read() -> None:
    async with serving(settings(talk=BEARER)) as caller:
        caller.runs["talk:r1"] = StorageError("the disk is gone")
        posted = await caller.call("talk", HI, TOKEN, run="r1")
        unread = await caller.ask("talk", "r1", TOKEN)
    assert (posted.status, posted.headers["allow"]) == (405, "GET")
    assert (unread.status, unread.headers["retry-after"]) == (503, "5")


# --- answers


async def test_an_answer_has_its_receipt_at_once_and_the_same_again() -> None:
    adapter: Adapter = create("webhook", "", settings(gh=GITHUB))
    target = Address(platform="webhook", chat="gh", thread="d1")
    part = Part(Rendered("done", 4), key="part-9")
    assert await adapter.send(target, part) == await adapter.send(target, part)
    assert (await adapter.send(target, part)).message_id == "part-9"


# --- hostile


@pytest.mark.parametrize(
    "payload",
    [
        {"text": "\ud83d\0 </payload>", "type": "\ud83d"},
        {"text": {"type": {"type": []}}, "event": {"type": 5}, "action": {}},
        ["a", {"b": None}],
        "just text",
        5,
        None,
    ],
    ids=str,
)
async def test_any_json_is_a_payload(payload: object) -> None:
    made = BEARER | {"prompt": "{text} {event_type} {__raw__} {0}", "session": "{text}{type}"}
    async with serving(settings(talk=made)) as caller:
        assert (await caller.call("talk", json.dumps(payload).encode(), TOKEN)).status == 202
        event = await caller.heard_one()
    event.text.encode()
    assert Address.parse(str(event.origin)) == event.origin
