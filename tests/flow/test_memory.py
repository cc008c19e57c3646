"""What the agent keeps in mind: for each person and each group apart, from one conversation to the next."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

import pytest
from sqlalchemy import select

from gateway.access.policy import Rules
from gateway.agent.memory.notes import DELIMITER, RULE
from gateway.agent.memory.settings import MemorySettings
from gateway.contracts.memory import MemoryProvider, Scope
from gateway.contracts.model import Completed
from gateway.contracts.tool import ToolSpec
from gateway.messages import Message, ToolCall
from gateway.storage.tables import messages
from gateway.types import ChatType
from tests.fakes.model import DrivenModel
from tests.flow.conftest import House

WIDE = 100_000
"""A window and a screen on which nothing is cut."""


def later(messages: Sequence[Message]) -> list[Message]:
    """Return the results behind the last thing the person said."""
    return list(takewhile(lambda message: message.role == "tool", reversed(messages)))[::-1]


def notetaker() -> DrivenModel:
    """
    Calls `memory` with the JSON behind each "save:", or the tool behind "use:", tells the result; else repeats.

    `session_search` with the JSON behind "seek:".
    """

    def answer(messages: Sequence[Message]) -> Completed | str:
        results = [message.text for message in later(messages)]
        if results:
            return f"result: {' '.join(results)}"
        lines = messages[-1].content.splitlines()
        calls = [("memory", line.partition("save:")[2]) for line in lines if "save:" in line]
        calls += [(line.removeprefix("use:"), "{}") for line in lines if line.startswith("use:")]
        calls += [("session_search", line.removeprefix("seek:")) for line in lines if line.startswith("seek:")]
        if not calls:
            return f"you said: {messages[-1].content}"
        return Completed("", tuple(ToolCall(f"c{len(messages)}.{place}", *call) for place, call in enumerate(calls)))

    model = DrivenModel(answer)
    model.window = WIDE
    return model


@pytest.fixture
def house(house: House) -> House:
    house.platform.limits = replace(house.platform.limits, text=WIDE)
    house.models[""] = notetaker()
    house.change(owner="fake:ann")
    return house


@pytest.fixture
def small(small: House) -> House:
    small.platform.limits = replace(small.platform.limits, text=WIDE)
    small.models[""] = notetaker()
    small.change(owner="fake:ann")
    return small


def prompt(house: House) -> str:
    return house.model.asked[-1][0].content


def saving(content: str, target: str = "memory") -> str:
    return "save:" + json.dumps({"action": "add", "target": target, "content": content})


async def tell(house: House, text: str, chat: str = "ann", *, shows: str, **more: object) -> None:
    house.platform.say(text, chat, **more)  # type: ignore[arg-type]
    await house.platform.sees(shows, chat)


async def test_what_is_saved_in_one_conversation_stands_in_the_prompt_of_the_next(house: House) -> None:
    async with house.running():
        await tell(house, saving("Prefers tea, 喜欢茶"), shows='"success": true')
        await tell(house, "still the old prompt?", shows="you said: still")
        assert "Prefers tea" not in prompt(house)
        await tell(house, "/new", shows="A new conversation")
        await tell(house, "hello again", shows="you said: hello again")
    used = len("Prefers tea, 喜欢茶")
    block = f"{RULE}\nMEMORY (your personal notes) [0% — {used}/2,200 chars]\n{RULE}\nPrefers tea, 喜欢茶"
    assert block in prompt(house)


async def test_notes_are_told_in_the_prompt_and_are_no_part_of_what_a_person_says(house: House) -> None:
    """MEM-10: nobody's message brings them, and no message that is stored does."""
    async with house.running():
        await tell(house, saving("Prefers tea"), shows='"success": true')
        await tell(house, "/new", shows="A new conversation")
        await tell(house, "hello", shows="you said: hello")
        await tell(house, "and now?", shows="you said: and now?")
        first, *rest = house.model.asked[-1]
        spoken = await house.database.read(
            lambda connection: connection.execute(select(messages).where(messages.c.role == "user")).all()
        )
    assert (first.role, "Prefers tea" in first.content) == ("system", True)
    assert [message.content for message in rest] == ["hello", "you said: hello", "and now?"]
    assert [row.text for row in spoken] == [saving("Prefers tea"), "hello", "and now?"]
    assert not any("Prefers tea" in (row.api_content or "") for row in spoken)


async def test_two_people_know_nothing_of_each_others_notes(house: House) -> None:
    async with house.running():
        await tell(house, saving("Ann's PIN hint is tulip", "user"), shows='"success": true')
        await tell(house, saving("Bob's cat is Miso", "user"), "bob", shows='"success": true')
        for chat in ("ann", "bob"):
            await tell(house, "/new", chat, shows="A new conversation")
        await tell(house, "who am I?", "ann", shows="you said: who am I?")
        assert "tulip" in prompt(house)
        assert "Miso" not in prompt(house)
        await tell(house, "and who am I?", "bob", shows="you said: and who am I?")
        assert "Miso" in prompt(house)
        assert "tulip" not in prompt(house)


async def test_an_id_that_would_become_somebody_elses_is_nobodys(house: House) -> None:
    async with house.running() as chat:
        await tell(house, saving("Ann's PIN hint is tulip", "user"), shows='"success": true')
        chat.say("/memory show", "eve", sender="ann\0")
        chat.say("/memory show", "ann\0", sender="eve")
        await tell(house, "hello", "eve", shows="you said: hello")
        assert chat.texts("eve") == ["you said: hello"]
        assert len(chat.texts("ann")) == 1


async def test_a_group_has_notes_of_its_own_whoever_of_it_speaks(house: House) -> None:
    async with house.running():
        await tell(house, saving("Ann's secret"), shows='"success": true')
        group = {"kind": ChatType.GROUP}
        await tell(house, saving("The standup is at 9", "user"), "team", sender="ann", shows='"success": true', **group)
        await tell(house, "when is it?", "team", sender="bob", shows="when is it?", **group)
        assert "The standup is at 9" in prompt(house)
        assert "Ann's secret" not in prompt(house)
        await tell(house, "/new", shows="A new conversation")
        await tell(house, "and in private?", shows="you said: and in private?")
        assert "standup" not in prompt(house)
        assert "Ann's secret" in prompt(house)


async def test_two_chats_of_one_person_add_to_the_same_notes_at_once(house: House) -> None:
    async with house.running() as chat:
        for number in range(10):
            chat.say(saving(f"fact {number} of one chat"), "ann")
            chat.say(saving(f"fact {number} of another chat"), "ann2", sender="ann")
        both = ("ann", "ann2")
        await chat.until(
            lambda: sum(text.count('"success": true') for name in both for text in chat.texts(name)) == 20, "20 saves"
        )
        await tell(house, "/new", shows="A new conversation")
        await tell(house, "what is there?", shows="you said: what is there?")
    assert all(
        f"fact {number} of {which} chat" in prompt(house) for number in range(10) for which in ("one", "another")
    )


async def test_the_notes_of_a_home_that_was_there_before_reach_its_owner_alone(house: House) -> None:
    memories = house.plans[0].home / "memories"
    memories.mkdir()
    (memories / "MEMORY.md").write_text(DELIMITER.join(["Runs Debian", "Has a dog"]), "utf-8")
    async with house.running():
        await tell(house, "hello", shows="you said: hello")
        assert f"Runs Debian{DELIMITER}Has a dog" in prompt(house)
        await tell(house, "hello", "bob", shows="you said: hello")
        assert "Debian" not in prompt(house)


async def test_a_prompt_stays_as_it_was_over_writes_and_restarts(house: House) -> None:
    async with house.running():
        await tell(house, "first", shows="you said: first")
        before = prompt(house)
        await tell(house, saving("Something new"), shows='"success": true')
    async with house.running():
        await tell(house, "second", shows="you said: second")
    assert prompt(house) == before


async def test_files_lie_where_a_person_looks_for_them(small: House) -> None:
    async with small.running():
        await tell(small, saving("Mine"), shows='"success": true')
        await tell(small, saving("His"), "bob", shows='"success": true')
        await tell(small, saving("Ours"), "a/b:c", sender="bob", kind=ChatType.GROUP, shows='"success": true')
    memories = small.plans[0].home / "memories"
    assert (memories / "MEMORY.md").read_text("utf-8").strip() == "Mine"
    assert [path.read_text("utf-8").strip() for path in memories.glob("users/*/MEMORY.md")] == ["His"]
    assert [path.read_text("utf-8").strip() for path in memories.glob("chats/*/MEMORY.md")] == ["Ours"]


async def test_unreadable_notes_are_said_and_kept(small: House) -> None:
    file = small.plans[0].home / "memories" / "MEMORY.md"
    file.parent.mkdir()
    file.write_bytes(b"Likes na\xefve art\n")
    async with small.running():
        await tell(small, "what do you know?", shows="you said: what do")
        assert "MEMORY.md is damaged" in prompt(small)
        assert "Likes na\ufffdve art" in prompt(small)
        await tell(small, saving("One more"), shows="UTF-8")
    assert file.read_bytes() == b"Likes na\xefve art\n"


async def test_memory_that_is_off_is_neither_told_nor_offered(small: House) -> None:
    small.change(memory=MemorySettings(memory_enabled=False, user_profile_enabled=False))
    async with small.running():
        await tell(small, saving("Anything"), shows="no tool named")
        assert RULE not in prompt(small)
        await tell(small, "/memory", shows="Memory is off: memory.memory_enabled")


async def test_a_person_lists_and_drops_notes(house: House) -> None:
    async with house.running() as chat:
        await tell(house, saving("Prefers tea"), shows='"success": true')
        await tell(house, "/memory show", shows="Prefers tea")
        handle = chat.texts()[-1].partition("`#")[2].partition("`")[0]
        await tell(house, f"/memory forget #{handle}", shows="Forgotten.")
        chat.say("/memory show")
        await chat.until(lambda: "nothing yet" in chat.texts()[-1], "an empty list")
        await tell(house, "/memory", shows="yours alone" if not house.plans[0].owner else "the owner's")


async def test_a_person_drops_a_note_on_themselves_where_the_agent_has_none(house: House) -> None:
    async with house.running() as chat:
        await tell(house, saving("Lives in Oslo", target="user"), shows='"success": true')
        await tell(house, "/memory forget Bergen", shows="No note holds this; /memory show lists them.")
        await tell(house, "/memory forget Oslo", shows="Forgotten. USER.md now: 0%")
        await tell(house, "/memory show", shows="nothing yet")
        assert "Oslo" not in chat.texts()[-1]


async def test_writes_wait_for_the_person_who_wanted_them(house: House) -> None:
    house.change(memory=MemorySettings(write_approval="stage"))
    async with house.running() as chat:
        await tell(house, saving("Bob likes jazz"), "bob", shows='"staged": true')
        await tell(house, saving("Cleo likes rock"), "cleo", shows='"staged": true')
        await tell(house, "/memory pending", "bob", shows="add Bob likes jazz")
        id = chat.texts("bob")[-1].partition("`")[2].partition("`")[0]
        await tell(house, f"/memory approve {id}", "cleo", shows=f"Nothing of yours waits as {id}")
        await tell(house, f"/memory approve {id}", "bob", shows="written; MEMORY.md now")
        await tell(house, "/memory pending", "ann", shows="add Cleo likes rock")
        await tell(house, "/memory reject all", "ann", shows="rejected.")
        await tell(house, "/memory approve all", "ann", shows="Nothing waits for approval.")
        await tell(house, "/memory show", "bob", shows="Bob likes jazz")
        await tell(house, "/memory show", "cleo", shows="nothing yet")


async def test_what_waits_for_a_persons_own_notes_is_not_told_in_a_group(house: House) -> None:
    house.change(memory=MemorySettings(write_approval="stage"))
    group = {"kind": ChatType.GROUP}
    async with house.running() as chat:
        await tell(house, saving("Bob likes jazz"), "bob", shows='"staged": true')
        await tell(house, saving("Standup is at 9"), "team", sender="bob", shows='"staged": true', **group)
        for person in ("bob", "ann"):  # and ann is the owner, who decides on everything elsewhere
            chat.say("/memory pending", "team", sender=person, kind=ChatType.GROUP)
        told = "add Standup is at 9"
        await chat.until(lambda: sum(told in text for text in chat.texts("team")) == 2, "what waits, twice")
        assert not any("jazz" in text for text in chat.texts("team"))
        await tell(house, "/memory approve all", "team", sender="bob", shows="written; MEMORY.md now", **group)
        await tell(house, "/memory pending", "bob", shows="add Bob likes jazz")


async def test_writes_can_be_switched_off(small: House) -> None:
    small.change(memory=MemorySettings(write_approval="block"))
    async with small.running():
        await tell(small, saving("Anything"), shows="memory.write_approval: block")


async def test_who_wants_to_be_forgotten_is(house: House) -> None:
    async with house.running() as chat:
        await tell(house, saving("Bob likes jazz"), "bob", shows='"success": true')
        await tell(house, "Ann's own words", "ann", shows="you said: Ann's own words")
        await tell(house, "/forgetme", "bob", shows="/forgetme yes")
        await tell(house, "/forgetme yes", "bob", shows="Erased:")
        erased = chat.texts("bob")[-1]
        assert str(house.plans[0].home) not in erased
        assert "1 conversations with 4 messages" in erased
        assert "14 characters of notes" in erased
        await tell(house, "do you know me?", "bob", shows="you said: do you know me?")
        assert "jazz" not in prompt(house)
        assert len(house.model.asked[-1]) == 2
        await tell(house, "and me?", "ann", shows="you said: and me?")
        assert any("Ann's own words" in message.content for message in house.model.asked[-1])


class Shared(MemoryProvider):
    """Remembers every turn, and recalls all of one owner's; may be told to fail or to hang."""

    name = "shared"

    def __init__(self) -> None:
        self.said: dict[str, list[str]] = {}
        self.writes: list[tuple[str, str, str]] = []
        self.old: list[str] = []
        self.ended: list[tuple[str, str, list[str]]] = []
        self.scopes: list[Scope] = []
        self.fails = False

    def specs(self) -> Sequence[ToolSpec]:
        return [ToolSpec("shared_search", "Search."), ToolSpec("memory", "Not ours to take.")]

    async def call(self, name: str, arguments: Mapping[str, Any], scope: Scope) -> str:
        return f"{name} for {scope.owner}"

    def system_prompt_block(self) -> str:
        return "You also have shared memory."

    async def prefetch(self, query: str, scope: Scope) -> str:
        self.scopes.append(scope)
        if self.fails:
            raise RuntimeError("the service is down")
        return " / ".join(self.said.get(scope.owner, []))

    async def sync_turn(self, user: str, assistant: str, scope: Scope) -> None:
        self.said.setdefault(scope.owner, []).append(f"heard: {user}")

    async def on_session_end(self, messages: Sequence[Message], scope: Scope) -> None:
        self.ended.append((scope.owner, scope.session_id, [message.text for message in messages]))

    async def on_memory_write(
        self, action: str, target: str, content: str, scope: Scope, metadata: Mapping[str, str]
    ) -> None:
        self.writes.append((action, target, content))
        self.old += [metadata["old_text"]] if "old_text" in metadata else []


@pytest.fixture
def service(house: House) -> Shared:
    house.provider = Shared()
    return house.provider


async def test_what_a_service_remembers_stands_behind_a_fence_and_not_in_the_history(
    house: House, service: Shared
) -> None:
    async with house.running() as chat:
        await tell(house, "I have a boat called Miso", shows="you said: I have a boat")
        await chat.until(lambda: bool(service.said), "the turn in the service")
        assert "You also have shared memory." in prompt(house)
        await tell(house, "what is my boat called?", shows="what is my boat called?")
        asked = house.model.asked[-1]
    assert asked[-1].text == "what is my boat called?"
    assert "<memory-context>" in asked[-1].content
    assert "heard: I have a boat called Miso" in asked[-1].content
    assert not any("<memory-context>" in text for text in chat.texts())
    assert service.scopes[-1].platform == "fake"
    assert service.scopes[-1].user_id
    assert service.scopes[-1].gateway_session_key.startswith("agent:main:fake:dm:")


async def test_a_service_recalls_nothing_of_another_person(house: House, service: Shared) -> None:
    async with house.running() as chat:
        await tell(house, "my secret is tulip", shows="you said: my secret")
        await chat.until(lambda: bool(service.said), "the turn in the service")
        await tell(house, "do you know a secret?", "bob", shows="do you know a secret?")
    assert "tulip" not in house.model.asked[-1][-1].content


async def test_a_replay_sends_what_was_recalled_to_the_letter(house: House, service: Shared) -> None:
    async with house.running() as chat:
        await tell(house, "I have a boat called Miso", shows="you said: I have a boat")
        await chat.until(lambda: bool(service.said), "the turn in the service")
        await tell(house, "what is my boat called?", shows="what is my boat called?")
    second = house.model.asked[-1][-1]
    async with house.running():
        await tell(house, "and now?", shows="and now?")
    assert second in house.model.asked[-1]


async def test_a_service_that_fails_costs_only_what_it_knows(house: House, service: Shared) -> None:
    service.fails = True
    async with house.running():
        await tell(house, "hello there, friend", shows="you said: hello there, friend")
    assert house.model.asked[-1][-1].content == "hello there, friend"


async def test_a_service_hears_of_what_a_person_drops_and_allows(small: House) -> None:
    service = small.provider = Shared()
    small.change(memory=MemorySettings(write_approval="stage"))
    async with small.running() as chat:
        await tell(small, saving("Prefers tea"), shows='"staged": true')
        await tell(small, "/memory approve all", shows="written; MEMORY.md now")
        await tell(small, "/memory show", shows="Prefers tea")
        handle = chat.texts()[-1].partition("`#")[2].partition("`")[0]
        await tell(small, f"/memory forget #{handle}", shows="Forgotten.")
    assert service.writes == [("add", "memory", "Prefers tea"), ("remove", "memory", "")]
    assert service.old == ["Prefers tea"]


async def test_a_service_hears_of_writes_and_offers_its_tools(house: House, service: Shared) -> None:
    async with house.running() as chat:
        await tell(house, "use:shared_search", shows="result: shared_search for home")
        await tell(house, saving("Prefers tea"), shows='"success": true')
        await chat.until(lambda: bool(service.writes), "the write in the service")
    assert service.writes == [("add", "memory", "Prefers tea")]


async def test_a_service_hears_once_that_a_conversation_is_over(house: House, service: Shared) -> None:
    async with house.running() as chat:
        await tell(house, "my boat is called Miso", shows="you said: my boat")
        session = service.scopes[-1].session_id
        await tell(house, "/new", shows="A new conversation")
        await tell(house, "something else entirely", shows="you said: something else")
        await tell(house, "and one more thing", shows="you said: and one more")
        await chat.until(lambda: bool(service.ended), "the end of the conversation in the service")
    assert service.ended == [("home", session, ["my boat is called Miso", "you said: my boat is called Miso"])]


async def test_who_is_taken_off_the_owners_is_no_owner_any_more(house: House) -> None:
    async with house.running():
        await tell(house, "/whoami", shows="`fake:ann`, owner,")
        await tell(house, "hello", shows="you said: hello")
    house.change(owner="", rules=Rules(allow_all=True))
    async with house.running():
        await tell(house, "/whoami", shows="`fake:ann`, member,")


async def test_who_is_named_the_owner_later_brings_their_notes_along(house: House) -> None:
    house.change(owner="")
    async with house.running():
        await tell(house, saving("Prefers tea"), shows='"success": true')
    house.change(owner="fake:ann")
    async with house.running():
        await tell(house, "still here", shows="you said: still here")
        await tell(house, "/new", shows="A new conversation")
        await tell(house, "what do you know?", shows="you said: what do you know?")
        assert "Prefers tea" in prompt(house)
        await tell(house, "/memory", shows="Whose: the owner's")


class Slow(Shared):
    """Recalls once it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = asyncio.Event()

    async def prefetch(self, query: str, scope: Scope) -> str:
        await self.let.wait()
        return ""


async def test_while_something_is_recalled_the_chat_shows_that_an_answer_is_under_way(small: House) -> None:
    service = small.provider = Slow()
    async with small.running() as chat:
        chat.say("hello")
        await chat.until(lambda: "ann" in chat.typing_in, "the typing sign")
        assert small.model.asked == []
        service.let.set()
        await chat.sees("you said: hello")
        await chat.is_quiet()
