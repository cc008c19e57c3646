"""What a process of the gateway is made from: its duties, its plan, and what it thinks with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Flag, auto
from pathlib import Path

from gateway.access.policy import Rules
from gateway.agent.context.compressor import Compressor
from gateway.agent.context.settings import CompressionSettings
from gateway.agent.memory.settings import MemorySettings
from gateway.agent.references.attach import References
from gateway.agent.review.report import Notifications
from gateway.agent.skills.library import Library
from gateway.app.prompts import Manner
from gateway.config.sections.skills import SkillSettings
from gateway.contracts.context import ContextEngine
from gateway.contracts.memory import MemoryProvider
from gateway.contracts.model import Model
from gateway.contracts.tool import Tools
from gateway.llm.tokens.messages import Count
from gateway.llm.tokens.text import estimate_text
from gateway.log.redact import Redactor
from gateway.sessions.cache import Bounds
from gateway.sessions.keys import NAMESPACE
from gateway.sessions.profiles import Route
from gateway.sessions.settings import SharingSettings
from gateway.turns import TurnSettings
from gateway.types import Address, Role


class Duties(Flag):
    """What a process does: an edge listens and answers HTTP, a worker runs turns and sends."""

    EDGE = auto()
    WORKER = auto()
    ALL = EDGE | WORKER


@dataclass(frozen=True, slots=True)
class Profile:
    """An agent with a home of its own. `manner` is what its settings say of its prompts."""

    home: Path
    name: str = NAMESPACE
    max_steps: int = 90
    manner: Manner = Manner()
    skills: SkillSettings = SkillSettings()
    memory: MemorySettings = MemorySettings()
    compression: CompressionSettings = CompressionSettings()

    @property
    def apart(self) -> str:
        """The name where notes are told apart by it: "" for the gateway's own, which came first."""
        return "" if self.name == NAMESPACE else self.name


@dataclass(frozen=True, slots=True)
class Plan:
    """
    Everything that makes a process what it is.

    `main` is the profile of the gateway's own home, `others` are those that `routes` lead to. `alone`: no other process
    can be on this database. `only` is an adapter's name: this process takes up nothing but that adapter's conversations
    and deliveries; whatever else waits is left to a gateway that serves everybody. `owner` is the account
    (``platform:user``) whose notes are each home's own, besides the command line's. `notices` says what chats are told
    of reviews, by adapter.
    """

    main: Profile
    others: Sequence[Profile] = ()
    routes: Sequence[Route] = ()
    database: str = "sqlite:///state.db"
    bus: str = "embedded:"
    bus_prefix: str = "hg"
    duties: Duties = Duties.ALL
    alone: bool = True
    only: str = ""
    rules: Rules = field(default_factory=Rules)
    sharing: SharingSettings = SharingSettings()
    turns: TurnSettings = TurnSettings()
    cache: Bounds = Bounds(128, 3600.0, 512 * 1024 * 1024)
    max_queue: int = 32
    keep_seconds: float = 7 * 86_400.0
    edit_every: float | None = 1.0
    owner: str = ""
    notices: Mapping[str, Notifications] = field(default_factory=dict)
    version: str = "0"

    @property
    def home(self) -> Path:
        return self.main.home

    @property
    def works(self) -> bool:
        """Say whether the process runs turns."""
        return Duties.WORKER in self.duties


@dataclass(frozen=True, slots=True)
class Mind:
    """
    The models and the hands: `model` by its name ("" is the default), `tools` for a role, with more tools of its turn.

    `taken` are the names of its tools, `folder` the one that a session has for itself alone, if any. `reviews` is the
    model that reviews conversations, made when it is asked for; None for the one that answered. `references` reads what
    messages refer to. `engine` makes the context engine of a live session, `writers` are the models that write
    summaries for a conversation with a model, by its name. `count` returns what counts tokens, and may take a second.
    `library` holds the skills of the home.
    """

    model: Callable[[str], Model]
    tools: Callable[[Role, Model, Tools], Tools]
    workspace: Callable[[str, Address], Path]
    folder: Callable[[str], Path | None] = lambda session: None
    taken: Collection[str] = ()
    provider: Callable[[], MemoryProvider | None] = lambda: None
    reviews: Callable[[], Model | None] = lambda: None
    references: References = field(default_factory=References)
    engine: Callable[[], ContextEngine] = lambda: Compressor(CompressionSettings(), Redactor())
    writers: Callable[[str], Sequence[Model]] = lambda name: ()
    names: Callable[[], list[str]] = list
    count: Callable[[], Count] = lambda: estimate_text
    library: Library | None = None
