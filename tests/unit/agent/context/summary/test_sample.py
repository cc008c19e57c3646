"""What is read of a conversation that is longer than what a model can read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.context.summary.clip import CUT, fit, spread
from gateway.agent.context.summary.sample import FRAME, places, sample
from gateway.agent.context.summary.serialise import serialise
from gateway.contracts.context import Row
from gateway.llm.tokens.messages import Estimates
from gateway.messages import Message
from tests.unit.agent.context.summary.talk import COUNT, REDACT, agent, long_talk, rows, user

WEIGHTS = st.lists(st.integers(1, 5_000), max_size=300)


def test_what_fits_is_read_whole() -> None:
    said = long_talk(10)
    tokens = Estimates().each([row.message for row in said])
    assert sample(said, tokens, 50_000, COUNT, REDACT) == serialise(said, REDACT)


def test_of_a_longer_one_the_beginning_all_along_and_the_whole_end_are_read() -> None:
    said = long_talk(1_000)
    tokens = Estimates().each([row.message for row in said])
    text = sample(said, tokens, 30_000, COUNT, REDACT)
    assert COUNT(text) <= 30_000
    assert text.startswith("[USER]: ask 0:")
    assert text.count("messages are left out here]") == 8
    assert serialise(said[-200:], REDACT) in text
    read = [number for number in range(1_000) if f"ask {number}:" in text]
    gaps = [later - sooner for sooner, later in zip(read, read[1:], strict=False)]
    assert max(gaps) < 125


def test_one_message_that_is_longer_than_everything_keeps_both_ends() -> None:
    said = rows(user("begins here" + " and goes on" * 20_000 + " and ends there"))
    tokens = Estimates().each([row.message for row in said])
    text = sample(said, tokens, 500, COUNT, REDACT)
    assert COUNT(text) <= 500
    assert text.startswith("[USER]: begins here")
    assert text.endswith("and ends there")


def test_ten_times_the_messages_are_not_read_ten_times() -> None:
    seen: list[int] = []

    def counting(text: str) -> str:
        seen.append(len(text))
        return text

    for turns in (1_000, 10_000):
        said = long_talk(turns)
        sample(said, Estimates().each([row.message for row in said]), 20_000, COUNT, counting)
        seen.append(-1)
    cut = seen.index(-1)
    assert sum(seen[cut + 1 : -1]) < 1.2 * sum(seen[:cut])


@given(WEIGHTS, st.integers(0, 60_000))
def test_stretches_are_in_order_apart_and_within_the_budget(weights: list[int], budget: int) -> None:
    kept = places(weights, budget)
    chosen = [place for start, end in kept for place in range(start, end)]
    assert chosen == sorted(set(chosen))
    assert all(start < end for start, end in kept)
    assert all(end < later for (_, end), (later, _) in zip(kept, kept[1:], strict=False)), "neighbours are one stretch"
    if weights:
        assert kept[-1][1] == len(weights), "the newest is always there"
        assert sum(weights[place] for place in chosen) <= max(budget, weights[-1])
    if sum(weights) <= budget and weights:
        assert kept == [(0, len(weights))]


@given(WEIGHTS.filter(bool), st.integers(100, 60_000))
def test_more_than_half_of_the_budget_is_the_newest(weights: list[int], budget: int) -> None:
    newest = places(weights, budget)[-1]
    start, used = len(weights), 0
    while start > 0 and used + weights[start - 1] <= int(budget * 0.55):
        start -= 1
        used += weights[start]
    assert newest[0] <= start


@given(st.lists(st.text(max_size=3_000), min_size=1, max_size=30), st.integers(60, 4_000))
def test_whatever_was_said_the_text_fits_and_is_the_same_each_time(texts: list[str], budget: int) -> None:
    said = rows(*(Message("assistant", text) for text in texts))
    tokens = Estimates().each([row.message for row in said])
    text = sample(said, tokens, budget, COUNT, REDACT)
    assert COUNT(text) <= budget
    assert text == sample(said, tokens, budget, COUNT, REDACT)
    last = serialise(said[-1:], REDACT)
    if COUNT(last) + FRAME < budget // 4:
        assert text.endswith(last)


@given(st.text(max_size=5_000), st.integers(0, 1_000))
def test_a_text_is_cut_to_its_tokens_in_the_middle(text: str, budget: int) -> None:
    shown = fit(text, budget, COUNT)
    assert COUNT(shown) <= budget
    if COUNT(text) <= budget:
        assert shown == text
    elif shown:
        head, _, tail = shown.partition(CUT)
        assert text.startswith(head)
        assert text.endswith(tail)


@given(st.lists(st.integers(0, 500), max_size=40), st.integers(0, 4_000))
def test_room_is_spread_so_that_short_ones_stay_whole(lengths: list[int], most: int) -> None:
    share = spread(lengths, most)
    assert sum(min(length, share) for length in lengths) <= most
    assert sum(lengths) > most or all(length <= share for length in lengths)


def test_a_summary_among_the_messages_is_not_read() -> None:
    said = [Row(0, user("[CONTEXT SUMMARY]: old"), summary=True), *rows(agent("new"))]
    assert sample(said, [5, 5], 1_000, COUNT, REDACT) == "[ASSISTANT]: new"
