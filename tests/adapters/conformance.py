"""What every adapter must do, whatever its platform: subclass `AdapterConformance` and say how the platform is steered.

A subclass gives `offline`, an adapter that has met nobody yet, and the fixture `rig`. All else is here::

    class TestMine(AdapterConformance):
        package, sdk = "adapters.mine", ("mine_sdk",)

        def offline(self) -> Adapter: ...

        @pytest.fixture
        async def rig(self) -> AsyncIterator[Rig]: ...
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.contracts.adapter import Adapter, MenuEntry
from gateway.errors import AdapterError
from gateway.types import Address, Event, Part, Rendered, clean

SECONDS = 30.0

HOSTILE = {
    "nothing": "",
    "white space": " \n\t ",
    "half a character": "a\ud83d b \udc4d",
    "NUL and controls": "a\0b\x07c\x1b[31m",
    "right to left": "שלום \u202eעולם\u202c مرحبا",
    "families": "👨‍👩‍👧‍👦🏳️‍🌈 e\u0301 ﷽",
    "CJK": "中文**粗体**文字、東京。「引用」",
    "markup of others": "<b>x</b> *y* _z_ <!channel> <@U1> @everyone &amp; [a](tg://user?id=1)",
    "unclosed": "**bold _both ``` `code [link](http://x ||spoiler $x",
    "table": "| a | b |\n|---|---|\n| 値 `x\\|y` | [l](http://e.org) |\n",
    "nested": "> - a\n>   > ```py\n>   > x\n>   > ```\n",
}
LONG = 50_000
BOMBS = {
    kind: (unit * (LONG // len(unit)))[:LONG]
    for kind, unit in {
        "letters": "a",
        "emphasis": "*a _b",
        "brackets": "[",
        "images": "![a](",
        "quotes": "> ",
        "fences": "```\n",
        "spoilers": "||a\n",
        "formulas": "\\[a",
        "dollars": "$1 ",
        "tags": "<a ",
        "pipes": "|a",
        "lists": "- a\n",
        "emoji": "👨‍👩‍👧",
        "lines": "\n",
    }.items()
} | {
    "a quote in a spoiler": "||a\n" + "> " * 2000 + "x||",
    "a wide and long table": "|a" * 300 + "|\n" + "|-" * 300 + "|\n" + "|x\n" * 20_000,
}
"""Texts that take a careless converter minutes: the test run ends before that."""

WITHOUT_SDK = """
import importlib, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[2:]:
            raise ImportError(name)

sys.meta_path.insert(0, Absent())
package = importlib.import_module(sys.argv[1])
package.Settings()
assert callable(package.create)
"""


@dataclass(frozen=True)
class Rig:
    """An entered adapter before a platform that a test can steer."""

    adapter: Adapter
    target: Address
    """A place that can be written to."""
    say: Callable[[str], object]
    """Write there as somebody who speaks to us."""
    repeat: Callable[[], object]
    """Bring what was said last once more."""
    shown: Callable[[], list[str]] | None = None
    """What we have written there that is to be seen; None where the platform shows nothing and we keep the answer."""
    refuse: Mapping[type[AdapterError], Callable[[], object]] = field(default_factory=dict)
    """Lets the next request to the place fail so that this error is the right one."""


class Heard:
    """Collects what an adapter emits."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[Event] = asyncio.Queue()
        self.ids: set[str] = set()

    async def emit(self, event: Event) -> bool:
        is_new = event.id not in self.ids
        self.ids.add(event.id)
        self.events.put_nowait(event)
        return is_new

    async def next(self) -> Event:
        async with asyncio.timeout(SECONDS):
            return await self.events.get()


@asynccontextmanager
async def listening(adapter: Adapter) -> AsyncIterator[Heard]:
    """Let the adapter listen while the block runs."""
    heard = Heard()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(adapter.listen(heard.emit))
        await asyncio.sleep(0)
        yield heard
        task.cancel()


def part(adapter: Adapter, markdown: str, **more: object) -> Part:
    made: Part = Part(adapter.render(markdown), markdown, **{"key": "part-1"} | more)  # type: ignore[arg-type]
    return made


def words(text: str) -> list[str]:
    return text.split()


class AdapterConformance:
    """The contract of `gateway.contracts.adapter` as tests."""

    package: ClassVar[str]
    sdk: ClassVar[tuple[str, ...]] = ()

    def offline(self) -> Adapter:
        """Return an adapter that is configured for a platform nobody answers at."""
        raise NotImplementedError

    # --- before there is a network

    def test_settings_can_be_read_without_the_sdk(self) -> None:
        command = [sys.executable, "-c", WITHOUT_SDK, self.package, *self.sdk]
        root = Path(__file__).resolve().parents[2]
        done = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=60, check=False)
        assert done.returncode == 0, done.stderr

    async def test_it_can_be_entered_and_left_without_a_network(self) -> None:
        async with self.offline() as adapter:
            assert adapter.name

    def test_it_tells_the_model_where_it_is_and_the_gateway_what_fits(self) -> None:
        limits = self.offline().limits
        assert 40 <= len(limits.hint) <= 600
        assert limits.text > 0
        assert limits.per_chat > 0
        assert limits.per_account >= limits.per_chat
        assert limits.measure("") == 0
        assert limits.measure("ab") >= limits.measure("a") > 0

    # --- rendering

    def test_hostile_text_is_rendered_into_what_can_be_stored_and_sent(self) -> None:
        adapter = self.offline()
        for text in HOSTILE.values():
            self._is_whole(adapter, adapter.render(text), text)

    def test_any_text_is_rendered_and_measured_as_it_is_sent(self) -> None:
        # Inside the method: hypothesis refuses one property that several subclasses inherit.
        @given(st.text(st.characters(), max_size=400))
        def whole(text: str) -> None:
            adapter = self.offline()
            rendered = adapter.render(text)
            self._is_whole(adapter, rendered, text)
            assert adapter.render(text) == rendered

        whole()

    def _is_whole(self, adapter: Adapter, rendered: Rendered, what: str) -> None:
        assert rendered.length == adapter.limits.measure(rendered.text), what
        assert json.loads(json.dumps(rendered.extra)) == rendered.extra, what
        adapter.render(clean(what)).text.encode()

    @pytest.mark.parametrize("kind", BOMBS)
    def test_a_huge_text_of_any_kind_is_rendered_before_the_time_is_up(self, kind: str) -> None:
        adapter = self.offline()
        self._is_whole(adapter, adapter.render(BOMBS[kind]), kind)

    def test_words_come_through_in_their_order(self) -> None:
        text = "One two **three** `four`\n\n- five\n- six\n\n> seven\n\n```\neight\n```\n\nnine <T> ten"
        shown = self.offline().render(text).text
        at = [shown.find(word) for word in ("One", "three", "four", "five", "six", "seven", "eight", "nine <T> ten")]
        assert -1 not in at
        assert at == sorted(at)

    # --- sending

    async def test_what_is_sent_is_shown_and_has_a_receipt(self, rig: Rig) -> None:
        receipt = await rig.adapter.send(rig.target, part(rig.adapter, "Hello **there**"))
        assert receipt.target == rig.target
        assert receipt.message_id
        if rig.shown is not None:
            assert words(rig.shown()[-1])[-1].strip("*") == "there"
        else:
            assert rig.adapter.limits.idempotent

    async def test_a_message_as_long_as_the_limit_is_taken(self, rig: Rig) -> None:
        limit = rig.adapter.limits.text
        body = rig.adapter.render("x" * limit)
        assert body.length == limit
        assert (await rig.adapter.send(rig.target, Part(body, key="part-1"))).message_id

    async def test_an_edit_replaces_and_an_edit_to_the_same_succeeds(self, rig: Rig) -> None:
        if not rig.adapter.limits.edits:
            assert type(rig.adapter).edit is Adapter.edit
            return
        receipt = await rig.adapter.send(rig.target, part(rig.adapter, "one"))
        await rig.adapter.edit(receipt, part(rig.adapter, "two"))
        await rig.adapter.edit(receipt, part(rig.adapter, "two"))
        assert rig.shown is not None
        assert [words(text) for text in rig.shown()] == [["two"]]

    async def test_the_same_part_sent_again_shows_nothing_new_where_that_is_promised(self, rig: Rig) -> None:
        first = await rig.adapter.send(rig.target, part(rig.adapter, "once"))
        if rig.adapter.limits.idempotent:
            assert await rig.adapter.send(rig.target, part(rig.adapter, "once")) == first
            assert rig.shown is None or len(rig.shown()) == 1

    async def test_the_typing_sign_never_fails(self, rig: Rig) -> None:
        await rig.adapter.typing(rig.target)
        await rig.adapter.typing(rig.target, on=False)
        nowhere = Address(platform=rig.target.platform, account=rig.target.account, chat="nowhere")
        await rig.adapter.typing(nowhere)

    async def test_the_menu_takes_every_command(self, rig: Rig) -> None:
        await rig.adapter.menu(
            [MenuEntry("new", "Begin anew"), MenuEntry("x-y", ""), MenuEntry("größe", "größe " * 99)]
        )

    async def test_each_refusal_says_what_to_do(self, rig: Rig) -> None:
        for kind, refuse in rig.refuse.items():
            refuse()
            raised: AdapterError | None = None
            try:
                await rig.adapter.send(rig.target, part(rig.adapter, f"after {kind.__name__}"))
            except AdapterError as error:
                raised = error
            assert type(raised) is kind
            assert len(str(raised)) > 10

    # --- listening

    async def test_what_is_said_is_heard_with_its_place_and_its_person(self, rig: Rig) -> None:
        async with listening(rig.adapter) as heard:
            rig.say("Good morning, 東京 👋")
            event = await heard.next()
        assert "Good morning, 東京 👋" in event.text
        assert event.origin.adapter == rig.adapter.name
        assert Address.parse(str(event.origin)) == event.origin
        assert event.sender.id
        assert event.addressed

    async def test_an_answer_reaches_the_place_it_came_from(self, rig: Rig) -> None:
        async with listening(rig.adapter) as heard:
            rig.say("Good morning")
            event = await heard.next()
            receipt = await rig.adapter.send(event.origin, part(rig.adapter, "Good evening", reply_to=event.id))
        assert receipt.message_id
        assert rig.shown is None or "Good evening" in rig.shown()[-1]

    async def test_the_same_message_brought_twice_has_the_same_id(self, rig: Rig) -> None:
        async with listening(rig.adapter) as heard:
            rig.say("first")
            first = await heard.next()
            rig.repeat()
            assert (await heard.next()).id == first.id
            rig.say("second")
            assert (await heard.next()).id != first.id

    async def test_messages_are_heard_in_the_order_they_were_said(self, rig: Rig) -> None:
        said = [f"message {number}" for number in range(20)]
        async with listening(rig.adapter) as heard:
            for text in said:
                rig.say(text)
            got = [(await heard.next()).text for _ in said]
        assert all(text in event for text, event in zip(said, got, strict=True))
