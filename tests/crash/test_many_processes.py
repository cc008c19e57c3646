"""An edge and two workers over Redis and Postgres, any of which is killed while people write, and once Redis itself."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests import services
from tests.crash.conftest import KILLS, Furnish
from tests.crash.moments import AMONG_OTHERS
from tests.crash.play import Play

FEW = max(4, KILLS // 8)
"""A lease has to run out after each, which takes ten seconds."""


@pytest.mark.timeout(300 + 60 * FEW)
async def test_whoever_dies_the_others_answer_everything_in_order_and_once(
    furnish: Furnish, postgres_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with services.run_redis() as redis, ExitStack() as second:
        scene = furnish(forks=True, kills=FEW, database=postgres_url, bus=redis.url)

        async def without_redis() -> None:
            redis.stop(signal.SIGKILL)
            await scene.linger(5)
            second.callback(start_again(redis, tmp_path).stop)

        play = Play(scene, AMONG_OTHERS, ("edge", "worker", "worker"))
        verdict = await play.act(FEW, halfway=without_redis)
    report = play.report(verdict)
    with capsys.disabled():
        print(f"\n{report}; Redis was killed too")
    assert not verdict.faults, "\n".join([report, *verdict.faults])


def start_again(server: services.Server, folder: Path) -> services.Server:
    """Start an empty Redis where one was killed."""
    arguments = server.process.args
    assert isinstance(arguments, list)
    return services.start(lambda _: [*map(str, arguments)], server.url, services.redis_answers, folder)
