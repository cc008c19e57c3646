"""
From the chunks of a chat-completions stream to the text, the calls and the ending. Pure.

Chunks come as the JSON said, unchecked: endpoints differ, so that everything may be missing, null or of another type.
The shapes met in the wild: no choices at all (the usage chunk, Azure's filter chunk), a delta with nothing but the
role, content as null or as a list of parts, `message` in place of `delta`, calls whose index begins at 5, is the same
for two calls or is missing, calls without an id, arguments as an object.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import orjson

from gateway.contracts.model import Completed, Ending
from gateway.errors import BadResponse
from gateway.llm.faults import BrokenOff
from gateway.messages import ToolCall, Usage
from gateway.types import clean

ENDINGS: dict[str, Ending] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "filter",
    "safety": "filter",
    "refusal": "filter",
}
"""What is not named here ended of its own accord."""
FIRST_HALF = re.compile(r"[\ud800-\udbff]\Z")
UNSTORABLE = re.compile(r"[\0\ud800-\udfff]")


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class Answer:
    """Gathers one answer. `seed` names this request: the ids made up for calls without one follow from it."""

    def __init__(self, seed: str, taken: Set[str] = frozenset()) -> None:
        self._seed, self._taken = seed, taken
        self._text: list[str] = []
        self._half = ""
        self._calls: list[_Call] = []
        self._at: dict[int, _Call] = {}
        self._usage = Usage()
        self._ending = ""

    @property
    def ended(self) -> bool:
        """Say whether the endpoint has said why it stopped: what fails from here on changes nothing."""
        return bool(self._ending)

    def feed(self, chunk: Any) -> str:
        """Take a chunk and return the text it adds."""
        if not isinstance(chunk, dict):
            raise BadResponse("the model's endpoint sent something that is not a chunk of an answer")
        self._count(chunk.get("usage"))
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return ""
        choice = choices[0]
        delta = choice.get("delta") or choice.get("message")
        said = self._delta(delta) if isinstance(delta, dict) else ""
        if isinstance(choice.get("finish_reason"), str):
            self._ending = choice["finish_reason"]
        return said

    def rest(self) -> str:
        """Return the text that was held back, once the stream is at its end."""
        return self._say("", last=True)

    def completed(self) -> Completed:
        """Return the whole answer; raise `BadResponse` where the stream ended before the answer did."""
        if not self._ending:
            raise BrokenOff("the model's answer was cut off in the middle")
        calls = self._named()
        return Completed("".join(self._text), calls, self._usage, ENDINGS.get(self._ending.lower(), "stop"))

    def _delta(self, delta: dict[str, Any]) -> str:
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                self._call(call)
        # A refusal is what the model says instead; its thoughts (`reasoning_content`) are not part of the answer.
        return self._say(_text(delta.get("content")) or _text(delta.get("refusal")))

    def _say(self, text: str, *, last: bool = False) -> str:
        """Add text; half a character waits for its other half, which may be in the next chunk."""
        text, self._half = self._half + text, ""
        if UNSTORABLE.search(text):
            if not last and FIRST_HALF.search(text):
                text, self._half = text[:-1], text[-1]
            text = clean(text)
        if text:
            self._text.append(text)
        return text

    def _call(self, given: dict[str, Any]) -> None:
        function = given.get("function")
        function = function if isinstance(function, dict) else {}
        id_, name = _text(given.get("id")), _text(function.get("name"))
        call = self._slot(given.get("index"), id_, name)
        call.id = call.id or id_
        call.name = call.name or name
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call.arguments.append(arguments)
        elif arguments is not None:
            call.arguments.append(orjson.dumps(arguments).decode())

    def _slot(self, index: Any, id_: str, name: str) -> _Call:
        """Find the call a fragment belongs to: by index, else by id, else the last; a new id with a name begins one."""
        if isinstance(index, int):
            known = self._at.get(index)
        else:
            known = next((call for call in self._calls if id_ and call.id == id_), None)
            if known is None and not (id_ or name) and self._calls:
                known = self._calls[-1]
        if known is None or (id_ and name and known.id and known.id != id_):
            known = _Call()
            self._calls.append(known)
            if isinstance(index, int):
                self._at[index] = known
        return known

    def _count(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        self._usage = Usage(
            _number(usage.get("prompt_tokens")),
            _number(usage.get("completion_tokens")),
            _number(cached if cached is not None else usage.get("prompt_cache_hit_tokens")),
        )

    def _named(self) -> tuple[ToolCall, ...]:
        """Return the calls, each with an id that no other call of the conversation has."""
        taken, calls = set(self._taken), []
        for number, call in enumerate(self._calls):
            if not call.name:
                raise BadResponse("the model called a tool without naming it")
            id_, arguments = clean(call.id), clean("".join(call.arguments)) or "{}"
            again = 0
            while not id_ or id_ in taken:
                id_, again = _made_up(self._seed, number, call.name, arguments, again), again + 1
            taken.add(id_)
            calls.append(ToolCall(id_, clean(call.name), arguments))
        return tuple(calls)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts: Sequence[Any] = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def _number(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and value > 0 else 0


def _made_up(*parts: object) -> str:
    return "call_" + hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]
