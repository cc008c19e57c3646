"""Several agents behind one gateway: each has a home of its own, and none knows what was said to another."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from gateway.agent.memory.settings import MemorySettings
from gateway.sessions.keys import private_key
from gateway.sessions.profiles import Route
from gateway.storage.database import Connection
from gateway.storage.tables import inbox, sessions
from gateway.types import Address, ChatType
from tests.fakes.model import DrivenModel
from tests.fakes.platform import FakePlatform
from tests.flow.conftest import House
from tests.flow.test_memory import notetaker, saving, tell

CODER = "You are the coder, and terse."
GONE = "The agent coder, whom you wrote to, is not here any more."


def heard(model: DrivenModel) -> str:
    """Return the prompt of the newest request."""
    return model.asked[-1][0].content


@pytest.fixture
def house(house: House) -> House:
    """Let everything in the chat "code", and everything of Carl's, be a matter of the profile coder."""
    house.platform.limits = replace(house.platform.limits, text=100_000)
    house.models[""] = notetaker()
    house.change(owner="fake:ann")
    (house.plans[0].home / "SOUL.md").write_text("You are the gateway's own.", "utf-8")
    (house.add_profile("coder", notetaker()) / "SOUL.md").write_text(CODER, "utf-8")
    house.route(Route("coder", chat="code"), Route("coder", person="fake:carl"))
    return house


@pytest.fixture
def small(small: House) -> House:
    small.platform.limits = replace(small.platform.limits, text=100_000)
    small.models[""] = notetaker()
    small.change(owner="fake:ann")
    small.add_profile("coder", notetaker())
    small.route(Route("coder", chat="code"), Route("coder", chat="code2"))
    return small


def stored(connection: Connection) -> dict[str, str]:
    """Return the home of every lane's session."""
    return {row.lane: row.home for row in connection.execute(select(sessions.c.lane, sessions.c.home))}


async def test_a_chat_of_a_profile_has_its_model_its_prompt_and_its_home(house: House) -> None:
    coder = house.agents["coder"]
    async with house.running():
        await tell(house, "for you", "ann", shows="you said: for you")
        await tell(house, "for the coder", "code", sender="ann", shows="you said: for the coder")
        await tell(house, "me too", "dm", sender="carl", shows="you said: me too")
        assert coder.heard == ["for the coder", "me too"]
        assert house.model.heard == ["for you"]
        assert CODER in heard(coder)
        assert "the gateway's own" in heard(house.model)
        homes = await house.database.read(stored)
    own, coders = str(house.plans[0].home), str(house.plans[0].others[0].home)
    assert homes == {
        "agent:main:fake:dm:ann": own,
        "agent:coder:fake:dm:code": coders,
        "agent:coder:fake:dm:dm": coders,
    }


async def test_notes_of_one_profile_are_not_seen_in_the_other_and_outlast_a_restart(house: House) -> None:
    coder = house.agents["coder"]
    async with house.running():
        await tell(house, saving("Ann gardens"), "ann", shows='"success": true')
        await tell(house, saving("Ann writes Rust"), "code", sender="ann", shows='"success": true')
        await tell(house, saving("Bob likes jazz"), "bob", shows='"success": true')
    async with house.running():
        for chat, sender in (("ann", "ann"), ("code", "ann"), ("bob", "bob")):
            await tell(house, "/new", chat, sender=sender, shows="A new conversation")
        await tell(house, "hello", "ann", shows="you said: hello")
        assert "Ann gardens" in heard(house.model)
        assert "Rust" not in heard(house.model)
        await tell(house, "hello", "code", sender="ann", shows="you said: hello")
        assert "Ann writes Rust" in heard(coder)
        assert "gardens" not in heard(coder)
        await tell(house, "/memory show", "code", sender="ann", shows="Ann writes Rust")
        assert "gardens" not in house.platform.texts("code")[-1]


async def test_files_of_a_profile_lie_in_its_home(small: House) -> None:
    async with small.running():
        await tell(small, saving("of Ann"), "code", sender="ann", shows='"success": true')
        await tell(small, saving("of Bob"), "code2", sender="bob", shows='"success": true')
        await tell(small, saving("of the gateway"), "ann", shows='"success": true')
    memories = small.plans[0].others[0].home / "memories"
    assert (memories / "MEMORY.md").read_text("utf-8").strip() == "of Ann"
    assert [path.read_text("utf-8").strip() for path in memories.glob("users/*/MEMORY.md")] == ["of Bob"]
    assert (small.plans[0].home / "memories" / "MEMORY.md").read_text("utf-8").strip() == "of the gateway"


async def test_who_is_forgotten_is_forgotten_by_every_profile(house: House) -> None:
    coder = house.agents["coder"]
    async with house.running():
        await tell(house, saving("Bob likes jazz"), "bob", shows='"success": true')
        await tell(house, saving("Bob writes C"), "code", sender="bob", shows='"success": true')
        await tell(house, saving("Ann writes Rust"), "code2", sender="carl", shows='"success": true')
        await tell(house, "/forgetme yes", "code", sender="bob", shows="Erased:")
        erased = house.platform.texts("code")[-1]
        assert "2 conversations" in erased
        assert "26 characters of notes" in erased
        for chat, model in (("bob", house.model), ("code", coder)):
            await tell(house, "who am I?", chat, sender="bob", shows="you said: who am I?")
            assert "Bob likes" not in heard(model)
            assert "Bob writes" not in heard(model)
            assert len(model.asked[-1]) == 2
        await tell(house, "/memory show", "code2", sender="carl", shows="Ann writes Rust")


async def test_an_agent_finds_nothing_that_was_said_to_another(house: House) -> None:
    def seeking(**arguments: Any) -> str:
        return f"seek:{json.dumps(arguments)}"

    async with house.running() as chat:
        await tell(house, "the plan is tulip", "ann", shows="you said: the plan")
        await tell(house, "the code is tulip", "code", sender="ann", shows="you said: the code")
        for place in ("ann", "code"):
            await tell(house, "/new", place, sender="ann", shows="A new conversation")
        for place, found, hidden in (("ann", "plan", "code"), ("code", "code", "plan")):
            await tell(house, seeking(query="tulip role:user"), place, sender="ann", shows="result:")
            told = chat.texts(place)[-1]
            assert f"the {found} is >>>tulip<<<" in told
            assert f"the {hidden}" not in told
            await tell(house, seeking(), place, sender="ann", shows="browse")
            assert f"the {hidden}" not in chat.texts(place)[-1]


async def test_what_waits_for_approval_is_decided_where_it_was_said(house: House) -> None:
    stage = MemorySettings(write_approval="stage")
    house.change(memory=stage)
    house.plans = [replace(plan, others=(replace(plan.others[0], memory=stage),)) for plan in house.plans]
    async with house.running():
        await tell(house, saving("Ann gardens"), "ann", shows='"staged": true')
        await tell(house, saving("Ann writes Rust"), "code", sender="ann", shows='"staged": true')
        await tell(house, "/memory pending", "code", sender="ann", shows="add Ann writes Rust")
        assert "gardens" not in house.platform.texts("code")[-1]
        await tell(house, "/memory approve all", "code", sender="ann", shows="written; MEMORY.md now")
        await tell(house, "/memory pending", "ann", shows="add Ann gardens")


async def test_a_command_is_for_the_agent_of_its_chat(house: House) -> None:
    coder = house.agents["coder"]
    coder.name = "a-coders-model"
    coder.gate.clear()
    async with house.running() as chat:
        chat.say("a long story", "code", sender="ann")
        await coder.begun.wait()
        await tell(house, "/status", "code", sender="ann", shows="a turn runs")
        assert "a-coders-model" in chat.texts("code")[-1]
        await tell(house, "/status", "ann", shows="idle")
        await tell(house, "/stop", "ann", shows="Nothing is running.")
        await tell(house, "/stop", "code", sender="ann", shows="Stopped.")
        coder.gate.set()
        await tell(house, "again", "code", sender="ann", shows="you said: again")
        await tell(house, "/context", "code", sender="ann", shows="a-coders-model")


async def test_two_bots_of_one_platform_speak_with_two_agents(house: House) -> None:
    house.others = [sales := FakePlatform(name="fake@sales", limits=house.platform.limits)]
    house.route(Route("coder", platform="fake", account="sales"))
    async with house.running() as guests:
        guests.say(saving("wants a garden"), "ann", id="1")
        sales.say(saving("wants a discount"), "ann", id="1")
        await guests.sees('"success": true')
        await sales.sees('"success": true')
        for bot in (guests, sales):
            bot.say("/new", id="2")
            await bot.sees("A new conversation")
            bot.say("hello", id="3")
            await bot.sees("you said: hello")
        assert "discount" not in heard(house.model)
        assert "garden" not in heard(house.agents["coder"])
        assert "discount" in heard(house.agents["coder"])


async def test_a_group_of_a_profile_has_notes_that_only_this_agent_has_of_it(house: House) -> None:
    group: dict[str, Any] = {"kind": ChatType.GROUP}
    async with house.running():
        await tell(house, saving("Standup at 9"), "code", sender="ann", shows='"success": true', **group)
        await tell(house, "when?", "code", sender="bob", shows="you said:", **group)
        assert "Standup at 9" in heard(house.agents["coder"])
    house.route()
    async with house.running():
        await tell(house, "and when?", "code", sender="bob", shows="and when?", **group)
        assert "Standup" not in heard(house.model)


async def test_what_was_said_to_a_profile_that_is_gone_is_kept_and_said_to_be(house: House) -> None:
    coder = house.agents["coder"]
    coder.gate.clear()
    async with house.running(kill=True) as chat:
        chat.say("half said", "code", sender="ann")
        await coder.begun.wait()
    whole, others = house.plans, house.plans[0].others
    house.plans = [replace(plan, others=(), routes=()) for plan in house.plans]
    async with house.running() as chat:
        await chat.sees(GONE, "code")
        await tell(house, "who is there?", "code", sender="ann", shows="you said: who is there?")
        assert house.model.heard == ["who is there?"]
        states = await house.database.read(_states)
    assert states == {"half said": ("dead", "the profile coder is not configured any more")}
    house.plans = [replace(plan, others=others) for plan in whole]
    coder.gate.set()
    async with house.running():
        await tell(house, "once more", "code", sender="ann", shows="you said: once more")


def _states(connection: Connection) -> dict[str, tuple[str, str]]:
    key = str(private_key(Address(platform="fake", chat="code"), "coder"))
    rows = connection.execute(select(inbox.c.event, inbox.c.state, inbox.c.reason).where(inbox.c.lane == key))
    return {json.loads(row.event)["text"]: (row.state, row.reason) for row in rows}
