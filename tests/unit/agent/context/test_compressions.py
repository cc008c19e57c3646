"""Whatever was said and however often it is compressed, the conversation stays one that can be gone on with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.agent.context.assembly import assemble, viewed, wire
from gateway.agent.context.boundaries import OVERFULL, parted
from gateway.agent.context.echo import strip_echo
from gateway.agent.context.frame import CONTINUATION, END_BEGINS, PREFIX
from gateway.agent.context.settings import CompressionSettings
from gateway.agent.context.summary.spoken import asks
from gateway.agent.history import NO_ANSWER, repair
from gateway.contracts.context import Row, View
from gateway.messages import Message
from tests.fakes.model import check_strict
from tests.unit.agent.context.conversations import (
    SETTINGS,
    Session,
    answer,
    calls,
    result,
    rounds,
    rows_of,
    tokens_of,
    turns,
    user,
)


def check_usable(messages: Sequence[Message]) -> None:
    """A strict provider takes it as it is, and nothing needs repair; only an open end gets its answer."""
    check_strict(messages)
    ended = messages[-1].role == "assistant"
    assert repair(messages) == [*messages, *([] if ended else [Message("assistant", NO_ANSWER)])]


def check_compressed(session: Session, budget: int, changed: dict[int, Message], options: CompressionSettings) -> bool:
    """Compress, and look at all that must hold; say whether there was anything to compress."""
    before = session.rows
    weight = sum(tokens_of(before))
    divided = session.cut(budget, options, changed)
    assembled = session.compress(budget, options, changed)
    if divided is None or assembled is None:
        assert (divided, assembled) == (None, None)
        return False
    (start, end), parts = divided
    after = wire(assembled.rows)

    check_usable(after)
    assert sum(tokens_of([Row(0, message) for message in after])) < weight

    # what is stored says the same, to the byte, over the rows that were in view and over all there ever were
    assert viewed(before, [assembled.view]) == session.rows == list(assembled.rows)
    assert session.messages == wire(viewed(before, [assembled.view])) == after

    # the last thing a person said, and the last answer they could read, are there to the letter
    shown = [replace(row, message=changed.get(place, row.message)) for place, row in enumerate(before)]
    for wanted in (asks, lambda row: row.visible):
        last = next((row for row in reversed(shown) if wanted(row)), None)
        if last is not None:
            assert last in assembled.rows
            assert [message for message in after if message.content.endswith(last.message.content)]
    people = [row for row in assembled.rows if asks(row)]
    assert (CONTINUATION in assembled.view.summary) == (not people)

    # what stays is what it was; nothing is both gone and there; one summary, of all that was summed up
    assert list(parts.head) == shown[:start]
    assert shown[end:] == list(parts.tail)[len(parts.tail) - (len(before) - end) :]
    tail = len(before) - end
    assert all(mine is row.message for mine, row in zip(after[::-1][: max(0, tail - 1)], shown[::-1], strict=False))
    assert sum(tokens_of(shown[end:])) <= budget * OVERFULL
    if end < len(shown) and shown[end].message.role != "user":
        begun = next(
            (row for row in reversed(shown[start:end]) if row.message.role == "user" and not row.summary), None
        )
        assert begun is None or begun in parts.tail
    assert {row.id for row in assembled.rows} | assembled.view.hidden == {row.id for row in before} | {0}
    assert not {row.id for row in assembled.rows} & assembled.view.hidden
    text = "".join(message.content for message in after)
    assert text.count(PREFIX) == 1
    assert assembled.view.summary.count(END_BEGINS) == 1
    assert strip_echo(assembled.view.summary) == ""
    assert [row for row in before if row.summary] == [row for row in parts.middle if row.summary]
    return True


def pruned(rows: Sequence[Row], every: int) -> dict[int, Message]:
    """Shorten old results, as pruning does."""
    old = [place for place, row in enumerate(rows) if row.message.role == "tool"]
    return {
        place: result(rows[place].message.call_id, "[look_up] (1,234 chars result)")
        for place in old[: len(old) // every]
    }


OPTIONS = st.builds(
    CompressionSettings,
    protect_first_n=st.sampled_from([0, 3, 8]),
    protect_last_n=st.sampled_from([0, 3, 20]),
    min_tail_user_messages=st.integers(0, 4),
)


@settings(max_examples=150)
@given(st.data(), OPTIONS, st.sampled_from([150, 600, 2000, 6000]))
def test_a_conversation_that_is_compressed_again_and_again_stays_whole(
    data: st.DataObject, options: CompressionSettings, budget: int
) -> None:
    session = Session()
    people = data.draw(st.sampled_from([True, True, True, False]), "people")
    number = 0
    for _ in range(data.draw(st.integers(1, 4), "compressions")):
        for _ in range(data.draw(st.integers(1, 5), "turns")):
            number += 1
            turn = data.draw(turns(number, person=people))
            session.say(turn)
        open_end = data.draw(st.integers(0, len(turn) - 1), "cut off")
        while open_end and turn[-open_end].role == "tool":
            open_end -= 1
        written, session.stored = session.stored, session.stored[: len(session.stored) - open_end]
        check_usable(session.messages)
        for _ in range(data.draw(st.integers(1, 2), "at once")):
            changed = pruned(session.rows, data.draw(st.sampled_from([1, 2, 1000]), "pruned"))
            earlier = session.messages
            if check_compressed(session, budget, changed, options) and data.draw(st.booleans(), "undone"):
                session.views.pop()
                assert session.messages == earlier
        session.stored += written[len(session.stored) :]
        check_usable(session.messages)


@given(st.data(), st.sampled_from([150, 600, 2000]))
def test_a_turn_that_is_taken_back_leaves_a_conversation(data: st.DataObject, budget: int) -> None:
    session = Session()
    first = 0
    for number in range(1, data.draw(st.integers(2, 7)) + 1):
        first = len(session.stored)
        session.say(data.draw(turns(number)))
    session.compress(budget)
    session.views.append(View(hidden=frozenset(row.id for row in session.stored[first:])))
    if session.messages:
        check_usable(session.messages)
    session.say([user("once more"), answer("gladly")])
    check_usable(session.messages)
    check_compressed(session, budget, {}, SETTINGS)


CRASHED = st.one_of(
    st.builds(user, st.sampled_from(["", "ask", "ask"])),
    st.builds(answer, st.sampled_from(["", "said", "said"])),
    st.lists(st.sampled_from("abc"), max_size=3).map(lambda ids: calls(*ids)),
    st.lists(st.sampled_from("abc"), max_size=3).map(lambda ids: calls(*ids, text="looking")),
    st.builds(result, st.sampled_from("abcd")),
)


@given(st.data(), st.lists(CRASHED, max_size=14), st.sampled_from([0, 100, 1_000]))
def test_whatever_crashes_left_is_accepted_after_a_compression(
    data: st.DataObject, said: list[Message], budget: int
) -> None:
    rows = rows_of(said)
    cut = sorted(data.draw(st.tuples(*[st.integers(0, len(rows))] * 2)))
    assembled = assemble(parted(rows, tokens_of(rows), (cut[0], cut[1]), budget), "the summary")
    check_usable(wire(assembled.rows))
    assert wire(viewed(rows, [assembled.view])) == wire(assembled.rows)
    for wanted in (asks, lambda row: row.visible):
        last = next((row for row in reversed(rows) if wanted(row)), None)
        assert last is None or last.id in {row.id for row in assembled.rows}


@example(300, 4_000)
@given(st.integers(1, 120), st.sampled_from([300, 1_000, 4_000]))
@settings(max_examples=20)
def test_three_hundred_calls_in_one_turn_fit_again_whenever_they_are_compressed(number: int, budget: int) -> None:
    session = Session()
    session.say([user("do all of it"), *rounds(0, number)])
    while check_compressed(session, budget, {}, SETTINGS):
        pass
    assert session.messages[0].content.endswith("do all of it")
    kept = sum(tokens_of(session.rows))
    assert kept <= budget * OVERFULL + 1_000 or number < 10
