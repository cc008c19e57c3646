"""A summary held against what it replaces: what it does not say, and how much of what matters it does. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Literal

from gateway.agent.context.summary import marks
from gateway.agent.context.summary.clip import line
from gateway.agent.context.summary.sample import places
from gateway.agent.context.summary.sections import CONSTRAINTS, DECISIONS, GOAL, Earlier, split
from gateway.agent.context.summary.serialise import Redact
from gateway.agent.context.summary.spoken import answered, asks, said
from gateway.agent.context.summary.words import LANGUAGES
from gateway.contracts.context import Row

LOOK = 20_000
"""Characters that are looked at of what people wrote, and as many of what was answered: the newest, and samples."""
EACH = 4_000
"""Characters of one message that are looked at."""
ITEMS = 12
"""Things of one kind that are looked for, the newest; the first request is one of them."""
NEWEST = 6
"""Messages at the end in which the next step stands."""
CALLERS = 2_000
"""Messages at the end whose calls are looked at for paths."""
USING = 20
"""Messages of those that stay whose names are looked for."""
COMMAND = 80
"""Characters of a command."""
LINE = 160
"""Characters of the line that is quoted around a number or a name."""

Kind = Literal[
    "goal", "request", "constraint", "decision", "next step", "question", "progress", "path", "number", "name"
]  # fmt: skip
KINDS: tuple[Kind, ...] = (
    "next step", "question", "goal", "request", "constraint", "decision", "number", "path", "name", "progress",
)  # fmt: skip
"""In the order in which what is missing is quoted, as long as there is room."""


@dataclass(frozen=True, slots=True)
class Item:
    """
    Something that matters, to the letter, in at most 300 characters.

    `needle` is the part of it that a summary has to say to the letter; "" where it has to say the same as the whole.
    """

    kind: Kind
    text: str
    needle: str = ""

    def within(self, text: str) -> bool:
        """Say whether a text has it to the letter."""
        return (self.needle or self.text) in text

    def __str__(self) -> str:
        return f"[{self.kind}] {' '.join(self.text.split())}"


@dataclass(frozen=True, slots=True)
class Anchors:
    """
    What a check found.

    `score` is from 0 to 1: of each kind of thing that matters the share that the summary says, and of these the mean;
    1 where nothing that matters was found. `items` are what it does not say, the most important first. `shares` is the
    share of each kind that it says.
    """

    score: float
    items: tuple[Item, ...] = ()
    shares: dict[Kind, float] = field(default_factory=dict)


NOTHING = Earlier()
_NOTHING = {"None.", "None", *(speech.none for speech in LANGUAGES)}
"""What stands in a part with nothing in it."""


def missing(
    summary: str,
    rows: Sequence[Row],
    redact: Redact,
    *,
    later: Sequence[Row] = (),
    before: Earlier = NOTHING,
) -> Anchors:
    """
    Hold a summary against the messages it stands for.

    `later` are the messages that stay behind it: names are looked for only where these use them. `before` is what the
    summary before this one brings: its goal (without it the first request is the goal), its constraints and decisions
    are looked for too, and the anchors that it quoted and this one does not say go on.
    Nothing of the lines is secret to `redact`. What is looked at is bounded, so that the time hardly grows with the
    number of messages.
    """
    folded, known = summary.casefold(), marks.stems(summary)
    found: dict[Kind, list[bool]] = {}
    lost: list[Item] = []
    for item in _items(rows, later, redact, before):
        there = _there(item, folded, known)
        found.setdefault(item.kind, []).append(there)
        if not there:
            lost.append(item)
    shares = {kind: sum(there) / len(there) for kind, there in found.items()}
    lost += [item for item in map(_read, before.anchors) if not _there(item, folded, known)]
    return Anchors(sum(shares.values()) / len(shares) if shares else 1.0, tuple(lost), shares)


def _read(line: str) -> Item:
    """Read what another summary quoted."""
    kind, mark, text = line.removeprefix("[").partition("] ")
    return Item(next((known for known in KINDS if mark and known == kind), "progress"), text or line)


def _there(item: Item, folded: str, known: set[str]) -> bool:
    """Say whether a summary, in small letters and by its stems, says it."""
    if not item.needle:
        return item.text.casefold() in folded or marks.says(known, item.text)
    needle = item.needle.casefold()
    if item.kind != "number":
        return needle in folded
    return re.search(rf"(?<!\d){re.escape(needle)}(?!\d)", folded) is not None


def _items(rows: Sequence[Row], later: Sequence[Row], redact: Redact, before: Earlier) -> list[Item]:
    asking, speaking = list[Row](), list[Row]()
    for row in rows:
        if row.message.role == "user":
            if asks(row):
                asking.append(row)
        elif row.message.role == "assistant" and row.visible:
            speaking.append(row)
    asked, spoken = _looked(asking, redact), _looked(speaking, redact)
    old = {part.heading: part.text for part in split(redact(before.body))}
    by_kind: dict[Kind, list[Item]] = {
        "goal": _told("goal", old.get(GOAL, "")) or _opening("goal", asked[:1]),
        "request": _opening("request", asked[-1:]),
        "constraint": _sentences("constraint", asked, marks.BINDS) + _told("constraint", old.get(CONSTRAINTS, "")),
        "decision": _sentences("decision", [*spoken, *asked], marks.DECIDES)
        + _told("decision", old.get(DECISIONS, "")),
        "next step": _sentences("next step", spoken[-NEWEST:], marks.GOES_ON),
        "question": _questions(asked, spoken, rows, later),
        "progress": _progress(rows, redact),
        "path": _paths(rows, [*spoken, *asked], redact),
        "number": _numbers(asked),
        "name": _names([*spoken, *asked], later),
    }
    return [item for kind in KINDS for item in by_kind[kind]]


def _looked(rows: Sequence[Row], redact: Redact) -> list[str]:
    """Return the texts that are looked at, in order: of people what they wrote, without what was put beside it."""
    texts = [row.message.text if row.message.role == "user" else said(row.message) for row in rows]
    chosen = (
        texts[place]
        for start, end in places([min(len(text), EACH) for text in texts], LOOK)
        for place in range(start, end)
    )
    return [redact(text[: 2 * EACH])[:EACH] for text in chosen]


def _opening(kind: Kind, texts: Sequence[str]) -> list[Item]:
    """Return of each text the longest of the first sentences: the very first may be no more than a word of thanks."""
    sentences = (max(islice(marks.sentences(text), 4), key=len, default="") for text in texts)
    return [Item(kind, sentence) for sentence in sentences if sentence]


def _told(kind: Kind, section: str) -> list[Item]:
    """Return the lines of a part of the summary before this one."""
    lines = (text.strip("-* ") for text in section.split("\n"))
    items = [Item(kind, line(text, marks.SENTENCE)) for text in lines if text and text not in _NOTHING]
    return _distinct(items)


def _sentences(kind: Kind, texts: Sequence[str], matters: Callable[[str], bool]) -> list[Item]:
    found: list[Item] = []
    for text in reversed(texts):
        if matters(text):
            found += [Item(kind, sentence) for sentence in marks.sentences(text) if matters(sentence)]
        if len(found) >= ITEMS:
            break
    return _distinct(found)


def _questions(asked: Sequence[str], spoken: Sequence[str], rows: Sequence[Row], later: Sequence[Row]) -> list[Item]:
    """Find what was asked last and not answered, by either side."""
    if answered(rows):
        return [] if any(row.asks for row in later) else _sentences("question", spoken[-1:], _asks)
    replies = takewhile(lambda row: not row.asks, later)
    return [] if any(row.visible for row in replies) else _sentences("question", asked[-1:], _asks)


def _asks(text: str) -> bool:
    return "?" in text or "？" in text


def _progress(rows: Sequence[Row], redact: Redact) -> list[Item]:
    """Find what tools were called to do, by the file or the command."""
    found: list[Item] = []
    for row in reversed(rows):
        for call in row.message.calls:
            if ran := line(redact(marks.command(call.arguments)[:EACH]), COMMAND):
                found.append(Item("progress", f"{call.name}: {ran}"))
            elif path := redact(next(iter(marks.called_paths(call.arguments)), "")):
                found.append(Item("progress", f"{call.name}: {path}", path))
        if len(found) >= ITEMS:
            break
    return _distinct(found)


def _paths(rows: Sequence[Row], texts: Sequence[str], redact: Redact) -> list[Item]:
    """Find the paths that people and the agent wrote, and those that tools were given, the newest first."""
    told = (path for text in reversed(texts) for path in marks.paths(text))
    calls = (call for row in reversed(rows[-CALLERS:]) for call in row.message.calls)
    called = (redact(path) for call in calls for path in marks.called_paths(call.arguments))
    found = [*islice(dict.fromkeys(told), ITEMS), *islice(called, ITEMS)]
    return [Item("path", path, path) for path in islice(dict.fromkeys(found), ITEMS)]


def _numbers(asked: Sequence[str]) -> list[Item]:
    found = ((number, text) for text in reversed(asked) for number in marks.numbers(text))
    return _with_lines("number", found)


def _names(texts: Sequence[str], later: Sequence[Row]) -> list[Item]:
    """Find names that what stays uses, where the person or the agent has used them before, the newest first."""
    using = "\n".join(said(row.message)[:EACH] for row in later[-USING:])
    used = dict.fromkeys(marks.names(using))
    found = ((name, text) for text in reversed(texts) for name in (*used, *marks.terms(text)))
    return _with_lines("name", ((name, text) for name, text in found if name in text and name in using))


def _with_lines(kind: Kind, found: Iterable[tuple[str, str]]) -> list[Item]:
    items: dict[str, Item] = {}
    for needle, text in found:
        if needle not in items:
            items[needle] = Item(kind, _line_of(needle, text), needle)
            if len(items) == ITEMS:
                break
    return list(items.values())


def _line_of(needle: str, text: str) -> str:
    """Return the line of a text in which something stands, cut around it."""
    at = text.find(needle)
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    end = len(text) if end < 0 else end
    if end - start > LINE:
        start = max(start, min(at - LINE // 3, end - LINE))
        end = min(end, start + max(LINE, len(needle)))
    return text[start:end].strip()


def _distinct(items: Iterable[Item]) -> list[Item]:
    return list({item.text: item for item in items}.values())[:ITEMS]
