"""A model that asks again: what is busy after a pause, what was cut off or came to nothing at once more."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from gateway.contracts.model import Completed, Model, ModelPiece
from gateway.contracts.tool import ToolSpec
from gateway.errors import BadResponse, ContextOverflow, ModelBusy
from gateway.llm.streaming import speaking
from gateway.messages import Message, Retracted, TextDelta, Usage

log = logging.getLogger(__name__)

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
LONGEST_WAIT = 120.0
"""An endpoint that asks for more seconds than this is not waited for: the error goes up, where a fallback may be."""


class RetryingModel(Model):
    """
    Asks another model up to `tries` times.

    Pauses grow with full jitter (between nothing and twice as long each time), unless the endpoint says how long. An
    empty answer is asked for once more and then returned as it is. `sleep` and `chance` (from 0 to its argument) are
    there for tests.
    """

    def __init__(
        self,
        model: Model,
        tries: int = 3,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[float], float] = lambda top: random.uniform(0, top),
    ) -> None:
        self._model, self._tries = model, max(1, tries)
        self._sleep, self._chance = sleep, chance
        self._look()

    def _look(self) -> None:
        """Take over what the model has found out of itself meanwhile."""
        model = self._model
        self.name, self.window, self.max_tokens, self.demo = model.name, model.window, model.max_tokens, model.demo

    async def __aenter__(self) -> Self:
        await self._model.__aenter__()
        self._look()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._model.__aexit__(kind, error, trace)

    async def stream(self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> AsyncGenerator[ModelPiece]:
        spent, empty = Usage(), False
        for attempt in range(1, self._tries + 1):
            shown = False
            try:
                async with speaking(self._model, messages, tools) as pieces:
                    async for piece in pieces:
                        if isinstance(piece, Completed):
                            break
                        shown = isinstance(piece, TextDelta) or (shown and not isinstance(piece, Retracted))
                        yield piece
                    else:
                        raise BadResponse(f"{self._model.name} ended without an answer")
                self._look()
                spent += piece.usage
                if empty or attempt == self._tries or not _came_to_nothing(piece):
                    alone = piece.usage == spent
                    yield piece if alone else replace(piece, usage=spent, read=piece.prompt)
                    return
                empty, why, pause = True, "the answer was empty", 0.0
            except ContextOverflow:
                self._look()
                raise
            except (ModelBusy, BadResponse) as error:
                why, pause = str(error), self._pause(attempt, error)
                if attempt == self._tries or pause > LONGEST_WAIT:
                    raise
            log.warning("%s: %s; asked again in %.1f s (%d of %d)", self.name, why, pause, attempt + 1, self._tries)
            if shown:
                yield Retracted(why)
            await self._sleep(pause)

    def _pause(self, attempt: int, error: ModelBusy | BadResponse) -> float:
        jitter = self._chance(min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempt - 1)))
        # All who were told the same time would come back at the same moment.
        return error.retry_after + jitter if isinstance(error, ModelBusy) and error.retry_after is not None else jitter


def _came_to_nothing(answer: Completed) -> bool:
    """Say whether asking again may help: one that was filtered, or used up its tokens thinking, would come again."""
    return not answer.text.strip() and not answer.calls and answer.ending == "stop"
