"""How the engine is found that the settings name, and what stands in where it is not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.agent.context.compressor import Compressor
from gateway.agent.context.engines import Chosen, open_engine, told
from gateway.agent.context.guarded import Guarded
from gateway.agent.context.settings import CompressionSettings
from gateway.contracts.context import ContextEngine

SETTINGS = CompressionSettings(threshold=0.4)
PLUGIN = """
from gateway.contracts.context import Kept
from gateway.contracts.context import ContextEngine
from gateway.errors import ConfigError
from .parts import shout

class Engine(ContextEngine):
    name = "whatever"
    due = 5

    def __init__(self, settings, home):
        self.shown = {"word": shout(settings["word"]), "threshold": settings["threshold"], "home": home.name}

    async def compress(self, past, order):
        return Kept(reason="nothing to do")

    def status(self):
        return self.shown

def create(settings, home):
    if "word" not in settings:
        raise ConfigError("word is missing", hint="put it into mine.json")
    return Engine(settings, home)
"""


def ours() -> ContextEngine:
    return Compressor(SETTINGS, lambda text: text)


class Opened:
    """What is made of the settings, and what is warned of."""

    def __init__(self, home: Path, name: str, *allow: str) -> None:
        self.warnings: list[str] = []
        chosen = Chosen(name, SETTINGS, home, allow)
        self.make: Callable[[], ContextEngine] = open_engine(chosen, ours, self._warn)

    def _warn(self, what: str, mend: str) -> None:
        self.warnings.append(told(what, mend))

    @property
    def engine(self) -> ContextEngine:
        return self.make()


def write_plugin(home: Path, name: str = "mine", code: str = PLUGIN, own: str = '{"word": "hi"}') -> None:
    folder = home / "plugins" / "context_engine" / name
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(code, "utf-8")
    (folder / "parts.py").write_text("def shout(word):\n    return word.upper()\n", "utf-8")
    if own:
        (home / f"{name}.json").write_text(own, "utf-8")


@pytest.fixture
def package(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with an entry point for the engine ``theirs``."""
    site = tmp_path_factory.mktemp("site")
    (site / "their_engine.py").write_text(PLUGIN.replace("from .parts import shout", "shout = str.title"), "utf-8")
    info = site / "their_engine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-engine\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("[hermes_gateway.context_engine]\ntheirs = their_engine\n", "utf-8")
    monkeypatch.syspath_prepend(str(site))


def test_the_compressor_is_ours_whatever_plugin_calls_itself_so(tmp_path: Path) -> None:
    write_plugin(tmp_path, "compressor", "raise LookupError")
    opened = Opened(tmp_path, "compressor", "compressor")
    assert isinstance(opened.engine, Compressor)
    assert opened.warnings == []


def test_a_plugin_of_the_home_is_made_with_the_settings_of_compression_and_its_own_file(tmp_path: Path) -> None:
    write_plugin(tmp_path)
    opened = Opened(tmp_path, "mine", "mine")
    assert opened.warnings == []
    assert opened.engine.name == "mine"
    assert opened.engine.due == 5
    assert opened.engine.status() == {"word": "HI", "threshold": "0.4", "home": tmp_path.name}


def test_its_own_file_goes_before_the_settings_of_compression(tmp_path: Path) -> None:
    write_plugin(tmp_path, own='{"word": "hi", "threshold": 0.9}')
    assert Opened(tmp_path, "mine", "mine").engine.status()["threshold"] == "0.9"


def test_every_live_session_has_an_object_of_its_own_of_code_that_ran_once(tmp_path: Path) -> None:
    write_plugin(tmp_path, code=f"import sys\nsys.ran = getattr(sys, 'ran', 0) + 1\n{PLUGIN}")
    opened = Opened(tmp_path, "mine", "mine")
    assert opened.engine is not opened.engine
    assert vars(sys).pop("ran") == 1


@pytest.mark.usefixtures("package")
def test_a_plugin_of_a_package_is_made(tmp_path: Path) -> None:
    (tmp_path / "theirs.json").write_text('{"word": "hi"}', "utf-8")
    assert Opened(tmp_path, "theirs", "theirs").engine.status()["word"] == "Hi"


@pytest.mark.usefixtures("package")
def test_a_plugin_of_the_home_goes_before_one_of_a_package(tmp_path: Path) -> None:
    write_plugin(tmp_path, "theirs")
    assert Opened(tmp_path, "theirs", "theirs").engine.status()["word"] == "HI"


@pytest.mark.parametrize("name", ["mime", "../mine", "/etc", "mine.parts"])
def test_for_an_unknown_name_the_compressor_stands_in_and_it_is_told_what_there_is(tmp_path: Path, name: str) -> None:
    write_plugin(tmp_path)
    opened = Opened(tmp_path, name, "mine", name)
    assert isinstance(opened.engine, Compressor)
    place = tmp_path / "plugins" / "context_engine" / "NAME"
    assert opened.warnings == [
        f"context.engine: there is no engine {name!r}; there are compressor, mine, and a plugin belongs into {place}"
        "; the compressor stands in for it"
    ]


def test_a_plugin_that_is_not_allowed_is_not_even_imported(tmp_path: Path) -> None:
    write_plugin(tmp_path, code="import sys\nsys.modules['it_ran'] = sys\n")
    opened = Opened(tmp_path, "mine", "other")
    assert isinstance(opened.engine, Compressor)
    assert opened.warnings == [
        "context.engine: the plugin mine is not allowed; add its name to plugins.allow; the compressor stands in for it"
    ]
    assert "it_ran" not in sys.modules


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise LookupError('a bug')", "LookupError: a bug"),
        ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("def create(:", "SyntaxError: invalid syntax"),
        ("", "has no attribute 'create'"),
        ("def create(settings, home): return 1", "TypeError: create returned int, not a ContextEngine"),
        ("def create(settings, home): raise OSError('no room')", "OSError: no room"),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_for_a_plugin_that_fails_the_compressor_stands_in(tmp_path: Path, code: str, why: str) -> None:
    write_plugin(tmp_path, code=code)
    opened = Opened(tmp_path, "mine", "mine")
    assert isinstance(opened.engine, Compressor)
    (warning,) = opened.warnings
    assert warning.startswith("context.engine: the plugin mine failed to load: ")
    assert why in warning
    assert "; mend it, and start the gateway again; the compressor stands in for it" in warning


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ("{", "mine.json:1:2: not JSON"),
        ("[]", "mine.json: must be a JSON object"),
        ("{}", "the plugin mine: word is missing; put it into mine.json"),
    ],
)
def test_settings_of_a_plugin_that_are_wrong_are_said_to_be_so(tmp_path: Path, own: str, told: str) -> None:
    write_plugin(tmp_path, own=own)
    opened = Opened(tmp_path, "mine", "mine")
    assert not isinstance(opened.engine, Guarded)
    (warning,) = opened.warnings
    assert warning.startswith("context.engine: ")
    assert told in warning
    assert warning.endswith("; the compressor stands in for it")
