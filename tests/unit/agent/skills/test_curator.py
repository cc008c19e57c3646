"""Skills of the agent's own that nobody uses are put away; everybody else's stay."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateway.agent.skills.curator import curate, is_stale
from gateway.agent.skills.library import Library
from gateway.agent.skills.usage import NAME, Record
from tests.unit.agent.skills.folders import put_skill

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def ago(days: float) -> str:
    return (NOW - timedelta(days=days)).isoformat()


RECORDS = {
    "old": {"created_by": "agent", "created_at": ago(200), "last_viewed_at": ago(91)},
    "never-used": {"created_by": "agent", "created_at": ago(91)},
    "used": {"created_by": "agent", "created_at": ago(200), "last_used_at": ago(89)},
    "pinned": {"created_by": "agent", "created_at": ago(200), "pinned": True},
    "persons": {"created_at": ago(200)},
    "bundled": {"created_by": "bundled", "created_at": ago(200)},
    "timeless": {"created_by": "agent"},
    "strange": {"created_by": "agent", "created_at": "long ago"},
    "gone": {"created_by": "agent", "created_at": ago(200)},
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in RECORDS.keys() - {"gone"}:
        put_skill(tmp_path / "skills", f"ops/{name}")
    (tmp_path / "skills" / NAME).write_text(json.dumps(RECORDS))
    return tmp_path


def left(home: Path) -> set[str]:
    return {skill.name for skill in Library(home).catalog().skills}


def test_what_the_agent_made_and_nobody_used_is_put_away_and_can_be_brought_back(home: Path) -> None:
    library = Library(home)
    assert sorted(one.name for one in curate(library, 90, NOW)) == ["never-used", "old"]
    assert left(home) == RECORDS.keys() - {"gone", "old", "never-used"}
    assert library.shelf.restore("old") == "ops/old"
    assert "old" in left(home)


def test_what_a_person_puts_where_the_agent_s_was_stays(home: Path) -> None:
    curate(Library(home), 90, NOW)
    put_skill(home / "skills", "ops/old", "A person's own")
    assert curate(Library(home), 90, NOW + timedelta(days=400)) != []
    assert "old" in left(home)


def test_where_two_have_a_name_nobody_knows_which_is_the_agent_s(home: Path) -> None:
    put_skill(home / "skills", "mine/old", "A person's own")
    assert [one.name for one in curate(Library(home), 90, NOW)] == ["never-used"]


def test_two_who_look_at_once_put_each_away_once(home: Path) -> None:
    libraries = [Library(home) for _ in range(4)]
    for library in libraries:
        library.catalog()
    with ThreadPoolExecutor(4) as pool:
        gone = [one.name for all_of in pool.map(lambda one: curate(one, 90, NOW), libraries) for one in all_of]
    assert sorted(gone) == ["never-used", "old"]


def test_a_skill_in_a_folder_that_is_only_read_stays(tmp_path: Path) -> None:
    put_skill(tmp_path / "others", "old")
    (tmp_path / "home/skills").mkdir(parents=True)
    (tmp_path / "home/skills" / NAME).write_text(json.dumps(RECORDS))
    assert curate(Library(tmp_path / "home", external=[tmp_path / "others"]), 90, NOW) == []


def test_no_days_are_never_over() -> None:
    assert not is_stale(Record(created_by="agent", created=ago(9999)), 0, NOW)
    assert is_stale(Record(created_by="agent", created="2020-01-01T00:00:00"), 30, NOW)
