"""What is true of one turn only, beside the user's message: never in the prompt, which stays the same to the byte.

What was told is read off the conversation itself, so that it is told again where a compression has hidden it, where
an undo took it back, and after a restart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from gateway.agent.prompt.chat import day_of
from gateway.agent.prompt.identity import PERSONALITY, personality
from gateway.agent.prompt.prompt import Prompt, fitted
from gateway.messages import Message

DAY = "[Today is {day}.]"
SPEAK = "[From now on, speak as the personality {name}:]\n{text}\n[End of the personality.]"
PLAINLY = "[From now on, speak as yourself again, without any personality.]"
_DAY = re.compile(r"\[Today is ([^\]]{1,40})\.\]")
_SPEAK = re.compile(r"\[From now on, speak as (?:the personality (.+):|yourself again[^\]]*)\]")
_BEGINNING = DAY.partition("{")[0], SPEAK.partition("the")[0]


@dataclass(frozen=True, slots=True)
class Now:
    """`day` is today where the people are; `personality` is the name of the one that is chosen, "" for none."""

    day: date
    personality: str = ""


def told(said: Message, now: Now, prompt: Prompt, history: Sequence[Message], known: Mapping[str, str]) -> Message:
    """Return the user's message with what it needs to say of now; the same message where that is nothing new."""
    facts = [*_day(now, prompt, history), *_personality(now, prompt, history, known)]
    if not facts:
        return said
    return replace(said, api_content="\n".join([*facts, said.content]))


def _day(now: Now, prompt: Prompt, history: Sequence[Message]) -> Iterator[str]:
    """Say which day it is, once it is another than the conversation knows of."""
    today, last = day_of(now.day), next(_told(history, _DAY), "")
    if prompt.parts and today != last and (last or today not in prompt.part("session")):
        yield DAY.format(day=today)


def _personality(now: Now, prompt: Prompt, history: Sequence[Message], known: Mapping[str, str]) -> Iterator[str]:
    section, name = personality(now.personality, known), " ".join(now.personality.split())
    before = next(_told(history, _SPEAK), " ".join(_of_prompt(prompt).split()))
    if before == (name if section else ""):
        return
    if section is None:
        yield PLAINLY
    else:
        yield SPEAK.format(name=name, text=fitted(section).text.partition(":\n")[2])


def _of_prompt(prompt: Prompt) -> str:
    origin = next((part.origin for part in prompt.parts if part.name == PERSONALITY), "")
    return origin.removeprefix("agent.personalities.")


def _told(history: Sequence[Message], form: re.Pattern[str]) -> Iterator[str]:
    """Return what was told in a form, the newest first; facts are the first lines beside a message."""
    for message in reversed(history):
        if message.api_content and message.api_content.startswith(_BEGINNING):
            for line in message.api_content.split("\n", 2)[:2]:
                if found := form.fullmatch(line):
                    yield found[1] or ""
