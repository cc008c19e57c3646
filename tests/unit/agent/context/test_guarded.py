"""An engine of others: whatever it raises or returns, what asks it gets an answer that can be used."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from types import SimpleNamespace
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


def hook(name: str) -> Any:
    """A hook that answers as the test says."""
    return lambda self, *_, **__: self.answer(name)


def later(name: str) -> Any:
    """A hook that is awaited."""

    async def answered(self: Any, *_: object, **__: object) -> Any:
        answer = self.answer(name)
        return await answer if asyncio.iscoroutine(answer) else answer

    return answered


class Told(ContextEngine):
    """Answers each hook as a function says."""

    name = "told"
    due = property(hook("due"))
    model_changed, has_content, hides, prune = map(hook, ("model_changed", "has_content", "hides", "prune"))
    select, used, specs, status = map(hook, ("select", "used", "specs", "status"))
    compress, call = map(later, ("compress", "call"))
    on_session_start, on_session_end = map(later, ("on_session_start", "on_session_end"))
    on_session_reset, on_turn_complete = map(later, ("on_session_reset", "on_turn_complete"))

    def __init__(self, answer: Callable[[str], Any]) -> None:
        self.answer = answer


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


loose: Any = SimpleNamespace(kept=Kept, compressed=Compressed, view=View, usage=Usage, message=Message)
"""As somebody calls them who checks no types."""


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "a summary",
        [ROW],
        loose.kept(reason=None),
        loose.kept(reason="x", pause=float("nan")),
        loose.kept(reason="x", usage=None),
        loose.compressed(view=None, rows=(ROW,), outcome="summary"),
        loose.compressed(view=loose.view(), rows=None, outcome="summary"),
        loose.compressed(view=loose.view(), rows=("hello",), outcome="summary"),
        loose.compressed(view=loose.view(), rows=(ROW,), outcome="wonder"),
        loose.compressed(view=loose.view(frozenset({"1"})), rows=(ROW,), outcome="summary"),
        loose.compressed(view=loose.view(shown={1: "hello"}), rows=(ROW,), outcome="pruned"),
        loose.compressed(view=loose.view(summary="a\0b"), rows=(ROW,), outcome="summary"),
        loose.compressed(view=loose.view(summary="\ud800"), rows=(ROW,), outcome="summary"),
        loose.compressed(view=loose.view(), rows=(ROW,), outcome="summary", score=float("inf")),
        loose.compressed(view=loose.view(after=10**30), rows=(ROW,), outcome="summary"),
        loose.compressed(view=loose.view(), rows=(ROW,), outcome="summary", usage=loose.usage(10**40)),
        loose.compressed(view=loose.view(), rows=(ROW,), outcome="summary", usage=loose.usage("many")),
        loose.compressed(
            view=loose.view(shown={1: loose.message("tool", "x", call_id=5)}), rows=(ROW,), outcome="pruned"
        ),
        loose.compressed(
            view=loose.view(shown={1: loose.message("user", "x", api_content="a\0b")}), rows=(ROW,), outcome="pruned"
        ),
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
