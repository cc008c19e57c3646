"""A model made of models: asks the next where one fails in a way that another may not."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from gateway.contracts.model import Model, ModelPiece
from gateway.contracts.tool import ToolSpec
from gateway.errors import AuthFailed, BadResponse, ContextOverflow, ModelBusy
from gateway.llm.faults import ModelUnknown
from gateway.llm.streaming import speaking
from gateway.messages import Message, Retracted, TextDelta

log = logging.getLogger(__name__)


class FallbackModel(Model):
    """
    Asks the first model, and the others in order where it fails; the next call begins with the first again.

    `name` and `window` are the first's. A conversation too long for one that stands in is `ContextOverflow` as ever.
    """

    def __init__(self, *models: Model) -> None:
        self._models = models
        self._stack = AsyncExitStack()
        self._look()

    def _look(self) -> None:
        first = self._models[0]
        self.name, self.window, self.max_tokens, self.demo = first.name, first.window, first.max_tokens, first.demo

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for model in self._models:
                await stack.enter_async_context(model)
            self._stack = stack.pop_all()
        self._look()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def stream(self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> AsyncGenerator[ModelPiece]:
        *others, last = self._models
        for model in others:
            shown = False
            try:
                async with speaking(model, messages, tools) as pieces:
                    async for piece in pieces:
                        shown = isinstance(piece, TextDelta) or (shown and not isinstance(piece, Retracted))
                        yield piece
                self._look()
                return
            except ContextOverflow:
                self._look()
                raise
            except (ModelBusy, AuthFailed, BadResponse, ModelUnknown) as error:
                log.warning("%s does not answer, the next model is asked: %s", model.name, error)
                why = str(error)
            if shown:
                yield Retracted(why)
        async with speaking(last, messages, tools) as pieces:
            async for piece in pieces:
                yield piece
        self._look()
