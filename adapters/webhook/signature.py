"""Whether a caller is who it says: the route's rule, headers and the raw body in; a sentence if not. Pure.

A signature is over the bytes as they came, and is compared in constant time. Where it covers a time, that may be
`SKEW_SECONDS` off, so that a captured call cannot be sent again later.

Formats: docs.github.com/webhooks (X-Hub-Signature-256), docs.gitlab.com (X-Gitlab-Token), docs.stripe.com/webhooks
(Stripe-Signature), api.slack.com/authentication/verifying-requests, docs.svix.com, standardwebhooks.com.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from adapters.webhook.settings import Hmac, Open, Signed

SKEW_SECONDS: Final = 300.0

MISSING: Final = "The signature is missing."
WRONG: Final = "The signature does not match."
STALE: Final = "The signature's time is more than five minutes off."


class Forged(Exception):
    """The caller has not proven who it is; the text is the sentence it gets."""


@dataclass(frozen=True, slots=True)
class Proof:
    """
    What is certain about an accepted call.

    `id` and `time` are what the signature covers; empty where it covers neither. `replayable` is true where only the
    body is signed, so that a captured call could be sent again under another name.
    """

    id: str = ""
    time: str = ""
    replayable: bool = False


def verify(auth: Signed | Hmac | Open, headers: Mapping[str, str], body: bytes, now: float) -> Proof:
    """Return what is proven or raise `Forged`. `headers` have lower-case names."""
    if isinstance(auth, Open):
        return Proof()
    secret = auth.secret.get_secret_value().encode("utf-8", "surrogatepass")
    if isinstance(auth, Hmac):
        return _hmac(auth, secret, headers, body, now)
    return CHECKS[auth.scheme](secret, headers, body, now)


def _github(secret: bytes, headers: Mapping[str, str], body: bytes, now: float) -> Proof:
    given = _required(headers, "x-hub-signature-256")
    _compare([_hex(given.removeprefix("sha256="))], _digest(secret, body))
    return Proof(replayable=True)


def _gitlab(secret: bytes, headers: Mapping[str, str], body: bytes, now: float) -> Proof:
    _compare([_required(headers, "x-gitlab-token").encode("latin-1", "replace")], secret)
    return Proof()


def _bearer(secret: bytes, headers: Mapping[str, str], body: bytes, now: float) -> Proof:
    scheme, _, token = _required(headers, "authorization").partition(" ")
    if scheme.lower() != "bearer":
        raise Forged(MISSING)
    _compare([token.strip().encode("latin-1", "replace")], secret)
    return Proof()


def _stripe(secret: bytes, headers: Mapping[str, str], body: bytes, now: float) -> Proof:
    pairs = [part.strip().partition("=") for part in _required(headers, "stripe-signature").split(",")]
    time = next((value for key, _, value in pairs if key == "t"), "")
    _compare(
        [_hex(value) for key, _, value in pairs if key == "v1"],
        _digest(secret, time.encode("latin-1", "replace") + b"." + body),
    )
    return Proof(time=_fresh(time, now))


def _slack(secret: bytes, headers: Mapping[str, str], body: bytes, now: float) -> Proof:
    time = _required(headers, "x-slack-request-timestamp")
    given = _required(headers, "x-slack-signature").removeprefix("v0=")
    _compare([_hex(given)], _digest(secret, b"v0:" + time.encode("latin-1", "replace") + b":" + body))
    return Proof(time=_fresh(time, now))


def _standard(prefix: str) -> Callable[[bytes, Mapping[str, str], bytes, float], Proof]:
    """Return the check of Standard Webhooks, whose headers Svix calls by another name."""

    def check(secret: bytes, headers: Mapping[str, str], body: bytes, now: float) -> Proof:
        id, time = _required(headers, f"{prefix}-id"), _required(headers, f"{prefix}-timestamp")
        versions = [part.partition(",") for part in _required(headers, f"{prefix}-signature").split()]
        given = [_base64(value) for version, _, value in versions if version == "v1"]
        signed = f"{id}.{time}.".encode("latin-1", "replace") + body
        _compare(given, _digest(_standard_key(secret), signed))
        return Proof(id=id, time=_fresh(time, now))

    return check


def _standard_key(secret: bytes) -> bytes:
    """Return the bytes behind ``whsec_…``, or the text itself where it is no base64."""
    return _base64(secret.removeprefix(b"whsec_").decode("utf-8", "surrogatepass")) or secret


def _hmac(auth: Hmac, secret: bytes, headers: Mapping[str, str], body: bytes, now: float) -> Proof:
    given = _required(headers, auth.header)
    given = given.removeprefix(f"{auth.algorithm}=")
    time = _required(headers, auth.timestamp_header) if auth.timestamp_header else ""
    signed = time.encode("latin-1", "replace") + b"." + body if auth.timestamp_header else body
    read = _hex if auth.encoding == "hex" else _base64
    _compare([read(given)], _digest(secret, signed, auth.algorithm))
    return Proof(time=_fresh(time, now)) if auth.timestamp_header else Proof(replayable=True)


CHECKS: Final[Mapping[str, Callable[[bytes, Mapping[str, str], bytes, float], Proof]]] = {
    "github": _github,
    "gitlab": _gitlab,
    "bearer": _bearer,
    "stripe": _stripe,
    "slack": _slack,
    "svix": _standard("svix"),
    "standard-webhooks": _standard("webhook"),
}


def _required(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name, "").strip()
    if not value:
        raise Forged(MISSING)
    return value


def _digest(secret: bytes, signed: bytes, algorithm: str = "sha256") -> bytes:
    return hmac.new(secret, signed, getattr(hashlib, algorithm)).digest()


def _compare(given: list[bytes], expected: bytes) -> None:
    """Take any of several signatures, as there are two while a secret is being changed."""
    if not any(hmac.compare_digest(each, expected) for each in given):
        raise Forged(WRONG)


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError, ValueError):
        return b""


def _fresh(time: str, now: float) -> str:
    """Return the time; it was signed, so that only its age is in question."""
    if not (time.isascii() and time.isdigit() and len(time) <= 12 and abs(now - int(time)) <= SKEW_SECONDS):
        raise Forged(STALE)
    return time
