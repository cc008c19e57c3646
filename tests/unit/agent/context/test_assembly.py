"""What the model is shown after a compression, and that it is shown the same after a restart."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.agent.context.assembly import assemble, viewed, wire
from gateway.agent.context.boundaries import Parts
from gateway.agent.context.frame import CONTINUATION, END, PRIOR, REMOVED, framed
from gateway.agent.history import NO_ANSWER
from gateway.contracts.context import Row, View
from gateway.messages import Message
from tests.fakes.model import check_strict
from tests.unit.agent.context.conversations import NOBODY, Session, answer, calls, result, rounds, rows_of, user

SUMMARY = "## Goal\nThe form is sent."
FRAMED = framed(SUMMARY)


def cut(rows: Sequence[Row], start: int, end: int) -> Parts:
    return Parts(tuple(rows[:start]), tuple(rows[start:end]), tuple(rows[end:]))


def roles(messages: Sequence[Message]) -> str:
    return " ".join(message.role for message in messages)


def talk(*said: Message) -> list[Row]:
    return rows_of(said)


FORM = [
    user("the tax form"),
    answer("which page?"),
    user("page 3"),
    answer("done"),
    user("dim the light"),
    answer("ok"),
]


# --- where the summary stands


def test_a_summary_stands_before_the_words_of_the_person_who_speaks_next() -> None:
    made = assemble(cut(talk(*FORM[:5]), 0, 4), SUMMARY)
    assert wire(made.rows) == [user("dim the light", f"{FRAMED}\n\ndim the light")]
    assert wire(made.rows)[0].content.endswith(f"{END}\n\ndim the light")
    assert PRIOR not in wire(made.rows)[0].content


def test_a_summary_is_never_the_models_own_words() -> None:
    made = assemble(cut(talk(*FORM), 0, 3), SUMMARY)
    assert roles(wire(made.rows)) == "user assistant user assistant"
    assert wire(made.rows)[0] == user(FRAMED)
    assert wire(made.rows)[1] is FORM[3]


def test_between_a_beginning_and_an_end_it_speaks_in_turn() -> None:
    made = assemble(cut(talk(*FORM), 2, 4), SUMMARY)
    assert roles(wire(made.rows)) == "user assistant user assistant"
    assert wire(made.rows)[:2] == FORM[:2]
    assert wire(made.rows)[2].content == f"{FRAMED}\n\ndim the light"
    assert made.view == View(frozenset({3, 4}), {}, FRAMED, after=2)


def test_a_beginning_that_ends_with_a_question_gives_it_to_the_end() -> None:
    made = assemble(cut(talk(*FORM), 3, 5), SUMMARY)
    assert roles(wire(made.rows)) == "user assistant user assistant"
    assert wire(made.rows)[2].content == f"{FRAMED}\n\npage 3"
    assert made.view.after == 2


def test_where_nothing_else_stays_the_summary_is_all() -> None:
    made = assemble(cut(talk(*FORM), 0, 6), SUMMARY)
    assert wire(made.rows) == [user(framed(SUMMARY, asked=False))]


def test_messages_that_stay_are_sent_as_they_were_to_the_byte() -> None:
    said = [*FORM, user("and the blinds", "[Ann] and the blinds"), *rounds(0, 2), answer("closed")]
    made = assemble(cut(talk(*said), 2, 4), SUMMARY)
    assert all(mine is theirs for mine, theirs in zip(wire(made.rows)[3:], said[5:], strict=True))


def test_what_was_composed_into_a_message_stays_behind_the_summary() -> None:
    made = assemble(cut(talk(*FORM[:4], user("dim it", "[Ann] dim it")), 0, 4), SUMMARY)
    assert wire(made.rows) == [user("dim it", f"{FRAMED}\n\n[Ann] dim it")]


# --- where nobody asked


def test_where_no_person_ever_asked_the_model_is_told_to_go_on() -> None:
    made = assemble(cut(talk(user(NOBODY), *rounds(0, 3)), 1, 5), SUMMARY)
    assert wire(made.rows)[0].content == f"{FRAMED}\n\n{CONTINUATION}\n\n{NOBODY}"
    check_strict(wire(made.rows))


def test_where_a_person_asked_nobody_tells_the_model_to_go_on() -> None:
    made = assemble(cut(talk(*FORM), 0, 4), SUMMARY)
    assert CONTINUATION not in wire(made.rows)[0].content


# --- calls and results


def test_a_result_without_its_call_is_not_shown() -> None:
    rows = talk(user("do it"), calls("a", "b"), result("a"), result("b"), answer("done"))
    made = assemble(cut(rows, 0, 3), SUMMARY)
    assert wire(made.rows) == [user(framed(SUMMARY, asked=False)), rows[4].message]
    assert made.view.hidden == {1, 2, 3, 4}


def test_a_call_without_its_result_is_taken_out_of_what_was_said() -> None:
    rows = talk(user("do it"), calls("a", "b", text="looking"), result("a"), result("b"), answer("done"))
    made = assemble(Parts(tuple(rows[:1]), (rows[3],), (rows[1], rows[2], rows[4])), SUMMARY)
    assert wire(made.rows)[1:] == [calls("a", text="looking"), result("a"), answer("done")]
    assert made.view.shown == {2: calls("a", text="looking")}
    check_strict(wire(made.rows))


def test_a_message_of_nothing_but_lost_calls_says_so() -> None:
    rows = talk(user("do it"), calls("a"), result("a"), user("and?"), answer("done"))
    made = assemble(Parts((), (rows[0], rows[2]), (rows[1], *rows[3:])), SUMMARY)
    assert wire(made.rows)[1] == answer(REMOVED)
    assert made.view.shown == {2: answer(REMOVED)}


def test_calls_that_had_no_result_when_it_was_cut_are_not_sent() -> None:
    rows = talk(*FORM, user("now all"), calls("a", "b", "c"), result("a"))
    made = assemble(cut(rows, 0, 4), SUMMARY)
    assert wire(made.rows)[-2:] == [calls("a"), result("a")]
    check_strict(wire(made.rows))


# --- what is stored


def test_what_was_shortened_is_stored_and_sent() -> None:
    rows = talk(*FORM[:2], user("look"), *rounds(0, 1), answer("seen"))
    short = result("c0", "short")
    shown = [row if row.id != 5 else Row(5, short) for row in rows]
    made = assemble(Parts((), tuple(shown[:2]), tuple(shown[2:]), {5: short}), SUMMARY)
    assert made.view.shown == {5: short}
    assert tuple(viewed(rows, [made.view])) == made.rows
    assert wire(made.rows)[2] == short


def test_of_several_summaries_the_newest_stands_for_all() -> None:
    session = Session()
    for number in range(3):
        session.say([user(f"form {number}"), *rounds(10 * number, 9), answer(f"done {number}")])
        made = session.compress(500)
        assert made is not None
        assert session.messages == wire(made.rows)
        summaries = [row for row in session.rows if row.summary]
        assert [row.message.content for row in summaries] == [made.view.summary]
        assert f"Compression {number + 1} of" in session.messages[0].content
        assert session.messages[0].content.endswith(f"\n\nform {number}")
        check_strict(session.messages)


def test_a_compression_that_is_undone_leaves_what_was_there_before() -> None:
    session = Session()
    session.say([user("form"), *rounds(0, 9), answer("done")])
    assert session.compress(500) is not None
    first = session.messages
    session.say([user("another"), *rounds(10, 9), answer("done too")])
    both = session.messages
    assert session.compress(500) is not None
    session.views.pop()
    assert session.messages == both
    assert session.messages[: len(first)] == first


def test_a_view_that_only_shortens_has_no_summary() -> None:
    rows = talk(user("look"), *rounds(0, 1), answer("seen"))
    seen = viewed(rows, [View(shown={3: result("c0", "short")})])
    assert wire(seen) == [user("look"), calls("c0"), result("c0", "short"), answer("seen")]


def test_what_is_not_stored_yet_comes_last() -> None:
    rows = talk(*FORM)
    view = assemble(cut(rows, 0, 6), SUMMARY).view
    seen = viewed([*rows, Row(0, user("and now?"))], [view])
    assert [row.message.text for row in seen] == [view.summary, "and now?"]


# --- what is sent of rows as they are


def test_rows_that_nothing_was_done_to_are_sent_as_they_are() -> None:
    assert all(mine is theirs for mine, theirs in zip(wire(talk(*FORM)), FORM, strict=True))
    assert wire([]) == []


def test_only_the_end_is_left_open() -> None:
    assert wire(talk(*FORM[:3])) == FORM[:3]
    assert wire(talk(user("do it"), *rounds(0, 1)))[-1].role == "tool"
    closed = [user("hello"), answer(NO_ANSWER)]
    assert wire(talk(*closed)) == closed
