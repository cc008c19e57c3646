"""What can be set under `platforms.webhook`."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from adapters.webhook.deliver import addresses

ROUTE_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
RATE: Final = re.compile(r"(\d{1,6})/([smhd])")
UNIT_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
LATER: Final = "is not built yet; take the key out"

Header = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$", to_lower=True)]


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Signed(Strict):
    """A caller that signs what it sends, as GitHub, GitLab, Stripe, Slack, Svix or the standard do."""

    scheme: Literal["github", "gitlab", "stripe", "slack", "svix", "standard-webhooks", "bearer"]
    """How the caller proves who it is; for `bearer` by `Authorization: Bearer <secret>`."""
    secret: SecretStr
    """What the caller and this gateway both know."""


class Hmac(Strict):
    """Any other caller that puts an HMAC of the body into a header."""

    scheme: Literal["hmac"]
    """A signature of the kind the other keys describe."""
    secret: SecretStr
    """The key of the HMAC."""
    header: Header
    """The header with the signature; `sha256=` before it is passed over."""
    algorithm: Literal["sha256", "sha512", "sha1"] = "sha256"
    """The hash of the HMAC."""
    encoding: Literal["hex", "base64"] = "hex"
    """How the signature is written."""
    timestamp_header: Header | Literal[""] = ""
    """The header with the time in seconds; the signature is then over time, dot and body. Without it the same body
    runs only once, since nothing tells a second sending from a captured one."""


class Open(Strict):
    """No proof at all: answered on this machine only."""

    scheme: Literal["none"]
    """Take every call that comes from this very machine and through no proxy."""


class RunOptions(Strict):
    """How a run differs from others; of these nothing but the defaults is built yet."""

    toolset: str = "webhook"
    """What the agent may use: `webhook`, which reads. Others are not built yet."""
    owner: str = ""
    """The person whose memory is used; not built yet."""
    skip_memory: bool = True
    """Run without memory; no other way is built yet."""
    skip_context_files: bool | None = None
    """Leave out the workspace's context files; not built yet."""
    load_soul_identity: bool | None = None
    """Take the identity of SOUL.md; not built yet."""
    quiet_mode: bool | None = None
    """Say nothing but the answer; not built yet."""
    tool_progress: str = ""
    """What is shown of tools that run; not built yet."""
    max_turns: int | None = None
    """The most model calls of a run; not built yet."""
    model: str = ""
    """Another model; not built yet."""
    home: str = ""
    """Another home directory; not built yet."""

    @field_validator("*")
    @classmethod
    def _is_built(cls, value: object, info: ValidationInfo) -> object:
        option = RunOptions.model_fields.get(info.field_name or "")
        if option is not None and value != option.default:
            raise ValueError(LATER)
        return value


class Route(RunOptions):
    """One address that others call."""

    auth: Annotated[Signed | Hmac | Open, Field(discriminator="scheme")]
    """How the caller proves who it is."""
    events: tuple[str, ...] = ()
    """Names of the events that are taken, such as issues or issues.opened; empty: all."""
    prompt: str = "{__raw__}"
    """What the agent is asked. {issue.title} is a value of the payload, {__raw__} all of it, {event_type} its event."""
    value_chars: int = Field(8000, ge=100, le=1_000_000)
    """The most of one value that goes into the prompt."""
    deliver: str | tuple[str, ...] = "origin"
    """Where the answer goes: origin (kept for GET /hooks/<route>/<run>), local, or platform:chat[:thread]."""
    mode: Literal["agent", "notify"] = "agent"
    """`notify` delivers the prompt itself and asks no model; not built yet."""
    session: str = "delivery"
    """Whose conversation it is: delivery (a fresh one each), route (one for all), or a template such as {issue.id}."""
    rate: str = ""
    """The most calls that are taken, such as 30/m; per s, m, h or d. Empty: no limit."""

    @property
    def allowance(self) -> tuple[int, float] | None:
        """Return how many calls are taken in how many seconds."""
        match = RATE.fullmatch(self.rate)
        return (int(match[1]), UNIT_SECONDS[match[2]]) if match else None

    @field_validator("deliver")
    @classmethod
    def _leads_somewhere(cls, deliver: str | tuple[str, ...]) -> str | tuple[str, ...]:
        addresses(deliver)
        return deliver

    @field_validator("rate")
    @classmethod
    def _is_a_rate(cls, rate: str) -> str:
        match = RATE.fullmatch(rate)
        if rate and (match is None or not int(match[1])):
            raise ValueError("write a number of calls and s, m, h or d, such as 30/m")
        return rate

    @field_validator("mode")
    @classmethod
    def _asks_a_model(cls, mode: str) -> str:
        if mode == "notify":
            raise ValueError("notify is not built yet; write agent")
        return mode


class Settings(Strict):
    """Webhooks: routes under /hooks/ that other programs call."""

    enabled: bool | Literal["auto"] = "auto"
    """`auto`: on when there is a route."""
    routes: dict[Annotated[str, StringConstraints(pattern=ROUTE_NAME)], Route] = {}
    """The routes by name; each is called at /hooks/<name>."""
    max_body_bytes: int = Field(1_048_576, ge=1, le=1 << 30)
    """The largest body that is read."""

    @property
    def active(self) -> bool:
        """Say whether there is anything to serve."""
        return bool(self.routes) if self.enabled == "auto" else self.enabled

    @model_validator(mode="after")
    def _has_secrets(self) -> Self:
        """Refuse a route that anybody could call: an unset variable leaves a secret empty."""
        for name, route in self.routes.items() if self.active else ():
            if not isinstance(route.auth, Open) and not route.auth.secret.get_secret_value().strip():
                raise ValueError(f"routes.{name}.auth.secret is empty, so anybody could call it")
        return self
