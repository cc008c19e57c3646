"""Skills in people's hands: called by name, listed, decided on, and kept from whoever may not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import func, select

from gateway.agent.skills.approvals import stage, waiting
from gateway.agent.skills.change import Change
from gateway.agent.tools import builtin_tools
from gateway.agent.tools.shell import TerminalSettings
from gateway.agent.tools.workspace import WorkspaceSettings
from gateway.config.sections.skills import SkillSettings
from gateway.contracts.model import Completed
from gateway.messages import Message, ToolCall
from gateway.sessions import store
from gateway.sessions.profiles import Route
from gateway.storage.database import Connection
from gateway.storage.tables import inbox
from gateway.types import ChatType
from tests.fakes.model import DrivenModel
from tests.flow.conftest import House
from tests.unit.agent.skills.folders import put_skill

OPENING = '[IMPORTANT: The user has invoked the "review" skill'


def home_of(house: House) -> Path:
    return house.plans[0].home


@pytest.fixture
def furnished(house: House) -> House:
    return furnish(house)


@pytest.fixture
def small(small: House) -> House:
    return furnish(small)


def furnish(house: House) -> House:
    """Give a house three skills, and chats that show everything."""
    house.skills = True
    house.platform.limits = replace(house.platform.limits, text=200_000)
    house.model.window = 100_000
    for path in ("code/review", "ops/deploy-web", "部署"):
        put_skill(home_of(house) / "skills", path)
    return house


def typed(connection: Connection) -> list[str]:
    """Return what people said in every conversation, as it is stored."""
    sessions = store.summaries(connection, 10)
    return [row.message.text for one in sessions for row in store.load(connection, one.id).rows if is_user(row.message)]


def is_user(message: Message) -> bool:
    return message.role == "user"


async def test_a_skill_that_is_called_is_read_by_the_model_and_kept_as_it_was_typed(furnished: House) -> None:
    async with furnished.running() as chat:
        chat.say("/Review this file")
        await chat.sees("alongside the skill invocation: this file")
        assert furnished.model.heard[-1].startswith(OPENING)
        assert await furnished.database.read(typed) == ["/Review this file"]
        chat.say("/retry")
        await chat.until(lambda: len(furnished.model.asked) == 2, "the same again")
        await chat.until(lambda: len(chat.texts()) == 2, "the second answer")
    assert furnished.model.heard[1] == furnished.model.heard[0]
    async with furnished.running() as chat:
        chat.say("/deploy_web and /stop it")
        await chat.sees("alongside the skill invocation: and /stop it")
    usage = json.loads((home_of(furnished) / "skills" / ".usage.json").read_text("utf-8"))
    assert usage["review"]["use_count"] == 2
    assert usage["deploy-web"]["use_count"] == 1


async def test_several_are_called_at_once_and_names_are_of_any_script(small: House) -> None:
    async with small.running() as chat:
        chat.say("/review /deploy-web both")
        await chat.sees('you said: [IMPORTANT: The user has invoked the "review" skill, together with "deploy-web"')
        chat.say("/部署 现在")
        await chat.sees("alongside the skill invocation: 现在")


async def test_what_is_no_skill_stays_a_command_there_is_not(small: House) -> None:
    async with small.running() as chat:
        for text in ("/nothing", "/" + "x" * 100_000):
            chat.say(text)
            await chat.sees(f"There is no command {text[:41]};")
        chat.say("/../x")
        await chat.sees("you said: /../x")


async def test_a_command_wins_over_a_skill_of_its_name_also_in_a_stack(small: House) -> None:
    for name in ("new", "stop", "skills"):
        put_skill(home_of(small) / "skills", name)
    async with small.running() as chat:
        chat.say("/new")
        await chat.sees("A new conversation begins.")
        chat.say("/STOP")
        await chat.sees("Nothing is running.")
        chat.say("/review /stop now")
        await chat.sees("alongside the skill invocation: /stop now")
    assert len(small.model.asked) == 1


async def test_a_call_may_be_long(small: House) -> None:
    async with small.running() as chat:
        chat.say("/review " + "word " * 20_000)
        await chat.sees("you said: " + OPENING)


async def test_a_skill_that_went_away_before_its_turn_is_told_of_and_nothing_reaches_the_model(small: House) -> None:
    small.model.gate.clear()
    async with small.running() as chat:
        chat.say("first")
        await small.model.begun.wait()
        chat.say("/review this")
        await taken(small, 2)
        (home_of(small) / "skills/code/review/SKILL.md").unlink()
        small.gateways[0].households.main.skills.room.library.changed()  # type: ignore[union-attr]
        small.model.gate.set()
        await chat.sees("There is no skill /review any more")
        chat.say("on")
        await chat.sees("you said: on")
    assert len(small.model.asked) == 2


async def taken(house: House, count: int) -> None:
    """Wait until so many messages are kept."""

    def kept(connection: Connection) -> int:
        return connection.execute(select(func.count()).select_from(inbox)).scalar_one()

    async with asyncio.timeout(10):
        while await house.database.read(kept) < count:
            await asyncio.sleep(0.01)


async def test_messages_that_waited_are_answered_together_each_with_what_it_calls(small: House) -> None:
    small.model.gate.clear()
    async with small.running() as chat:
        chat.say("first")
        await small.model.begun.wait()
        chat.say("hello")
        chat.say("/review this")
        chat.say("bye")
        await taken(small, 4)
        small.model.gate.set()
        await chat.sees("bye")
    heard = small.model.heard[-1]
    assert heard.startswith(f"hello\n\n{OPENING}")
    assert heard.endswith("alongside the skill invocation: this\n\nbye")


async def test_in_a_group_the_model_knows_who_called(small: House) -> None:
    async with small.running() as chat:
        chat.say("/review this", "group", sender="bob", kind=ChatType.GROUP)
        await chat.sees(OPENING, "group")
    assert "] [IMPORTANT:" in small.model.heard[-1]


async def test_a_reference_in_what_is_asked_is_read(small: House) -> None:
    small.tools = builtin_tools(workspace=WorkspaceSettings(), terminal=TerminalSettings())
    (home_of(small) / "notes.txt").write_text("the word is tulip")
    async with small.running() as chat:
        chat.say("/review @file:notes.txt")
        await chat.sees("the word is tulip")
    assert small.model.heard[-1].startswith(OPENING)


async def test_a_stranger_calls_nothing(small: House) -> None:
    small.change(rules=replace(small.plans[0].rules, allow_all=False))
    async with small.running() as chat:
        chat.say("/review this", "group", sender="eve", kind=ChatType.GROUP)
        chat.say("/review this", "eve", sender="eve")
        await chat.sees("I do not know you yet", "eve")
        assert chat.texts("group") == []
    assert small.model.asked == []


async def test_each_profile_has_the_skills_of_its_home(small: House) -> None:
    coder = DrivenModel()
    coder.window = 100_000
    put_skill(small.add_profile("coder", coder) / "skills", "lint")
    small.route(Route("coder", chat="code"))
    async with small.running() as chat:
        chat.say("/lint it", "ann")
        await chat.sees("There is no command /lint", "ann")
        chat.say("/lint it", "code", sender="ann")
        await chat.sees("alongside the skill invocation: it", "code")
        chat.say("/skills", "code", sender="ann")
        await chat.sees("- `lint` Does a thing", "code")
        assert "review" not in chat.texts("code")[-1]


# --- /skills


async def test_skills_are_listed_by_category_and_shown(small: House) -> None:
    async with small.running() as chat:
        chat.say("/skills", "bob")
        await chat.sees("**code**\n- `review` Does a thing\n", "bob")
        chat.say("/skills ops", "bob")
        await chat.until(lambda: len(chat.texts("bob")) == 2, "the category")
        assert chat.texts("bob")[1].startswith("**ops**\n- `deploy-web` Does a thing\n\n")
        chat.say("/skills nothing", "bob")
        await chat.sees("There is no category `nothing`. There are: `code` (1), `general` (1), `ops` (1).", "bob")
        chat.say("/skills show review", "bob")
        await chat.sees("1. Look.\n2. Do.", "bob")
        chat.say("/skills show ../x", "bob")
        await chat.sees("There is no skill `../x`", "bob")


async def test_many_skills_are_listed_by_category(small: House) -> None:
    for number in range(60):
        put_skill(home_of(small) / "skills", f"many/s{number}")
    async with small.running() as chat:
        chat.say("/skills")
        await chat.sees("63 skills:\n- `code` (1)\n- `general` (1)\n- `many` (60)\n- `ops` (1)")
        chat.say("/skills many")
        await chat.sees("- `s59` Does a thing")


CREATES = {
    "action": "create",
    "name": "greet",
    "content": "---\nname: greet\ndescription: Greets\n---\n\nSay hello.\n",
}


def writer(**change: str) -> DrivenModel:
    """Return a model that manages a skill when it is told to."""

    def answer(messages: Sequence[Message]) -> Completed | str:
        said = messages[-1]
        if said.role == "user" and said.content.endswith("write"):
            return Completed("", (ToolCall(f"c{len(messages)}", "skill_manage", json.dumps(change)),))
        return f"you said: {said.content}"

    return DrivenModel(answer)


async def test_what_waits_is_decided_by_owners_only(furnished: House) -> None:
    furnished.models[""] = writer(**CREATES)
    furnished.model.window = 100_000
    furnished.change(skills=SkillSettings(write_approval=True))
    async with furnished.running() as chat:
        chat.say("write", "ann", sender="ann")
        await chat.sees("Waits for approval as ", "ann")
        (staged,) = await furnished.database.read(waiting)
        chat.say("/skills pending", "bob", sender="bob")
        await chat.sees("is decided by an owner", "bob")
        chat.say(f"/skills approve {staged.id}", "bob", sender="bob")
        await chat.until(lambda: len(chat.texts("bob")) == 2, "the refusal")
        chat.say("/skills", "bob", sender="bob")
        await chat.sees("- `review`", "bob")
        assert "approv" not in chat.texts("bob")[-1]
        assert not (home_of(furnished) / "skills/greet").exists()
        chat.say("/skills", "ann", sender="ann")
        await chat.sees("1 changes wait for approval", "ann")
        chat.say(f"/skills pending {staged.id}", "ann", sender="ann")
        await chat.sees("+Say hello.", "ann")
        chat.say(f"/skills approve {staged.id}", "ann", sender="ann")
        await chat.sees("greet is there;", "ann")
        chat.say("/skills approve nothing", "ann", sender="ann")
        await chat.sees("Nothing waits as `nothing`.", "ann")
        async with asyncio.timeout(10):  # other processes look at the folder once a second
            while not any('has invoked the "greet" skill' in text for text in chat.texts("ann")):
                chat.say("/greet", "ann", sender="ann")
                await asyncio.sleep(0.3)


async def test_a_change_that_waits_is_rejected(small: House) -> None:
    small.models[""] = writer(**CREATES)
    small.model.window = 100_000
    small.change(skills=SkillSettings(write_approval=True))
    async with small.running() as chat:
        chat.say("write")
        await chat.sees("Waits for approval as ")
        chat.say("/skills reject all")
        await chat.sees("rejected.")
        chat.say("/skills pending")
        await chat.sees("Nothing waits for approval.")
    assert not (home_of(small) / "skills/greet").exists()


async def test_of_many_changes_that_wait_some_are_shown_and_all_can_be_decided(small: House) -> None:
    async with small.running() as chat:
        for number in range(7):
            text = CREATES["content"].replace("greet", f"greet{number}")
            change = Change("create", f"greet{number}", content=text)
            await small.database.write(partial(stage, change=change, person="", origin="foreground"))
        chat.say("/skills pending all")
        await chat.sees("2 more wait; /skills pending ID shows one.")
        assert chat.texts()[-1].count("+Say hello.") == 5
        chat.say("/skills approve\nall")
        await chat.sees("greet6 is there;")


async def test_a_change_that_waits_in_one_profile_is_not_seen_in_another(small: House) -> None:
    coder = writer(**CREATES)
    coder.window = 100_000
    home = small.add_profile("coder", coder, skills=SkillSettings(write_approval=True))
    small.route(Route("coder", chat="code"))
    async with small.running() as chat:
        chat.say("write", "code", sender="ann")
        await chat.sees("Waits for approval as ", "code")
        chat.say("/skills approve all", "ann", sender="ann")
        await chat.sees("Nothing waits for approval.", "ann")
        chat.say("/skills approve all", "code", sender="ann")
        await chat.sees("greet is there;", "code")
    assert (home / "skills/greet/SKILL.md").exists()
    assert not (home_of(small) / "skills/greet").exists()


async def test_who_is_forgotten_leaves_no_change_that_waits_in_any_profile(small: House) -> None:
    coder = writer(**CREATES)
    coder.window = 100_000
    small.add_profile("coder", coder, skills=SkillSettings(write_approval=True))
    small.route(Route("coder", chat="code"))
    async with small.running() as chat:
        chat.say("write", "code", sender="ann")
        await chat.sees("Waits for approval as ", "code")
        chat.say("/forgetme yes", "ann", sender="ann")
        await chat.sees("Erased:", "ann")
        chat.say("/skills pending", "code", sender="ann")
        await chat.sees("Nothing waits for approval.", "code")
