"""Work that is kept running, work of others that is contained, work beside a block."""

from __future__ import annotations

import asyncio
import logging

import pytest

from gateway.errors import AdapterError, GatewayError, StorageError, TokenRefused, Unreachable
from gateway.supervise import Background, attempt, beside, contain, keep, within


class Scripted:
    """Work that ends in a given way each time it is started."""

    def __init__(self, *endings: BaseException | None) -> None:
        self._endings = list(endings)
        self.starts = 0

    async def __call__(self) -> None:
        self.starts += 1
        ending = self._endings.pop(0)
        if ending is not None:
            raise ending


async def a_stray_cancellation() -> None:
    """Be cancelled by something one waits for, as inside a client library."""
    inner = asyncio.get_running_loop().create_task(asyncio.Event().wait())
    inner.cancel()
    await inner


# --- keep


async def test_work_that_returns_is_done() -> None:
    work = Scripted(None)
    await keep("work", work)
    assert work.starts == 1


async def test_work_is_started_again_whatever_it_raises() -> None:
    work = Scripted(LookupError("first"), StorageError("second"), None)
    await keep("work", work)
    assert work.starts == 3


async def test_an_error_of_ours_is_one_line_and_any_other_comes_with_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    await keep("the bus", Scripted(StorageError("the disk is full"), LookupError("a bug"), None))
    ours, other = (record for record in caplog.records if record.name == "gateway.supervise")
    assert (ours.getMessage(), ours.exc_info) == ("the bus: the disk is full", None)
    assert other.exc_info is not None


async def test_a_fatal_error_ends_it_and_reaches_the_caller() -> None:
    refused = TokenRefused("no")
    work = Scripted(Unreachable("away"), refused)
    with pytest.raises(TokenRefused) as raised:
        await keep("work", work, fatal=(TokenRefused,))
    assert raised.value is refused
    assert work.starts == 2


async def test_work_that_is_cancelled_is_not_started_again() -> None:
    began, starts = asyncio.Event(), list[int]()

    async def work() -> None:
        starts.append(1)
        began.set()
        await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(keep("work", work))
        await began.wait()
        task.cancel()
    assert task.cancelled()
    assert len(starts) == 1


async def test_a_pause_can_be_cancelled() -> None:
    failed = asyncio.Event()

    async def work() -> None:
        failed.set()
        raise LookupError

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        task = group.create_task(keep("work", work))
        await failed.wait()
        await asyncio.sleep(0)
        task.cancel()
    assert task.cancelled()


async def test_work_that_was_cancelled_from_within_is_started_again(caplog: pytest.LogCaptureFixture) -> None:
    starts = list[int]()

    async def work() -> None:
        starts.append(1)
        if len(starts) < 3:
            await a_stray_cancellation()

    async with asyncio.timeout(20):
        await keep("the listener", work)
    assert len(starts) == 3
    assert "the listener was cancelled from within" in caplog.text


async def test_a_stray_cancellation_does_not_end_a_group_of_kept_work_silently() -> None:
    calls = list[int]()

    async def work() -> None:
        calls.append(1)
        if len(calls) == 1:
            await a_stray_cancellation()

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        task = group.create_task(keep("work", work))
    assert not task.cancelled()
    assert len(calls) == 2


# --- contain


async def test_what_contained_code_returns_is_returned() -> None:
    async def code() -> int:
        return 42

    assert await contain("code", code(), Unreachable) == 42


async def test_an_error_of_ours_passes_as_it_is() -> None:
    error = AdapterError("as it is")

    async def code() -> None:
        raise error

    with pytest.raises(AdapterError) as raised:
        await contain("code", code(), Unreachable)
    assert raised.value is error


async def test_any_other_error_is_logged_and_becomes_the_one_that_was_asked_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def code() -> None:
        raise KeyError("secret detail")

    with pytest.raises(Unreachable, match="sending failed: KeyError") as raised:
        await contain("sending", code(), Unreachable)
    assert isinstance(raised.value.__cause__, KeyError)
    assert "secret detail" not in str(raised.value)
    assert "sending failed" in caplog.text


async def test_contained_code_can_be_cancelled() -> None:
    began = asyncio.Event()

    async def code() -> None:
        began.set()
        await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(contain("code", code(), Unreachable))
        await began.wait()
        task.cancel()
    assert task.cancelled()


async def test_contained_code_that_was_cancelled_from_within_has_failed() -> None:
    with pytest.raises(Unreachable, match="cancelled from within"):
        await contain("code", a_stray_cancellation(), Unreachable)


async def test_a_timeout_of_the_caller_is_the_callers() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await contain("code", asyncio.Event().wait(), Unreachable)


# --- beside


class Beside:
    """Work that goes on until it is cancelled, and may then fail."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.began, self.ended, self.error = asyncio.Event(), asyncio.Event(), error

    async def __call__(self) -> None:
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()
            if self.error:
                raise self.error


async def fails(error: BaseException) -> None:
    raise error


async def test_work_goes_on_beside_the_block_and_ends_with_it() -> None:
    work = Beside()
    async with beside(work()) as (task,):
        await work.began.wait()
        assert not work.ended.is_set()
    assert work.ended.is_set()
    assert task.cancelled()


async def test_work_that_never_began_is_cancelled_all_the_same() -> None:
    async with beside(Beside()(), Beside()()) as tasks:
        pass
    assert all(task.cancelled() for task in tasks)


async def test_work_may_end_before_the_block() -> None:
    async with beside(asyncio.sleep(0)) as (task,):
        await task
        await asyncio.sleep(0)


async def test_an_error_of_the_block_is_raised_as_it_is() -> None:
    work, error = Beside(), LookupError("mine")
    with pytest.raises(LookupError) as raised:
        async with beside(work()):
            await work.began.wait()
            raise error
    assert raised.value is error
    assert work.ended.is_set()


async def test_an_error_of_the_work_ends_the_block_and_is_raised_as_it_is() -> None:
    error, other = LookupError("its"), Beside()
    with pytest.raises(LookupError) as raised:
        async with beside(fails(error), other()):
            await asyncio.Event().wait()
    assert raised.value is error


@pytest.mark.parametrize("where", ["block", "work"])
async def test_an_error_keeps_its_cause(where: str) -> None:
    cause = OSError("disk")

    async def broken() -> None:
        raise StorageError("full") from cause

    with pytest.raises(StorageError) as raised:
        async with beside(broken() if where == "work" else Beside()()):
            if where == "block":
                await broken()
            await asyncio.Event().wait()
    assert raised.value.__cause__ is cause


async def test_the_error_of_the_block_goes_before_one_of_the_works_end() -> None:
    work = Beside(GatewayError("while ending"))
    with pytest.raises(LookupError, match="first"):
        async with beside(work()):
            await work.began.wait()
            raise LookupError("first")


async def test_a_cancelled_block_is_cancelled_whatever_the_work_raises_at_its_end() -> None:
    work = Beside(GatewayError("while ending"))

    async def block() -> None:
        async with beside(work()):
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(block())
        await work.began.wait()
        task.cancel()
    assert task.cancelled()


async def test_an_error_of_the_work_at_its_end_is_not_lost() -> None:
    work = Beside(GatewayError("while ending"))
    with pytest.raises(GatewayError, match="while ending"):
        async with beside(work()):
            await work.began.wait()


async def test_blocks_may_stand_in_each_other() -> None:
    inner_error = LookupError("inner")
    with pytest.raises(LookupError) as raised:
        async with beside(Beside()()), beside(fails(inner_error)):
            await asyncio.Event().wait()
    assert raised.value is inner_error


async def test_a_block_inside_a_timeout_times_out() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01), beside(Beside()()):
            await asyncio.Event().wait()


async def test_kept_work_may_run_beside_a_block() -> None:
    work = Beside()
    async with beside(keep("work", work)):
        await work.began.wait()
    assert work.ended.is_set()


async def test_nothing_beside_a_block_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with beside() as tasks:
            assert tasks == ()
    assert caplog.records == []


# --- in the background


async def test_work_in_the_background_is_ended_together() -> None:
    background, ended = Background(), []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("it")

    for _ in range(3):
        background.start(wait())
    await asyncio.sleep(0)
    assert await background.end(10) == 0
    assert ended == ["it"] * 3


async def test_work_that_does_not_end_is_left_behind_and_counted() -> None:
    background, let_go = Background(), asyncio.Event()

    async def refuse() -> None:
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue

    left = background.start(refuse())
    await asyncio.sleep(0)
    assert await background.end(0.01) == 1
    let_go.set()
    await left


async def test_what_work_in_the_background_gives_or_raises_is_had_from_its_task() -> None:
    async def answer() -> int:
        return 42

    async def fail() -> int:
        raise LookupError("no")

    background = Background()
    assert await background.start(answer()) == 42
    with pytest.raises(LookupError):
        await background.start(fail())
    assert await background.end(10) == 0


# --- calls of somebody else's code


def test_what_a_call_raises_is_answered_by_what_hears_of_it() -> None:
    assert attempt(lambda: 3, repr) == 3
    assert attempt(lambda: str(1 // 0), lambda error: type(error).__name__) == "ZeroDivisionError"


async def test_work_that_takes_too_long_is_cancelled() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(TimeoutError, match="no answer within 0.01 s"):
        await within(work(), 0.01)
    await ended.wait()


async def test_work_that_ends_in_time_says_how() -> None:
    async def answer() -> int:
        return 3

    async def fail() -> None:
        raise StorageError("full")

    assert await within(answer(), 5) == 3
    with pytest.raises(StorageError, match="full"):
        await within(fail(), 5)
    with pytest.raises(RuntimeError, match="cancelled from within"):
        await within(a_stray_cancellation(), 5)


async def test_what_is_begun_may_be_waited_for() -> None:
    background, done = Background(), list[int]()

    async def work() -> None:
        await asyncio.sleep(0)
        done.append(1)

    await background.settle(5)
    background.start(work())
    await background.settle(5)
    assert done == [1]
