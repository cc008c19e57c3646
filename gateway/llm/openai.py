"""
A model behind any OpenAI-compatible endpoint: messages in, pieces of the answer out.

The request goes through the client's plain `post` as bytes, and chunks come as plain JSON: the SDK's typed way costs
0.12 ms for each message of the history and 0.1 ms for each chunk, and trips over chunks that lack a field.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Self

import httpx2
from openai import (
    APIConnectionError,
    APIError,
    APIStatusError,
    APITimeoutError,
    AsyncOpenAI,
    AsyncStream,
    BadRequestError,
    Omit,
    UnprocessableEntityError,
)

from gateway.contracts.model import Model, ModelPiece
from gateway.contracts.tool import ToolSpec
from gateway.errors import BadResponse, ConfigError, ContextOverflow, ModelBusy, ModelError, ModelRefused
from gateway.llm.chunks import Answer
from gateway.llm.endpoint import Asking, Endpoint
from gateway.llm.faults import BrokenOff, ModelUnreachable, Refusal, fault
from gateway.llm.windows import DEFAULT, known_window, listed
from gateway.llm.wire import request_body
from gateway.messages import Message, TextDelta

log = logging.getLogger(__name__)

CONNECT = 10.0
"""Seconds after which an endpoint counts as unreachable."""
LISTING = 5.0
"""Seconds an endpoint may take to list its models: the gateway's start waits for it."""
SHOWN = 20
"""Models that a message lists."""
UNSUPPORTED = re.compile(
    r"unsupported|not support|unrecognized|unknown|unexpected|not permitted|not allowed|extra", re.I
)
FAILURES = (APIError, httpx2.HTTPError, httpx2.StreamError, ValueError, RecursionError)
"""
What a request or a stream raises; a chunk that is no JSON, or no UTF-8, raises a bare
`ValueError`, one nested too deep a `RecursionError`.
"""


class OpenAIModel(Model):
    """
    One model of one endpoint.

    Entering it asks the endpoint for what the settings leave open, the name or the window, but does not insist: an
    endpoint that is down is asked again by the first `stream`. `name` is "default" until it is known. `window` shrinks
    to what the endpoint says when it refuses a request that is too long, and never grows by it.
    """

    def __init__(self, client: AsyncOpenAI, endpoint: Endpoint, asking: Asking) -> None:
        self.endpoint = endpoint
        self.name = asking.model or "default"
        known = asking.window or known_window(asking.model)
        self.window = known or DEFAULT
        self.max_tokens = asking.max_tokens
        self._client, self._asking = client, asking
        # A server of one's own may be started with a smaller window than its model could have.
        self._open = not asking.model or (asking.window is None and (known is None or bool(endpoint.base_url)))
        self._asks = asyncio.Lock()
        self._left_out: set[str] = set()
        self._told: int | None = None
        # The SDK wants to hear with each request that there is no key.
        self._headers: dict[str, Any] = {} if endpoint.key.get_secret_value().strip() else {"Authorization": Omit()}

    async def __aenter__(self) -> Self:
        try:
            await self._settle()
        except ModelError as error:
            log.warning("%s; the gateway starts all the same", error)
        return self

    async def stream(self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> AsyncGenerator[ModelPiece]:
        try:
            await self._settle()
        except ConfigError as error:
            raise ModelRefused(str(error)) from None
        response = await self._send(messages, tools)
        taken = {call.id for message in messages for call in message.calls}
        answer = Answer(f"{len(messages)} {messages[-1].content}" if messages else "", taken)
        try:
            async with aclosing(self._chunks(response)) as chunks:
                async for chunk in chunks:
                    if text := answer.feed(chunk):
                        yield TextDelta(text)
        except FAILURES as error:
            if not answer.ended:
                raise self._reaction(error, begun=True) from None
        finally:
            await response.close()
        if text := answer.rest():
            yield TextDelta(text)
        yield answer.completed()

    async def models(self) -> dict[str, int | None]:
        """Ask the endpoint for its models and their windows."""
        try:
            timeout = min(self._asking.timeout, LISTING)
            body = await self._client.get(
                "/models", cast_to=object, options={"headers": self._headers, "timeout": timeout}
            )
        except FAILURES as error:
            raise self._reaction(error, begun=False) from None
        return listed(body)

    async def _settle(self) -> None:
        """Find out what the settings leave open, once; `ConfigError` where there is no telling which model is meant."""
        if not self._open:
            return
        async with self._asks:
            if not self._open:
                return
            try:
                models = await self.models()
            except ModelError as error:
                if not self._asking.model:
                    raise
                # Not every endpoint lists its models, and one that is down will say so again in a moment.
                log.debug("%s does not say how large the window of %s is: %s", self.endpoint.host, self.name, error)
                if isinstance(error, ModelBusy) and known_window(self.name) is None:
                    return
                models = {}
            self.name = self._asking.model or _only(self.endpoint, models)
            window = self._asking.window or models.get(self.name) or known_window(self.name) or self._guess()
            self.window = min(window, self._told or window)
            self._open = False

    def _guess(self) -> int:
        log.warning(
            "nobody says how large the window of %s is: %d tokens assumed; set model.context_length", self.name, DEFAULT
        )
        return DEFAULT

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"model": self.name, "stream": True}
        if "stream_options" not in self._left_out:
            options["stream_options"] = {"include_usage": True}
        if self._asking.max_tokens is not None:
            options["max_completion_tokens" if "max_tokens" in self._left_out else "max_tokens"] = (
                self._asking.max_tokens
            )
        if self._asking.temperature is not None and "temperature" not in self._left_out:
            options["temperature"] = self._asking.temperature
        return options

    async def _send(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> AsyncStream[object]:
        timeout = httpx2.Timeout(self._asking.timeout, connect=min(self._asking.timeout, CONNECT))
        while True:
            try:
                return await self._client.post(
                    "/chat/completions",
                    content=request_body(self._options(), messages, tools),
                    cast_to=object,
                    options={"headers": {"Content-Type": "application/json", **self._headers}, "timeout": timeout},
                    stream=True,
                    stream_cls=AsyncStream[object],
                )
            except (BadRequestError, UnprocessableEntityError) as error:
                if not self._learns(error):
                    raise self._reaction(error, begun=False) from None
            except FAILURES as error:
                raise self._reaction(error, begun=False) from None

    def _learns(self, error: APIStatusError) -> bool:
        """Leave out from now on what the endpoint does not know; say whether asking again is worth it."""
        words = Refusal(error.status_code, error.body).words
        named = {
            "stream_options": "stream_options" in words,
            "max_tokens": "max_completion_tokens" in words and bool(UNSUPPORTED.search(words)),
            "temperature": "temperature" in words and bool(UNSUPPORTED.search(words)),
        }
        fresh = {name for name, told in named.items() if told and name in self._options()} - self._left_out
        self._left_out |= fresh
        for name in fresh:
            log.warning("%s does not take %s: it is left out from now on", self.endpoint.host, name)
        return bool(fresh)

    async def _chunks(self, response: AsyncStream[object]) -> AsyncGenerator[object]:
        kind = response.response.headers.get("content-type", "").lower()
        if "json" in kind:  # some endpoints answer in one piece, or report an error with status 200
            body = json.loads(await response.response.aread())
            if isinstance(body, Mapping) and body.get("error"):
                raise self._fault(_inside(body))
            yield body
        elif "html" in kind:
            raise BadResponse(
                f"{self.endpoint.host} answered with a web page; check {self.endpoint.setting}.base_url,"
                " which usually ends in /v1"
            )
        else:
            async for chunk in response:
                yield chunk

    def _reaction(self, error: Exception, *, begun: bool) -> ModelError:
        """Translate what the SDK raised. Nothing of the request is repeated: it holds the key."""
        match error:
            case APIStatusError():
                return self._fault(Refusal(error.status_code, error.body, error.response.headers))
            case APIConnectionError() | httpx2.HTTPError() | httpx2.StreamError():
                return self._unreachable(error, begun=begun)
            case APIError():
                return self._fault(_inside(error.body or error.message))
            case _ if begun:
                return BadResponse(f"{self.endpoint.host} sent something that is not a chunk of an answer")
            case _:
                return ModelRefused(f"{self.endpoint.host} cannot be asked: {self.endpoint.quoted(str(error))}")

    def _fault(self, refusal: Refusal) -> ModelError:
        error = fault(self.endpoint, self.name, refusal)
        if isinstance(error, ContextOverflow) and error.limit is not None and error.limit < self.window:
            log.warning("%s takes %d tokens for %s, not %d", self.endpoint.host, error.limit, self.name, self.window)
            self.window = self._told = error.limit
        return error

    def _unreachable(self, error: Exception, *, begun: bool) -> ModelError:
        host = self.endpoint.host
        # Over aiohttp whatever goes wrong with a connection but a silence is a ConnectTimeout.
        if isinstance(error, APITimeoutError) and not isinstance(error.__cause__, httpx2.ConnectTimeout):
            return ModelBusy(f"{host} was silent for {self._asking.timeout:g} s")
        if begun:
            return BrokenOff(f"the connection to {host} broke in the middle of the answer")
        cause = _system_words(error) or self.endpoint.quoted(str(error.__cause__ or error))
        return ModelUnreachable(f"{host} cannot be reached" + (f" ({cause})" if cause else ""))


def _system_words(error: BaseException | None) -> str:
    """Return what the operating system says of a connection that failed, "" where it says nothing."""
    while error is not None:
        if isinstance(error, OSError) and error.errno:
            return os.strerror(error.errno) if error.errno > 0 else str(error.strerror)
        error = error.__cause__ or error.__context__
    return ""


def _inside(body: object) -> Refusal:
    """Read an error that came inside a stream; some carry the status they would have had as their code."""
    code = str(Refusal(0, body).error.get("code", ""))
    return Refusal(int(code) if code.isascii() and code.isdigit() and len(code) == 3 else 0, body)


def _only(endpoint: Endpoint, models: Mapping[str, object]) -> str:
    names, place = sorted(models), endpoint.model_setting
    if len(names) == 1:
        return names[0]
    if not names:
        raise ConfigError(f"{endpoint.host} lists no models; name one in {place}")
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    raise ConfigError(f"{endpoint.host} has several models; name one in {place}: {', '.join(names[:SHOWN])}{more}")
