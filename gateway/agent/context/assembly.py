"""
What the model sees after a compression, and what has to be stored so that it sees the same again. Pure.

A summary is a row of its own, with the id 0, in a user's role: as the model's own words it would be repeated as such.
What goes to the model is made of rows by `wire` alone, at once and after a restart alike, so that both are the same
to the byte. There the summary joins the message of a user that follows, before its own text, since providers want
user and assistant by turns.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from gateway.agent.context.boundaries import Parts
from gateway.agent.context.frame import REMOVED, framed
from gateway.agent.context.summary.spoken import asks
from gateway.agent.history import NO_ANSWER, repair
from gateway.contracts.context import Row, View
from gateway.messages import Message


@dataclass(frozen=True, slots=True)
class Assembled:
    """
    A compressed conversation: what to store of it, and its rows in view, of which the next compression begins.

    For the rows that were in view before, ``viewed(before, [view])`` is `rows`.
    """

    view: View
    rows: tuple[Row, ...]


def assemble(parts: Parts, summary: str) -> Assembled:
    """
    Put a summary, with or without the marks around it, in the place of the middle.

    Of a call and its result none stays without the other. The head ends with an answer: what it has behind that
    follows the summary. Rows in the middle with the id 0 cannot be stored as hidden; only summaries should be such.
    """
    answered = _answered(parts.head)
    head, shown_head, strays_head = _paired(parts.head[:answered])
    tail, shown_tail, strays_tail = _paired([*parts.head[answered:], *parts.tail])
    anyone = any(asks(row) for row in (*head, *tail))
    text = framed(summary, asked=anyone)
    gone = {row.id for row in parts.middle} | strays_head | strays_tail
    view = View(
        frozenset(gone - {0}),
        {**parts.shown, **shown_head, **shown_tail},
        text,
        max((row.id for row in head), default=0),
    )
    return Assembled(view, (*head, _row(text), *tail))


def viewed(rows: Sequence[Row], views: Sequence[View]) -> list[Row]:
    """
    Return the rows in view of all the rows of a session, in their order, by its views, the oldest first.

    Of several summaries the newest stands for all, and for one that is among the rows already. Rows that are not
    stored yet have the id 0 and come last.
    """
    hidden = frozenset[int]().union(*(view.hidden for view in views))
    shown = {id: message for view in views for id, message in view.shown.items()}
    newest = next((view for view in reversed(views) if view.summary), None)
    seen = [
        Row(row.id, shown[row.id]) if row.id and row.id in shown else row
        for row in rows
        if row.id not in hidden and not (row.summary and newest)
    ]
    if newest is None:
        return seen
    place = next((place for place, row in enumerate(seen) if row.id > newest.after or not row.id), len(seen))
    return [*seen[:place], _row(newest.summary), *seen[place:]]


def wire(rows: Sequence[Row]) -> list[Message]:
    """
    Return what goes to the model for rows in view, between the system's prompt and what is said next.

    A strict provider accepts it whatever the rows; rows that are as they should be come as they are, to the byte and
    as the same objects. Only the end is left open: `repair` says of a question without an answer that there is none.
    """
    said: list[Message] = []
    summary = ""
    for row in rows:
        if row.summary:
            summary = row.message.content
        elif summary and row.message.role == "user":
            said.append(replace(row.message, api_content=f"{summary}\n\n{row.message.content}"))
            summary = ""
        else:
            said += [Message("user", summary)] if summary else []
            said.append(row.message)
            summary = ""
    said += [Message("user", summary)] if summary else []
    accepted = repair(said)
    if accepted and accepted[-1].text == NO_ANSWER and not any(accepted[-1] is message for message in said):
        del accepted[-1]
    return accepted


def _row(summary: str) -> Row:
    return Row(0, Message("user", summary), summary=True)


def _answered(head: Sequence[Row]) -> int:
    """Return how many rows of a head there are up to its last answer that calls nothing."""
    for place in range(len(head) - 1, -1, -1):
        if head[place].message.role == "assistant" and not head[place].message.calls:
            return place + 1
    return 0


def _paired(rows: Sequence[Row]) -> tuple[list[Row], dict[int, Message], set[int]]:
    """Return the rows without calls and results that have lost each other; what changed, and the ids of what went."""
    kept: list[Row] = []
    shown: dict[int, Message] = {}
    strays: set[int] = set()
    for first, *results in _groups(rows):
        waiting = {call.id for call in first.message.calls}
        found: list[Row] = []
        for result in results:
            if result.message.call_id in waiting:
                waiting.remove(result.message.call_id)
                found.append(result)
            else:
                strays.add(result.id)
        if first.message.role == "tool":
            strays.add(first.id)
            continue
        if waiting:
            first = replace(first, message=_without(first.message, waiting))
            shown[first.id] = first.message
        kept += [first, *found]
    shown.pop(0, None)
    return kept, shown, strays


def _groups(rows: Sequence[Row]) -> list[list[Row]]:
    groups: list[list[Row]] = []
    for row in rows:
        if row.message.role == "tool" and groups:
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _without(message: Message, lost: Set[str]) -> Message:
    calls = tuple(call for call in message.calls if call.id not in lost)
    if calls or message.content.strip():
        return replace(message, calls=calls)
    return replace(message, calls=calls, text=REMOVED, api_content=None)
