"""The conversation as the model sees it, and what a running turn reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Speaker = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model made. `arguments` is the JSON text of an object, to the letter as it will be replayed."""

    id: str
    name: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class Message:
    """
    One message of a conversation.

    `text` is what was said. `api_content` is what went to the model in its place, where something was composed into
    the request (quotes, sender names, per-turn facts); it is stored so that a replay is the same to the byte.
    `call_id` and `name` are set on a tool's answer.
    """

    role: Speaker
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""
    api_content: str | None = None

    @property
    def content(self) -> str:
        """What the model reads."""
        return self.text if self.api_content is None else self.api_content


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as the endpoint counted them; `cached` is the part of `prompt` it did not read anew."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.prompt + other.prompt, self.completion + other.completion, self.cached + other.cached)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of the current model call."""

    text: str


@dataclass(frozen=True, slots=True)
class Retracted:
    """Every delta of the current model call is void: the call is made again, here or at another model."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class ToolStarted:
    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolFinished:
    call: ToolCall
    result: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the person should know that is not part of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Compressing:
    """The conversation is being compressed; a request takes about so many `tokens`."""

    tokens: int


@dataclass(frozen=True, slots=True)
class CompressionEnded:
    """
    How that went: the tokens before and after, and which compression of the conversation it was.

    `reason` says why nothing changed, and `failed` that this was not for want of anything to compress.
    """

    before: int
    after: int
    number: int
    reason: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Finished:
    """
    The last thing a turn reports.

    `added` is what the turn put into the conversation and the journal does not hold yet; `text` is the answer the
    person gets; `problem` is set where the turn ended with an explanation in place of an answer, and `fault` is then
    the name of the error behind it, if there was one. `read` is what the endpoint counted for the last request.
    """

    text: str
    added: tuple[Message, ...]
    usage: Usage = Usage()
    calls: int = 0
    problem: str = ""
    fault: str = ""
    read: int = 0


Progress = TextDelta | Retracted | ToolStarted | ToolFinished | Notice | Compressing | CompressionEnded | Finished
