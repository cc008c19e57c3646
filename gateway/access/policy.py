"""One pure decision per event: may this person speak, and as what. The reason is a code; a refusal is a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gateway.types import ChatType, Event, Role


class Reason(StrEnum):
    """Why a decision fell as it did."""

    OWNER = "owner"
    ALLOWED_USER = "allowed_user"
    ALLOWED_CHAT = "allowed_chat"
    ALLOW_ALL = "allow_all"
    OWN_PLATFORM = "own_platform"  # the web chat and webhooks prove who speaks themselves
    STRANGER = "stranger"
    NO_IDENTITY = "no_identity"
    BOT = "bot"
    NOT_ADDRESSED = "not_addressed"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`role` is None where the event is refused; `answer` is what the refused person is told, if anything."""

    reason: Reason
    role: Role | None = None
    answer: str = ""


@dataclass(frozen=True, slots=True)
class PlatformRules:
    """The allow-lists of one account; entries as the platform writes ids, ``*`` for everybody."""

    users: frozenset[str] = frozenset()
    chats: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Rules:
    """
    All that decides. `owners` are written ``platform:user``; `trusted` platforms prove who speaks themselves.

    What comes over a `local` platform was put into the database by a program of this machine that may read and write
    the home: whoever can do that owns it.
    """

    allow_all: bool = False
    owners: frozenset[str] = frozenset()
    platforms: Mapping[str, PlatformRules] = field(default_factory=dict)
    trusted: frozenset[str] = frozenset({"webchat", "webhook"})
    local: frozenset[str] = frozenset({"cli"})


REFUSED = (
    "I do not know you yet, so I cannot answer. If this is your gateway, add your id {id} to "
    "platforms.{platform}.allowed_users, or {platform}:{id} to access.owners, in config.yaml and start it again."
)


class Access:
    """Deny by default. In private a refused person is told what the operator can do; in a group nothing is said."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def judge(self, event: Event, *, owner: bool = False) -> Verdict:
        """Decide on one event. `owner` says that the people's table knows the sender as an owner."""
        platform = event.origin.platform
        if not event.sender.id.strip():
            return Verdict(Reason.NO_IDENTITY)
        owner = owner or platform in self._rules.local
        if owner or event.account in self._rules.owners:
            return self._addressed(event, Verdict(Reason.OWNER, Role.OWNER))
        if platform in self._rules.trusted:
            return Verdict(Reason.OWN_PLATFORM, Role.GUEST if platform == "webhook" else Role.MEMBER)
        if event.sender.bot:
            return Verdict(Reason.BOT)
        reason = self._allowed(event)
        if reason is None:
            told = event.chat_type is ChatType.DM
            return Verdict(
                Reason.STRANGER, answer=REFUSED.format(platform=platform, id=event.sender.id) if told else ""
            )
        return self._addressed(event, Verdict(reason, Role.MEMBER))

    def _addressed(self, event: Event, verdict: Verdict) -> Verdict:
        return verdict if event.addressed else Verdict(Reason.NOT_ADDRESSED)

    def _allowed(self, event: Event) -> Reason | None:
        rules = self._rules.platforms.get(event.origin.adapter, PlatformRules())
        if self._rules.allow_all:
            return Reason.ALLOW_ALL
        if {event.sender.id, "*"} & rules.users:
            return Reason.ALLOWED_USER
        if event.chat_type is not ChatType.DM and {event.origin.chat, "*"} & rules.chats:
            return Reason.ALLOWED_CHAT
        return None
