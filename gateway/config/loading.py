"""From a home, its files, the environment and the command line to a `Config`, or to everything that is wrong with them.

Every step takes the tree and reports instead of stopping, so that a person mends a file in one go; only what is no YAML
at all ends the reading.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ValidationError

from gateway.agent.context.threshold import too_high
from gateway.config import document, effect, legacy, overlay
from gateway.config.node import Branch, ConfigErrors, Entry, Items, Leaf, Node, Origin, find, put, said
from gateway.config.platforms import OURS, Account, Found, Types, accounts, check_names, discover, names_in, whole
from gateway.config.reading import data, open_files, structure
from gateway.config.sentences import explain
from gateway.config.settings import Settings
from gateway.config.shape import Slot, units
from gateway.config.variables import Variables, expand, gather
from gateway.errors import ConfigError
from gateway.home import Home
from gateway.log.redact import Redactor
from gateway.web.settings import WebSettings, read_password

SECRET_NAME = re.compile(r"(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD)$", re.IGNORECASE)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Config:
    """
    What was configured, checked and typed.

    Rooms get their own part of `settings`. `origins` says where each key that is set came from. `secrets` are all that
    logs and screens must not show. `document` is the configuration as written and `shape` its type, for those that show
    it. `color` is what NO_COLOR and FORCE_COLOR say; None: as the terminal can. `variables` is the environment over
    ``.env``, for services that have variables of their own. `profiles` are the other homes by the name of their
    profile, each with the settings that hold in it; `routed` names the profile of each rule of `settings.profiles`.
    """

    home: Home
    settings: Settings
    accounts: tuple[Account, ...]
    origins: Mapping[str, Origin] = field(repr=False)
    warnings: tuple[str, ...]
    secrets: frozenset[str] = field(repr=False)
    document: Branch = field(repr=False)
    shape: type[BaseModel] = field(repr=False)
    color: bool | None = None
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    profiles: Mapping[str, Config] = field(default_factory=dict)
    routed: tuple[str, ...] = ()


@dataclass(slots=True)
class Findings:
    """What is wrong, and what is worth a word."""

    problems: list[ConfigError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def report(self, problem: ConfigError) -> None:
        for one in problem.problems if isinstance(problem, ConfigErrors) else (problem,):
            # A key that several accounts inherit is wrong once.
            if not any(_same(one, other) for other in self.problems):
                self.problems.append(one)

    def attempt(self, step: Callable[[], T]) -> T | None:
        """Take a step that raises; what it raised is reported."""
        try:
            return step()
        except ConfigError as error:
            self.report(error)
            return None

    def errors(self) -> ConfigErrors:
        """Return all that is wrong, in the order of the file."""
        return ConfigErrors(sorted(self.problems, key=lambda problem: (problem.file, problem.line, problem.column)))


def _same(one: ConfigError, other: ConfigError) -> bool:
    if (one.file, one.line, one.column) != (other.file, other.line, other.column):
        return False
    return one.text == other.text or (one.line > 0 and _tail(one.text) == _tail(other.text))


def _tail(text: str) -> str:
    return text.rpartition(": ")[2]


def assemble(
    home: Home,
    *,
    flags: Mapping[str, str],
    environ: Mapping[str, str],
    text: str | None = None,
    platforms: Found | None = None,
) -> Config:
    """
    Read everything; raise `ConfigErrors` with all that is wrong.

    `text` stands in for the file, to try a change before it is written; `platforms` for the adapters that are
    installed.
    """
    home.check()
    found = Findings()
    variables = found.attempt(lambda: gather(environ, home.env_file))
    written = found.attempt(lambda: read(home, text))
    if variables is None or written is None:
        raise found.errors()
    tree = expand(written, variables)
    known = platforms or discover(_named(tree, variables))
    root = whole(Settings, known.types)
    tree = document_of(tree, root, variables, flags, found)
    open_files(tree, Slot((root,)), home.path, found.report)
    return _checked(tree, root, home, known, variables, found)


def shape_of(named: set[str]) -> type[BaseModel]:
    """Return the type of the whole document; `named` are platforms that may be others'."""
    return whole(Settings, discover(named).types)


def read(home: Home, text: str | None = None) -> Branch:
    """Return what is written in the file of a home, or in the text that stands in for it."""
    if text is None:
        return document.read(home.config_file)
    return document.parse(text, document.origin_of(home.config_file))


def _named(tree: Branch, variables: Variables) -> set[str]:
    prefix = f"{overlay.PREFIX}PLATFORMS__"
    named = {variable.name for variable in variables if variable.name.startswith(prefix)}
    return names_in(tree) | {name.removeprefix(prefix).partition("__")[0].lower() for name in named}


def document_of(
    tree: Branch, root: type[BaseModel], variables: Variables, flags: Mapping[str, str], found: Findings
) -> Branch:
    """Bring the file into today's spelling and put everything else over it."""
    legacy.modernise(tree, root, found.warnings.append)
    overlay.overlay(tree, root, variables, found.report)
    overlay.flags(tree, root, flags, found.report)
    tree = structure(tree, Slot((root,)), found.report)
    toolsets = find(tree, ("toolsets",))
    if toolsets and isinstance(toolsets.node, Items):
        put(tree, ("toolsets",), Entry(toolsets.key, Branch(toolsets.key, {"default": toolsets})))
    return tree


def _checked(
    tree: Branch, root: type[BaseModel], home: Home, known: Found, variables: Variables, found: Findings
) -> Config:
    secrets = frozenset(secrets_of(tree, root, variables))
    hide = Redactor(secrets)
    settings = settings_of(tree, root, hide, found)
    check_names(tree, known, found.report)
    made = accounts(tree, known.types, root, hide, found.report)
    built = _built(known.types)
    found.warnings += [f"platforms.{name}: its adapter cannot be loaded: {why}" for name, why in known.broken.items()]
    effect.warn_of_idle(tree, root, built, found.warnings.append)
    found.warnings += high_thresholds(tree, settings) if settings is not None else []
    if settings is None or found.problems:
        raise found.errors()
    return Config(
        home=home,
        settings=settings,
        accounts=tuple(account for account in made if account.platform in built),
        origins={said(unit.path): _origin(unit.node, unit.origin) for unit in units(tree, root)},
        warnings=tuple(dict.fromkeys(found.warnings)),
        secrets=secrets | _password(settings.web, home),
        document=tree,
        shape=root,
        color=_color(variables),
        variables={variable.name: variable.value for variable in variables},
    )


def high_thresholds(tree: Branch, settings: Settings) -> list[str]:
    """Warn of a threshold that leaves no room, where it was set."""
    told = {path: (find(tree, path), why) for path, why in too_high(settings.compression).items()}
    return [f"{_origin(at.node, at.key)}: {said(path)}: {why}" for path, (at, why) in told.items() if at is not None]


def _password(web: WebSettings, home: Home) -> frozenset[str]:
    """Return the password of the pages, if it can be read; that it cannot is told where it is needed."""
    try:
        return frozenset({read_password(web, home.path)} - {""})
    except ConfigError:
        return frozenset()


def _color(variables: Variables) -> bool | None:
    """Say what the environment wants; None where it wants nothing."""
    said_so = {name for name in ("NO_COLOR", "FORCE_COLOR") if (found := variables.get(name)) and found.value}
    return "NO_COLOR" not in said_so if said_so else None


def _built(known: Types) -> set[str]:
    """Return the platforms that somebody brings; of ours, the web chat is always there."""
    return {name for name, kind in known.items() if OURS.get(name) is not kind or name == "webchat"}


def settings_of(tree: Branch, root: type[BaseModel], hide: Redactor, found: Findings) -> Settings | None:
    """Return the settings of a document, but for the platforms; None where something is wrong, which is reported."""
    rooms = Branch(tree.origin, {key: entry for key, entry in tree.entries.items() if key != "platforms"})
    try:
        return Settings.model_validate_json(json.dumps(data(rooms, Slot((Settings,)))))
    except ValidationError as error:
        for problem in explain(error.errors(include_url=False), rooms, root, hide):
            found.report(problem)
        return None


def _origin(node: Node, key: Origin) -> Origin:
    return node.origin if isinstance(node, Leaf) else key


def secrets_of(tree: Branch, root: type[BaseModel], variables: Variables) -> Iterator[str]:
    """Yield all that must not be shown: the secrets of the document, and variables that are called like one."""
    for unit in units(tree, root):
        yield from _secrets_in(unit.node, unit.slot)
    for variable in variables:
        if SECRET_NAME.search(variable.name) and len(variable.value) >= 8:
            yield variable.value


def _secrets_in(node: Node, slot: Slot) -> Iterator[str]:
    if isinstance(node, Leaf):
        if slot.url:
            yield from _passwords(node.text)
        elif slot.secret and node.text:
            yield node.text
    elif isinstance(node, Items):
        for item in node.nodes:
            yield from _secrets_in(item, slot.item or Slot((Any,)))
    else:
        for key, entry in node.entries.items():
            yield from _secrets_in(entry.node, slot.below(key) or Slot((Any,)))


def _passwords(url: str) -> Iterator[str]:
    try:
        password = urlsplit(url).password
    except ValueError:
        return
    if password:
        yield password
        yield unquote(password)
