"""The snapshot spares reading the skills, and whatever stands in it harms nobody."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gateway.agent.skills import snapshot
from gateway.agent.skills.library import Library
from tests.unit.agent.skills.folders import READERS, put_skill
from tests.unit.agent.skills.test_reading import FULL


def file(home: Path) -> Path:
    return home / ".skills_prompt_snapshot.json"


def stored(home: Path) -> Any:
    return json.loads(file(home).read_bytes())


def a_home(home: Path) -> Library:
    put_skill(home / "skills", "ops/deploy", "Ship it")
    (home / "skills/ops/DESCRIPTION.md").write_text("---\ndescription: All of ops\n---\n")
    (home / "skills/full").mkdir()
    (home / "skills/full/SKILL.md").write_text(FULL.replace("name: deploy", "name: full"))
    put_skill(home / "skills", "bad", "a: b")
    put_skill(home / "other", "external", "Not in it")
    return Library(home, external=[home / "other"])


def test_it_has_the_references_layout_and_local_files_only(tmp_path: Path) -> None:
    a_home(tmp_path).catalog()
    kept = stored(tmp_path)
    state = (tmp_path / "skills/ops/deploy/SKILL.md").stat()
    assert kept["version"] == 1
    assert kept["manifest"].keys() == {
        "bad/SKILL.md",
        "full/SKILL.md",
        "ops/deploy/SKILL.md",
        "ops/DESCRIPTION.md",
    }
    assert kept["manifest"]["ops/deploy/SKILL.md"] == [state.st_mtime_ns, state.st_size]
    assert kept["category_descriptions"] == {"ops": "All of ops"}
    entry = next(entry for entry in kept["skills"] if entry["skill_name"] == "deploy")
    assert (entry["category"], entry["frontmatter_name"], entry["description"]) == ("ops", "deploy", "Ship it")
    assert entry["conditions"].keys() == {
        "requires_tools",
        "requires_toolsets",
        "fallback_for_tools",
        "fallback_for_toolsets",
    }


def test_the_next_process_knows_the_same_without_reading(tmp_path: Path) -> None:
    library = a_home(tmp_path)
    catalog, index = library.catalog(), library.index(READERS)
    for path in (tmp_path / "skills").rglob("*.md"):
        state = path.stat()
        path.write_bytes(b"x" * state.st_size)
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    other = Library(tmp_path, external=[tmp_path / "other"])
    assert other.catalog().skills == catalog.skills
    assert other.index(READERS) == index


def test_only_what_changed_is_read_anew(tmp_path: Path) -> None:
    a_home(tmp_path).catalog()
    (tmp_path / "skills/bad/SKILL.md").write_text("---\nname: good\ndescription: Mended\n---\nX")
    assert "good" in Library(tmp_path).catalog().labels
    assert [entry["frontmatter_name"] for entry in stored(tmp_path)["skills"]] == ["good", "full", "deploy"]


def broken(kept: Any, path: str, value: Any) -> bytes:
    at = kept
    *way, last = path.split(".")
    for step in way:
        at = at[int(step) if step.isdecimal() else step]
    at[last] = value
    return json.dumps(kept).encode()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("version", 2),
        ("version", None),
        ("manifest", []),
        ("manifest", {"ops/deploy/SKILL.md": "x"}),
        ("manifest", {"ops/deploy/SKILL.md": [1, 2, 3]}),
        ("manifest", {"ops/deploy/SKILL.md": [True, "2"]}),
        ("skills", None),
        ("skills", [1]),
        ("skills", [[]]),
        ("skills", {"a": "b"}),
        ("skills.0.hermes_gateway", None),
        ("skills.0.hermes_gateway.path", 3),
        ("skills.0.hermes_gateway.path", "../../etc"),
        ("skills.0.hermes_gateway.about", {"tags": "abc"}),
        ("skills.0.hermes_gateway.about", {"tags": [1]}),
        ("skills.0.hermes_gateway.about", {"conditions": {"root": []}}),
        ("skills.0.hermes_gateway.about", {"config": [["a", "b", "c", "d", "e"]]}),
        ("skills.0.hermes_gateway.about", []),
        ("skills.0.frontmatter_name", ["a"]),
        ("category_descriptions", {"ops": 1}),
        ("category_descriptions", None),
    ],
)
def test_a_damaged_or_hostile_one_is_made_anew(tmp_path: Path, path: str, value: Any) -> None:
    skills = a_home(tmp_path).catalog().skills
    good = stored(tmp_path)
    file(tmp_path).write_bytes(broken(stored(tmp_path), path, value))
    found = Library(tmp_path, external=[tmp_path / "other"]).catalog()
    assert set(found.skills) == set(skills)
    assert found.descriptions == {"ops": "All of ops"}
    assert sorted(map(str, stored(tmp_path)["skills"])) == sorted(map(str, good["skills"]))


@pytest.mark.parametrize("raw", [b"", b"{", b"[1]", b"null", b"\xff\xfe", b"[" * 100_000, b"1" * 100])
def test_what_is_no_snapshot_at_all_is_none(tmp_path: Path, raw: bytes) -> None:
    file(tmp_path).write_bytes(raw)
    assert snapshot.load(tmp_path, tmp_path / "skills") == snapshot.Snapshot()


def test_the_references_own_is_read_past(tmp_path: Path) -> None:
    skills = a_home(tmp_path).catalog().skills
    kept = stored(tmp_path)
    for entry in kept["skills"]:
        del entry["hermes_gateway"]
    file(tmp_path).write_text(json.dumps(kept))
    assert set(Library(tmp_path, external=[tmp_path / "other"]).catalog().skills) == set(skills)


def test_one_that_is_too_large_or_no_file_is_none(tmp_path: Path) -> None:
    with file(tmp_path).open("wb") as large:
        large.truncate(1024**3)
    assert snapshot.load(tmp_path, tmp_path / "skills") == snapshot.Snapshot()
    file(tmp_path).unlink()
    os.mkfifo(file(tmp_path))
    assert snapshot.load(tmp_path, tmp_path / "skills") == snapshot.Snapshot()
    file(tmp_path).unlink()
    file(tmp_path).symlink_to("/etc/passwd")
    assert snapshot.load(tmp_path, tmp_path / "skills") == snapshot.Snapshot()


def test_a_home_that_cannot_be_written_does_without(tmp_path: Path) -> None:
    file(tmp_path).mkdir()
    put_skill(tmp_path / "skills", "a")
    assert "a" in Library(tmp_path).catalog().labels
