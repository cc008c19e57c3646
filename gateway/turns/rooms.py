"""What turns of an agent work with: the rooms of the process, and those of the agent whose conversation it is."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.agent.loop import Agent
from gateway.agent.prompt.prompt import Prompt
from gateway.agent.references.attach import Attached
from gateway.agent.skills.calling import Caller
from gateway.commands.registry import Commands
from gateway.contracts.model import Model
from gateway.contracts.tool import Tools, ToolSpec
from gateway.delivery.prepare import Prepare
from gateway.delivery.sender import Sender
from gateway.messages import Message, Progress
from gateway.metrics import Metrics
from gateway.sessions.cache import Cache
from gateway.sessions.whose import Whose
from gateway.storage.database import Database
from gateway.turns.fitting import Fitting
from gateway.turns.live import Entry, LiveSession
from gateway.turns.notices import Wanted
from gateway.turns.reviews import Reviews
from gateway.types import Address, Event, SessionKey, Turn


@dataclass(frozen=True, slots=True)
class AgentRooms:
    """
    What is an agent's own, in the home at the path `home`.

    `whose` says who wrote an event and whose notes its conversation uses, `prompt` how the conversation of a turn
    begins, with a personality; `tools` what a turn may do; `workspace` makes a session's folder. `attach` puts what is
    referred to into the user's message (for a window of so many tokens), `recall` what is remembered, `beside` what is
    true of the turn alone (in a conversation with that prompt and history, and a personality). `shown` takes what is
    remembered out of what is reported; `begun` hears of a new conversation, `learn` of a completed turn. `follow` makes
    the id of a session that goes on from a compressed one, None where it is compressed within itself; `told` is what
    chats hear of that. `skills` finds what messages call by name.
    """

    home: str
    agent: Agent
    model: Callable[[str], Model]
    tools: Callable[[Turn, Model], Tools]
    whose: Callable[[Event], Awaitable[Whose]]
    prompt: Callable[[Turn, Model, str], Awaitable[Prompt]]
    workspace: Callable[[str, Address], Path]
    attach: Callable[[Turn, int, Sequence[ToolSpec], Message], Awaitable[Attached]]
    recall: Callable[[Turn, Sequence[Message], Message], Awaitable[Message]]
    beside: Callable[[Turn, Message, Prompt, Sequence[Message], str], Message]
    begun: Callable[[Event, LiveSession], Awaitable[None]]
    shown: Callable[[AsyncGenerator[Progress]], AsyncGenerator[Progress]]
    learn: Callable[[Turn, Message, str], None]
    fitting: Fitting
    follow: Callable[[], str] | None = None
    told: Wanted = "nothing"
    skills: Caller | None = None


@dataclass(frozen=True, slots=True)
class AnswerRooms:
    """
    What a turn works with, whose ever it is.

    `agent` returns what is the agent's own, by the key of the lane. `commands` are those that messages do not call by
    the name of a skill. `edit_every` says how often a live message is edited, None for never.
    """

    database: Database
    cache: Cache[str, Entry]
    prepare: Prepare
    sender: Sender
    metrics: Metrics
    reviews: Reviews
    commands: Commands
    agent: Callable[[SessionKey | str], AgentRooms]
    edit_every: float | None = 1.0
