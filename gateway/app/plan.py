"""From the configuration to the plan of a process. The only place where settings become what rooms take."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from zoneinfo import ZoneInfo

from tzlocal import get_localzone_name

from gateway.access.policy import PlatformRules, Rules
from gateway.agent.prompt.hints import Override
from gateway.agent.prompt.surroundings import Surroundings
from gateway.agent.tools.workspace import INSIDE
from gateway.app.process import Duties, Plan, Profile
from gateway.app.prompts import Manner
from gateway.app.terminal import PLATFORM as LOCAL
from gateway.config import Account, Config
from gateway.errors import ConfigError
from gateway.sessions.cache import Bounds
from gateway.sessions.keys import NAMESPACE
from gateway.sessions.profiles import Route
from gateway.turns import TurnSettings

DUTIES = {"all": Duties.ALL, "edge": Duties.EDGE, "worker": Duties.WORKER}


def plan_of(config: Config) -> Plan:
    """Return what this process is to be; `ConfigError` where the parts do not fit together."""
    settings, gateway = config.settings, config.settings.gateway
    duties = DUTIES[gateway.role]
    embedded = gateway.bus.startswith("embedded")
    if duties != Duties.ALL and embedded:
        raise ConfigError(
            f"gateway.role: {gateway.role} needs a bus between processes", hint="set gateway.bus to redis://…"
        )
    if not embedded and gateway.database.startswith("sqlite"):
        raise ConfigError(
            "gateway.bus: several processes cannot share a SQLite database",
            hint="set gateway.database to postgresql://…",
        )
    return Plan(
        main=profile_of(config),
        others=tuple(profile_of(own, name) for name, own in config.profiles.items()),
        routes=tuple(
            Route(name, **rule.match.model_dump()) for name, rule in zip(config.routed, settings.profiles, strict=True)
        ),
        database=gateway.database,
        bus=gateway.bus,
        duties=duties,
        alone=embedded,
        rules=_rules(settings.access.owners, config.accounts, allow_all=settings.access.allow_all),
        sharing=settings.sessions,
        turns=TurnSettings(gateway.max_concurrent_turns, gateway.drain_seconds),
        cache=Bounds(
            gateway.agent_cache.max_entries,
            gateway.agent_cache.idle_seconds,
            int(gateway.agent_cache.max_megabytes * 1024 * 1024),
        ),
        max_queue=gateway.max_queue,
        keep_seconds=gateway.keep_days * 86_400,
        edit_every=settings.streaming.edit_interval_seconds if settings.streaming.enabled else None,
        owner=next(iter(settings.access.owners), ""),
        notices={account.name: account.display.memory_notifications for account in config.accounts}
        | {LOCAL: settings.display.memory_notifications},
        version=our_version(),
    )


def profile_of(config: Config, name: str = NAMESPACE) -> Profile:
    """Return what a profile has of its own."""
    settings = config.settings
    return Profile(
        home=config.home.path,
        name=name,
        max_steps=settings.agent.max_turns,
        manner=_manner(config),
        skills=settings.skills,
        memory=settings.memory,
        compression=settings.compression,
    )


def our_version() -> str:
    """Return the installed version."""
    try:
        return version("hermes-gateway")
    except PackageNotFoundError:
        return "unknown"


def _rules(owners: Iterable[str], accounts: Iterable[Account], *, allow_all: bool) -> Rules:
    platforms = {
        account.name: PlatformRules(
            _named(account, "allowed_users"), _named(account, "allowed_chats") | _named(account, "allowed_channels")
        )
        for account in accounts
    }
    return Rules(allow_all=allow_all, owners=frozenset(owners), platforms=platforms)


def _named(account: Account, setting: str) -> frozenset[str]:
    return frozenset(str(entry) for entry in getattr(account.settings, setting, ()))


def _manner(config: Config) -> Manner:
    settings = config.settings
    agent, terminal = settings.agent, settings.terminal
    return Manner(
        enforcement=agent.tool_use_enforcement,
        personalities=agent.personalities,
        hints={name: Override(text.replace, text.append) for name, text in settings.platform_hints.items()},
        around=Surroundings(INSIDE, settings.workspace.per, terminal.backend, terminal.network),
        zone=ZoneInfo(settings.gateway.timezone or get_localzone_name()),
        file_chars=agent.context_file_max_chars,
    )
