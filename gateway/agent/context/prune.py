"""
The first phase of a compression: what tools said is shortened, without a model.

In: the rows in view, and the place from which the protected tail begins. Out: the new message of every row that
changes, by its place. Rows keep their number, order, role and ids, so that a valid history stays one. What is
rewritten loses its `api_content`. Pruning what was pruned, with the same tail, changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gateway.agent.context.arguments import read, shrink, worth
from gateway.agent.context.one_liners import LONGEST, one_liner, written
from gateway.agent.context.outcome import flat
from gateway.contracts.context import Row
from gateway.messages import Message, ToolCall

DUPLICATE = "[Duplicate tool output — same content as a more recent call]"
SKILL = "[SKILL_PRUNED:"
SKILL_PRUNED = SKILL + " content lost in compression; reload with skill_view(name='{name}')]"
SHORTEST = 200
"""Characters of a result that is worth shortening."""
ARGUMENTS = 500
"""Characters of arguments that are shortened when they are longer."""
SKILL_CHARS = 5_000
SKILLS = 20
"""How many results may say that a skill was lost."""
RECENT = 10
"""Messages at the end in which a skill that was read is in use."""
PRESSURE = 1.5
"""How many times its budget a tail may weigh before results within it are shortened."""
KEPT = (3, 1, 0)
"""How many results at the end are spared under pressure, try by try."""
Count = Callable[[Message], int]
"""Tells how many tokens a message takes."""
_BLOB = r"[A-Za-z0-9+/=_\\-]{200,}"
_MEDIA = re.compile(rf'data:(\w+)/[^,\s"]{{1,80}};base64,{_BLOB}|(?<="data")(\s*:\s*"){_BLOB}(?=")')


def prune(rows: Sequence[Row], tail: int, *, budget: int, tokens: Sequence[int], count: Count) -> dict[int, Message]:
    """
    Return the new message by place for every row that changes; each is shorter than the one it replaces.

    Before `tail`, every long result becomes one line and long arguments are shortened. Everywhere, of equal results
    and of results with media the newest stays, and long skills outside the last `RECENT` messages leave a marker.
    Where the rows from `tail` on weigh more than `PRESSURE` × `budget` tokens even so, results in them become lines
    too, the oldest first, until they do not. `tokens` holds the estimate of each row, `count` that of a new message.
    """
    work = _Pruning(rows, tail, SHORTEST)
    work.passes()
    work.relieve(round(PRESSURE * budget), tokens, count)
    return work.changed


def prune_early(
    rows: Sequence[Row], keep: int, *, shortest: int, tokens: Sequence[int], count: Count
) -> tuple[dict[int, Message], int]:
    """
    Return what pruning alone, before a compression is due, would change by place, and how many tokens that frees.

    The last `keep` rows are the tail, whatever they weigh; only results and arguments of at least `shortest`
    characters count. Whether it is worth a new prompt cache is the caller's to say.
    """
    work = _Pruning(rows, len(rows) - keep, shortest)
    work.passes()
    return work.changed, sum(tokens[place] - count(message) for place, message in work.changed.items())


class _Pruning:
    """One pruning of rows: what has changed so far, by place."""

    def __init__(self, rows: Sequence[Row], tail: int, shortest: int) -> None:
        self.changed: dict[int, Message] = {}
        self._messages = [row.message for row in rows]
        self._tail = min(max(tail, 0), len(rows))
        self._shortest = max(shortest, SHORTEST)
        self._calls: dict[int, ToolCall] = {}
        self._long: list[int] = []
        self._wordy: list[int] = []
        self._index()
        markers = sum(self._messages[place].content.startswith(SKILL) for place in self._calls)
        self._skills = max(0, SKILLS - markers)

    def _index(self) -> None:
        """Find what may be shortened, and the call of each result: the nearest one before it that has its id."""
        open_calls: dict[str, ToolCall] = {}
        for place, message in enumerate(self._messages):
            if message.role == "tool":
                call = open_calls.get(message.call_id) or ToolCall(message.call_id, message.name)
                self._calls[place] = call
                text = message.content
                if len(text) >= self._shortest and not (len(text) <= LONGEST and written(text, call.name)):
                    self._long.append(place)
            else:
                for call in message.calls:
                    open_calls[call.id] = call
                    if place < self._tail and worth(call.arguments, ARGUMENTS):
                        self._wordy.append(place)

    def passes(self) -> None:
        """Do all that does not depend on what anything weighs; the order is what makes a second time idle."""
        self._strip_media()
        self._deduplicate()
        self._mark_skills()
        for place in self._long:
            if place < self._tail:
                self._shorten(place)
        for place in self._wordy:
            self._shrink(place, self._messages[place])

    def relieve(self, most: int, tokens: Sequence[int], count: Count) -> None:
        """Shorten results of a tail that weighs more than `most` tokens."""
        within = range(self._tail, len(self._messages))
        weights = {place: count(self.changed[place]) if place in self.changed else tokens[place] for place in within}
        weight = sum(weights.values())
        results, candidates = [place for place in self._calls if place in within], set(self._long)
        for kept in KEPT:
            for place in results[: max(0, len(results) - kept)]:
                if weight <= most:
                    return
                if place in candidates and self._shorten(place):
                    weight += count(self.changed[place]) - weights[place]
                candidates.discard(place)

    def _strip_media(self) -> None:
        """Take the media out of the tail's results, but for the newest that has any."""
        newest = True
        for place in reversed(self._long):
            if place < self._tail:
                return
            text = self._messages[place].content
            if ("base64," in text or '"data"' in text) and _MEDIA.search(text):
                if not newest:
                    self._set(place, _MEDIA.sub(_removed, text))
                newest = False

    def _deduplicate(self) -> None:
        seen: set[str] = set()
        for place in reversed(self._long):
            text = self._text(place)
            if text in seen:
                self._set(place, DUPLICATE)
            elif len(text) >= self._shortest:
                seen.add(text)

    def _mark_skills(self) -> None:
        """Have a marker take the place of long skills, the newest first while there may be more."""
        spared = max(self._tail, len(self._messages) - RECENT)
        for place in reversed(self._long):
            if place < spared and self._is_skill(place) and self._skills:
                self._shorten(place)

    def _shorten(self, place: int) -> bool:
        """Put a line in the place of a result; return whether that made it shorter."""
        call, text = self._calls[place], self._text(place)
        if len(text) <= SHORTEST:
            return False
        if self._skills and self._is_skill(place):
            self._skills -= 1
            line = SKILL_PRUNED.format(name=_skill_name(call))
        else:
            line = one_liner(call.name, call.arguments, text)
        if len(line) >= len(text):
            return False
        self._set(place, line)
        return True

    def _shrink(self, place: int, message: Message) -> None:
        """Shorten the arguments of the calls of a message."""
        longest = max(ARGUMENTS, self._shortest)
        calls = tuple(
            ToolCall(call.id, call.name, new) if (new := shrink(call.arguments, longest)) else call
            for call in message.calls
        )
        if calls != message.calls:
            self.changed[place] = Message(message.role, message.text, calls)

    def _is_skill(self, place: int) -> bool:
        return self._calls[place].name == "skill_view" and len(self._text(place)) > SKILL_CHARS

    def _text(self, place: int) -> str:
        return (self.changed.get(place) or self._messages[place]).content

    def _set(self, place: int, text: str) -> None:
        old = self._messages[place]
        self.changed[place] = Message("tool", text, call_id=old.call_id, name=old.name)


def _removed(found: re.Match[str]) -> str:
    kind = {None: "media", "image": "screenshot"}.get(found[1], found[1])
    return f"{found[2] or ''}[{kind} removed to save context]"


def _skill_name(call: ToolCall) -> str:
    """Return a name that can stand in quotes, and ends no bracket."""
    return flat(re.sub(r"['\\\[\]]", "", flat(read(call.arguments).get("name"), 80)), 80) or "?"
