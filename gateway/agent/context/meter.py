"""How full the window is: what the endpoint counted last, and what was estimated of what came since."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.contracts.tool import ToolSpec
from gateway.llm.tokens.calibration import Calibrations
from gateway.llm.tokens.messages import Count, estimate, estimate_tools
from gateway.llm.tokens.text import estimate_text
from gateway.messages import Message, Usage

Counts = dict[str, tuple[int, int]]


class Meter:
    """
    The tokens of one live session at one model; `estimated` is the uncorrected estimate of a whole request.

    `count` is the conversation's. `counts` holds, by model, what the endpoint counted last and what was estimated of
    that request; whoever makes the conversation another one clears it.
    """

    def __init__(
        self,
        calibrations: Calibrations,
        model: str,
        count: Count = estimate_text,
        counts: Counts | None = None,
    ) -> None:
        self.count = count
        self._calibrations, self._model = calibrations, model
        self._counts: Counts = {} if counts is None else counts
        self._prompt, self._specs, self._fixed = "", tuple[ToolSpec, ...](), -1

    @property
    def counted(self) -> int:
        """What the endpoint counted for the last request; 0 where it did not, or the conversation has changed since."""
        return self._counts.get(self._model, (0, 0))[0]

    def tokens(self, estimated: int) -> int:
        """Return about how many tokens a request takes as the endpoint counts."""
        known = self._calibrations.of(self._model)
        counted, at = self._counts.get(self._model, (0, 0))
        if counted and estimated >= at:
            return counted + known.corrected(estimated - at)
        return known.corrected(estimated)

    def fixed(self, prompt: str, specs: Sequence[ToolSpec]) -> int:
        """Return the uncorrected estimate of what goes with every request, made once as long as it is the same."""
        offered = tuple(specs)
        if self._fixed < 0 or prompt != self._prompt or offered != self._specs:
            self._prompt, self._specs = prompt, offered
            self._fixed = estimate_tools(offered, self.count) + estimate(Message("system", prompt), self.count)
        return self._fixed

    def corrected(self, estimated: int) -> int:
        """Return an estimate of a part as the endpoint would count it."""
        return self._calibrations.of(self._model).corrected(estimated)

    def learn(self, estimated: int, prompt: int) -> None:
        """Hear that the endpoint counted `prompt` tokens for a request; 0 says that it does not count."""
        if prompt:
            self._calibrations.learn(self._model, estimated, Usage(prompt=prompt))
            self._counts[self._model] = prompt, estimated

    def recall(self, estimated: int, prompt: int) -> None:
        """Hear what was counted before the conversation was read; whoever counted it has learnt from it."""
        self._counts[self._model] = prompt, estimated

    def forget(self) -> None:
        """Hear that the conversation is another one than was counted."""
        self._counts.clear()
