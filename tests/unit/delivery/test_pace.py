"""How soon something may be done again: a burst at once, then one each so often, to each key on its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.delivery.pace import Pace


class Clock:
    def __init__(self) -> None:
        self.now = 10_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_burst_is_given_at_once_and_then_one_each_so_often(clock: Clock) -> None:
    pace = Pace(2, 3, clock=clock)
    assert [pace.delay("chat") for _ in range(4)] == [0, 0, 0, pytest.approx(0.5)]
    clock.now += 0.5
    assert [pace.delay("chat") for _ in range(2)] == [0, pytest.approx(0.5)]


def test_who_is_told_to_wait_has_taken_nothing(clock: Clock) -> None:
    pace = Pace(1, clock=clock)
    assert pace.delay("chat") == 0
    assert [pace.delay("chat") for _ in range(5)] == [pytest.approx(1)] * 5
    clock.now += 1
    assert pace.delay("chat") == 0


def test_keys_do_not_wait_for_each_other(clock: Clock) -> None:
    pace = Pace(1, clock=clock)
    assert [pace.delay(key) for key in ("one", "two", "one")] == [0, 0, pytest.approx(1)]


def test_a_long_silence_earns_no_more_than_a_burst(clock: Clock) -> None:
    pace = Pace(10, 2, clock=clock)
    clock.now += 3600
    assert [pace.delay("chat") for _ in range(3)] == [0, 0, pytest.approx(0.1)]


def test_a_closed_key_gives_nothing_until_its_time_and_the_others_go_on(clock: Clock) -> None:
    pace = Pace(1, 5, clock=clock)
    pace.close("chat", clock.now + 20)
    pace.close("chat", clock.now + 5)  # an earlier end changes nothing
    assert pace.delay("chat") == pytest.approx(20)
    assert pace.delay("other") == 0
    clock.now += 19.5
    assert pace.delay("chat") == pytest.approx(0.5)
    clock.now += 0.5
    assert pace.delay("chat") == 0


def test_a_key_that_was_closed_in_the_past_is_open(clock: Clock) -> None:
    pace = Pace(1, clock=clock)
    pace.close("chat", clock.now - 1)
    assert pace.delay("chat") == 0


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (float("nan"), 1), (1, 0)])
def test_a_pace_that_gives_nothing_is_refused(rate: float, burst: float) -> None:
    with pytest.raises(ValueError, match="rate"):
        Pace(rate, burst)


def test_idle_keys_are_forgotten(clock: Clock) -> None:
    pace = Pace(1, clock=clock)
    for number in range(100_000):
        clock.now += 0.1
        assert pace.delay(number) == 0
        pace.close(-number, clock.now + 1)
    assert len(pace) < 1_000


def test_keys_that_wait_are_not_forgotten(clock: Clock) -> None:
    pace = Pace(1, clock=clock)
    for number in range(5_000):
        pace.close(number, clock.now + 1)
    assert all(pace.delay(number) == pytest.approx(1) for number in range(5_000))


@given(
    st.floats(0.01, 1_000),
    st.integers(1, 20),
    st.lists(st.floats(0, 5), min_size=1, max_size=60),
)
def test_never_more_than_the_burst_and_the_rate_and_whoever_waits_as_told_is_served(
    rate: float, burst: int, pauses: list[float]
) -> None:
    clock = Clock()
    pace = Pace(rate, burst, clock=clock)
    taken: list[float] = []
    for pause in pauses:
        clock.now += pause
        wait = pace.delay("chat")
        clock.now += wait
        if wait:
            assert pace.delay("chat") == 0
        taken.append(clock.now)
    for first, start in enumerate(taken):
        for count, end in enumerate(taken[first:], 1):
            assert count <= burst + (end - start) * rate + 1e-6 * (1 + rate)
