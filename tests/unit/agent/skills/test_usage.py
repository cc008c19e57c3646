"""What is counted of skills, and the archive: nothing of it gets lost or harms, whoever else writes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from gateway.agent.skills.library import Library
from gateway.agent.skills.usage import MOST_BYTES, UNKNOWN, Usage
from gateway.errors import ToolError
from tests.unit.agent.skills.folders import put_skill

WRITER = """
import sys
from pathlib import Path
from gateway.agent.skills.usage import Usage
usage = Usage(Path(sys.argv[1]))
for _ in range(40):
    usage.bump("shared", "view")
    usage.bump(sys.argv[2], "use")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "skills").mkdir()
    return tmp_path / "skills"


def stored(folder: Path) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads((folder / ".usage.json").read_bytes())
    return found


async def test_two_processes_that_count_at_once_lose_nothing(folder: Path) -> None:
    writers = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, str(folder), name) for name in ("one", "two")
    ]
    assert [await writer.wait() for writer in writers] == [0, 0]
    records = Usage(folder).records()
    assert (records["shared"].views, records["one"].uses, records["two"].uses) == (80, 40, 40)


def test_the_layout_is_the_references_and_what_we_do_not_know_stays(folder: Path) -> None:
    record = {
        "use_count": 3,
        "view_count": 2,
        "last_used_at": "2026-01-01T00:00:00+00:00",
        "theirs": [1],
        "pinned": True,
    }
    (folder / ".usage.json").write_text(json.dumps({"a": record}))
    usage = Usage(folder)
    found = usage.record("a")
    assert (found.uses, found.views, found.pinned, found.last) == (3, 2, True, "2026-01-01T00:00:00+00:00")
    usage.bump("a", "use")
    kept = stored(folder)["a"]
    assert (kept["use_count"], kept["theirs"], kept["pinned"]) == (4, [1], True)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"null",
        b'{"a": 3}',
        b'{"a": {"view_count": "x", "pinned": "yes", "created_by": [], "last_used_at": 5}}',
        b'{"a": {"view_count": -5, "use_count": true}}',
        b'{"a": {"view_count": 1e400}}',
        b'{"\\ud800": {}, "a": {}}',
        b'{"a": {"x": "\\ud800"}}',
    ],
)
def test_whatever_stands_in_it_can_be_lived_with(folder: Path, raw: bytes) -> None:
    (folder / ".usage.json").write_bytes(raw)
    usage = Usage(folder)
    assert usage.record("a") == UNKNOWN
    usage.bump("a", "view")
    assert usage.record("a").views == 1


def test_a_damaged_one_is_kept_aside(folder: Path) -> None:
    (folder / ".usage.json").write_text("{damaged")
    Usage(folder).bump("a", "view")
    assert Usage(folder).record("a").views == 1
    assert (folder / ".usage.json.damaged").read_text() == "{damaged"


def test_what_can_be_read_and_not_written_again_stays_as_it_is(folder: Path) -> None:
    raw = b'{"a": {"view_count": 2, "x": ' + b"[" * 500 + b"]" * 500 + b"}}"
    (folder / ".usage.json").write_bytes(raw)
    usage = Usage(folder)
    usage.bump("a", "view")
    assert (folder / ".usage.json").read_bytes() == raw
    with pytest.raises(ToolError, match="cannot be written again"):
        usage.pin("a")


def test_one_that_is_too_large_stays_as_it_is(folder: Path) -> None:
    with (folder / ".usage.json").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    usage = Usage(folder)
    usage.bump("a", "view")
    assert (folder / ".usage.json").stat().st_size == MOST_BYTES + 1
    assert not (folder / ".usage.json.damaged").exists()
    assert usage.records() == {}


def test_what_is_no_file_counts_nothing(folder: Path) -> None:
    os.mkfifo(folder / ".usage.json")
    usage = Usage(folder)
    assert usage.records() == {}
    usage.bump("a", "view")


def test_a_home_that_only_reads_skills_of_others_counts_them_too(tmp_path: Path) -> None:
    usage = Usage(tmp_path / "skills")
    assert usage.records() == {}
    usage.bump("theirs", "view")
    assert usage.record("theirs").views == 1


# --- the archive


def test_what_is_archived_is_gone_from_the_library_and_comes_back_where_it_was(tmp_path: Path) -> None:
    put_skill(tmp_path / "skills", "ops/deploy", name="ship-it")
    library = Library(tmp_path)
    skill = library.find("ship-it")
    assert skill is not None
    assert library.shelf.archive(skill) == "deploy"
    library.changed()
    assert library.catalog().skills == ()
    assert not (tmp_path / "skills/ops").exists()
    assert library.shelf.archived() == ["deploy"]
    assert library.usage.record("ship-it").archived_from == "ops/deploy"
    assert library.shelf.restore("deploy") == "ops/deploy"
    library.changed()
    assert library.find("ship-it") is not None
    assert library.usage.record("ship-it").archived == ""
    assert library.shelf.archived() == []


def test_several_of_one_name_can_be_archived_and_the_newest_comes_back(tmp_path: Path) -> None:
    library = Library(tmp_path)
    for version in ("first", "second", "third"):
        put_skill(tmp_path / "skills", "a", version)
        library.changed()
        skill = library.find("a")
        assert skill is not None
        library.shelf.archive(skill)
    names = library.shelf.archived()
    assert len(names) == 3
    assert names[0] == "a"
    assert library.shelf.restore(names[2]) == "a"
    assert "third" in (tmp_path / "skills/a/SKILL.md").read_text()
    with pytest.raises(ToolError, match="there already"):
        library.shelf.restore("a")


def test_a_pinned_skill_stays_until_it_is_unpinned(tmp_path: Path) -> None:
    put_skill(tmp_path / "skills", "a")
    library = Library(tmp_path)
    skill = library.find("a")
    assert skill is not None
    library.shelf.pin(skill)
    with pytest.raises(ToolError, match="pinned"):
        library.shelf.archive(skill)
    library.shelf.unpin(skill)
    library.shelf.archive(skill)


def test_what_lies_elsewhere_is_not_archived(tmp_path: Path) -> None:
    put_skill(tmp_path / "other", "a")
    library = Library(tmp_path / "home", external=[tmp_path / "other"])
    skill = library.find("a")
    assert skill is not None
    with pytest.raises(ToolError, match="only read"):
        library.shelf.archive(skill)
    assert (tmp_path / "other/a/SKILL.md").exists()


@pytest.mark.parametrize("name", ["gone", "", "..", "../other", "a/b", "."])
def test_only_what_the_archive_has_comes_back(tmp_path: Path, name: str) -> None:
    put_skill(tmp_path / "skills", ".archive/a")
    with pytest.raises(ToolError, match="has nothing called"):
        Library(tmp_path).shelf.restore(name)


def test_an_archive_that_leads_out_is_not_used(tmp_path: Path) -> None:
    put_skill(tmp_path / "skills", "a")
    put_skill(tmp_path / "outside", "b")
    (tmp_path / "skills/.archive").symlink_to(tmp_path / "outside")
    library = Library(tmp_path)
    skill = library.find("a")
    assert skill is not None
    assert library.shelf.archived() == []
    with pytest.raises(ToolError):
        library.shelf.archive(skill)
    assert os.listdir(tmp_path / "outside") == ["b"]
