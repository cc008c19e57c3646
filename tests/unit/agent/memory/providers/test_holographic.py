"""The store of facts: what the model does with its two tools, and what the file keeps."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.memory.providers.holographic import Holographic
from gateway.agent.memory.providers.holographic.file import FactsFile
from gateway.agent.memory.providers.holographic.recall import Asked
from gateway.agent.memory.providers.holographic.text import names, terms
from gateway.agent.memory.settings import HolographicSettings
from gateway.contracts.memory import Scope
from gateway.errors import StorageError, ToolError

DAY = 86_400.0

ADD_MANY = """
import asyncio, sys
from pathlib import Path
from gateway.agent.memory.providers.holographic import facts
from gateway.agent.memory.providers.holographic.file import FactsFile

async def main():
    async with FactsFile(Path(sys.argv[1])) as file:
        for number in range(20):
            await file.run(lambda it: facts.add(it, "ann", f"{sys.argv[2]} {number}", now=0.0), write=True)

asyncio.run(main())
"""


def scope_of(owner: str = "person:ann", context: str = "primary") -> Scope:
    return Scope(
        owner=owner, user_id="u", chat_id="telegram:1", gateway_session_key="k", session_id="s", platform="telegram",
        context=context,
    )  # fmt: skip


ANN, BOB = scope_of(), scope_of("person:bob")


@pytest.fixture
async def provider(tmp_path: Path) -> AsyncIterator[Holographic]:
    async with Holographic(HolographicSettings(), tmp_path) as provider:
        yield provider


async def store(provider: Holographic, action: str, scope: Scope = ANN, **arguments: Any) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(await provider.call("fact_store", {"action": action, **arguments}, scope))
    return told


async def add(provider: Holographic, *contents: str, **more: Any) -> list[int]:
    return [(await store(provider, "add", content=content, **more))["fact_id"] for content in contents]


async def found(provider: Holographic, action: str, **arguments: Any) -> list[str]:
    return [fact["content"] for fact in (await store(provider, action, **arguments))["results"]]


async def rate(provider: Holographic, id: int, how: str, times: int = 1) -> float:
    for _ in range(times):
        told = json.loads(await provider.call("fact_feedback", {"action": how, "fact_id": id}, ANN))
    trust: float = told["new_trust"]
    return trust


# --- finding


async def test_the_fact_that_says_most_of_what_is_asked_comes_first(provider: Holographic) -> None:
    await add(provider, "The car is red", "The door of the garage is green", "Ann's car is in the garage on Mondays")
    assert (await found(provider, "search", query="Is the car in the garage on Monday?"))[0].startswith("Ann's car")
    assert await found(provider, "search", query="What is it?") == []


async def test_a_turn_gets_the_best_few_with_their_trust(provider: Holographic) -> None:
    await add(provider, *(f"Tea number {number} is in the kitchen" for number in range(9)), "Cake is eaten in bed")
    lines = (await provider.prefetch("which tea is in the kitchen", ANN)).splitlines()
    assert len(lines) == 6
    assert all(line.startswith("- [0.5] Tea number") for line in lines[1:])


async def test_one_letter_may_be_a_word(provider: Holographic) -> None:
    await add(provider, "小王养了一只猫", "小李养了一只狗")
    assert await found(provider, "search", query="猫") == ["小王养了一只猫"]
    assert await found(provider, "probe", entity="狗") == ["小李养了一只狗"]


@pytest.mark.parametrize(
    ("told", "asked"),
    [("Zoë's café", "zoe CAFE"), ("Straße", "STRASSE"), ("ＡＢＣ１２", "abc12"), ("Ёлка", "елка"), ("ｶﾌｪ店", "カフェ")],
)
async def test_width_case_and_accents_make_no_difference(provider: Holographic, told: str, asked: str) -> None:
    await add(provider, told)
    assert await found(provider, "search", query=asked) == [told]


async def test_probe_finds_all_about_one_and_reason_what_is_about_several(provider: Holographic) -> None:
    await add(
        provider, "Anna Berg works on Atlas", "Anna Berg plays chess", "Atlas is written in Rust", "Annual report"
    )
    assert sorted(await found(provider, "probe", entity="Anna")) == [
        "Anna Berg plays chess",
        "Anna Berg works on Atlas",
    ]
    assert await found(provider, "reason", entities=["anna berg", "atlas"]) == ["Anna Berg works on Atlas"]
    assert await found(provider, "reason", entities=["anna berg", "rust"]) == []


async def test_related_leads_on_by_what_is_named_together(provider: Holographic) -> None:
    await add(provider, "Anna Berg works on Atlas", "Atlas is written in Rust", "Bob plays chess")
    assert await found(provider, "related", entity="Anna Berg") == ["Atlas is written in Rust"]


async def test_tags_connect_facts_in_scripts_without_capitals(provider: Holographic) -> None:
    await add(provider, "小王对花生过敏", tags="小王, 健康")
    await add(provider, "周五要看医生", tags="健康")
    assert await found(provider, "related", entity="小王") == ["周五要看医生"]


async def test_facts_that_may_not_both_be_true_are_shown_in_pairs(provider: Holographic) -> None:
    await add(provider, "Anna lives in Rome", "Anna lives in Oslo", "Anna plays chess", "Bob lives in Bonn")
    (pair,) = (await store(provider, "contradict"))["results"]
    assert {fact["content"] for fact in pair["facts"]} == {"Anna lives in Rome", "Anna lives in Oslo"}


async def test_a_category_narrows_what_is_found(provider: Holographic) -> None:
    await add(provider, "Tea is drunk at five", category="user_pref")
    await add(provider, "Tea is a library")
    assert await found(provider, "search", query="tea", category="user_pref") == ["Tea is drunk at five"]
    told = await store(provider, "list", category="general")
    assert [fact["content"] for fact in told["facts"]] == ["Tea is a library"]


# --- trust


async def test_what_is_judged_unhelpful_sinks_until_it_is_not_recalled(provider: Holographic) -> None:
    tea, cake = await add(provider, "Tea is at five", "Tea is at six")
    assert await rate(provider, tea, "unhelpful") == 0.4
    assert await rate(provider, cake, "helpful") == 0.55
    assert await found(provider, "search", query="tea") == ["Tea is at six", "Tea is at five"]
    assert await rate(provider, tea, "unhelpful", 2) == 0.2
    assert await found(provider, "search", query="tea") == ["Tea is at six"]
    assert "five" not in await provider.prefetch("tea", ANN)
    assert (await store(provider, "list"))["count"] == 2
    assert await found(provider, "search", query="tea", min_trust=0.1) == ["Tea is at six", "Tea is at five"]


async def test_trust_stays_between_nothing_and_all(provider: Holographic) -> None:
    (tea,) = await add(provider, "Tea is at five")
    assert await rate(provider, tea, "unhelpful", 7) == 0
    assert (await store(provider, "update", fact_id=tea, trust_delta=1))["trust_score"] == 1
    assert await rate(provider, tea, "helpful") == 1


def test_a_fact_counts_half_after_its_half_life() -> None:
    aging = Asked("ann", now=100 * DAY, half_life=30)
    assert [round(aging.weigh(0.5, day * DAY), 3) for day in (100, 70, 40)] == [0.5, 0.25, 0.125]
    assert aging.weigh(0.5, 200 * DAY) == 0.5
    assert Asked("ann", now=100 * DAY).weigh(0.5, 0) == 0.5


# --- changing


async def test_a_fact_is_kept_once_and_can_be_changed_and_removed(provider: Holographic) -> None:
    (tea,) = await add(provider, "Tea is at five")
    assert await store(provider, "add", content=" Tea is at five ") == {"fact_id": tea, "status": "already known"}
    await store(provider, "update", fact_id=tea, content="Tea is at six")
    assert await found(provider, "search", query="five") == []
    assert await found(provider, "search", query="six") == ["Tea is at six"]
    await store(provider, "remove", fact_id=tea)
    assert await found(provider, "search", query="tea") == []
    assert await add(provider, "Tea is at five") > [tea]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"action": "add"}, "fact_store add needs content"),
        ({"action": "add", "content": "\0 "}, "fact_store add needs content"),
        (
            {"action": "add", "content": "x" * 4001},
            "a fact has at most 4,000 characters and 400 of tags: say it shorter",
        ),
        ({"action": "update", "content": "x"}, "fact_store update needs fact_id"),
        ({"action": "remove", "fact_id": 99}, "there is no fact 99: use the fact_id that search or list shows"),
        ({"action": "reason", "entities": []}, "fact_store reason needs entities"),
        ({"action": "recall"}, "wrong arguments for fact_store: 'action': Input should be 'add'"),
        ({"action": "list", "limit": 0}, "'limit': Input should be greater than or equal to 1"),
    ],
)
async def test_a_call_that_cannot_be_answered_says_what_to_do(
    provider: Holographic, arguments: dict[str, Any], told: str
) -> None:
    with pytest.raises(ToolError) as refused:
        await provider.call("fact_store", arguments, ANN)
    assert told in str(refused.value)


async def test_a_fact_cannot_become_one_that_is_there(provider: Holographic) -> None:
    tea, _ = await add(provider, "Tea is at five", "Tea is at six")
    with pytest.raises(ToolError, match="another fact says exactly this already"):
        await store(provider, "update", fact_id=tea, content="Tea is at six")


async def test_a_run_without_a_person_reads_and_does_not_write(provider: Holographic) -> None:
    await add(provider, "Tea is at five")
    cron = scope_of(context="cron")
    assert (await store(provider, "search", cron, query="tea"))["count"] == 1
    with pytest.raises(ToolError, match="only in a conversation with a person"):
        await store(provider, "add", cron, content="Tea is at six")


async def test_the_notes_are_mirrored(provider: Holographic) -> None:
    await add(provider, "Tea is old")
    await provider.on_memory_write("add", "user", "Prefers tea", ANN, {})
    await provider.on_memory_write("add", "memory", "The port is 8642", ANN, {})
    await provider.on_memory_write("replace", "user", "Prefers coffee", ANN, {"old_text": "tea"})
    await provider.on_memory_write("remove", "memory", "", ANN, {"old_text": "port"})
    await provider.on_memory_write("remove", "memory", "", ANN, {"old_text": "Tea is old"})
    told = {fact["content"]: fact["category"] for fact in (await store(provider, "list"))["facts"]}
    assert told == {"Tea is old": "general", "Prefers coffee": "user_pref"}


async def test_the_notes_of_one_owner_leave_the_mirror_of_another_alone(provider: Holographic) -> None:
    for scope in (ANN, BOB):
        await provider.on_memory_write("add", "user", "Prefers tea", scope, {})
    await provider.on_memory_write("remove", "user", "", ANN, {"old_text": "tea"})
    assert (await store(provider, "list", ANN))["count"] == 0
    assert (await store(provider, "list", BOB))["count"] == 1


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_has_terms_and_names(one: str, other: str) -> None:
    assert set(terms(one)) <= set(terms(f"{one}\n{other}"))
    assert len(names(f"{one} {other}")) <= 32


@pytest.mark.parametrize("unit", ["a", "Ab ", "花", '"a', "a’", "﷽", "\u0301", "ア", "A-"])
def test_a_long_text_is_read_in_one_go(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    assert terms(text) is not None
    assert names(text) is not None


# --- the file


async def test_facts_outlive_the_process(tmp_path: Path) -> None:
    async with Holographic(HolographicSettings(), tmp_path) as provider:
        await add(provider, "Tea is at five")
    async with Holographic(HolographicSettings(), tmp_path) as provider:
        assert await found(provider, "search", query="tea") == ["Tea is at five"]


async def test_several_processes_share_the_file(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", ADD_MANY, str(tmp_path), name]) for name in ("one", "two", "three")
    ]
    assert [await asyncio.to_thread(process.wait) for process in processes] == [0, 0, 0]
    with closing(sqlite3.connect(tmp_path / "memory_store.db")) as connection:
        assert connection.execute("SELECT count(*) FROM facts").fetchone() == (60,)


async def test_a_store_of_the_reference_stays_as_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    theirs = tmp_path / "memory_store.db"
    with closing(sqlite3.connect(theirs)) as connection:
        connection.execute("CREATE TABLE facts (fact_id INTEGER PRIMARY KEY, content TEXT NOT NULL UNIQUE)")
        connection.execute("INSERT INTO facts VALUES (1, 'Tea is at five')")
        connection.commit()
    before = theirs.read_bytes()
    for _ in range(2):
        async with Holographic(HolographicSettings(), tmp_path) as provider:
            await add(provider, "Cake is at six")
    assert theirs.read_bytes() == before
    assert [record.getMessage() for record in caplog.records] == [
        f"{theirs} is another program's and stays as it is; facts are kept in memory_store.gateway.db"
    ]
    theirs.unlink()
    async with Holographic(HolographicSettings(), tmp_path) as provider:
        assert await found(provider, "search", query="cake") == ["Cake is at six"]


async def test_what_is_erased_is_no_longer_in_the_file(tmp_path: Path) -> None:
    async with Holographic(HolographicSettings(), tmp_path) as provider:
        await add(provider, "The PIN hint is tulip", "Tulip again", tags="tulip")
        await store(provider, "add", BOB, content="Bob has a walnut")
        assert b"tulip" in (tmp_path / "memory_store.db-wal").read_bytes()
        assert await provider.forget(ANN) == 2
        held = b"".join(path.read_bytes() for path in tmp_path.iterdir()).lower()
    assert b"walnut" in held
    assert b"tulip" not in held


async def test_a_damaged_file_is_said_to_be_one(tmp_path: Path) -> None:
    async with FactsFile(tmp_path):
        pass
    path = tmp_path / "memory_store.db"
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 4000)
    with pytest.raises(StorageError, match=r"memory_store.db cannot be used: .*(malformed|not a database)"):
        await Holographic(HolographicSettings(), tmp_path).__aenter__()
