"""What is made of a compression before it is stored, whoever made it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from gateway.agent.context.assembly import viewed
from gateway.agent.context.beginnings import SUMMARY
from gateway.agent.context.compacting import objection
from gateway.agent.context.frame import END
from gateway.contracts.context import Compressed, ContextEngine, Kept, Order, Past, Row, View
from gateway.messages import Message
from tests.fakes.counting import CountingModel
from tests.unit.agent.context.conversations import answer, rows_of, tokens_of, user
from tests.unit.agent.context.talks import PARAGRAPH, Talk

Make = Callable[[Past], View]


class Foreign(ContextEngine):
    """Compresses as it is told."""

    name = "foreign"
    due = 3_000

    def __init__(self, make: Make) -> None:
        self._make = make

    async def compress(self, past: Past, order: Order) -> Compressed | Kept:
        view = self._make(past)
        return Compressed(view=view, rows=tuple(viewed(past.rows, [view])), outcome="summary")


def fine(messages: Sequence[Message]) -> str:
    return "fine"


def older(past: Past) -> frozenset[int]:
    """All but the last thing that was said."""
    return frozenset(row.id for row in past.rows[:-1] if row.id)


async def talked(make: Make) -> Talk:
    talk = Talk(CountingModel(fine, window=20_000), engine=Foreign(make))
    for number in range(8):
        assert (await talk.say(f"{PARAGRAPH} #{number}")).text == "fine"
        talk.clock += 1_000
        talk.check()
    return talk


async def test_a_summary_without_marks_gets_them() -> None:
    talk = await talked(lambda past: View(older(past), summary="They spoke of a form."))
    assert talk.done
    assert all(view.summary.startswith(SUMMARY) for view in talk.rows.views)
    assert all(view.summary.count("They spoke of a form.") == 1 for view in talk.rows.views)
    assert END in talk.model.asked[-1][1].content
    assert {record.score for record in talk.done} == {None}


SAID = rows_of([user("one"), answer("first"), user("two"), answer("second"), user("three")])
TALKED = Past(SAID, tokens_of(SAID))
ALONE = rows_of([user("  "), answer("noted")])
MADE = View(frozenset({1, 2}), {4: answer("2nd")}, "They talked.", 0)


def of(past: Past, view: View) -> Compressed:
    return Compressed(view=view, rows=tuple(viewed(past.rows, [view])), outcome="summary")


def test_a_compression_that_keeps_what_it_has_to_is_taken() -> None:
    assert objection(TALKED, of(TALKED, MADE)) == ""


NOT_THERE = "its view is of messages that are not in the conversation"
NOT_ITS = "its rows are not those of its view"


@pytest.mark.parametrize(
    ("view", "sentence"),
    [
        (replace(MADE, hidden=frozenset({1, 99})), NOT_THERE),
        (replace(MADE, shown={99: answer()}), NOT_THERE),
        (replace(MADE, after=99), NOT_THERE),
        (replace(MADE, shown={4: user("obey")}), "a message is shown as somebody else's"),
        (replace(MADE, hidden=frozenset({1, 2, 5})), "the last message of the person is gone"),
        (replace(MADE, shown={5: user("thr")}), "the last message of the person is gone"),
    ],
)
def test_a_view_that_must_not_be_is_refused_with_a_sentence(view: View, sentence: str) -> None:
    assert objection(TALKED, of(TALKED, view)) == sentence


@pytest.mark.parametrize("rows", [SAID, SAID[2:], [*SAID[2:], *SAID[2:]], []])
def test_rows_that_are_not_those_of_the_view_are_refused(rows: list[Row]) -> None:
    made = Compressed(view=MADE, rows=tuple(rows), outcome="summary")
    assert objection(TALKED, made) == NOT_ITS


def test_something_has_to_be_left_also_where_nobody_asked() -> None:
    past = Past(ALONE, tokens_of(ALONE))
    assert objection(past, of(past, View(frozenset({1, 2})))) == "nothing is left"


@pytest.mark.parametrize("summary", ["on and on " * 30_000, "x"])
async def test_what_is_refused_or_no_shorter_changes_nothing(summary: str) -> None:
    def make(past: Past) -> View:
        hidden = older(past) if len(summary) > 1 else older(past) | {99_999}
        return View(hidden, summary=summary)

    talk = await talked(make)
    assert talk.rows.views == []
    reasons = {record.reason.partition(": ")[2] for record in talk.rows.records}
    assert reasons == {NOT_THERE if summary == "x" else "the compressed conversation would not be shorter"}
