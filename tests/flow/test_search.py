"""The agent looks up what was said before: for each person what they took part in, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, select

from gateway.contracts.model import Completed
from gateway.messages import Message, ToolCall
from gateway.sessions.settings import SharingSettings
from gateway.storage.tables import participants
from gateway.types import ChatType
from tests.fakes.model import DrivenModel
from tests.flow.conftest import House

WIDE = 100_000
GROUP: dict[str, Any] = {"kind": ChatType.GROUP}


def searcher() -> DrivenModel:
    """Calls session_search with the JSON behind "find:", and tells the result; else repeats."""

    def answer(messages: Sequence[Message]) -> Completed | str:
        if messages[-1].role == "tool":
            return f"found: {messages[-1].text}"
        wanted = messages[-1].content.partition("find:")[2]
        if wanted:
            return Completed("", (ToolCall(f"c{len(messages)}", "session_search", wanted),))
        return "noted"

    model = DrivenModel(answer)
    model.window = WIDE
    return model


@pytest.fixture
def house(house: House) -> House:
    house.platform.limits = replace(house.platform.limits, text=WIDE)
    house.models[""] = searcher()
    house.change(sharing=SharingSettings(group_sessions_per_user=False), edit_every=None)
    return house


@pytest.fixture
def small(small: House) -> House:
    small.platform.limits = replace(small.platform.limits, text=WIDE)
    small.models[""] = searcher()
    small.change(sharing=SharingSettings(group_sessions_per_user=False), edit_every=None)
    return small


async def tell(house: House, text: str, chat: str, **more: Any) -> None:
    before = len(house.platform.texts(chat))
    house.platform.say(text, chat, **more)
    await house.platform.until(lambda: len(house.platform.texts(chat)) > before, f"an answer in {chat}")


async def look(house: House, chat: str, *, more: dict[str, Any] | None = None, **arguments: Any) -> str:
    """Ask for a search, and return what the agent says of it."""
    await tell(house, f"find:{json.dumps(arguments, ensure_ascii=False)}", chat, **(more or {}))
    return house.platform.texts(chat)[-1]


def results(told: str) -> dict[str, Any]:
    body = told.removeprefix("found: ")
    if body.startswith("<"):
        body = body.partition("\n\n")[2].rpartition("\n</")[0]
    found: dict[str, Any] = json.loads(body)
    return found


def spoke(connection: Connection) -> list[str]:
    return list(connection.execute(select(participants.c.account)).scalars())


async def test_what_was_said_in_an_earlier_conversation_is_found_read_and_listed(house: House) -> None:
    async with house.running():
        await tell(house, "我们上周讨论了备份失败的原因", "ann")
        await tell(house, "/new", "ann")
        await tell(house, "hello again", "ann")
        found = results(await look(house, "ann", query="备份失败"))
        (hit,) = found["results"]
        assert hit["snippet"] == "我们上周讨论了>>>备份失败<<<的原因"
        assert [line["text"] for line in hit["messages"]] == ["我们上周讨论了备份失败的原因", "noted"]
        session, message = hit["session_id"], hit["match_message_id"]
        around = results(await look(house, "ann", session_id=session, around_message_id=message))
        assert [(line["text"], line.get("anchor")) for line in around["messages"]] == [
            ("我们上周讨论了备份失败的原因", True),
            ("noted", None),
        ]
        whole = results(await look(house, "ann", session_id=session))
        assert (whole["mode"], whole["message_count"], whole["truncated"]) == ("read", 2, False)
        listed = results(await look(house, "ann"))
        assert (listed["mode"], listed["results"][1]["session_id"]) == ("browse", session)


async def test_another_person_finds_reads_and_lists_none_of_it(house: House) -> None:
    async with house.running():
        await tell(house, "the plan is tulip", "ann")
        await tell(house, "/new", "ann")
        hit = results(await look(house, "ann", query="tulip role:user"))["results"][0]
        assert "tulip" in hit["snippet"]
        await tell(house, "hello", "bob")
        assert (
            results(await look(house, "bob", query='plan OR "the plan" OR tul*', role_filter="user"))["results"] == []
        )
        told = await look(house, "bob", session_id=hit["session_id"], around_message_id=hit["match_message_id"])
        assert "there is no session" in told
        assert "there is no session" in await look(house, "bob", session_id=hit["session_id"])
        assert len(results(await look(house, "bob"))["results"]) == 1


async def test_who_spoke_in_a_group_finds_it_in_private_and_nothing_private_in_the_group(house: House) -> None:
    async with house.running():
        await tell(house, "Ann's own tulip", "ann")
        await tell(house, "the club's tulip", "club", sender="ann", **GROUP)
        assert await house.database.read(spoke) == ["fake:ann"]
        await tell(house, "/new", "ann")
        found = results(await look(house, "ann", query="tulip", role_filter="user"))
        assert len(found["results"]) == 2
        await tell(house, "hi all", "club", sender="bob", **GROUP)
        await tell(house, "/new", "club", sender="ann", **GROUP)
        told = await look(house, "club", more={"sender": "ann", **GROUP}, query="tulip", role_filter="user")
        assert "the club's >>>tulip<<<" in told
        assert "own" not in told
        assert "<untrusted_tool_result" in told
        (hit,) = results(await look(house, "bob", query="tulip", role_filter="user"))["results"]
        assert hit["source"] == "fake group"
        await tell(house, "hello", "cleo")
        assert results(await look(house, "cleo", query="tulip", role_filter="user"))["results"] == []


async def test_what_was_answered_again_is_not_found_in_its_first_form(small: House) -> None:
    async with small.running():
        await tell(small, "say something of a quagga", "ann")
        await tell(small, "/retry", "ann")
        await tell(small, "/new", "ann")
        found = results(await look(small, "ann", query="quagga role:user"))
        shown = [line for line in found["results"][0]["messages"] if "something" in line["text"]]
        assert len(shown) == 1


async def test_a_query_that_says_nothing_is_told_so(small: House) -> None:
    async with small.running():
        assert "role:boss is no role; write role:user" in await look(small, "ann", query="tulip role:boss")
        assert "2 letters before the *" in await look(small, "ann", query="t*")
        assert results(await look(small, "ann", query="*"))["message"] == "the query holds no word to look for"
        assert "role_filter knows user, assistant, tool" in await look(small, "ann", query="x", role_filter="boss")


async def test_one_who_was_forgotten_is_not_found_in_what_they_begin_anew(house: House) -> None:
    async with house.running():
        await tell(house, "the plan is tulip", "bob")
        await tell(house, "/forgetme yes", "bob")
        assert results(await look(house, "bob", query="plan", role_filter="user"))["results"] == []
