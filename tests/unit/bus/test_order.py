"""Which waiting events make the next turn."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gateway.bus.order import ATTEMPTS, BURST_SECONDS, PAUSES, Dead, Decision, Run, Wait, Waiting, decide

NOW = 1_000_000.0
TIMES = st.sampled_from([NOW - 3600, NOW - BURST_SECONDS, NOW - 0.5, NOW, NOW + 0.5, NOW + 2, NOW + 10, NOW + 3600])


@st.composite
def open_rows(draw: st.DrawFn) -> list[Waiting]:
    """Open rows as a lane may hold them: perhaps an old turn first, then what nobody claimed yet."""
    rows: list[Waiting] = []
    if draw(st.booleans()):
        again = Waiting(
            0,
            draw(st.sampled_from(["member", "owner"])),
            turn="t",
            attempts=draw(st.integers(0, 4)),
            not_before=draw(TIMES),
        )
        rows += [replace(again, id=number) for number in range(draw(st.integers(1, 3)))]
    for _ in range(draw(st.integers(0, 5))):
        rows.append(
            Waiting(
                len(rows),
                draw(st.sampled_from(["member", "owner"])),
                command=draw(st.booleans()),
                burst=draw(st.booleans()),
                created=draw(TIMES),
            )
        )
    return rows


def ids(decision: Decision) -> tuple[int, ...]:
    return decision.ids if isinstance(decision, Run | Dead) else ()


def test_where_nothing_waits_there_is_nothing_to_decide() -> None:
    assert decide([], NOW) is None


@given(open_rows())
def test_something_that_waits_is_always_decided(rows: list[Waiting]) -> None:
    assume(rows)
    assert decide(rows, NOW) is not None


@given(open_rows())
def test_the_oldest_goes_first_and_nobody_is_passed_over(rows: list[Waiting]) -> None:
    chosen = ids(decide(rows, NOW))
    assert chosen == tuple(row.id for row in rows[: len(chosen)])


@given(open_rows())
def test_a_turn_is_of_one_right(rows: list[Waiting]) -> None:
    chosen = ids(decide(rows, NOW))
    assert len({row.role for row in rows if row.id in chosen}) <= 1


@given(open_rows())
def test_a_command_runs_alone(rows: list[Waiting]) -> None:
    chosen = [row for row in rows if row.id in ids(decide(rows, NOW)) and not row.turn]
    assert len(chosen) <= 1 or not any(row.command for row in chosen)


@given(open_rows())
def test_a_turn_is_as_long_as_it_can_be(rows: list[Waiting]) -> None:
    decision = decide(rows, NOW)
    if isinstance(decision, Run) and not decision.turn:
        last, following = rows[len(decision.ids) - 1], rows[len(decision.ids) :]
        assert last.command or not following or following[0].command or following[0].role != last.role


@given(open_rows())
def test_what_was_claimed_together_comes_back_together_and_alone(rows: list[Waiting]) -> None:
    decision = decide(rows, NOW)
    if rows and rows[0].turn and isinstance(decision, Run | Dead):
        assert decision.ids == tuple(row.id for row in rows if row.turn)
        assert decision.turn == "t"


@given(open_rows())
def test_a_lane_never_waits_longer_than_any_pause_we_give(rows: list[Waiting]) -> None:
    decision = decide(rows, NOW)
    if isinstance(decision, Wait):
        assert NOW < decision.until <= NOW + max(*PAUSES, BURST_SECONDS)


@given(open_rows())
def test_after_the_wait_there_is_no_other(rows: list[Waiting]) -> None:
    decision = decide(rows, NOW)
    if isinstance(decision, Wait):
        assert not isinstance(decide(rows, decision.until), Wait)


@given(open_rows())
def test_all_that_waits_is_handed_out_in_the_end(rows: list[Waiting]) -> None:
    now, order = NOW, list[int]()
    while rows:
        decision = decide(rows, now)
        if isinstance(decision, Wait):
            now = decision.until
            continue
        order += ids(decision)
        rows = [row for row in rows if row.id not in ids(decision)]
    assert all(one < other for one, other in pairwise(order))


# --- attempts


def test_an_event_has_three_attempts_and_two_pauses() -> None:
    assert ATTEMPTS == 3
    assert PAUSES == (2.0, 10.0)


@pytest.mark.parametrize("attempts", range(5))
def test_attempts_are_counted_by_what_the_row_says(attempts: int) -> None:
    decision = decide([Waiting(1, "member", attempts=attempts, turn="t")], NOW)
    assert decision == (Run((1,), "t", attempts + 1) if attempts < 3 else Dead((1,), "t"))


def test_a_pause_holds_up_those_behind() -> None:
    rows = [Waiting(1, "member", attempts=1, turn="t", not_before=NOW + 2), Waiting(2, "member")]
    assert decide(rows, NOW) == Wait(NOW + 2)


def test_the_dead_are_buried_at_once_whatever_their_pause() -> None:
    assert decide([Waiting(1, "member", attempts=3, turn="t", not_before=NOW + 10)], NOW) == Dead((1,), "t")


# --- bursts


def part(id: int, created: float = NOW) -> Waiting:
    return Waiting(id, "member", burst=True, created=created)


def test_a_burst_is_waited_for_until_a_second_after_its_newest_part() -> None:
    assert decide([part(1, NOW - 5), part(2, NOW - 0.25)], NOW) == Wait(NOW + 0.75)
    assert decide([part(1, NOW - 5), part(2, NOW - 1)], NOW) == Run((1, 2), "", 1)


def test_only_the_newest_counts() -> None:
    assert decide([part(1), Waiting(2, "member", created=NOW)], NOW) == Run((1, 2), "", 1)
    assert decide([Waiting(1, "member", created=NOW), part(2)], NOW) == Wait(NOW + 1)


def test_a_burst_behind_an_old_turn_does_not_hold_that_up() -> None:
    assert decide([Waiting(1, "member", attempts=1, turn="t"), part(2)], NOW) == Run((1,), "t", 2)


# --- a clock that was set back


def test_a_time_that_no_wait_of_ours_explains_is_not_waited_for() -> None:
    assert decide([part(1, NOW + 3600)], NOW) == Run((1,), "", 1)
    assert decide([Waiting(1, "member", attempts=1, turn="t", not_before=NOW + 3600)], NOW) == Run((1,), "t", 2)
