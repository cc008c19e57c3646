"""Gives turns their windows: the engine of each live session, and what it needs to compress."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from gateway.agent.context.compacting import FittingRooms
from gateway.agent.context.conversation import Conversation
from gateway.agent.context.fitted import FittedWindow
from gateway.agent.context.meter import Meter
from gateway.agent.context.settings import CompressionSettings
from gateway.agent.prompt.prompt import Prompt
from gateway.contracts.context import ContextEngine
from gateway.contracts.model import Model
from gateway.contracts.tool import ToolSpec
from gateway.llm.tokens.calibration import Calibrations
from gateway.llm.tokens.messages import Count
from gateway.llm.tokens.text import estimate_text
from gateway.messages import Message
from gateway.sessions.whose import Whose
from gateway.turns.engines import Engines
from gateway.turns.ledger import TurnLedger
from gateway.turns.live import Entry, LiveSession
from gateway.types import Turn


@dataclass(frozen=True, slots=True)
class Fitting:
    """
    What windows are made of.

    `engine` makes the engine of a live session, `writers` names the models that write summaries for a conversation
    with a model. `remembered` asks a memory service what must be kept, `renewed` returns a prompt as it should be
    after a compression in a turn with a model; `followed` hears under which id a conversation goes on.
    `engines` tells the engines what happens around turns, `count` counts the tokens of a text or estimates them.
    """

    settings: CompressionSettings
    engine: Callable[[], ContextEngine]
    writers: Callable[[str], Sequence[Model]]
    remembered: Callable[[Turn, Sequence[Message]], Awaitable[str]]
    renewed: Callable[[Turn, Model, Prompt], Awaitable[Prompt]]
    followed: Callable[[Turn, str], None] = lambda turn, child: None
    calibrations: Calibrations = field(default_factory=Calibrations)
    engines: Engines = field(default_factory=Engines)
    count: Count = estimate_text

    def session(self, id: str, lane: str, whose: Whose) -> LiveSession:
        """Make a live session that was not read yet."""
        return LiveSession(id, lane, conversation=Conversation(self.count), whose=whose)

    def entry(self, session: LiveSession, model: Model) -> Entry:
        """Make what the cache holds."""
        meter = Meter(self.calibrations, model.name, self.count, session.conversation.counts)
        return Entry(session, model.name, self.engine(), meter)

    def window(
        self, entry: Entry, turn: Turn, model: Model, specs: Sequence[ToolSpec], ledger: TurnLedger
    ) -> FittedWindow:
        """Make the window of a turn."""
        rooms = FittingRooms(
            engine=entry.engine,
            settings=self.settings,
            meter=entry.meter,
            ledger=ledger,
            writers=() if model.demo else self.writers(model.name),
            remembered=partial(self.remembered, turn),
            renewed=partial(self.renewed, turn, model),
            session_id=lambda: ledger.current,
        )
        return FittedWindow(entry.session.conversation, rooms, model, specs)
