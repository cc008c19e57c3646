"""The words every room shares: what came in, whose turn it is, what goes out."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Self
from urllib.parse import quote, unquote


def escape(part: str) -> str:
    """Percent-encode one part of a key or an address; only letters, digits and ``-_.~`` stay."""
    return quote(part, safe="", errors="surrogatepass")


def unescape(part: str) -> str:
    return unquote(part, errors="surrogatepass")


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """
    A place in a chat platform: the origin of an event and the target of a reply.

    `account` is which of our bots, `team` the workspace, guild or enterprise, `thread` the topic; each may be empty.
    Written ``platform[@account][/team]:chat[:thread]`` with every part percent-encoded.
    """

    platform: str
    account: str = ""
    team: str = ""
    chat: str
    thread: str = ""

    def __str__(self) -> str:
        account = f"@{escape(self.account)}" if self.account else ""
        team = f"/{escape(self.team)}" if self.team else ""
        thread = f":{escape(self.thread)}" if self.thread else ""
        return f"{escape(self.platform)}{account}{team}:{escape(self.chat)}{thread}"

    @property
    def adapter(self) -> str:
        """The adapter that serves this place: ``platform`` or ``platform@account``."""
        return f"{self.platform}@{self.account}" if self.account else self.platform

    @property
    def queue(self) -> str:
        """What the outbox keeps in order: the account and chat, all threads of it together."""
        return str(Address(platform=self.platform, account=self.account, team=self.team, chat=self.chat))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the written form; raise `ValueError` for anything else."""
        where, *rest = text.strip().split(":")
        head, _, team = where.partition("/")
        platform, _, account = head.partition("@")
        if not platform or len(rest) not in {1, 2} or not rest[0]:
            raise ValueError(f"not an address: {text!r}; write platform:chat or platform:chat:thread")
        chat, thread = rest[0], rest[1] if len(rest) > 1 else ""
        parts = (unescape(part) for part in (platform, account, team, chat, thread))
        return cls(**dict(zip(("platform", "account", "team", "chat", "thread"), parts, strict=True)))


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Whose conversation it is. Made only by `gateway.sessions.keys`."""

    value: str

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Sender:
    """Who wrote: the platform's id of the account, and the name it shows."""

    id: str
    name: str = ""
    bot: bool = False


class Role(StrEnum):
    """What a person may do, least first; each may do what the ones before it may."""

    GUEST = "guest"
    MEMBER = "member"
    OWNER = "owner"

    def covers(self, other: Role) -> bool:
        """Say whether one of this role may act on a turn of the other."""
        order = list(Role)
        return order.index(self) >= order.index(other)


class ChatType(StrEnum):
    """How many people hear an answer, in the reference's words."""

    DM = "dm"
    GROUP = "group"
    FORUM = "forum"  # a topic of a forum
    THREAD = "thread"
    CHANNEL = "channel"
    WEBHOOK = "webhook"


class Media(StrEnum):
    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file on its way in or out. `ref` is a local path, a URL or a platform's file id."""

    kind: Media
    ref: str
    name: str = ""
    mime: str = "application/octet-stream"


class EventKind(StrEnum):
    MESSAGE = "message"
    ACTION = "action"  # a button was pressed; `text` holds its value
    TIMER = "timer"  # a cron job came due


@dataclass(frozen=True, slots=True)
class Quote:
    """The message an event answers. `ours` where the bot wrote it."""

    id: str
    text: str = ""
    author: str = ""
    ours: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """
    Something happened in a chat. Immutable, serialisable, the only way in.

    `id` names what happened (team, channel, timestamp), not its delivery: the same message brought twice has the same
    id, and the inbox keeps it once. `burst` is shared by the parts of an album or a paste that the client has split.
    `addressed` is false for chatter in a group that does not speak to us. `deliver` sends the answer elsewhere than
    to the origin.
    """

    id: str
    origin: Address
    sender: Sender
    text: str = ""
    kind: EventKind = EventKind.MESSAGE
    chat_type: ChatType = ChatType.DM
    addressed: bool = True
    attachments: tuple[Attachment, ...] = ()
    reply_to: Quote | None = None
    burst: str = ""
    deliver: tuple[Address, ...] = ()
    at: datetime = field(default_factory=_now)

    @property
    def private(self) -> bool:
        return self.chat_type is ChatType.DM

    @property
    def account(self) -> str:
        """The sender's account as it is written everywhere: ``platform:user``."""
        return f"{self.origin.platform}:{self.sender.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """
    One unit of the agent's work: what one session said since it last answered.

    `id` stays the same over all attempts; `role` is the one all its senders have; `workspace` is the session's folder.
    `person` is the id of who wrote last, `notes` whose notes the turn uses (see `gateway.agent.memory.scopes`), "" for
    nobody's.
    """

    id: str
    session: SessionKey
    session_id: str
    events: tuple[Event, ...]
    role: Role = Role.MEMBER
    workspace: str = ""
    person: str = ""
    notes: str = ""

    @property
    def target(self) -> Address:
        return self.events[-1].origin

    @property
    def targets(self) -> tuple[Address, ...]:
        """Where the answer goes."""
        return self.events[-1].deliver or (self.target,)


@dataclass(frozen=True, slots=True)
class Button:
    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What the gateway says, in Markdown, before any platform has shaped it."""

    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True, slots=True)
class Rendered:
    """
    Markdown as one platform takes it.

    `text` is what is sent, `extra` whatever must go with it (entities, a parse mode): plain JSON. `length` is in the
    unit of the platform's `Limits`, which is what a limit is compared with.
    """

    text: str
    length: int
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Part:
    """
    One message as it will be sent: fits the platform's `Limits`, stored before it is sent.

    `key` is the id of the outbox row, the same on every attempt; a platform with `Limits.idempotent` honours it.
    `markdown` is the source, for a plain second try where the platform refuses the rendered form.
    """

    body: Rendered
    markdown: str = ""
    key: str = ""
    attachment: Attachment | None = None
    buttons: tuple[Button, ...] = ()
    reply_to: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that a part was delivered, and the handle with which to edit it."""

    target: Address
    message_id: str


def clean(text: str) -> str:
    """Make a text storable and sendable anywhere: no NUL, and U+FFFD for every lone surrogate."""
    if text.isascii():
        return text.replace("\0", "") if "\0" in text else text
    try:
        text.encode()
    except UnicodeEncodeError:
        # Two halves that stand side by side are one character that came in pieces.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "")
