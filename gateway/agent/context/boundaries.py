"""
Where a conversation may be cut: what stays at its beginning, what at its end, and what a summary takes the place of.

In: the rows in view and the tokens of each, as somebody else counted them. Out: places in those rows. Pure; linear in
the rows, and what is looked at closely is only what stays.

The words: a *group* is a message and the results that follow it, and is never cut. An *exchange* begins with a message
in a user's role and ends before the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gateway.agent.context.settings import CompressionSettings
from gateway.agent.context.summary.spoken import asks
from gateway.contracts.context import Row
from gateway.messages import Message

OVERFULL = 1.5
"""How many times its budget the end may weigh for the sake of its least numbers of messages, or of a whole exchange."""
HEAD_SHARE = 0.5
"""How much of the budget of the end the beginning may weigh."""
LEAST_ROWS, MOST_ROWS = 3, 8
"""`protect_last_n` is bounded by these; beyond them only tokens count. The reference's."""
LEAST = 600
"""Tokens that a summary must at least take the place of: its frame alone weighs more than 200."""


@dataclass(frozen=True, slots=True)
class Parts:
    """
    A conversation cut for a compression: `middle` goes, `head` stays before the summary and `tail` behind it.

    Every row is in one of them, each is in order, and an earlier summary is in the middle. The tail may begin with
    rows from amid the middle, which stay to the letter: the last message of a person, the last answer that one could
    read, and what makes these a conversation.
    `shown` is what rows of head and tail, by their ids, are shown as in place of what they were before (pruned).
    """

    head: tuple[Row, ...]
    middle: tuple[Row, ...]
    tail: tuple[Row, ...]
    shown: Mapping[int, Message] = field(default_factory=dict)


def span(
    rows: Sequence[Row],
    tokens: Sequence[int],
    settings: CompressionSettings,
    tail_budget: int,
    *,
    compressed_before: bool,
) -> tuple[int, int] | None:
    """
    Return the places [start, end) of what is to be summed up, or None where that is not worth it.

    `rows` are in view and pruned; `tokens` is the estimate of each, and `tail_budget` the tokens the end should have.
    What of the span stays all the same, `parted` says.

    - Before `start` stand whole exchanges with at least `protect_first_n` messages, as far as they weigh no more than
      half the budget; none once anything was compressed.
    - From `end` on stand as many whole groups as the budget has room for, none from before an earlier summary.
      `protect_last_n` and `min_tail_user_messages` may fill it one and a half times, no more. Where hardly anything
      would be left to sum up, only these count.
    - An exchange is cut only where the message that began it stays too, within that same bound.
    """
    start = 0 if compressed_before or any(row.summary for row in rows) else _head(rows, tokens, settings, tail_budget)
    first = max(start, 1 + _last(rows, 0, len(rows), _sums_up))
    end = _end(rows, tokens, settings, tail_budget, first)
    if end <= first or _gained(rows, tokens, start, end, tail_budget) < LEAST:
        end = _end(rows, tokens, settings, 0, first, ceiling=int(tail_budget * OVERFULL))
    return (start, end) if _gained(rows, tokens, start, end, tail_budget) >= LEAST else None


def parted(
    rows: Sequence[Row],
    tokens: Sequence[int],
    cut: tuple[int, int],
    tail_budget: int,
    changed: Mapping[int, Message] | None = None,
) -> Parts:
    """
    Divide a conversation at a cut: one of `span`, or any other, which then moves on to the next whole group.

    `rows` are as they were before pruning, and `changed` is by place what pruning makes of some; `tokens` and
    `tail_budget` are as for `span`.
    """
    changed = changed or {}
    start = _whole(rows, max(0, cut[0]))
    end = _whole(rows, max(start, cut[1]))
    kept = _kept(rows, tokens, start, end, tail_budget)
    now = [Row(row.id, changed[place], row.summary) if place in changed else row for place, row in enumerate(rows)]
    goes = [place for place in range(start, end) if place not in kept]
    goes += [place for place in (*range(start), *range(end, len(rows))) if rows[place].summary]
    gone = set(goes)
    return Parts(
        tuple(now[place] for place in range(start) if place not in gone),
        tuple(now[place] for place in sorted(goes)),
        tuple(now[place] for place in range(start, len(rows)) if place not in gone),
        {rows[place].id: message for place, message in changed.items() if place not in gone and rows[place].id},
    )


def _gained(rows: Sequence[Row], tokens: Sequence[int], start: int, end: int, tail_budget: int) -> int:
    """Return what that weighs which is summed up, without an earlier summary: another one takes its place."""
    kept = _kept(rows, tokens, start, end, tail_budget)
    return sum(tokens[place] for place in range(start, end) if place not in kept and not rows[place].summary)


def _begins(row: Row) -> bool:
    """Say whether an exchange begins here."""
    return row.message.role == "user" and not row.summary


def _whole(rows: Sequence[Row], place: int) -> int:
    while place < len(rows) and rows[place].message.role == "tool":
        place += 1
    return min(place, len(rows))


def _visible(row: Row) -> bool:
    return row.visible


def _sums_up(row: Row) -> bool:
    return row.summary


def _last(rows: Sequence[Row], start: int, end: int, wanted: Callable[[Row], bool]) -> int:
    """Return the last place in [start, end) of what is wanted, -1 for none."""
    return next((place for place in range(end - 1, start - 1, -1) if wanted(rows[place])), -1)


def _head(rows: Sequence[Row], tokens: Sequence[int], settings: CompressionSettings, tail_budget: int) -> int:
    """Return where the beginning that stays is over: at the first end of an exchange that holds all that is asked."""
    room, head = int(tail_budget * HEAD_SHARE), 0
    weight = 0
    for place, row in enumerate(rows):
        if place and _begins(row):
            head = place
        if head >= settings.protect_first_n or (weight := weight + tokens[place]) > room:
            return head if settings.protect_first_n else 0
    return head


def _end(
    rows: Sequence[Row],
    tokens: Sequence[int],
    settings: CompressionSettings,
    budget: int,
    start: int,
    *,
    ceiling: int | None = None,
) -> int:
    """Return where the end that stays begins; `start` or less where that is everything."""
    ceiling = int(budget * OVERFULL) if ceiling is None else ceiling
    reach = _reach(rows, tokens, start, ceiling)
    askers = [place for place, _ in reach if asks(rows[place])][: settings.min_tail_user_messages]
    rooms = max(0, len(rows) - start - 1)
    least = min(max(LEAST_ROWS, min(settings.protect_last_n, MOST_ROWS)), max(LEAST_ROWS, rooms - 2), rooms)
    end, weight = len(rows), 0
    for place, total in reach:
        if total > budget and len(rows) - end >= least and (not askers or end <= askers[-1]):
            break
        end, weight = place, total
    if end in {start, len(rows)} or _begins(rows[end]):
        return end
    begun = _last(rows, start, end, _begins)
    if begun < 0 or begun == _last(rows, start, len(rows), _begins) or weight + tokens[begun] <= ceiling:
        return end
    return next(place for place in range(end, len(rows)) if _begins(rows[place]))


def _reach(rows: Sequence[Row], tokens: Sequence[int], start: int, ceiling: int) -> list[tuple[int, int]]:
    """Return where groups begin, the newest first, with what all from there on weighs, up to the ceiling."""
    found: list[tuple[int, int]] = []
    total = 0
    for place in range(len(rows) - 1, start - 1, -1):
        total += tokens[place]
        if total > ceiling:
            break
        if rows[place].message.role != "tool":
            found.append((place, total))
    return found


def _kept(rows: Sequence[Row], tokens: Sequence[int], start: int, end: int, tail_budget: int) -> set[int]:
    """Return the places in [start, end) that stay all the same."""
    users = {_last(rows, start, len(rows), _begins), _last(rows, start, len(rows), asks)}
    if end < len(rows) and not _begins(rows[end]):
        users.add(_last(rows, start, end, _begins))
    kept = {place for place in users if start <= place < end}
    answer = _last(rows, start, len(rows), _visible)
    if start <= answer < end:
        kept |= _group(rows, answer)
        question = _last(rows, start, answer, _begins)
        room = tail_budget * OVERFULL - sum(tokens[place] for place in (*kept, *range(end, len(rows))))
        if question >= 0 and tokens[question] <= room:
            kept.add(question)
    return kept | _between(rows, kept, end)


def _group(rows: Sequence[Row], place: int) -> set[int]:
    return {place, *range(place + 1, _whole(rows, place + 1))}


def _between(rows: Sequence[Row], kept: set[int], end: int) -> set[int]:
    """Return the answers without which two of a user's messages would stand side by side."""
    found: set[int] = set()
    stays = [*sorted(kept), *range(end, min(end + 1, len(rows)))]
    for before, place in zip(stays, stays[1:], strict=False):
        if _begins(rows[before]) and _begins(rows[place]) and place - before > 1 and not rows[place - 1].summary:
            found.add(place - 1)
    return found
