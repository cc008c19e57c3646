"""Platforms: whose settings there are, and the accounts that come of them.

An adapter brings its `Settings` and is found by name, in the package `adapters` or by the entry-point group; its SDK is
not imported. In: the section ``platforms`` of the tree. Out: one `Account` per bot. An account of ``accounts:`` has the
keys of its platform where it has none of its own, secrets excepted; the platform itself is an account too where it has
secrets of its own, or no ``accounts:``.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, create_model

from gateway.config.node import Branch, Entry, Items, Leaf, Node, Path, find, said
from gateway.config.reading import Report, data
from gateway.config.sections.base import Section
from gateway.config.sections.platforms import DiscordSettings, PlatformSettings, SlackSettings, WebchatSettings
from gateway.config.sections.sessions import DisplaySettings
from gateway.config.sentences import explain
from gateway.config.shape import Slot
from gateway.config.shape import fields as keys_of

GROUP = "hermes_gateway.adapters"
OURS: Mapping[str, type[BaseModel]] = {
    "webchat": WebchatSettings,
    "discord": DiscordSettings,
    "slack": SlackSettings,
}
"""The web chat is the gateway's own; for the others an adapter is still to come, which then brings its own."""
ACCOUNTS = "accounts"

MORE = "Name: one more bot, with the keys of the platform; those it lacks are the platform's, secrets excepted."

Types = Mapping[str, type[BaseModel]]


@dataclass(frozen=True, slots=True)
class Account:
    """One bot on one platform. `account` is empty for a platform's only or main one."""

    platform: str
    account: str
    settings: BaseModel = field(repr=False)
    enabled: bool
    display: DisplaySettings

    @property
    def name(self) -> str:
        """``platform`` or ``platform@account``, as in addresses."""
        return f"{self.platform}@{self.account}" if self.account else self.platform


@dataclass(frozen=True, slots=True)
class Found:
    """The settings of each platform, and why that of some could not be loaded."""

    types: Types
    broken: Mapping[str, str]


def discover(named: set[str]) -> Found:
    """Look for the settings of every adapter we ship, and of others' that the configuration names."""
    loaders: dict[str, Callable[[], Any]] = {
        module.name: partial(import_module, f"adapters.{module.name}")
        for module in pkgutil.iter_modules(import_module("adapters").__path__)
    }
    for point in entry_points(group=GROUP):
        if point.name in named:
            loaders.setdefault(point.name, point.load)
    types: dict[str, type[BaseModel]] = {}
    broken: dict[str, str] = {}
    for name, load in loaders.items():
        try:
            types[name] = load().Settings
        except (ImportError, AttributeError, SyntaxError) as error:
            broken[name] = str(error)
    return with_ours(Found(types, broken))


def with_ours(found: Found) -> Found:
    """Add the platforms that need no adapter, or have none yet."""
    missing = {name: kind for name, kind in OURS.items() if name not in found.types}
    return Found({**found.types, **missing}, found.broken)


def whole(settings: type[BaseModel], platforms: Types) -> type[BaseModel]:
    """Compose the type of the whole document; it describes, and is never made."""
    sections: dict[str, Any] = {
        name: (_described(name, adapter), Field(default={}, description=adapter.__doc__))
        for name, adapter in platforms.items()
    }
    described = create_model("Platforms", __base__=Described, __doc__="The chat platforms.", **sections)
    platforms_field: Any = (described, Field(default={}, description="The chat platforms."))
    return create_model("Config", __base__=(settings, Described), platforms=platforms_field)


class Described(Section):
    """A section that is looked at and never made, so that pydantic need not prepare to."""

    model_config = ConfigDict(defer_build=True)


def _described(name: str, adapter: type[BaseModel]) -> type[BaseModel]:
    both = (adapter, PlatformSettings, Described)
    if not _takes_accounts(adapter):
        return create_model(name.title(), __base__=both, __doc__=adapter.__doc__)
    account: Any = create_model(f"{name.title()}Account", __base__=both)
    more: dict[str, Any] = {ACCOUNTS: (dict[str, account], Field(default={}, description=MORE))}
    return create_model(name.title(), __base__=both, __doc__=adapter.__doc__, **more)


def _takes_accounts(adapter: type[BaseModel]) -> bool:
    """Say whether there can be several bots: where one has a secret of its own."""
    return any(slot.secret for slot in keys_of(adapter).values())


@dataclass(frozen=True, slots=True)
class _Reader:
    root: type[BaseModel]
    hide: Callable[[str], str]
    report: Report

    def check(self, kind: type[BaseModel], tree: Branch, path: Path) -> Any:
        """Return the settings in `tree`, or None where they are wrong."""
        try:
            return kind.model_validate_json(json.dumps(data(tree, Slot((kind,)))))
        except ValidationError as error:
            for problem in explain(error.errors(include_url=False), tree, self.root, self.hide, path):
                self.report(problem)
            return None


def accounts(
    tree: Branch, platforms: Types, root: type[BaseModel], hide: Callable[[str], str], report: Report
) -> tuple[Account, ...]:
    """Make the accounts of all platforms that the document names, and of those that need no word."""
    reader = _Reader(root, hide, report)
    section = find(tree, ("platforms",))
    named = section.node.entries if section and isinstance(section.node, Branch) else {}
    made: list[Account] = []
    for name, kind in platforms.items():
        entry = named.get(name)
        node = (
            Branch(entry.key, entry.node.entries) if entry and isinstance(entry.node, Branch) else Branch(tree.origin)
        )
        display = find(tree, ("display",))
        ours = [_make(reader, name, kind, account, one, display) for account, one in _each(node, kind)]
        made += _distinct([account for account in ours if account], node, report)
    return tuple(made)


def _each(platform: Branch, kind: type[BaseModel]) -> Iterator[tuple[str, Branch]]:
    """Yield the accounts of a platform with all their keys."""
    if not _takes_accounts(kind):
        yield "", platform
        return
    named = platform.entries.get(ACCOUNTS)
    others = named.node.entries if named and isinstance(named.node, Branch) else {}
    shared = {key: entry for key, entry in platform.entries.items() if key != ACCOUNTS}
    secrets = {key for key, slot in keys_of(kind).items() if slot.secret}
    if not others or any(_filled(shared[key].node) for key in secrets & shared.keys()):
        yield "", Branch(platform.origin, shared)
    for name, entry in others.items():
        if isinstance(entry.node, Branch):
            inherited = {key: value for key, value in shared.items() if key not in secrets}
            yield name, Branch(entry.key, {**inherited, **entry.node.entries})


def _filled(node: Node) -> bool:
    return not isinstance(node, Leaf) or bool(node.text)


def _make(
    reader: _Reader, platform: str, kind: type[BaseModel], account: str, tree: Branch, display: Entry | None
) -> Account | None:
    path: Path = ("platforms", platform, *((ACCOUNTS, account) if account else ()))
    common = {key: entry for key, entry in tree.entries.items() if key in PlatformSettings.model_fields}
    own = {key: entry for key, entry in tree.entries.items() if key not in common or key in kind.model_fields}
    settings = reader.check(kind, Branch(tree.origin, own), path)
    if (shown := common.get("display")) is not None and display is not None:
        common["display"] = Entry(shown.key, _over(display.node, shown.node))
    elif display is not None:
        common["display"] = display
    envelope: PlatformSettings | None = reader.check(PlatformSettings, Branch(tree.origin, common), path)
    if settings is None or envelope is None:
        return None
    return Account(platform, account, settings, _enabled(settings, envelope), envelope.display)


def _over(below: Node, above: Node) -> Node:
    if isinstance(below, Branch) and isinstance(above, Branch):
        return Branch(above.origin, {**below.entries, **above.entries})
    return above


def _enabled(settings: BaseModel, envelope: PlatformSettings) -> bool:
    """Say whether the account runs; ``auto``: as the adapter says by `active`, else when one of its secrets is set."""
    active = getattr(settings, "active", None)
    if isinstance(active, bool):
        return active
    wanted = getattr(settings, "enabled", envelope.enabled)
    if isinstance(wanted, bool):
        return wanted
    values = [getattr(settings, name) for name in type(settings).model_fields]
    return any(isinstance(value, SecretStr) and value.get_secret_value() for value in values)


def _distinct(made: list[Account], platform: Branch, report: Report) -> list[Account]:
    """Refuse two accounts of one platform with one token: they would take each other's messages."""
    seen: dict[str, Account] = {}
    for account in made:
        for name in type(account.settings).model_fields:
            value = getattr(account.settings, name)
            secret = value.get_secret_value() if isinstance(value, SecretStr) and "token" in name else ""
            if not secret:
                continue
            if other := seen.get(secret):
                entry = find(platform, (ACCOUNTS, account.account, name))
                path = ("platforms", account.platform, ACCOUNTS, account.account, name)
                origin = entry.key if entry else platform.origin
                report(origin.error(f"{said(path)}: the same token as that of {other.name}"))
            seen[secret] = account
    return made


def names_in(tree: Branch) -> set[str]:
    """Return the platforms that a document names."""
    section = find(tree, ("platforms",))
    return set(section.node.entries) if section and isinstance(section.node, Branch) else set()


def check_names(tree: Branch, found: Found, report: Report) -> None:
    """Refuse platforms that nobody brings, and whatever is no section where one belongs."""
    section = find(tree, ("platforms",))
    if section is None or not _is_section(section, ("platforms",), report):
        return
    assert isinstance(section.node, Branch)
    platforms, broken = found.types, found.broken
    for name, platform in section.node.entries.items():
        path = ("platforms", name)
        if name in broken and name not in platforms:
            report(platform.key.error(f"{said(path)}: its adapter cannot be loaded: {broken[name]}"))
        elif name not in platforms:
            near = get_close_matches(name, platforms, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(platforms))}"
            report(platform.key.error(f"{said(path)}: unknown key", hint=hint))
        elif _is_section(platform, path, report):
            named = find(platform.node, (ACCOUNTS,))
            if named is not None and _takes_accounts(platforms[name]) and _is_section(named, (*path, ACCOUNTS), report):
                assert isinstance(named.node, Branch)
                for account, entry in named.node.entries.items():
                    _is_section(entry, (*path, ACCOUNTS, account), report)


def _is_section(entry: Entry, path: Path, report: Report) -> bool:
    """Say whether there are keys below; an empty section is none, and no mistake."""
    if isinstance(entry.node, Branch):
        return True
    if isinstance(entry.node, Items) or entry.node.value is not None:
        report(entry.key.error(f"{said(path)}: expects keys with values"))
    return False
