"""Threads that may be stuck: the others go on, and nothing that was handed over is dropped."""

from __future__ import annotations

import asyncio
import threading

import pytest

from gateway.agent.memory.backing.threads import Threads


async def test_a_job_runs_in_a_thread_and_its_result_comes_back() -> None:
    threads = Threads("t1", 2)
    assert await threads.run(lambda: threading.current_thread().name) == "t1"
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 // 0)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await threads.run(lambda: next(iter(())))


async def test_no_more_threads_are_begun_than_are_allowed() -> None:
    threads, most, running, mutex = Threads("t2", 3), 0, 0, threading.Lock()
    three = threading.Barrier(3)

    def job() -> None:
        nonlocal most, running
        with mutex:
            running += 1
            most = max(most, running)
        three.wait(30)
        with mutex:
            running -= 1

    await asyncio.gather(*(threads.run(job) for _ in range(300)))
    assert most == 3
    assert sum(thread.name == "t2" for thread in threading.enumerate()) <= 3


async def test_what_is_blocked_keeps_nobody_from_working() -> None:
    threads, free = Threads("t3", 2), threading.Event()

    def wait() -> str:
        with threads.blocked():
            free.wait()
        return "free"

    async with asyncio.TaskGroup() as group:
        stuck = [group.create_task(threads.run(wait)) for _ in range(10)]
        assert await threads.run(lambda: "worked") == "worked"
        assert await asyncio.to_thread(threads.rest, 30)
        free.set()
    assert [task.result() for task in stuck] == ["free"] * 10
    assert await threads.run(lambda: "again") == "again"


async def test_the_end_waits_for_what_runs() -> None:
    threads, free, done = Threads("t4", 2), threading.Event(), list[str]()

    def job() -> None:
        free.wait()
        done.append("done")

    async with asyncio.TaskGroup() as group:
        group.create_task(threads.run(job))
        await asyncio.sleep(0)
        assert not threads.rest(0.01)
        free.set()
        assert await asyncio.to_thread(threads.rest, 30)
        assert done == ["done"]
