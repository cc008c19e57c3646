"""
What the clients of memory services share: how a service is asked over HTTP, and the sentence that says what went wrong.

In: a method, a path and JSON values. Out: what the answer's JSON holds, or a `ToolError` that names the host and what
to do, and never a key.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpx2
import orjson

from gateway.contracts.resource import Resource
from gateway.errors import ConfigError, ToolError
from gateway.llm.faults import retry_after
from gateway.toolkit.limits import brief

PATIENCE = httpx2.Timeout(30.0, connect=5.0)
PAUSES = (0.5, 1.0)
"""Seconds before the second and the third try."""
LONGEST_PAUSE = 5.0
"""Seconds: a service that asks for more is not waited for."""
AGAIN = {429, 502, 503, 504}
"""What a service answers that has done nothing."""
KEY = re.compile(r"[\x21-\x7e]*")
JSON = {"Content-Type": "application/json", "Accept": "application/json"}
NO_CONNECTION = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


class Missing(ToolError):
    """The service knows nothing under this name."""


@dataclass(frozen=True, slots=True)
class Place:
    """A service: its name for people, its address, and the settings that key and address come from."""

    name: str
    url: str
    key_setting: str
    url_setting: str

    @property
    def host(self) -> str:
        """Return the host and port, without any user and password."""
        parts = urlsplit(self.url)
        return f"{self.name} ({parts.netloc.rpartition('@')[2]})"

    def check(self, key: str) -> None:
        """Raise `ConfigError` for an address or a key that no request can be made with."""
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ConfigError(
                f"{self.url_setting}: not an address", hint="write it as https://host or http://host:port"
            )
        if not KEY.fullmatch(key):
            raise ConfigError(f"{self.key_setting}: holds characters that no key has", hint="copy it again")

    def refusal(self, status: int, said: str = "", wait: float | None = None) -> ToolError:
        """Say what a status other than success means."""
        if status in {401, 403}:
            return ToolError(f"{self.host} does not accept the key ({status}): the owner must set {self.key_setting}")
        if status == 429:
            later = f"in {wait:g} s" if wait else "later"
            return ToolError(f"{self.host} has had too many requests (429): try again {later}")
        if status >= 500:
            return ToolError(f"{self.host} has trouble of its own ({status}): try again later")
        if status == 404:
            return Missing(f"{self.host} knows nothing of this (404): look for it again, or check {self.url_setting}")
        words = f": {brief(said, 200)}" if said else ""
        return ToolError(f"{self.host} refuses the request ({status}){words}")

    def unreachable(self) -> ToolError:
        """Say that no connection came about, or that one was cut."""
        return ToolError(f"{self.host} cannot be reached: try again later, or check {self.url_setting}")

    def silent(self) -> ToolError:
        """Say that the answer took too long."""
        return ToolError(f"{self.host} took too long to answer: try again later")

    def garbled(self) -> ToolError:
        """Say that an answer is none of this service."""
        return ToolError(f"{self.host} answers, but not as {self.name} does: check {self.url_setting}")


class Service(Resource):
    """
    An address and the headers that open it. The client is made on entering, since its certificates take 80 ms to read.

    Asked again after `pauses` where the service has certainly done nothing: busy, not there, no connection.
    """

    def __init__(self, place: Place, headers: Mapping[str, str], *, pauses: Sequence[float] = PAUSES) -> None:
        self.place, self._headers, self._pauses = place, headers, pauses
        self._client: httpx2.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        self._client = await asyncio.to_thread(self._made)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _made(self) -> httpx2.AsyncClient:
        verify = True if self.place.url.startswith("https://") else SSLContext(PROTOCOL_TLS_CLIENT)
        return httpx2.AsyncClient(
            base_url=self.place.url.rstrip("/"), headers=dict(self._headers), timeout=PATIENCE, verify=verify
        )

    async def ask(
        self, method: str, path: str, json: object = None, query: Mapping[str, str | int] | None = None
    ) -> Any:
        """Return the JSON of the answer, None for an empty one."""
        for pause in self._pauses:
            try:
                response = await self._once(method, path, json, query)
            except NO_CONNECTION:
                await asyncio.sleep(pause)
                continue
            wait = retry_after(response.headers, datetime.now(UTC)) or 0.0
            if response.status_code not in AGAIN or wait > LONGEST_PAUSE:
                return self._read(response)
            await asyncio.sleep(max(pause, wait))
        try:
            return self._read(await self._once(method, path, json, query))
        except NO_CONNECTION:
            raise self.place.unreachable() from None

    async def _once(
        self, method: str, path: str, json: object, query: Mapping[str, str | int] | None
    ) -> httpx2.Response:
        assert self._client is not None, "not entered"
        content = None if json is None else orjson.dumps(json)
        try:
            return await self._client.request(method, path, content=content, params=query, headers=JSON)
        except NO_CONNECTION:
            raise
        except httpx2.TimeoutException:
            raise self.place.silent() from None
        except httpx2.HTTPError:
            raise self.place.unreachable() from None

    def _read(self, response: httpx2.Response) -> Any:
        try:
            answer = orjson.loads(response.content) if response.content else None
        except orjson.JSONDecodeError:
            if response.is_success or response.status_code == HTTPStatus.NOT_FOUND:
                raise self.place.garbled() from None
            answer = None
        if response.is_success:
            return answer
        said = answer.get("detail") or answer.get("message") or "" if isinstance(answer, dict) else ""
        wait = retry_after(response.headers, datetime.now(UTC))
        raise self.place.refusal(response.status_code, said if isinstance(said, str) else "", wait)
