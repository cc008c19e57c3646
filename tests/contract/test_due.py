"""What is done once in so long a time: the first time after a full one, never twice, never while people speak."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, update

from gateway.agent.skills.library import Library
from gateway.agent.skills.usage import NAME
from gateway.app.upkeep import Cared, curate_if_due
from gateway.config.sections.skills import CuratorSettings
from gateway.storage import due
from gateway.storage.clock import now
from gateway.storage.database import Database
from gateway.storage.tables import facts, turns
from tests.unit.agent.skills.folders import put_skill

HOUR = 3600.0


async def take(database: Database) -> bool:
    return await database.write(partial(due.take, name="a", every=HOUR, idle=HOUR))


def hours_ago(value: str, connection: Connection) -> None:
    connection.execute(update(facts).values(value=value))


def spoke(hours: float, connection: Connection) -> None:
    when = now() - hours * HOUR
    connection.execute(insert(turns).values(id=f"t{hours}", lane="l", session_id="s", created=when, ended=when))


def furnish(home: Path, count: int) -> None:
    """Make skills of the agent's own that nobody has used for long."""
    old = (datetime.now(UTC) - timedelta(days=100)).isoformat()
    names = [f"s{number}" for number in range(count)]
    for name in names:
        put_skill(home / "skills", name)
    records = {name: {"created_by": "agent", "created_at": old} for name in names}
    (home / "skills" / NAME).write_text(json.dumps(records))


async def test_the_first_time_is_after_a_full_one_and_then_of_many_one_does_it(database: Database) -> None:
    assert not await take(database)
    assert not await take(database)
    await database.write(partial(hours_ago, "1.5"))
    assert sum(await asyncio.gather(*(take(database) for _ in range(10)))) == 1
    assert not await take(database)


@pytest.mark.parametrize("value", ["", "yesterday", "9e99", "nan"])
async def test_a_time_that_cannot_be_read_or_is_yet_to_come_was_long_ago(database: Database, value: str) -> None:
    await take(database)
    await database.write(partial(hours_ago, value))
    assert await take(database)


async def test_nothing_is_due_while_people_speak(database: Database) -> None:
    await take(database)
    await database.write(partial(hours_ago, "1.5"))
    await database.write(partial(spoke, 0.5))
    assert not await take(database)
    await database.write(lambda connection: connection.execute(update(turns).values(created=1.0, ended=1.0)))
    assert await take(database)


async def test_of_processes_that_look_after_skills_at_once_one_puts_each_away(
    database: Database, tmp_path: Path
) -> None:
    furnish(tmp_path, 5)
    homes = [Cared("main", Library(tmp_path), CuratorSettings(min_idle_hours=0)) for _ in range(2)]
    assert await curate_if_due(database, homes[0]) == []
    await database.write(partial(hours_ago, "1.5"))
    gone = await asyncio.gather(*(curate_if_due(database, home) for home in homes))
    assert sorted(name for names in gone for name in names) == [f"s{number}" for number in range(5)]
    assert len(list((tmp_path / "skills/.archive").iterdir())) == 5


@pytest.mark.parametrize("settings", [CuratorSettings(enabled=False), CuratorSettings(archive_after_days=0)])
async def test_who_wants_nothing_put_away_keeps_everything(
    database: Database, tmp_path: Path, settings: CuratorSettings
) -> None:
    await database.write(partial(due.take, name="curated:main", every=HOUR, idle=0))
    await database.write(partial(hours_ago, "1.5"))
    furnish(tmp_path, 1)
    home = Cared("main", Library(tmp_path), settings)
    assert await curate_if_due(database, home) == []
    assert (tmp_path / "skills/s0/SKILL.md").exists()
