"""An engine of others: whatever it raises or returns, what asks it gets an answer that can be used."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from gateway.agent.context.guarded import Guarded, Patience
from gateway.agent.context.settings import CompressionSettings
from gateway.contracts.context import Compressed, ContextEngine, Kept, Order, Past, Row, View
from gateway.contracts.tool import ToolSpec
from gateway.errors import GatewayError, ToolError
from gateway.messages import Message, Usage

ROW = Row(1, Message("user", "hello"))
PAST = Past([ROW], [6])
ORDER = Order(models=())
QUICK = Patience(hook=0.05, compress=0.05, tool=0.05)


class Told(ContextEngine):
    """Answers every hook with what a function says for its name."""

    name = "told"

    def __init__(self, answer: Callable[[str], Any]) -> None:
        self._answer = answer

    def model_changed(self, model: str, window: int, max_tokens: int | None) -> None:
        self._answer("model_changed")

    @property
    def due(self) -> int:
        return self._answer("due")  # type: ignore[no-any-return]

    async def compress(self, past: Past, order: Order) -> Compressed | Kept:
        return await self._later("compress")  # type: ignore[no-any-return]

    def has_content(self, past: Past) -> bool:
        return self._answer("has_content")  # type: ignore[no-any-return]

    def hides(self, past: Past, order: Order) -> frozenset[int] | None:
        return self._answer("hides")  # type: ignore[no-any-return]

    def prune(self, past: Past) -> Compressed | None:
        return self._answer("prune")  # type: ignore[no-any-return]

    def select(self, messages: Sequence[Message]) -> Sequence[Message]:
        return self._answer("select")  # type: ignore[no-any-return]

    def used(self, usage: Usage) -> None:
        self._answer("used")

    async def on_session_start(self, session_id: str, *, reason: str) -> None:
        await self._later("on_session_start")

    async def on_session_end(self, session_id: str, messages: Sequence[Message]) -> None:
        await self._later("on_session_end")

    async def on_session_reset(self) -> None:
        await self._later("on_session_reset")

    async def on_turn_complete(self, messages: Sequence[Message]) -> None:
        await self._later("on_turn_complete")

    def specs(self) -> Sequence[ToolSpec]:
        return self._answer("specs")  # type: ignore[no-any-return]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        return await self._later("call")  # type: ignore[no-any-return]

    def status(self) -> Mapping[str, str]:
        return self._answer("status")  # type: ignore[no-any-return]

    async def _later(self, hook: str) -> Any:
        answer = self._answer(hook)
        return await answer if asyncio.iscoroutine(answer) else answer


def guarded(answer: Callable[[str], Any], patience: Patience = QUICK) -> Guarded:
    engine = Guarded("mine", Told(answer), CompressionSettings(), patience)
    engine.model_changed("m", 200_000, None)
    return engine


def giving(answer: Any) -> Guarded:
    return guarded(lambda hook: answer)


def breaks(hook: str) -> None:
    raise ArithmeticError(f"{hook} is broken")


def check_neutral(engine: Guarded) -> None:
    messages = [ROW.message]
    assert engine.due == 150_000
    assert engine.has_content(PAST)
    assert engine.hides(PAST, ORDER) is None
    assert engine.prune(PAST) is None
    assert engine.select(messages) is messages
    assert engine.specs() == ()
    assert engine.status() == {}
    engine.used(Usage())


def test_where_every_hook_raises_every_answer_changes_nothing() -> None:
    check_neutral(guarded(breaks))


def test_what_is_of_no_use_is_as_good_as_nothing() -> None:
    engine = giving(object())
    assert engine.due == 150_000
    assert engine.prune(PAST) is None
    assert engine.select([ROW.message]) == [ROW.message]
    assert engine.specs() == ()
    assert engine.status() == {}


def test_each_broken_hook_is_logged_once_with_where_it_broke(caplog: pytest.LogCaptureFixture) -> None:
    engine = guarded(breaks)
    for _ in range(3):
        check_neutral(engine)
    said = [record for record in caplog.records if "due of the context engine mine failed" in record.getMessage()]
    assert len(said) == 1
    assert said[0].exc_info is not None


async def test_hooks_that_are_awaited_may_raise(caplog: pytest.LogCaptureFixture) -> None:
    engine = guarded(breaks)
    await engine.on_session_start("s", reason="new")
    await engine.on_session_end("s", [ROW.message])
    await engine.on_session_reset()
    await engine.on_turn_complete([ROW.message])
    for hook in ("on_session_start", "on_session_end", "on_session_reset", "on_turn_complete"):
        assert f"{hook} of the context engine mine failed: ArithmeticError; the conversation goes on" in caplog.text


async def stubborn(ended: asyncio.Event) -> None:
    """Wait for ever, and longer when told not to."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await ended.wait()


async def test_hooks_that_take_for_ever_and_do_not_obey_are_not_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    ended = asyncio.Event()
    engine = guarded(lambda hook: stubborn(ended) if hook != "model_changed" else None)
    await engine.on_session_start("s", reason="new")
    assert "on_session_start of the context engine mine failed: TimeoutError" in caplog.text
    kept = await engine.compress(PAST, ORDER)
    assert isinstance(kept, Kept)
    assert kept.failed
    assert kept.reason == "the context engine mine failed: TimeoutError"
    with pytest.raises(ToolError, match="look cannot be used at the moment"):
        await engine.call("look", {})
    ended.set()


async def test_a_hook_that_cancels_itself_cancels_nobody_else() -> None:
    async def cancelled() -> None:
        raise asyncio.CancelledError

    engine = guarded(lambda hook: cancelled() if hook.startswith("on_") else None)
    await engine.on_turn_complete([])


async def test_a_turn_that_is_stopped_stops_the_compression() -> None:
    began, stopped = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    engine = guarded(lambda hook: work() if hook == "compress" else None, Patience())
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(engine.compress(PAST, ORDER))
        await began.wait()
        turn.cancel()
    assert turn.cancelled()
    await stopped.wait()


SHORTER = Compressed(view=View(frozenset({1}), summary="so"), rows=(Row(0, Message("user", "so")),), outcome="summary")


@pytest.mark.parametrize("answer", [SHORTER, Kept(reason="nothing to do"), Kept(reason="no key", failed=True, pause=5)])
async def test_what_an_engine_makes_is_what_it_made(answer: Compressed | Kept) -> None:
    assert await giving(answer).compress(PAST, ORDER) is answer


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "a summary",
        [ROW],
        Kept(reason=None),  # type: ignore[arg-type]
        Kept(reason="x", pause=float("nan")),
        Kept(reason="x", usage=None),  # type: ignore[arg-type]
        Compressed(view=None, rows=(ROW,), outcome="summary"),  # type: ignore[arg-type]
        Compressed(view=View(), rows=None, outcome="summary"),  # type: ignore[arg-type]
        Compressed(view=View(), rows=("hello",), outcome="summary"),  # type: ignore[arg-type]
        Compressed(view=View(), rows=(ROW,), outcome="wonder"),  # type: ignore[arg-type]
        Compressed(view=View(frozenset({"1"})), rows=(ROW,), outcome="summary"),  # type: ignore[arg-type]
        Compressed(view=View(shown={1: "hello"}), rows=(ROW,), outcome="pruned"),  # type: ignore[dict-item]
        Compressed(view=View(summary="a\0b"), rows=(ROW,), outcome="summary"),
        Compressed(view=View(summary="\ud800"), rows=(ROW,), outcome="summary"),
        Compressed(view=View(), rows=(ROW,), outcome="summary", score=float("inf")),
        Compressed(view=View(after=10**30), rows=(ROW,), outcome="summary"),
        Compressed(view=View(), rows=(ROW,), outcome="summary", usage=Usage(10**40)),
        Compressed(view=View(), rows=(ROW,), outcome="summary", usage=Usage("many")),  # type: ignore[arg-type]
        Compressed(view=View(shown={1: Message("tool", "x", call_id=5)}), rows=(ROW,), outcome="pruned"),  # type: ignore[arg-type]
        Compressed(view=View(shown={1: Message("user", "x", api_content="a\0b")}), rows=(ROW,), outcome="pruned"),
    ],
)
async def test_what_could_not_be_stored_leaves_everything_as_it_is(answer: Any) -> None:
    kept = await giving(answer).compress(PAST, ORDER)
    assert isinstance(kept, Kept)
    assert kept.failed
    assert kept.cause == "engine"
    assert kept.pause == 60
    assert "context engine mine" in kept.reason


async def test_an_error_of_ours_is_told_in_its_own_words() -> None:
    def answer(hook: str) -> None:
        raise GatewayError("the summary's model is away")

    kept = await guarded(answer).compress(PAST, ORDER)
    assert isinstance(kept, Kept)
    assert kept.reason == "the summary's model is away"


async def test_a_tool_answers_says_what_to_do_or_is_done_without() -> None:
    def asks(hook: str) -> None:
        raise ToolError("say which page")

    assert await giving("page\0 1").call("look", {}) == "page 1"
    with pytest.raises(ToolError, match="say which page"):
        await guarded(asks).call("look", {})
    with pytest.raises(ToolError, match="look cannot be used at the moment: go on without it"):
        await guarded(breaks).call("look", {})


def test_what_is_left_of_a_good_engine_is_what_it_says(caplog: pytest.LogCaptureFixture) -> None:
    spec = ToolSpec("look", "Look closer.")
    answers = {
        "due": 5,
        "has_content": False,
        "hides": {1, 2},
        "prune": Compressed(view=View(shown={1: ROW.message}), rows=(ROW,), outcome="summary"),
        "select": [ROW.message],
        "specs": [spec],
        "status": {"depth": 3},
    }
    with caplog.at_level(logging.WARNING):
        engine = guarded(answers.get)
        assert engine.due == 5
        assert not engine.has_content(PAST)
        assert engine.hides(PAST, ORDER) == {1, 2}
        pruned = engine.prune(PAST)
        assert pruned is not None
        assert pruned.outcome == "pruned"
        assert engine.select([]) == (ROW.message,)
        assert engine.specs() == (spec,)
        assert engine.status() == {"depth": "3"}
    assert caplog.records == []
