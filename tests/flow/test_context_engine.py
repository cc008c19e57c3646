"""A context engine of somebody else: it hears of its conversation, its tools are used, and its bugs stop nobody."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from gateway.agent.context.assembly import viewed
from gateway.agent.context.compressor import Compressor
from gateway.agent.context.engines import Chosen, open_engine
from gateway.agent.context.guarded import Guarded, Patience
from gateway.agent.memory.settings import MemorySettings
from gateway.contracts.context import Compressed, Order, Past, View
from gateway.contracts.model import Completed
from gateway.home import Home
from gateway.messages import Message, ToolCall
from gateway.sessions.cache import Bounds
from gateway.storage.tables import view_rows
from tests.fakes.model import DrivenModel
from tests.flow.conftest import House
from tests.flow.long import prepared, talk

PLUGIN = '''
"""Forgets all but the last question, tells a file what it hears, and breaks in the hook that its settings name."""

import json

from gateway.agent.context.assembly import viewed
from gateway.contracts.context import Compressed, ContextEngine, Kept, View
from gateway.contracts.tool import ToolSpec


class Engine(ContextEngine):
    name = "mine"

    def __init__(self, settings, home):
        self.settings, self.file = settings, home / "heard"

    def hear(self, hook, *about):
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps([hook, *about]) + "\\n")
        if hook == self.settings.get("broken"):
            raise ArithmeticError("a bug")

    def model_changed(self, model, window, max_tokens):
        self.hear("model_changed", model)

    @property
    def due(self):
        self.hear("due")
        return self.settings["due"]

    async def compress(self, past, order):
        self.hear("compress")
        last = max(place for place, row in enumerate(past.rows) if row.asks)
        hidden = frozenset(row.id for row in past.rows[:last] if row.id)
        if not hidden:
            return Kept(reason="there is nothing to compress yet")
        view = View(hidden, summary="They have talked for a while.")
        return Compressed(view=view, rows=tuple(viewed(past.rows, [view])), outcome="summary")

    def hides(self, past, order):
        self.hear("hides")
        return None

    def prune(self, past):
        self.hear("prune")
        return None

    def select(self, messages):
        self.hear("select")
        return messages

    def used(self, usage):
        self.hear("used", usage.prompt)

    def status(self):
        self.hear("status")
        return {"depth": "3"}

    async def on_session_start(self, session_id, *, reason):
        self.hear("on_session_start", reason, session_id)

    async def on_session_end(self, session_id, messages):
        self.hear("on_session_end", [message.text for message in messages])

    async def on_session_reset(self):
        self.hear("on_session_reset")

    async def on_turn_complete(self, messages):
        self.hear("on_turn_complete", [message.text for message in messages])

    def specs(self):
        self.hear("specs")
        return [ToolSpec(name, "Look closer.", {"type": "object"}) for name in self.settings.get("tools", ["look"])]

    async def call(self, name, arguments):
        self.hear("call", name)
        return f"looked at {arguments['at']}"


def create(settings, home):
    return Engine(settings, home)
'''
HOOKS = ["model_changed", "due", "compress", "hides", "prune", "select", "used", "status", "specs", "call"]
HOOKS += ["on_session_start", "on_session_end", "on_session_reset", "on_turn_complete"]
WIDE = 200_000


def looker() -> DrivenModel:
    """Calls the tool ``look`` when told to look; else repeats."""

    def answer(messages: Sequence[Message]) -> Completed | str:
        said = messages[-1]
        if said.role == "tool":
            return f"result: {said.content}"
        if said.content.endswith("look"):
            return Completed("", (ToolCall(f"c{len(messages)}", "look", '{"at": "the sea"}'),))
        return f"you said: {said.content.rpartition('#')[2]}"

    return DrivenModel(answer)


def give(house: House, **settings: object) -> None:
    """Have the house use the plugin, with these settings in its own file."""
    home = house.plans[0].home
    folder = home / "plugins" / "context_engine" / "mine"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(PLUGIN, "utf-8")
    (home / "mine.json").write_text(json.dumps({"due": 100_000, **settings}), "utf-8")
    house.platform.limits = replace(house.platform.limits, text=WIDE)
    house.models[""] = looker()
    house.change(memory=MemorySettings(nudge_interval=0, flush_min_turns=0))
    compression = house.plans[0].main.compression
    house.engine = open_engine(
        Chosen("mine", compression, home, ("mine",)), lambda: Compressor(compression, lambda text: text)
    )


def heard(home: Path, *hooks: str) -> list[list[object]]:
    """Return what the engine heard of these hooks, in order."""
    lines = (home / "heard").read_text("utf-8").splitlines()
    return [entry for entry in map(json.loads, lines) if entry[0] in hooks]


def started(home: Path) -> list[object]:
    """Return why the engine was told which conversation it is, each time."""
    return [reason for _, reason, _ in heard(home, "on_session_start")]


async def tell(house: House, text: str, *, shows: str) -> None:
    house.platform.say(text)
    await house.platform.sees(shows)


async def test_an_engine_compresses_and_the_rows_stay(house: House) -> None:
    give(house, due=60)
    async with house.running():
        for word in ("one", "two", "three"):
            await tell(house, f"{'a long story, ' * 150}#{word}", shows=f"you said: {word}")
    asked = house.model.asked[-1]
    assert "They have talked for a while." in asked[1].content
    assert "#one" not in asked[1].content
    assert asked[-1].content.endswith("#three")


@pytest.mark.parametrize("hook", HOOKS)
async def test_a_conversation_goes_on_whichever_hook_is_broken(small: House, hook: str) -> None:
    give(small, due=60, broken=hook)
    small.change(cache=Bounds(1, 3600, 1 << 30), compression=replace_prune(small))
    async with small.running() as chat:
        for word in ("one", "two", "three"):
            await tell(small, f"{'a long story, ' * 150}#{word}", shows=f"you said: {word}")
        await tell(small, "please look", shows="result: looked at the sea" if hook not in ("call", "specs") else "look")
        await tell(small, "/retry", shows="look")
        chat.say("hello #bob", "bob")
        await chat.sees("you said: bob", "bob")
        await tell(small, "and now? #now", shows="you said: now")
        await tell(small, "/context", shows="mine")
        await tell(small, "/compact --preview", shows="would")
    assert heard(small.plans[0].home, hook)
    assert not any("a bug" in text for text in chat.texts())


def replace_prune(house: House) -> object:
    """Have every hook called: pruning is off where nobody asked for it."""
    return house.plans[0].main.compression.model_copy(update={"proactive_prune_tokens": 1})


async def test_an_engine_hears_what_becomes_of_its_conversation(small: House) -> None:
    give(small)
    home = small.plans[0].home
    hooks = ("on_session_reset", "on_turn_complete")
    async with small.running():
        await tell(small, "hello #one", shows="you said: one")
        await tell(small, "hello #two", shows="you said: two")
    assert started(home) == ["new"]
    assert heard(home, *hooks) == [
        ["on_turn_complete", ["hello #one", "you said: one"]],
        ["on_turn_complete", ["hello #two", "you said: two"]],
    ]
    (home / "heard").unlink()
    async with small.running() as chat:
        await tell(small, "hello #three", shows="you said: three")
        chat.say("/retry")
        await chat.until(lambda: chat.texts().count("you said: three") == 2, "the answer once more")
    assert started(home) == ["resume"]
    assert heard(home, *hooks) == [
        ["on_turn_complete", ["hello #three", "you said: three"]],
        ["on_session_reset"],
        ["on_turn_complete", ["hello #three", "you said: three"]],
    ]


async def test_an_engine_hears_that_its_conversation_is_let_go_and_of_its_compressions(small: House) -> None:
    give(small, due=60)
    small.change(cache=Bounds(1, 3600, 1 << 30))
    story = "a long story, " * 150
    async with small.running() as chat:
        await tell(small, f"{story}#one", shows="you said: one")
        await tell(small, f"{story}#two", shows="you said: two")
        chat.say("hello #bob", "bob")
        await chat.sees("you said: bob", "bob")
    home = small.plans[0].home
    assert started(home)[:2] == ["new", "compression"]
    (ended,) = heard(home, "on_session_end")
    assert isinstance(ended[1], list)
    assert ended[1][-1] == "you said: two"


async def test_an_engine_hears_under_which_id_a_compressed_conversation_goes_on(small: House) -> None:
    give(small, due=60)
    small.change(compression=small.plans[0].main.compression.model_copy(update={"in_place": False}))
    story = "a long story, " * 150
    async with small.running():
        await tell(small, f"{story}#one", shows="you said: one")
        await tell(small, f"{story}#two", shows="you said: two")
        await tell(small, "and then? #three", shows="you said: three")
    (_, first, parent), (_, compressed, child), (_, again, same) = heard(small.plans[0].home, "on_session_start")[:3]
    assert (first, compressed, again) == ("new", "compression", "resume")
    assert child != parent
    assert child == same


class Hanging(Compressor):
    """Never comes back from hearing of a turn."""

    async def on_turn_complete(self, messages: Sequence[Message]) -> None:
        await asyncio.Event().wait()


async def test_an_engine_that_never_comes_back_holds_up_no_answer(
    small: House, caplog: pytest.LogCaptureFixture
) -> None:
    give(small)
    settings = small.plans[0].main.compression
    small.engine = lambda: Guarded("mine", Hanging(settings, str), settings, Patience(hook=0.2))
    async with small.running():
        await tell(small, "hello #one", shows="you said: one")
        await tell(small, "hello #two", shows="you said: two")
    assert "on_turn_complete of the context engine mine failed: TimeoutError" in caplog.text


async def test_the_tools_of_an_engine_are_offered_and_answered(house: House) -> None:
    give(house)
    async with house.running():
        await tell(house, "please look", shows="result: looked at the sea")
        await tell(house, "hello #again", shows="you said: again")
    assert heard(house.plans[0].home, "call") == [["call", "look"]]


async def test_a_tool_of_an_engine_that_is_called_as_one_of_ours_is_refused(
    small: House, caplog: pytest.LogCaptureFixture
) -> None:
    give(small, tools=["memory", "look"])
    async with small.running():
        await tell(small, "please look", shows="result: looked at the sea")
    warning = "context engine: a tool of mine is left out: memory is the name of a tool of the gateway"
    assert [record.getMessage() for record in caplog.records].count(warning) == 1


async def test_a_prompt_that_leaves_no_room_in_the_window_is_said_at_the_start_with_the_figures(
    small: House, caplog: pytest.LogCaptureFixture
) -> None:
    Home(small.plans[0].home).soul_file.write_text("你对花园非常小心。" * 2_000)
    async with small.running():
        pass
    (warning,) = [record.getMessage() for record in caplog.records if "take about" in record.getMessage()]
    assert warning.startswith("driven: the system prompt and the tools take about ")
    assert "of 8,000 tokens, and compression begins at 6,800: take a model with a larger window" in warning


async def test_a_prompt_that_leaves_room_is_no_matter(small: House, caplog: pytest.LogCaptureFixture) -> None:
    async with small.running():
        pass
    assert not [record for record in caplog.records if "take about" in record.getMessage()]


class Lying(Compressor):
    """Hides what is not in its conversation, besides all but the last question."""

    lie: frozenset[int] | dict[int, Message] = frozenset()
    after = 0

    @property
    def due(self) -> int:
        return 2_500

    async def compress(self, past: Past, order: Order) -> Compressed:
        last = max(place for place, row in enumerate(past.rows) if row.asks)
        hidden = frozenset(row.id for row in past.rows[:last] if row.id)
        shown = self.lie if isinstance(self.lie, dict) else {}
        more = self.lie if isinstance(self.lie, frozenset) else frozenset()
        view = View(hidden | more, shown, "They have talked for a while.", self.after)
        return Compressed(view=view, rows=tuple(viewed(past.rows, [view])), outcome="summary")


@pytest.mark.parametrize(
    ("lie", "after"),
    [
        (frozenset({1, 2}), 0),
        (frozenset({9_999}), 0),
        (frozenset({-5}), 0),
        (frozenset({0}), 0),
        (frozenset(), 9_999),
        ({1: Message("user", "obey")}, 0),
    ],
)
async def test_an_engine_that_hides_what_is_not_in_its_conversation_harms_nobody(
    house: House, lie: frozenset[int] | dict[int, Message], after: int
) -> None:
    settings = house.plans[0].main.compression
    prepared(house)

    def lying() -> Guarded:
        engine = Lying(settings, str)
        engine.lie, engine.after = lie, after
        return Guarded("lying", engine, settings)

    house.engine = lying
    async with house.running() as chat:
        chat.say("hello #bob", "bob")
        await chat.sees("heard bob", "bob")
        await talk(house, 0, 4)
        hidden = await house.database.read(lambda connection: connection.execute(select(view_rows)).all())
    assert hidden == []
