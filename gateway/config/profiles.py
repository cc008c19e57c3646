"""
The homes of profiles: what their own files say of their agents, over what the gateway says of everything else.

In: the configuration of the gateway. Out: one for each other home, and what is wrong with any of them by file, line and
column. A home settles how its agent thinks; who may speak, where, and what is stored is the gateway's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath

from pydantic import BaseModel

from gateway.config import effect
from gateway.config.loading import (
    Config,
    Findings,
    document_of,
    high_thresholds,
    read,
    secrets_of,
    settings_of,
)
from gateway.config.node import Branch, ConfigErrors, Entry, Leaf, Origin, find, leaves, said
from gateway.config.reading import open_files
from gateway.config.shape import Slot, units
from gateway.config.variables import Variables, expand, gather
from gateway.errors import ConfigError
from gateway.home import Home
from gateway.log.redact import Redactor
from gateway.sessions.keys import NAMESPACE

OWN = frozenset(
    """
    model fallback_providers auxiliary agent workspace terminal memory context compression skills toolsets
    platform_hints web_search voice
    """.split()  # noqa: SIM905 (a table, to be read)
)
"""The sections that a home settles for its agent."""
MODELS = ("model", "fallback_providers", "auxiliary")
ENDPOINT = frozenset({"base_url", "api_key", "api_key_file"})
FITTED = frozenset({"context_length", "max_tokens", "temperature"})
"""What is set for one model, and may be wrong for another."""


def with_profiles(config: Config, environ: Mapping[str, str]) -> Config:
    """Return a configuration with the homes of its profiles; raise `ConfigErrors` with all that is wrong."""
    found = Findings(warnings=list(config.warnings))
    homes, names = _homes(config, found)
    profiles = {name: made for name, home in homes.items() if (made := _profile(name, home, config, environ, found))}
    if not found.problems:
        _keep_apart(config, profiles, names, found)
    if found.problems:
        raise found.errors()
    secrets = config.secrets.union(*(profile.secrets for profile in profiles.values()))
    return replace(
        config,
        warnings=tuple(dict.fromkeys(found.warnings)),
        secrets=secrets,
        profiles={name: replace(profile, secrets=secrets) for name, profile in profiles.items()},
        routed=names,
    )


# --- which homes there are


def _homes(config: Config, found: Findings) -> tuple[dict[str, Home], tuple[str, ...]]:
    """Return the other homes by name, and the name that each rule leads to."""
    homes: dict[str, Home] = {}
    names = []
    for number, rule in enumerate(config.settings.profiles):
        home = home_at(config.home, rule.home)
        name = NAMESPACE if _same(home, config.home) else home.path.name
        names.append(name)
        found.warnings += _doubts(config, number)
        if name == NAMESPACE and _same(home, config.home):
            continue
        if (why := _objection(name, home, homes)) is not None:
            found.report(_at(config, number).error(why[0], hint=why[1]))
        else:
            homes.setdefault(name, home)
    return homes, tuple(names)


def home_at(home: Home, written: str) -> Home:
    """Return the home that a rule names; one that is no absolute path is looked for in the gateway's own."""
    # A ~ of somebody who is not here stays in the name, and is told of as a folder that there is not.
    return Home(FilePath(os.path.abspath(home.path / os.path.expanduser(written))))


def _same(home: Home, other: Home) -> bool:
    return _real(home.path) == _real(other.path)


def _real(path: FilePath) -> FilePath:
    """Return a path without links; one that cannot be any file's as it is."""
    try:
        return FilePath(os.path.realpath(path))
    except ValueError:
        return path


def _objection(name: str, home: Home, others: Mapping[str, Home]) -> tuple[str, str] | None:
    """Say why a home cannot be a profile's beside the others, and what mends it."""
    if not os.path.isdir(home.path):
        return f"there is no folder {home.path}", "make it, with a config.yaml or a SOUL.md in it, or take the rule out"
    if name in {"", NAMESPACE}:
        return f"a profile cannot be called {name or 'nothing'}, as the folder is", "give the folder another name"
    if name in others and not _same(others[name], home):
        return (
            f"{others[name].path} is called {name}, too, and profiles are told apart by that",
            "rename one of the folders",
        )
    if same := next((other for other, its in others.items() if other != name and _same(its, home)), None):
        return (
            f"{home.path} is the home of the profile {same} under another name, and agents share nothing",
            f"write {others[same].path}",
        )
    return None


def _at(config: Config, number: int) -> Origin:
    """Return where a rule names its home."""
    path = ("profiles", str(number), "home")
    entry = find(config.document, path)
    assert entry is not None  # a rule without a home is refused before
    place = entry.node.origin if isinstance(entry.node, Leaf) else entry.key
    return place if place.name else replace(place, name=said(path))


def _doubts(config: Config, number: int) -> Iterator[str]:
    """Say what of a rule hardly does what its writer wants: a variable that is not set leaves a condition empty."""
    for name, value in config.settings.profiles[number].match:
        path = ("profiles", str(number), "match", name)
        if (entry := find(config.document, path)) is None:
            continue
        if not value:
            yield f"{entry.key}: {said(path)}: is empty, so that anything fits; take it out if that is meant"
        elif name == "key":
            yield f"{entry.key}: {said(path)}: accepted, but not in effect in this version"


# --- what one of them says


def _profile(name: str, home: Home, config: Config, environ: Mapping[str, str], found: Findings) -> Config | None:
    """Read a home; what is wrong with its files is reported with the name of the profile before theirs."""
    own = Findings()
    try:
        made = _assemble(home, config, environ, own)
    except ConfigErrors as error:
        for problem in error.problems:
            found.report(_of(name, problem))
        return None
    finally:
        found.warnings += [_warning(name, warning) for warning in own.warnings]
    return made


def _assemble(home: Home, config: Config, environ: Mapping[str, str], found: Findings) -> Config:
    variables = found.attempt(lambda: gather(environ, home.env_file))
    written = found.attempt(lambda: read(home))
    if variables is None or written is None:
        raise found.errors()
    root, (dotenv, environment) = config.shape, variables.layers
    # The environment speaks of the gateway; of a profile, its own .env does.
    tree = expand(written, Variables((environment, dotenv)))
    tree = document_of(tree, root, Variables(({}, dotenv)), {}, found)
    tree = _of_its_own(tree, root, found)
    open_files(tree, Slot((root,)), home.path, found.report)
    tree = _with_models(tree, config.document)
    secrets = frozenset(secrets_of(tree, root, Variables(({}, dotenv))))
    settings = settings_of(tree, root, Redactor(secrets), found)
    effect.warn_of_idle(tree, root, frozenset(), found.warnings.append)
    found.warnings += high_thresholds(tree, settings) if settings is not None else []
    if settings is None or found.problems:
        raise found.errors()
    return replace(
        config,
        home=home,
        settings=config.settings.model_copy(update={name: getattr(settings, name) for name in OWN}),
        origins={},
        warnings=(),
        secrets=secrets,
        document=tree,
        variables={name: one.value for layer in (environment, dotenv) for name, one in layer.items()},
    )


def _of_its_own(tree: Branch, root: type[BaseModel], found: Findings) -> Branch:
    """Leave out what is not the home's to say, with a word where it says something."""
    known = Slot((root,)).fields
    gateways = {key: entry for key, entry in tree.entries.items() if key in known and key not in OWN}
    told = {unit.path: unit.origin for unit in units(Branch(tree.origin, gateways), root)}
    # What is no setting at all is not looked at any closer, and no more in effect.
    for path, leaf in leaves(Branch(tree.origin, gateways)):
        if not any(path[: len(unit)] == unit for unit in told):
            told[path] = leaf.origin
    for path, origin in told.items():
        found.warnings.append(f"{origin}: {said(path)}: has no effect in a profile: the gateway's counts")
    return Branch(tree.origin, {key: entry for key, entry in tree.entries.items() if key in OWN or key not in known})


def _with_models(tree: Branch, gateways: Branch) -> Branch:
    """
    Return a document with the gateway's models where the home names none of its own.

    A home that names an endpoint or a key has its own: the gateway's key is for the gateway's endpoint.
    """
    model = find(tree, ("model",))
    own = model.node.entries if model is not None and isinstance(model.node, Branch) else {}
    if own.keys() & ENDPOINT:
        return tree
    entries = {name: entry for name in MODELS if (entry := gateways.entries.get(name)) is not None} | tree.entries
    if (theirs := gateways.entries.get("model")) is not None and isinstance(theirs.node, Branch):
        left_out = FITTED if "default" in own else frozenset[str]()
        both = {key: entry for key, entry in theirs.node.entries.items() if key not in left_out} | own
        entries["model"] = Entry(theirs.key, Branch(theirs.key, both))
    return Branch(tree.origin, entries)


def _of(name: str, problem: ConfigError) -> ConfigError:
    text = problem.text if problem.file else f"the profile {name}: {problem.text}"
    file = f"{name}/{problem.file}" if problem.file else ""
    return ConfigError(text, file=file, line=problem.line, column=problem.column, hint=problem.hint)


def _warning(name: str, warning: str) -> str:
    return f"{name}/{warning}" if warning.startswith(("config.yaml:", ".env:")) else f"the profile {name}: {warning}"


# --- that no agent reads the home of another


def _keep_apart(config: Config, profiles: Mapping[str, Config], routed: Sequence[str], found: Findings) -> None:
    """Report every home that lies in what the file tools of some agent can read, and the gateway's own."""
    for name, number in {name: number for number, name in reversed(list(enumerate(routed)))}.items():
        agent = profiles.get(name, config)
        pairs = [(agent.home, reader, other) for reader, other in ((NAMESPACE, config), *profiles.items())]
        for home, reader, other in [*pairs, (config.home, name, agent)]:
            if folder := next((one for one in _reached(other) if _is_within(home.path, one)), None):
                text = f"the home {home.path} lies in {folder}, where the agent of {reader} reads files"
                found.report(_at(config, number).error(text, hint="move one of the two: it has secrets"))


def _reached(config: Config) -> tuple[FilePath, ...]:
    """Return the folders whose files an agent may read."""
    workspace = config.settings.workspace
    top = FilePath(os.path.expanduser(workspace.dir)) if workspace.dir else config.home.workspaces
    skills = [FilePath(os.path.expanduser(folder)) for folder in config.settings.skills.external_dirs]
    return (top, *workspace.read_dirs, *skills)


def _is_within(path: FilePath, folder: FilePath) -> bool:
    return _real(path).is_relative_to(_real(folder))
