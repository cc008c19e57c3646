"""What shortening a long conversation takes."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import AsyncGenerator, Callable, Sequence

from gateway.agent.context import prune as pruning
from gateway.agent.context.assembly import viewed
from gateway.agent.context.compressor import Compressor
from gateway.agent.context.settings import CompressionSettings
from gateway.agent.context.summary.fallback import fallback
from gateway.agent.context.summary.finish import finish
from gateway.agent.context.summary.job import Job
from gateway.agent.context.summary.prompt import prompt
from gateway.contracts.context import Compressed, Order, Past, Row
from gateway.contracts.model import Completed, Model, ModelPiece
from gateway.contracts.tool import ToolSpec
from gateway.llm.tokens.messages import Estimates, estimate
from gateway.llm.tokens.text import estimate_text
from gateway.log.redact import Redactor
from gateway.messages import Message, ToolCall

Figures = dict[str, float | int | str]

MESSAGES = 20_000
TAIL = 20
LINE = "The build went on, and wrote what it did: module compiled, 3 tests passed.\n"


async def prune() -> Figures:
    """20,000 messages (15 MB) of which two in five are results of tools, as the first phase of a compression."""
    history = conversation(MESSAGES)
    tokens = Estimates().each([row.message for row in history])
    budget = sum(tokens[-TAIL:])
    taken = []
    for _ in range(7):
        history = conversation(MESSAGES)  # anew, since a text keeps its hash
        gc.collect()
        began = time.perf_counter()
        changed = pruning.prune(history, MESSAGES - TAIL, budget=budget, tokens=tokens, count=estimate)
        taken.append((time.perf_counter() - began) * 1000)
    left = sum(_weight(changed.get(place, row.message)) for place, row in enumerate(history))
    return {
        "ms": round(min(taken), 1),
        "goal_ms": 100,
        "mb": round(sum(_weight(row.message) for row in history) / 1e6, 1),
        "mb_left": round(left / 1e6, 1),
        "rewritten": len(changed),
        "ratio": round(min(taken) / 100, 2),
    }


async def summary_prompt() -> Figures:
    """The prompt for a summary of the same messages, what is made of the answer, and the summary without a model."""
    history = conversation(MESSAGES)
    job = Job(history, Estimates().each([row.message for row in history]), 10_000, 12_000, later=history[-TAIL:])
    redact = Redactor(["a secret that is not there"])
    answer = "## Goal\nTo look at all parts.\n\n## Completed Actions\n" + f"1. READ part — done\n{LINE}" * 60
    asked = prompt(job, 400_000, estimate_text, redact)
    ways: dict[str, Callable[[], object]] = {
        "prompt_ms": lambda: prompt(job, 400_000, estimate_text, redact),
        "finish_ms": lambda: finish(answer, job, estimate_text, redact),
        "fallback_ms": lambda: fallback(job, "the endpoint was silent", redact),
    }
    taken = {name: round(min(_ms(way) for _ in range(7)), 1) for name, way in ways.items()}
    return {
        **taken,
        "goal_ms": 75,
        "tokens": estimate_text(asked),
        "characters": len(asked),
        "ratio": round((taken["prompt_ms"] + taken["finish_ms"]) / 75, 2),
    }


def _ms(way: Callable[[], object]) -> float:
    gc.collect()
    began = time.perf_counter()
    way()
    return (time.perf_counter() - began) * 1000


def conversation(count: int) -> list[Row]:
    """Return a conversation of at least `count` messages: a question, four calls with their results, an answer."""
    said: list[Message] = []
    while len(said) < count:
        said.append(Message("user", f"Please look at part {len(said)} of it. " * 4))
        for _ in range(4):
            name, arguments, result = _use(len(said) // 2, len(said))
            call = ToolCall(f"call_{len(said)}", name, json.dumps(arguments))
            said += [Message("assistant", "", (call,)), Message("tool", result, call_id=call.id, name=name)]
        said.append(Message("assistant", "That part is done. " * 10))
    return [Row(number, message) for number, message in enumerate(said, 1)]


def _use(kind: int, number: int) -> tuple[str, dict[str, object], str]:
    """Return a tool, the arguments of a call and its result; every fifth command fails."""
    if kind % 4 == 0:
        output = {"output": f"{number}\n{LINE * 24}", "exit_code": int(number % 5 == 0), "error": None}
        return "terminal", {"command": f"make part{number}\nls"}, json.dumps(output)
    if kind % 4 == 1:
        return "read_file", {"path": f"src/file{number}.py"}, f"1|{number}\n{LINE * 26}"
    if kind % 4 == 2:
        path = f"src/file{number}.py"
        return (
            "write_file",
            {"path": path, "content": f"{number}\n{LINE * 22}"},
            f"wrote '{path}': 23 lines, 1,650 bytes",
        )
    issues = [{"id": number + place, "title": "Something of an issue", "body": "x" * 70} for place in range(16)]
    return "mcp_github_list_issues", {"repo": "a/b", "page": number}, json.dumps(issues)


def _weight(message: Message) -> int:
    return len(message.content) + sum(len(call.arguments) for call in message.calls)


async def compress() -> Figures:
    """A compression of 20,000 messages (15 MB), but for the model's own time: all phases, the check, the new view."""
    taken, left = [], 0
    for _ in range(5):
        history = conversation(MESSAGES)
        tokens = Estimates().each([row.message for row in history])
        engine = Compressor(CompressionSettings(), Redactor(["a secret that is not there"]))
        engine.model_changed("m", 1_000_000, None)
        writer = Writer()
        past = Past(history, tokens, 2_000, counted=2_000 + sum(tokens))
        gc.collect()
        began = time.perf_counter()
        done = await engine.compress(past, Order(models=[writer]))
        assert isinstance(done, Compressed)
        assert viewed(past.rows, [done.view]) == list(done.rows)
        taken.append((time.perf_counter() - began) * 1000)
        left = len(done.rows)
    return {
        "ms": round(min(taken), 1),
        "goal_ms": 150,
        "prompt_characters": writer.read,
        "rows_left": left,
        "ratio": round(min(taken) / 150, 2),
    }


class Writer(Model):
    """Answers at once with a summary of usual length."""

    name, window, read = "writer", 400_000, 0

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelPiece, None]:
        self.read = len(messages[0].text)
        yield Completed(
            "## Goal\nTo look at all parts.\n\n## Completed Actions\n" + f"1. READ part — done\n{LINE}" * 60
        )
