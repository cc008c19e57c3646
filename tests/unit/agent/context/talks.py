"""Whole turns of the agent over rows in memory, compressed by the real window: as the gateway does it, but faster."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from gateway.agent.context.assembly import viewed, wire
from gateway.agent.context.compacting import FittingRooms
from gateway.agent.context.compressor import Compressor
from gateway.agent.context.conversation import Conversation
from gateway.agent.context.fitted import FittedWindow
from gateway.agent.context.guards import Guards, packed, unpacked
from gateway.agent.context.meter import Meter
from gateway.agent.context.settings import CompressionSettings
from gateway.agent.history import repair
from gateway.agent.loop import Agent, Work
from gateway.agent.prompt.prompt import Prompt
from gateway.contracts.context import Compressed, ContextEngine, Record, Row, View
from gateway.contracts.model import Model
from gateway.contracts.tool import Tools
from gateway.llm.tokens.calibration import Calibrations
from gateway.log.redact import Redactor
from gateway.messages import Finished, Message, Notice, Progress
from gateway.toolkit.toolset import FunctionTools
from gateway.types import Address, ChatType, Event, Sender, SessionKey, Turn
from tests.fakes.counting import CountingModel

PARAGRAPH = "The letter about the tax form says that the second page has to be filled in again, and by hand. " * 30
"""About 650 tokens."""
PROMPT = Prompt("You are a helpful assistant.")
ORIGIN = Address(platform="fake", account="", chat="ann")


@dataclass
class Rows:
    """What the database would hold: the turn's journal and ledger."""

    said: list[Row] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    guards: str = ""
    turn: str = ""
    begun: set[tuple[str, str]] = field(default_factory=set)

    async def write(self, said: Sequence[Message], *, starting: Sequence[str] = ()) -> None:
        for call in starting:
            assert (self.turn, call) not in self.begun, "a call with the id of another of its turn"
            self.begun.add((self.turn, call))
        self.said += [Row(len(self.said) + place, message) for place, message in enumerate(said, 1)]

    async def stored(self, after: int) -> Sequence[tuple[int, str]]:
        hidden = frozenset[int]().union(*(view.hidden for view in self.views))
        return [(row.id, row.message.call_id) for row in self.said if row.id > after and row.id not in hidden]

    async def keep(self, record: Record, done: Compressed | None, guards: Guards, prompt: Prompt) -> None:
        self.records.append(record)
        self.views += [done.view] if done is not None else []
        self.guards = packed(guards)

    @property
    def messages(self) -> list[Message]:
        """What goes to the model for them after a restart."""
        return repair(wire(viewed(self.said, self.views)))


@dataclass
class Talk:
    """A person and an agent. `clock` is the time the guards see."""

    model: CountingModel
    settings: CompressionSettings = field(default_factory=CompressionSettings)
    tools: Tools = field(default_factory=lambda: FunctionTools([]))
    writers: list[Model] = field(default_factory=list)
    engine: ContextEngine | None = None
    steps: int = 400
    calibrations: Calibrations = field(default_factory=Calibrations)
    clock: float = 1_000_000.0
    rows: Rows = field(default_factory=Rows)
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.turns = 0
        self.restart()

    def restart(self, *, open_end: bool = False, counted: int = 0) -> None:
        """Begin again from the rows; `open_end` says that the last turn goes on, `counted` is what its row tells."""
        self.conversation = Conversation()
        self.conversation.prompt, self.conversation.guards = PROMPT, unpacked(self.rows.guards)
        self.conversation.fill(viewed(self.rows.said, self.rows.views), open_end=open_end)
        self.conversation.told(self.model.name, counted)
        self.meter = Meter(self.calibrations, self.model.name, counts=self.conversation.counts)
        self.context = self.engine or Compressor(self.settings, Redactor())

    def window(self) -> FittedWindow:
        rooms = FittingRooms(
            engine=self.context,
            settings=self.settings,
            meter=self.meter,
            ledger=self.rows,
            writers=[*self.writers, self.model],
            remembered=self._nothing,
            renewed=self._same,
            now=lambda: self.clock,
        )
        return FittedWindow(self.conversation, rooms, self.model, self.tools.specs())

    async def _nothing(self, said: Sequence[Message]) -> str:
        return ""

    async def _same(self, prompt: Prompt) -> Prompt:
        return prompt

    async def say(self, text: str, resumed: Sequence[Message] = ()) -> Finished:
        """Take a turn, or go on with one of which something is stored."""
        finished = None
        async with aclosing(self.running(text, resumed)) as report:
            async for progress in report:
                if isinstance(progress, Notice):
                    self.told.append(progress.text)
                if isinstance(progress, Finished):
                    finished = progress
        assert finished is not None
        await self.rows.write(finished.added)
        self.rows.guards = packed(self.conversation.guards)
        return finished

    async def running(self, text: str, resumed: Sequence[Message] = ()) -> AsyncGenerator[Progress]:
        """Take a turn, and report it; whoever breaks off has crashed, and goes on with `restart`."""
        self.turns += not resumed
        self.rows.turn = f"t{self.turns}"
        event = Event(id=f"e{self.turns}", origin=ORIGIN, sender=Sender("ann", "Ann"), text=text, chat_type=ChatType.DM)
        turn = Turn(id=f"t{self.turns}", session=SessionKey("lane"), session_id="s", events=(event,))
        work = Work(
            turn=turn,
            model=self.model,
            tools=self.tools,
            journal=self.rows,
            window=self.window(),
            said=Message("user", text),
            resumed=resumed,
            started=frozenset(call.id for message in resumed for call in message.calls),
        )
        async with aclosing(Agent(steps=self.steps).run(work)) as report:
            async for progress in report:
                yield progress

    async def command(self, focus: str = "", keep: int | None = None) -> None:
        """Compress as a person asks for it."""
        async for told in self.window().command(focus, keep):
            if isinstance(told, Notice):
                self.told.append(told.text)

    def undo(self) -> bool:
        """Undo the newest compression, as the gateway does."""
        if not self.rows.views:
            return False
        self.rows.views.pop()
        record = next(record for record in reversed(self.rows.records) if record.outcome != "kept")
        self.rows.records.remove(record)
        self.rows.guards = packed(replace(unpacked(record.guards), held=True))
        self.restart()
        return True

    def check(self) -> None:
        """What is held is what the rows say, to the byte."""
        assert repair(self.conversation.messages) == self.rows.messages
        shown = viewed(self.rows.said, self.rows.views)
        asked = next((row for row in reversed(self.rows.said) if row.message.role == "user"), None)
        if asked is not None:
            assert asked.message in [row.message for row in shown]

    @property
    def done(self) -> list[Record]:
        """The compressions that took effect."""
        return [record for record in self.rows.records if record.outcome != "kept"]
