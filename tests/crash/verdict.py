"""
What the screens say in the end. Pure: what was written and what is shown in, faults and figures out.

Every message asks for numbered words of its own (``m7-1 m7-2 …``), so that each word on a screen says whose it is and
which one. An answer is complete where all its words stand there in order, and nowhere else but in a marked second copy.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.delivery.prepare import AGAIN, CURSOR

WORD = re.compile(r"m(\d+)-(\d+)")
MARK, UNFINISHED = AGAIN.strip(), CURSOR.strip()

Word = tuple[int, int]
"""The number of a message and that of its word."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A message that was written: by whom and where, how many words its answer has, which calls it asks for."""

    number: int
    chat: int
    user: int
    words: int
    calls: tuple[str, ...] = ()
    hits: int = 0

    @property
    def answer(self) -> list[Word]:
        return [(self.number, word) for word in range(1, self.words + 1)]


@dataclass(frozen=True, slots=True)
class Shown:
    """A message of the bot on a screen: when the platform took it, whether it said so, how often it was edited."""

    text: str
    at: float
    answered: bool
    edits: int = 0

    @property
    def unfinished(self) -> bool:
        return self.text.rstrip().endswith(UNFINISHED)

    @property
    def marked(self) -> bool:
        return self.text.startswith(MARK)

    @property
    def words(self) -> list[Word]:
        return words_of(self.text)


@dataclass(frozen=True, slots=True)
class Ends:
    """
    When work was cut off: the times of kills, and those at which a living process found that it had lost shards.

    Such a process may have stood still for a while, so that another had taken over before it found out.
    """

    kills: tuple[float, ...] = ()
    losses: tuple[float, ...] = ()

    def explain(self, first: Shown, second: Shown) -> bool:
        """Say whether a second copy may be: the request for the first was not answered, or cut off afterwards."""
        killed = any(first.at <= kill <= second.at for kill in self.kills)
        return not first.answered or killed or any(first.at <= loss for loss in self.losses)


@dataclass(slots=True)
class Verdict:
    """
    `doubled` counts marked copies of what stands there already, `marked` all marked ones, `orphans` live messages that
    nobody will finish.
    """

    faults: list[str] = field(default_factory=list)
    marked: int = 0
    doubled: int = 0
    orphans: int = 0

    def __add__(self, other: Verdict) -> Verdict:
        return Verdict(
            self.faults + other.faults,
            self.marked + other.marked,
            self.doubled + other.doubled,
            self.orphans + other.orphans,
        )


def words_of(text: str) -> list[Word]:
    return [(int(number), int(word)) for number, word in WORD.findall(text)]


def judge(asked: Iterable[Asked], shown: Sequence[Shown], ends: Ends, known: set[str]) -> Verdict:
    """
    Judge one chat: what was asked there, in order, and what the bot shows there, from the top.

    `known` are the words that may stand beside the numbered ones.
    """
    verdict = Verdict()
    standing: list[Word] = []
    seen: list[Shown] = []
    for message in shown:
        if message.unfinished:
            verdict.orphans += 1
            verdict.faults += [f"known by its id, and left behind: {message.text!r}"] * bool(message.edits)
            continue
        verdict.faults += [f"said what nobody asked for: {message.text!r}"] * bool(_strange(message.text, known))
        verdict.marked += message.marked
        if earlier := [copy for copy in seen if message.marked and copy.words == message.words]:
            verdict.doubled += 1
            if not ends.explain(earlier[-1], message):
                verdict.faults.append(f"said again, though nothing was cut off between: {message.text!r}")
        else:
            standing += message.words
        seen.append(message)
    for lane in lanes_of(asked):
        verdict.faults += _compared(lane, standing)
    mine = {one.number for one in asked}
    verdict.faults += [f"m{number} is answered in another chat" for number in {n for n, _ in standing} - mine]
    return verdict


def _strange(text: str, known: set[str]) -> set[str]:
    return set(WORD.sub(" ", text).split()) - known - {MARK}


def lanes_of(asked: Iterable[Asked]) -> list[list[Asked]]:
    """Divide messages into conversations: everybody has one of their own in each chat."""
    lanes: dict[tuple[int, int], list[Asked]] = {}
    for one in asked:
        lanes.setdefault((one.chat, one.user), []).append(one)
    return list(lanes.values())


def _compared(lane: Sequence[Asked], standing: Sequence[Word]) -> list[str]:
    """Compare the words that stand there, in the order of the screen, with those asked for, in the order of asking."""
    mine = {one.number for one in lane}
    wanted, got = [word for one in lane for word in one.answer], [word for word in standing if word[0] in mine]
    if wanted == got:
        return []
    counts = Counter(got)
    faults = [
        f"m{one.number} (hit {one.hits} times): {why}"
        for one in lane
        if (why := _wrong([counts[word] for word in one.answer]))
    ]
    return faults or [f"out of order: {_order(wanted)} were asked for, {_order(got)} stand there"]


def _wrong(counts: Sequence[int]) -> str:
    if not any(counts):
        return "never answered"
    if 0 in counts:
        return "its answer has gaps"
    return "its answer stands there more than once" if max(counts) > 1 else ""


def _order(words: Sequence[Word]) -> list[int]:
    return list(dict.fromkeys(number for number, _ in words))


def judge_calls(asked: Iterable[Asked], lines: Sequence[str]) -> list[str]:
    """Judge the file in which each call of the tool left a line: none twice, and each where nothing was killed."""
    counts = Counter(lines)
    faults = [f"the call {line} ran {count} times" for line, count in counts.items() if count > 1]
    calls = {call: one for one in asked for call in one.calls}
    faults += [f"a call that nobody asked for: {line!r}" for line in counts.keys() - calls.keys()]
    faults += [f"the call {call} never ran" for call, one in calls.items() if not one.hits and not counts[call]]
    return faults


def judge_memory(lane: Sequence[Asked], messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Judge what the model was shown with the last message of a lane: all that was said before, in order, once."""
    wanted = [word for one in lane for word in one.answer]
    asked, answered = (
        [word for message in messages if message["role"] == role for word in words_of(message["content"] or "")]
        for role in ("user", "assistant")
    )
    faults = [f"the model remembers what was asked as {_order(asked)}"] * (asked != wanted)
    return faults + [f"the model remembers answers to {_order(answered)}"] * (answered != wanted[: -lane[-1].words])
