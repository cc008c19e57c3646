"""`access`, `limits`, `approvals`, `profiles`: who may speak, how much, and what needs a yes."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from gateway.config.sections.base import Section


class AccessSettings(Section):
    """Who may speak. Nobody, until allowed or paired. People are written platform:user."""

    allow_all: bool = False
    """Let everybody in. Whoever finds the bot then spends your tokens."""
    dm_policy: Literal["pairing", "allowlist", "closed", "open"] = "pairing"
    """Strangers in private chats get a code to pair with, silence unless listed, a refusal, or an answer."""
    group_policy: Literal["allowlist", "closed", "open"] = "allowlist"
    """Groups: those listed, none, or every group somebody adds the bot to."""
    bots: Literal["none", "mentions", "all"] = "none"
    """Answer other bots never, where they mention us, or always."""
    commands: dict[str, list[str]] = {}
    """guest, member or owner: the commands of that role."""
    owners: list[str] = []
    """The people who run this gateway, as telegram:12345."""
    pairing: bool = True
    """Pairing codes at all."""

    @field_validator("owners")
    @classmethod
    def _with_a_platform(cls, owners: list[str]) -> list[str]:
        if any(not all(owner.partition(":")) for owner in owners):
            raise ValueError("an owner is written platform:user, such as telegram:12345")
        return owners

    @model_validator(mode="after")
    def _open_is_meant(self) -> Self:
        if "open" in {self.dm_policy, self.group_policy} and not self.allow_all:
            raise ValueError("a policy of open needs allow_all: true, since it lets everybody in")
        return self


class LimitRule(Section):
    """How much; 0 is no limit."""

    messages_per_minute: float = Field(0, ge=0)
    """Messages in a minute."""
    tokens_per_day: int = Field(0, ge=0)
    """Tokens in a day."""
    cost_per_day: float = Field(0, ge=0)
    """Cost in a day, by `prices`."""


class PersonLimitRule(LimitRule):
    """How much for one person; 0 is no limit."""

    messages_per_minute: float = Field(20, ge=0)
    """Messages in a minute."""


class LimitSettings(Section):
    """What one may use up."""

    per_person: PersonLimitRule = PersonLimitRule()
    """Each person."""
    per_chat: LimitRule = LimitRule()
    """Each chat."""
    per_role: dict[str, LimitRule] = {}
    """guest, member or owner: in place of `per_person`."""


class ApprovalSettings(Section):
    """Dangerous actions of the agent."""

    mode: Literal["ask", "model", "off"] = "ask"
    """Ask the person, let a model judge, or do everything."""
    timeout_seconds: float = Field(300, gt=0, le=86_400)
    """No answer for so long is a no."""
    unattended: Literal["deny", "allow"] = "deny"
    """Where nobody can be asked: in jobs and webhooks."""
    allow: list[str] = []
    """Commands that need no yes."""
    deny: list[str] = []
    """Commands that no yes allows."""


class ProfileMatch(Section):
    """What an event has to be; what is empty matches anything."""

    platform: str = ""
    """The platform."""
    account: str = ""
    """Which of our bots."""
    chat: str = ""
    """The chat."""
    thread: str = ""
    """The thread or topic."""
    person: str = ""
    """The person, as platform:user."""
    route: str = ""
    """The webhook route."""
    key: str = ""
    """The name of the API key."""


class ProfileRule(Section):
    """Which agent an event is for; the first rule that matches decides, and where none does, the gateway's own."""

    home: str = Field(min_length=1)
    """The agent's home, from ours if not absolute; it is called as the folder. Its config.yaml says how it thinks."""
    match: ProfileMatch = ProfileMatch()
    """What the event has to be."""
