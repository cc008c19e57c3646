"""What a compression leaves as it was said, and what it takes the place of."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.context.boundaries import Parts, parted, span
from gateway.agent.context.frame import framed
from gateway.agent.context.settings import CompressionSettings
from gateway.agent.context.summary.spoken import asks
from gateway.contracts.context import Row
from gateway.messages import Message
from tests.unit.agent.context.conversations import NOBODY, SETTINGS, answer, calls, result, rounds, rows_of, turns, user

SUMMED_UP = Row(0, user(framed("## Goal\nThe form is sent.")), summary=True)


def talk(exchanges: int) -> list[Row]:
    """Questions and answers by turns."""
    return rows_of(
        [said for number in range(exchanges) for said in (user(f"ask {number}"), answer(f"answer {number}"))]
    )


def found(
    rows: Sequence[Row],
    budget: int,
    settings: CompressionSettings = SETTINGS,
    weights: dict[int, int] | None = None,
    *,
    compressed_before: bool = False,
) -> tuple[int, int] | None:
    """Return the span where a message weighs 100 tokens, unless `weights` says otherwise by place."""
    tokens = [(weights or {}).get(place, 100) for place in range(len(rows))]
    return span(rows, tokens, settings, budget, compressed_before=compressed_before)


def divided(rows: Sequence[Row], budget: int, weights: dict[int, int] | None = None) -> Parts:
    cut = found(rows, budget, weights=weights)
    assert cut is not None
    return parted(rows, [(weights or {}).get(place, 100) for place in range(len(rows))], cut, budget)


def ids(rows: Sequence[Row]) -> list[int]:
    return [row.id for row in rows]


# --- the beginning


def test_the_beginning_stays_in_whole_exchanges_until_the_first_compression() -> None:
    assert found(talk(20), 1_000) == (4, 30)
    assert found(talk(20), 1_000, compressed_before=True) == (0, 30)


def test_no_beginning_stays_where_none_is_wanted() -> None:
    assert found(talk(20), 1_000, CompressionSettings(protect_first_n=0)) == (0, 30)


def test_a_beginning_that_is_too_heavy_is_summed_up() -> None:
    assert found(talk(20), 1_000, weights={0: 5_000}) == (0, 30)
    assert found(talk(20), 1_000, weights={3: 5_000}) == (2, 30)


def test_a_summary_in_view_means_that_something_was_compressed() -> None:
    assert found([SUMMED_UP, *talk(20)], 1_000) == (0, 31)


# --- the end


def test_the_end_has_as_many_tokens_as_it_may_whatever_the_number_of_messages() -> None:
    assert found(talk(200), 5_000) == (4, 350)
    assert found(talk(200), 5_000, weights=dict.fromkeys(range(400), 50)) == (4, 300)


def test_messages_that_must_stay_fill_the_end_half_again_and_no_more() -> None:
    rows = talk(20)
    assert found(rows, 600, compressed_before=True) == (0, 32)
    assert found(rows, 300, compressed_before=True) == (0, 36)
    heavy = dict.fromkeys(range(33, 40), 7_500)
    cut = found(rows, 3_000, weights=heavy)
    assert cut is not None
    assert cut[1] == 40


def test_the_end_holds_as_many_questions_of_a_person_as_are_wanted_while_there_is_room() -> None:
    rows = rows_of([*[row.message for row in talk(8)], *rounds(0, 3), answer("done")])
    two = CompressionSettings(protect_last_n=3, min_tail_user_messages=2)
    assert found(rows, 800, two, compressed_before=True) == (0, 12)
    assert found(rows, 700, two, compressed_before=True) == (0, 14)


def test_a_question_is_not_parted_from_its_answer() -> None:
    rows = talk(20)
    assert found(rows, 900, CompressionSettings(protect_last_n=3), weights={30: 700}) == (4, 32)
    assert found(rows, 900, CompressionSettings(protect_last_n=3), weights={30: 400}) == (4, 31)
    assert 31 in ids(divided(rows, 900, weights={30: 400}).tail)


def test_where_all_or_nearly_all_has_room_only_what_must_stay_does() -> None:
    assert found(talk(20), 10_000) == (4, 32)
    assert found(talk(20), 3_500) == (4, 32)
    assert found([SUMMED_UP, *talk(20)], 10_000) == (0, 33)


def test_what_is_not_worth_a_summary_is_left_alone() -> None:
    assert found([], 1_000) is None
    assert found(talk(1), 1_000) is None
    assert found(talk(3), 1_000) is None
    assert found([SUMMED_UP, *talk(3)], 1_000, weights={0: 5_000}) is None
    assert found(talk(2), 100, weights={2: 50_000, 3: 50_000}) is None


def test_an_earlier_summary_is_summed_up_with_all_that_stood_before_it() -> None:
    rows = [*talk(2), SUMMED_UP, *rows_of([row.message for row in talk(20)], 5)]
    assert found(rows, 100_000) == (0, 37)
    parts = divided(rows, 100_000)
    assert not parts.head
    assert ids(parts.middle)[:5] == [1, 2, 3, 4, 0]


# --- groups


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=20), st.sampled_from([0, 100, 400, 1_500, 9_000]), st.booleans()
)
def test_calls_and_results_are_never_parted(storm: list[int], budget: int, before: bool) -> None:
    said: list[Message] = [user("do all of it")]
    for place, number in enumerate(storm):
        names = [f"{place}-{call}" for call in range(number)]
        said += [calls(*names), *map(result, names)] if names else [answer(f"answer {place}"), user(f"ask {place}")]
    rows = rows_of(said)
    cut = found(rows, budget, compressed_before=before)
    if cut is None:
        return
    for place in cut:
        assert place == len(rows) or rows[place].message.role != "tool"
    parts = parted(rows, [100] * len(rows), cut, budget)
    for part in (parts.head, parts.middle, parts.tail):
        called = [call.id for row in part for call in row.message.calls]
        assert called == [row.message.call_id for row in part if row.message.role == "tool"]


# --- what stays from amid the middle


def test_the_last_question_stays_however_much_was_done_for_it() -> None:
    rows = rows_of([*[row.message for row in talk(5)], user("now all files"), *rounds(0, 60)])
    parts = divided(rows, 1_000)
    assert ids(parts.tail)[:3] == [9, 10, 11]
    assert ids(parts.tail)[3:] == list(range(122, 132))


def test_the_last_question_and_the_last_answer_stay_whatever_they_weigh() -> None:
    parts = divided(talk(20), 1_000, weights={38: 50_000, 39: 50_000})
    assert ids(parts.tail) == [39, 40]


def test_the_last_question_is_that_of_a_person() -> None:
    rows = rows_of([*[row.message for row in talk(5)], user(NOBODY), *rounds(0, 30), answer("noted")])
    assert [asks(row) for row in rows[-64:]].count(True) == 1
    tail = divided(rows, 1_000).tail
    assert [row.message.text for row in tail if asks(row)] == ["ask 4"]
    assert [row.message.text for row in tail][:3] == ["ask 4", "answer 4", NOBODY]


@pytest.mark.parametrize("text", ["", "  \n", NOBODY, "[System: Your previous tool call was cut]"])
def test_what_no_person_wrote_is_no_question(text: str) -> None:
    assert not asks(Row(1, user(text)))
    assert asks(Row(1, user(f"what is {text}?")))


def test_who_writes_what_a_summary_looks_like_has_asked_all_the_same() -> None:
    assert asks(Row(1, SUMMED_UP.message))
    assert not asks(SUMMED_UP)


# --- cuts of one's own, and pruning


def test_any_other_cut_moves_on_to_a_whole_group() -> None:
    rows = rows_of(
        [user("do it"), calls("a", "b"), result("a"), result("b"), answer("done"), user("and?"), answer("yes")]
    )
    parts = parted(rows, [100] * 7, (0, 2), 1_000)
    assert (ids(parts.middle), ids(parts.tail)) == ([2, 3, 4], [1, 5, 6, 7])
    parts = parted(rows, [100] * 7, (3, 99), 1_000)
    assert (ids(parts.head), ids(parts.middle), ids(parts.tail)) == ([1, 2, 3, 4], [5], [6, 7])


def test_what_was_shortened_is_stored_only_where_it_stays() -> None:
    rows = rows_of([user("do it"), *rounds(0, 20), answer("done")])
    short = {place: result(rows[place].message.call_id, "short") for place in range(2, 41, 2)}
    cut = found(rows, 1_000)
    assert cut is not None
    parts = parted(rows, [100] * len(rows), cut, 1_000, short)
    stay = [row for row in parts.tail if row.message.role == "tool"]
    assert {row.message.text for row in stay} == {"short"}
    assert dict(parts.shown) == {row.id: row.message for row in stay}
    assert {row.message.text for row in parts.middle if row.message.role == "tool"} == {"short"}


@given(st.data(), st.sampled_from([0, 150, 2_000]))
def test_every_row_is_in_one_part_in_order_wherever_it_is_cut(data: st.DataObject, budget: int) -> None:
    rows = rows_of([said for number in range(3) for said in data.draw(turns(number, longest=4))])
    cut = sorted(data.draw(st.tuples(*[st.integers(-1, len(rows) + 1)] * 2)))
    parts = parted(rows, [50] * len(rows), (cut[0], cut[1]), budget)
    assert sorted(ids([*parts.head, *parts.middle, *parts.tail])) == ids(rows)
    for part in (parts.head, parts.middle, parts.tail):
        assert ids(part) == sorted(ids(part))
