"""How the provider is found that the settings name, and what is said where it is not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from gateway.agent.memory.providers.given import Given
from gateway.agent.memory.providers.loading import open_provider
from gateway.agent.memory.settings import MemorySettings
from gateway.contracts.memory import MemoryProvider
from gateway.errors import ConfigError

PLUGIN = """
from pathlib import Path
from typing import Any, Mapping
from gateway.errors import ConfigError
from tests.fakes.memory import FakeMemory
from .parts import shout

def create(settings: Mapping[str, Any], home: Path) -> FakeMemory:
    if "word" not in settings:
        raise ConfigError("memory.plugin.word is missing")
    return FakeMemory(shout(settings["word"]))
"""


def opened(home: Path, provider: str, allow: tuple[str, ...] = (), **settings: Any) -> MemoryProvider | None:
    return open_provider(MemorySettings(provider=provider, **settings), home, {}, allow=allow)


def write_plugin(home: Path, name: str = "mine", code: str = PLUGIN) -> None:
    folder = home / "plugins" / "memory" / name
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(code, "utf-8")
    (folder / "parts.py").write_text("def shout(word: str) -> str:\n    return word.upper()\n", "utf-8")


@pytest.fixture
def package(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with an entry point for the provider ``theirs``."""
    site = tmp_path_factory.mktemp("site")
    (site / "their_memory.py").write_text(PLUGIN.replace("from .parts import shout", "shout = str.title"), "utf-8")
    info = site / "their_memory-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-memory\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("[hermes_gateway.memory]\ntheirs = their_memory\n", "utf-8")
    monkeypatch.syspath_prepend(str(site))


def test_no_provider_is_chosen(tmp_path: Path) -> None:
    assert opened(tmp_path, "") is None


def test_one_of_ours_is_made(tmp_path: Path) -> None:
    provider = opened(tmp_path, "holographic")
    assert provider is not None
    assert provider.name == "holographic"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["retaindb", "supermemory", "hindsight", "byterover", "openviking"])
def test_one_that_is_not_built_yet_is_said_to_be_so(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        ConfigError, match=f"memory.provider: {name} is not built yet; there are holographic, honcho, mem0"
    ):
        opened(tmp_path, name)


@pytest.mark.parametrize("name", ["holografic", "../mine", "/etc", "mine.parts", "__init__"])
def test_an_unknown_name_is_told_what_there_is(tmp_path: Path, name: str) -> None:
    write_plugin(tmp_path)
    write_plugin(tmp_path, "not a name")
    with pytest.raises(ConfigError) as refused:
        opened(tmp_path, name, ("mine", name))
    assert str(refused.value) == (
        f"memory.provider: there is no provider {name!r}; there are holographic, honcho, mem0, mine"
    )


def test_a_plugin_of_the_home_is_made_with_its_settings(tmp_path: Path) -> None:
    write_plugin(tmp_path)
    (tmp_path / "mine.json").write_text('{"word": "file", "other": 1}', "utf-8")
    provider = opened(tmp_path, "mine", ("mine",))
    assert provider is not None
    assert provider.name == "FILE"
    provider = opened(tmp_path, "mine", ("mine",), plugin={"word": SecretStr("config")})
    assert provider is not None
    assert provider.name == "CONFIG"


@pytest.mark.usefixtures("package")
def test_a_plugin_of_a_package_is_made(tmp_path: Path) -> None:
    provider = opened(tmp_path, "theirs", ("theirs",), plugin={"word": SecretStr("config")})
    assert provider is not None
    assert provider.name == "Config"


@pytest.mark.usefixtures("package")
def test_a_plugin_of_the_home_goes_before_one_of_a_package(tmp_path: Path) -> None:
    write_plugin(tmp_path, "theirs")
    provider = opened(tmp_path, "theirs", ("theirs",), plugin={"word": SecretStr("config")})
    assert provider is not None
    assert provider.name == "CONFIG"


def test_one_of_ours_is_not_replaced_by_a_plugin(tmp_path: Path) -> None:
    write_plugin(tmp_path, "holographic", "raise LookupError")
    provider = opened(tmp_path, "holographic", ("holographic",))
    assert provider is not None
    assert type(provider).__module__.startswith("gateway.")


def test_a_plugin_is_not_even_imported_where_it_is_not_allowed(tmp_path: Path) -> None:
    write_plugin(tmp_path, "mine", "import sys\nsys.modules['it_ran'] = sys\n")
    with pytest.raises(ConfigError, match=r"the plugin mine is not allowed; add its name to plugins.allow"):
        opened(tmp_path, "mine", ("other",))
    assert "it_ran" not in sys.modules


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise LookupError('a bug')", "LookupError: a bug"),
        ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("def create(:", "SyntaxError: invalid syntax"),
        ("", "has no attribute 'create'"),
        ("def create(settings, home): return 1", "TypeError: create returned int, not a MemoryProvider"),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_a_plugin_that_fails_to_load_is_left_out(
    tmp_path: Path, code: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    write_plugin(tmp_path, "mine", code)
    assert opened(tmp_path, "mine", ("mine",)) is None
    (record,) = caplog.records
    assert record.getMessage().startswith("the memory plugin mine is left out, since it failed to load: ")
    assert why in record.getMessage()


def test_a_plugin_that_failed_can_be_loaded_once_it_is_mended(tmp_path: Path) -> None:
    write_plugin(tmp_path, "mine", "from . import parts\nraise LookupError")
    assert opened(tmp_path, "mine", ("mine",)) is None
    folder = tmp_path / "plugins" / "memory" / "mine"
    (folder / "__init__.py").write_text(PLUGIN.replace("mport shout", "mport shout_out as shout"), "utf-8")
    (folder / "parts.py").write_text("def shout_out(word):\n    return word + '!'\n", "utf-8")
    provider = opened(tmp_path, "mine", ("mine",), plugin={"word": SecretStr("config")})
    assert provider is not None
    assert provider.name == "config!"


def test_a_plugin_says_which_setting_is_missing(tmp_path: Path) -> None:
    write_plugin(tmp_path)
    with pytest.raises(ConfigError, match=r"memory.plugin.word is missing"):
        opened(tmp_path, "mine", ("mine",))


# --- where a value is looked for


def test_a_setting_goes_before_the_file_and_the_file_before_the_environment(tmp_path: Path) -> None:
    variables = {"FIRST": "", "SECOND": "environment"}
    given = Given(MemorySettings(), tmp_path, variables, {"key": "file", "number": 5, "none": None})
    assert given.find("config", "key", "SECOND") == "config"
    assert given.find(SecretStr("config"), "key", "SECOND") == "config"
    assert given.find(SecretStr(""), "key", "SECOND") == "file"
    assert given.find("", "number") == "5"
    assert given.find("", "none", "FIRST", "SECOND") == "environment"
    assert given.find("", "absent", "FIRST", "THIRD") == ""
