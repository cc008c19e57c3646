"""ContextEngine: who decides what of a long conversation the model still sees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Literal

from gateway.contracts.model import Model
from gateway.contracts.tool import ToolSpec
from gateway.messages import Message, Usage


@dataclass(frozen=True, slots=True)
class Row:
    """
    A message in view and the id of its row, 0 for what no row holds: a summary, or what is not stored yet.

    `message` is what the model is shown, which may be shorter than what the row holds. `summary` says that it stands
    for messages that were compressed; what a text looks like says nothing, since anybody can write it.
    """

    id: int
    message: Message
    summary: bool = False

    @property
    def asks(self) -> bool:
        """Say whether a person wrote this: a summary in a user's role is nobody's words."""
        return self.message.role == "user" and not self.summary and bool(self.message.text.strip())

    @property
    def visible(self) -> bool:
        """Say whether this is an answer that a person has read."""
        return self.message.role == "assistant" and not self.summary and bool(self.message.text.strip())


@dataclass(frozen=True, slots=True)
class View:
    """
    What a compression makes of the rows, as it is stored; the rows stay as they are.

    `hidden` are the ids of rows that are not shown, `shown` is what others are shown as, by id. `summary` is the whole
    text of the message that stands for the hidden ones ("" for a view that only shortens), with the marks around it
    that `framed` makes; it stands behind the row with the id `after` and all before that, 0 for first of all. What else
    hides rows later does not disturb a view.
    """

    hidden: frozenset[int] = frozenset()
    shown: Mapping[int, Message] = field(default_factory=dict)
    summary: str = ""
    after: int = 0


@dataclass(frozen=True, slots=True)
class Past:
    """
    A conversation as an engine is shown it: its rows in view, and about how many tokens each takes.

    `fixed` are the tokens of the prompt and the tools, which go with every request. These are estimates; `factor` is
    what to multiply them by to have them as the model's endpoint counts, and `counted` the whole as it counts.
    """

    rows: Sequence[Row]
    tokens: Sequence[int]
    fixed: int = 0
    factor: float = 1.0
    counted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """
    How a conversation is to be compressed.

    `focus` is what a person wants kept above all, `keep` how many of the last exchanges stay to the letter (None: as
    many as the settings say), `asked` that a person asked for it. `memory` is what a memory service wants kept.
    `again` says that something of the conversation was compressed before, and `strikes` how many of the last
    compressions did not bring it below the threshold; `failures` are the last failures in a row, all of one `cause`.
    `models` may write a summary: each is asked where the one before it fails; the last is the conversation's own. `why`
    says why none may be asked, where there are none.
    Where it is not `certain` that it has to be shorter only a summary will do, and no failure is worth a word.
    """

    models: Sequence[Model]
    focus: str = ""
    keep: int | None = None
    asked: bool = False
    memory: str = ""
    again: bool = False
    strikes: int = 0
    cause: str = ""
    failures: int = 0
    why: str = ""
    certain: bool = True


Outcome = Literal["summary", "fallback", "pruned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compressed:
    """
    A compressed conversation: what to store of it, and its rows in view, ``viewed(before, [view])``.

    `outcome` says how it came about: a model's summary, one put together without a model, or nothing but shorter
    results of tools. `writer` is the model of a summary and `usage` what it took. `score` from 0 to 1 is how much of
    what matters it says, None where nobody looked. `cause` and `reason` say what was wrong where a fallback, or
    another model, had to do, and `pause` for how many seconds no other automatic one should be tried.
    """

    view: View
    rows: tuple[Row, ...]
    outcome: Outcome
    writer: str = ""
    usage: Usage = Usage()
    score: float | None = None
    cause: str = ""
    reason: str = ""
    pause: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """
    A conversation that was left as it is.

    `failed` says that something was wrong, and not that there was nothing to compress: then `cause` is a word for it,
    `reason` what it was in a sentence, and `pause` for how many seconds no other automatic one should be tried.
    """

    reason: str
    failed: bool = False
    cause: str = ""
    pause: float = 0.0
    writer: str = ""
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """
    What is stored of a compression that was tried: see `Compressed`. Tokens are of a whole request, messages of rows,
    each before and after.

    `occasion` is why it was tried, `outcome` that of `Compressed`, or ``kept``. `model` is the conversation's, `guards`
    what was known before.
    """

    occasion: str
    outcome: str
    engine: str
    model: str
    writer: str = ""
    focus: str = ""
    tokens: tuple[int, int] = (0, 0)
    messages: tuple[int, int] = (0, 0)
    usage: Usage = Usage()
    seconds: float = 0.0
    score: float | None = None
    reason: str = ""
    guards: str = ""


class ContextEngine(ABC):
    """
    The hooks of the reference's `ContextEngine`, for one live session and one model.

    Every live session has an object of its own, made when it is first spoken in; whatever must outlive it is in the
    rows. Whether to compress now, after failures and pauses, is the gateway's to say, and so is storing what comes of
    it; the engine says at how many tokens it is due, and does it. Only `name`, `due` and `compress` must be written.
    A hook may raise anything: it is logged, and the conversation goes on as it was.
    """

    name: str

    def model_changed(self, model: str, window: int, max_tokens: int | None) -> None:
        """
        Hear which model the next requests go to; before every turn, and whenever it turns out to be smaller.

        `window` is in tokens, `max_tokens` what its answers may have at most (None where nobody set it).
        """
        return

    @property
    @abstractmethod
    def due(self) -> int:
        """The tokens of prompt, tools and messages together at which a compression is due; 0 for never."""

    @abstractmethod
    async def compress(self, past: Past, order: Order) -> Compressed | Kept:
        """
        Make the conversation shorter; rows of the id 0 are not stored yet and stay, but for a summary.

        The last message of a person, and the last answer that one could read, stay to the letter.
        """

    def has_content(self, past: Past) -> bool:
        """Say whether there is anything worth compressing."""
        return True

    def hides(self, past: Past, order: Order) -> Set[int] | None:
        """Return the ids of the rows that `compress` would hide, for a preview; None where that is not known before."""
        return None

    def prune(self, past: Past) -> Compressed | None:
        """Shorten old results of tools, before a compression is due and without a model; None for not now."""
        return None

    def select(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return what goes to the model in place of the conversation, in this request only."""
        return messages

    def used(self, usage: Usage) -> None:
        """Hear what the endpoint counted for the last request."""
        return

    async def on_session_start(self, session_id: str, *, reason: str) -> None:
        """Hear which conversation this is; `reason` is new, resume or compression."""
        return

    async def on_session_end(self, session_id: str, messages: Sequence[Message]) -> None:
        """Hear that the live session is let go."""
        return

    async def on_session_reset(self) -> None:
        """Hear that the conversation was read anew: after an undo, a retry, an erasure."""
        return

    async def on_turn_complete(self, messages: Sequence[Message]) -> None:
        """Hear of a turn that was stored."""
        return

    def specs(self) -> Sequence[ToolSpec]:
        """Return the tools it offers, the same all its life."""
        return ()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Answer a call of one of its tools, or raise `ToolError` with a sentence that says what to do."""
        raise NotImplementedError(f"{self.name} has no tool {name}")

    def status(self) -> Mapping[str, str]:
        """Return what /context shows of it."""
        return {}
