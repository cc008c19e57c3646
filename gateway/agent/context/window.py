"""What of a conversation goes to the model in a turn, and what is done so that it fits the model's window."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Literal, Protocol

from gateway.agent.history import later_half
from gateway.contracts.model import Completed
from gateway.messages import Compressing, CompressionEnded, Message, Notice

LEFT_OUT = "The conversation is longer than the model's window, so its oldest part was left out of this request."

Occasion = Literal["before turn", "after answer", "overflow", "idle", "prune", "command"]
"""Why a conversation is compressed. The values are stored."""
Told = Compressing | CompressionEnded | Notice


class Window(Protocol):
    """`shorter` says, after `overflowed`, whether the next request is; `unsaved` how many of the last have no row."""

    shorter: bool

    @property
    def prompt(self) -> str:
        """The system's prompt as it goes out."""

    def request(self) -> Sequence[Message]:
        """Return what goes out behind the prompt, once for each request."""

    @property
    def estimated(self) -> int:
        """The uncorrected estimate of the next request in tokens."""

    def add(self, said: Sequence[Message]) -> None:
        """Add what is said in this turn."""

    def settle(self) -> None:
        """Put results in the order of their calls, once every call has its own."""

    def answered(self, answer: Completed, estimated: int) -> int:
        """
        Hear what the endpoint counted for a request with this uncorrected estimate.

        Return it where that was the whole conversation, else 0.
        """

    def may_be_full(self) -> bool:
        """Say whether trouble that an endpoint does not explain may be that the request was too long."""

    def make_room(self, cause: Occasion, unsaved: int) -> AsyncIterator[Told]:
        """Do what is due before a request."""

    def overflowed(self, unsaved: int, *, certain: bool) -> AsyncIterator[Told]:
        """
        Make the next request shorter after one that was too long.

        Where that is not certain it may as well be an outage: nothing is lost for it, and nobody hears of it.
        """


class FixedWindow:
    """A conversation that is only looked at: where it does not fit, the newer half goes out."""

    def __init__(self, prompt: str, messages: Sequence[Message]) -> None:
        self.prompt = prompt
        self._messages: list[Message] = list(messages)
        self.estimated = 0
        self.shorter = False

    def request(self) -> Sequence[Message]:
        """Return what there is."""
        return tuple(self._messages)

    def add(self, said: Sequence[Message]) -> None:
        """Add what is said."""
        self._messages += said

    def settle(self) -> None:
        """Do nothing: nothing was begun before."""

    def answered(self, answer: Completed, estimated: int) -> int:
        """Hear of an answer, which changes nothing."""
        return 0

    def may_be_full(self) -> bool:
        """Say that nobody measures."""
        return False

    async def make_room(self, cause: Occasion, unsaved: int) -> AsyncIterator[Told]:
        """Do nothing."""
        for told in tuple[Told, ...]():
            yield told

    async def overflowed(self, unsaved: int, *, certain: bool) -> AsyncIterator[Told]:
        """Leave out the older half."""
        rest = later_half(self._messages)
        self.shorter = bool(rest)
        if rest:
            self._messages = rest
            yield Notice(LEFT_OUT)
