"""Any settings at all, written to a file or to the environment, come back as they were."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from pydantic_core import to_jsonable_python

from gateway.config import Config, load
from gateway.config.describe import written
from gateway.config.node import Path as KeyPath
from gateway.config.settings import Settings
from gateway.config.shape import Slot, known

HARD = {
    "workspace",
    "terminal",
    "profiles",
    "fallback_providers",
    "mcp_servers",
    "quick_commands",
    "web.admin_password_file",
}
"""Sections whose values depend on each other or on this machine."""
FREE = ("model.default", "memory.provider", "context.engine", "platforms")
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


def strategy(slot: Slot) -> st.SearchStrategy[Any] | None:
    """Values that a key takes, by its type; None for keys whose text has a form of its own."""
    option = next(one for one in slot.options if one is not type(None))
    if get_origin(option) is Literal:
        return st.sampled_from(get_args(option))
    if option is bool:
        return st.booleans()
    bounds = {
        name: getattr(mark, name) for mark in (slot.field.metadata if slot.field else []) for name in vars_of(mark)
    }
    if option is int:
        return st.integers(bounds.get("ge", bounds.get("gt", -1) + 1), bounds.get("le", bounds.get("lt", 10_001) - 1))
    if option is float:
        least, most = bounds.get("ge", bounds.get("gt", 0)), bounds.get("le", bounds.get("lt", 1000))
        return st.floats(least, most, exclude_min="gt" in bounds, exclude_max="lt" in bounds).map(
            lambda x: round(x, 3) if least < round(x, 3) < most else x
        )
    return None


def vars_of(mark: object) -> list[str]:
    return [name for name in ("ge", "gt", "le", "lt") if getattr(mark, name, None) is not None]


def drawn() -> dict[KeyPath, st.SearchStrategy[Any]]:
    found: dict[KeyPath, st.SearchStrategy[Any]] = {}
    for path, slot in known(Settings):
        values = None if path[0] in HARD or slot.models or path == ("compression", "micro_compact") else strategy(slot)
        if values is not None:
            found[path] = values
    return found


ALL = {
    **drawn(),
    ("model", "default"): TEXT,
    ("memory", "provider"): TEXT,
    ("access", "owners"): st.lists(TEXT.map("pigeon:{}".format), max_size=3),
    ("agent", "personalities"): st.dictionaries(TEXT, TEXT, max_size=3),
    ("compression", "model_thresholds"): st.dictionaries(TEXT, st.floats(0.1, 0.9), max_size=3),
    ("web_search", "api_key"): TEXT,
    ("log", "levels"): st.dictionaries(TEXT, st.sampled_from(["debug", "error"]), max_size=2),
}
CHOSEN = st.lists(st.sampled_from(sorted(ALL)), unique=True, max_size=8).flatmap(
    lambda paths: st.fixed_dictionaries({path: ALL[path] for path in paths})
)


def at(config: Config, path: KeyPath) -> Any:
    value: Any = config.settings
    for part in path:
        value = getattr(value, part)
    return value.get_secret_value() if isinstance(value, SecretStr) else to_jsonable_python(value)


def allowed(chosen: dict[KeyPath, Any]) -> dict[KeyPath, Any]:
    """Leave out what one key alone may not be: a policy of open."""
    return {path: value for path, value in chosen.items() if value != "open"}


@settings(max_examples=40, deadline=None)
@given(CHOSEN)
def test_settings_come_back_from_a_file(chosen: dict[KeyPath, Any]) -> None:
    chosen = {path: value for path, value in allowed(chosen).items() if "${" not in written(value)}
    document: dict[str, Any] = {}
    for path, value in chosen.items():
        below = document
        for part in path[:-1]:
            below = below.setdefault(part, {})
        below[path[-1]] = value
    with tempfile.TemporaryDirectory() as home:
        (Path(home) / "config.yaml").write_text(written(document), "utf-8")
        config = load(Path(home), environ={})
    assert {path: at(config, path) for path in chosen} == chosen
    assert all(str(origin).startswith("config.yaml:1:") for origin in config.origins.values())


@settings(max_examples=40, deadline=None)
@given(CHOSEN)
def test_settings_come_back_from_the_environment(chosen: dict[KeyPath, Any]) -> None:
    chosen = allowed(chosen)
    environ = {}
    for path, value in chosen.items():
        text = value if isinstance(value, str) else written(value)
        environ[f"HERMES_GATEWAY__{'__'.join(path).upper()}"] = text
    with tempfile.TemporaryDirectory() as home:
        config = load(Path(home), environ=environ)
    assert {path: at(config, path) for path in chosen} == chosen


def test_enough_keys_take_part() -> None:
    assert len(ALL) > 70
