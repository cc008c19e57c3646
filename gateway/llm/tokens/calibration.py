"""What endpoints count, held against what was estimated: one factor for each model, learnt from each answer."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.messages import Usage

LEAST, MOST = 0.5, 2.0
"""A tokenizer that differs more than this from the estimate is not believed."""
STEP = 1.25
"""No answer moves the factor by more than this, so that one count that is wrong changes little."""
GAIN = 0.2
"""How much of the way to what an answer says is gone once there were many."""
TOO_SMALL = 200
"""Of a request of fewer tokens an endpoint's own preamble is the larger part."""
MODELS = 200
"""Models remembered; the one learnt of longest ago is forgotten."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The factor between what is estimated and what a model counts, and from how many answers it is known."""

    factor: float = 1.0
    answers: int = 0

    def after(self, estimated: int, usage: Usage) -> Calibration:
        """Return the calibration after an answer; `estimated` is the request's estimate before correction."""
        if min(estimated, usage.prompt) < TOO_SMALL:
            return self
        told = min(max(usage.prompt / estimated, LEAST), MOST)
        step = min(max(told / self.factor, 1 / STEP), STEP)
        gain = max(GAIN, 1 / (self.answers + 1))
        factor = min(max(self.factor * step**gain, LEAST), MOST)
        return Calibration(factor, self.answers + 1)

    def corrected(self, estimated: int) -> int:
        """Return an estimate as the model would count it."""
        return round(estimated * self.factor)


class Calibrations:
    """The calibrations of a process, by the name of the model. A new process learns anew within a few answers."""

    def __init__(self) -> None:
        self._known: dict[str, Calibration] = {}

    def of(self, model: str) -> Calibration:
        """Return what is known of a model; of one never asked the estimate stands as it is."""
        return self._known.get(model, Calibration())

    def learn(self, model: str, estimated: int, usage: Usage) -> None:
        """Take an answer's usage into account; `estimated` is the request's estimate before correction."""
        after = self.of(model).after(estimated, usage)
        self._known.pop(model, None)
        self._known[model] = after
        if len(self._known) > MODELS:
            del self._known[next(iter(self._known))]
