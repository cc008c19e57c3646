"""What is made of a compression before it is stored, whoever made it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from gateway.agent.context.assembly import viewed
from gateway.agent.context.beginnings import SUMMARY
from gateway.agent.context.frame import END
from gateway.contracts.context import Compressed, ContextEngine, Kept, Order, Past, View
from gateway.messages import Message
from tests.fakes.counting import CountingModel
from tests.unit.agent.context.talks import Talk

PARAGRAPH = "The letter about the tax form says that the second page has to be filled in again, and by hand. " * 30
"""About 650 tokens."""
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


WRONG: dict[str, Make] = {
    "the last question is gone": lambda past: View(frozenset(row.id for row in past.rows), summary="nothing"),
    "it is longer": lambda past: View(older(past), summary="on and on " * 30_000),
    "nothing is left": lambda past: View(frozenset(row.id for row in past.rows)),
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_what_must_not_be_is_not_stored(wrong: str) -> None:
    def make(past: Past) -> View:
        view = WRONG[wrong](past)
        rows = past.rows if not past.rows[-1].id else past.rows[:0]
        return View(view.hidden | {row.id for row in rows}, view.shown, view.summary)

    talk = await talked(make if "longer" not in wrong else WRONG[wrong])
    assert all("on and on" not in view.summary for view in talk.rows.views)
    for asked in talk.model.asked:
        assert asked[-1].content.startswith(PARAGRAPH) or SUMMARY in asked[-1].content
