"""Signatures: what the services document, to the letter, and everything close to it."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from adapters.webhook.settings import Hmac, Open, Signed
from adapters.webhook.signature import Forged, Proof, verify

AUTH: TypeAdapter[Signed | Hmac | Open] = TypeAdapter(Signed | Hmac | Open)
NOW = 1_795_000_000

# docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries
GITHUB = (
    {"scheme": "github", "secret": "It's a Secret to Everybody"},
    {"x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
    b"Hello, World!",
    NOW,
)
# api.slack.com/authentication/verifying-requests-from-slack
SLACK_BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&"
    b"channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&"
    b"response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&"
    b"trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)
SLACK = (
    {"scheme": "slack", "secret": "8f742231b10e8888abcd99yyyzzz85a5"},
    {
        "x-slack-request-timestamp": "1531420618",
        "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    },
    SLACK_BODY,
    1531420618,
)
# docs.svix.com/receiving/verifying-payloads/how-manual
STANDARD = (
    {"scheme": "standard-webhooks", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
    {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
    b'{"test": 2432232314}',
    1614265330,
)
SVIX = (
    {"scheme": "svix", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
    {name.replace("webhook", "svix"): value for name, value in STANDARD[1].items()},
    *STANDARD[2:],
)
GITLAB = ({"scheme": "gitlab", "secret": "tökén"}, {"x-gitlab-token": "tökén".encode().decode("latin-1")}, b"{}", NOW)
BEARER = ({"scheme": "bearer", "secret": "abc"}, {"authorization": "Bearer abc"}, b"{}", NOW)
BODY = '{ "b":1,\n"a": "é 👋 \\u00e9" }\n'.encode("utf-8-sig")


def digest(secret: str, signed: bytes, algorithm: str = "sha256") -> bytes:
    return hmac.new(secret.encode(), signed, getattr(hashlib, algorithm)).digest()


STRIPE = (
    {"scheme": "stripe", "secret": "whsec_abc"},
    {"stripe-signature": f"t={NOW},v1={'0' * 64},v1={digest('whsec_abc', f'{NOW}.'.encode() + BODY).hex()},v0=x"},
    BODY,
    NOW,
)
PLAIN_HMAC = (
    {"scheme": "hmac", "secret": "k", "header": "X-Sign"},
    {"x-sign": digest("k", BODY).hex().upper()},
    BODY,
    NOW,
)
TIMED_HMAC = (
    {"scheme": "hmac", "secret": "k", "header": "X-Sign", "algorithm": "sha512", "encoding": "base64"}
    | {"timestamp_header": "X-Time"},
    {
        "x-sign": base64.b64encode(digest("k", f"{NOW}.".encode() + BODY, "sha512")).decode(),
        "x-time": str(NOW),
    },
    BODY,
    NOW,
)

Case = tuple[dict[str, Any], dict[str, str], bytes, int]
CASES: dict[str, Case] = {
    "github": GITHUB,
    "slack": SLACK,
    "standard-webhooks": STANDARD,
    "svix": SVIX,
    "gitlab": GITLAB,
    "bearer": BEARER,
    "stripe": STRIPE,
    "hmac": PLAIN_HMAC,
    "hmac with a time": TIMED_HMAC,
}
SIGNED = sorted(CASES.keys() - {"gitlab", "bearer"})
TIMED = sorted(set(SIGNED) - {"github", "hmac"})
MAIN_HEADER = {
    "github": "x-hub-signature-256",
    "slack": "x-slack-signature",
    "standard-webhooks": "webhook-signature",
    "svix": "svix-signature",
    "gitlab": "x-gitlab-token",
    "bearer": "authorization",
    "stripe": "stripe-signature",
    "hmac": "x-sign",
    "hmac with a time": "x-sign",
}


def check(case: Case) -> Proof:
    auth, headers, body, now = case
    return verify(AUTH.validate_python(auth), headers, body, now)


@pytest.mark.parametrize("name", CASES)
def test_what_the_service_documents_is_taken(name: str) -> None:
    assert isinstance(check(CASES[name]), Proof)


@pytest.mark.parametrize("name", CASES)
def test_a_missing_header_is_refused(name: str) -> None:
    auth, headers, body, now = CASES[name]
    for missing in headers:
        with pytest.raises(Forged):
            check((auth, {key: value for key, value in headers.items() if key != missing}, body, now))


@pytest.mark.parametrize("name", SIGNED)
def test_any_other_byte_in_the_body_is_refused(name: str) -> None:
    auth, headers, body, now = CASES[name]
    for other in (body + b"\n", body[:-1], body.replace(b"e", b"E", 1), b""):
        with pytest.raises(Forged, match="does not match"):
            check((auth, headers, other, now))


@pytest.mark.parametrize("name", CASES)
def test_another_secret_is_refused(name: str) -> None:
    auth, headers, body, now = CASES[name]
    with pytest.raises(Forged, match="does not match"):
        check((auth | {"secret": "another"}, headers, body, now))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "wrong",
    [
        "",
        " ",
        "x",
        "sha256=",
        "sha256=zz",
        "v1,",
        "t=,v1=",
        "Bearer ",
        "é" * 64,
        "\xff" * 64,
        "0" * 64,
        "," * 5000,
        "v0=v0=v0=",
    ],
)
def test_a_signature_of_any_wrong_form_is_refused(name: str, wrong: str) -> None:
    auth, headers, body, now = CASES[name]
    with pytest.raises(Forged):
        check((auth, headers | {MAIN_HEADER[name]: wrong}, body, now))


@given(st.sampled_from(sorted(CASES)), st.text(st.characters(max_codepoint=255), max_size=80))
def test_no_other_value_passes_and_none_breaks_it(name: str, value: str) -> None:
    auth, headers, body, now = CASES[name]
    with pytest.raises(Forged):
        check((auth, headers | {MAIN_HEADER[name]: value}, body, now))


@pytest.mark.parametrize("name", TIMED)
@pytest.mark.parametrize("seconds", [-301, 301, 10_000_000])
def test_a_captured_call_is_refused_later(name: str, seconds: int) -> None:
    auth, headers, body, now = CASES[name]
    with pytest.raises(Forged, match="five minutes"):
        check((auth, headers, body, now + seconds))


@pytest.mark.parametrize("name", TIMED)
@pytest.mark.parametrize("seconds", [-299, 299])
def test_a_clock_may_be_somewhat_off(name: str, seconds: int) -> None:
    auth, headers, body, now = CASES[name]
    assert check((auth, headers, body, now + seconds)).time


@pytest.mark.parametrize("time", ["soon", "-5", "1e9", "１７９５０００００００", "9" * 5000, "1795000000.5"])
def test_a_time_that_is_none_is_refused_though_it_is_signed(time: str) -> None:
    auth = {"scheme": "hmac", "secret": "k", "header": "x-sign", "timestamp_header": "x-time"}
    signed = time.encode("latin-1", "replace") + b"." + BODY
    with pytest.raises(Forged, match="five minutes"):
        check((auth, {"x-sign": digest("k", signed).hex(), "x-time": time}, BODY, NOW))


@pytest.mark.parametrize("name", ["svix", "standard-webhooks"])
def test_the_id_is_signed_too(name: str) -> None:
    auth, headers, body, now = CASES[name]
    assert check(CASES[name]).id == "msg_p5jXN8AQM9LWM0D4loKWxJek"
    key = next(key for key in headers if key.endswith("-id"))
    with pytest.raises(Forged):
        check((auth, headers | {key: "msg_other"}, body, now))


def test_one_of_several_signatures_is_enough_while_a_secret_changes() -> None:
    auth, headers, body, now = STANDARD
    both = f"v1,{base64.b64encode(b'x' * 32).decode()} {headers['webhook-signature']} v2,abc"
    assert check((auth, headers | {"webhook-signature": both}, body, now)).id


@pytest.mark.parametrize("name", ["github", "hmac"])
def test_where_only_the_body_is_signed_that_is_said(name: str) -> None:
    assert check(CASES[name]).replayable


def test_a_route_without_proof_proves_nothing() -> None:
    assert verify(Open(scheme="none"), {}, b"", NOW) == Proof()
