"""The password of the pages: a browser that has given it gets a cookie that proves it, and nothing is stored.

The proof is bound to the browser's own secret and to the password, so another browser cannot use it and a new password
ends every login. How often one may guess is limited per address.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import math
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from gateway.web.security import refusal

WRONG = "This is not the password."
TOO_MANY = "Too many wrong passwords; try again in {wait} s."
LOGIN_DAYS = 30
FREE_GUESSES = 5
LONGEST_WAIT = 60.0
KNOWN_PEERS = 1024


class Password:
    """The password, as a key with which proofs are made and checked."""

    def __init__(self, text: str, *, clock: Callable[[], float] = time.time) -> None:
        # Slow on purpose: a stolen proof is worth as much work to a guesser as a stolen hash would be.
        self._key = self._derive(text)
        self._clock = clock

    @staticmethod
    def _derive(text: str) -> bytes:
        return hashlib.scrypt(text.encode("utf-8", "surrogatepass"), salt=b"hermes-gateway web", n=2**14, r=8, p=1)

    def matches(self, guess: str) -> bool:
        """Compare; takes some 50 ms of CPU, so call it in a thread."""
        return hmac.compare_digest(self._derive(guess), self._key)

    def prove(self, browser: str) -> str:
        """Make the proof that the browser with this secret has given the password."""
        return self._signed(browser, str(int(self._clock())))

    def proven(self, browser: str, proof: str) -> bool:
        since = proof.partition(".")[0]
        if not browser or not since.isascii() or not since.isdigit() or len(since) > 12:
            return False
        fresh = 0 <= self._clock() - int(since) <= LOGIN_DAYS * 86_400
        return fresh and hmac.compare_digest(self._signed(browser, since).encode(), proof.encode("utf-8", "replace"))

    def _signed(self, browser: str, since: str) -> str:
        said = f"{since}.{browser}".encode("utf-8", "surrogatepass")
        return f"{since}.{hmac.new(self._key, said, hashlib.sha256).hexdigest()}"


class Guesses:
    """How long an address has to wait before its next guess: nothing at first, then twice as long each time."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._peers: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._clock = clock

    def wait(self, peer: str) -> float:
        """Return the seconds this address still has to wait."""
        _, until = self._peers.get(peer, (0, 0.0))
        return max(0.0, until - self._clock())

    def failed(self, peer: str) -> None:
        count = self._peers.pop(peer, (0, 0.0))[0] + 1
        pause = min(LONGEST_WAIT, 2.0 ** (count - FREE_GUESSES)) if count >= FREE_GUESSES else 0.0
        self._peers[peer] = count, self._clock() + pause
        while len(self._peers) > KNOWN_PEERS:
            self._peers.popitem(last=False)

    def succeeded(self, peer: str) -> None:
        self._peers.pop(peer, None)


class Programs:
    """
    Programs keep no cookies, so they send the password along: as HTTP Basic with any name, or as a Bearer token.

    A browser's page never sends it, so this opens only what changes nothing and a program may want to read.
    """

    def __init__(self, password: str, guesses: Guesses) -> None:
        self._password = password.encode("utf-8", "surrogatepass")
        self._guesses = guesses

    def refuse(self, request: Request) -> Response | None:
        """Return what a program hears whose password is wrong; None where it is right."""
        peer = peer_of(request)
        if wait := math.ceil(self._guesses.wait(peer)):
            return refusal(request.scope, 429, TOO_MANY.format(wait=wait), {"retry-after": str(wait)})
        given = _given(request.headers.get("authorization", ""))
        if not hmac.compare_digest(given, self._password):
            self._guesses.failed(peer)
            return refusal(request.scope, 401, WRONG, {"www-authenticate": 'Basic realm="hermes-gateway"'})
        self._guesses.succeeded(peer)
        return None


def _given(authorization: str) -> bytes:
    """Return the password in the header, empty where there is none."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip().encode("latin-1", "replace")
    try:
        return base64.b64decode(value, validate=True).partition(b":")[2] if scheme.lower() == "basic" else b""
    except (binascii.Error, ValueError):
        return b""


def peer_of(request: Request) -> str:
    return request.client.host if request.client else ""
