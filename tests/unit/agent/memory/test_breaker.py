"""What fails again and again is left alone for a while, then tried once."""

from __future__ import annotations

from gateway.agent.memory.breaker import Breaker


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def failed(times: int) -> tuple[Breaker, Clock]:
    clock = Clock()
    breaker = Breaker(clock=clock)
    for _ in range(times):
        assert breaker.allows()
        breaker.failed()
    return breaker, clock


def test_four_failures_are_borne_and_a_success_forgets_them() -> None:
    breaker, _ = failed(4)
    assert breaker.allows()
    breaker.succeeded()
    for _ in range(4):
        breaker.failed()
    assert breaker.allows()


def test_only_the_failure_that_opens_it_says_so() -> None:
    breaker, _ = failed(4)
    assert [breaker.failed() for _ in range(3)] == [True, False, False]


def test_after_five_failures_nothing_is_called_for_two_minutes() -> None:
    breaker, clock = failed(5)
    clock.now += 119.9
    assert not breaker.allows()
    clock.now += 0.1
    assert breaker.allows()


def test_while_one_call_is_tried_the_others_wait() -> None:
    breaker, clock = failed(5)
    clock.now += 120
    assert [breaker.allows() for _ in range(3)] == [True, False, False]
    breaker.succeeded()
    assert [breaker.allows() for _ in range(3)] == [True, True, True]


def test_a_try_that_fails_begins_the_pause_anew() -> None:
    breaker, clock = failed(5)
    clock.now += 120
    assert breaker.allows()
    clock.now += 60
    breaker.failed()
    clock.now += 119
    assert not breaker.allows()
    clock.now += 1
    assert breaker.allows()


def test_a_try_that_was_given_up_leaves_it_to_the_next() -> None:
    breaker, clock = failed(5)
    clock.now += 120
    assert breaker.allows()
    breaker.undecided()
    assert [breaker.allows() for _ in range(2)] == [True, False]
