"""The judge of the crash tests sees every fault that it is there to see."""

from __future__ import annotations

from tests.crash.verdict import Asked, Ends, Shown, judge, judge_calls, judge_memory

ONE, TWO = Asked(1, 10, 10, 3), Asked(2, 10, 10, 2)
OTHER = Asked(3, 10, 11, 2)
KNOWN = {"say:", "hello"}


def bot(text: str, at: float = 0, *, answered: bool = True) -> Shown:
    return Shown(text, at, answered)


def faults(*shown: Shown, asked: tuple[Asked, ...] = (ONE, TWO), ends: Ends | None = None) -> list[str]:
    return judge(asked, shown, ends or Ends(), KNOWN).faults


def test_answers_in_order_are_right_however_they_are_joined_or_cut() -> None:
    assert faults(bot("m1-1 m1-2 m1-3"), bot("m2-1 m2-2")) == []
    assert faults(bot("m1-1 m1-2 m1-3\n\nsay:m2-1"), bot("m2-2")) == []


def test_a_lost_answer_is_seen() -> None:
    assert faults(bot("m1-1 m1-2 m1-3")) == ["m2 (hit 0 times): never answered"]


def test_a_gap_is_seen() -> None:
    assert faults(bot("m1-1 m1-3"), bot("m2-1 m2-2")) == ["m1 (hit 0 times): its answer has gaps"]


def test_an_answer_that_stands_there_twice_is_seen() -> None:
    twice = faults(bot("m1-1 m1-2 m1-3"), bot("m1-1 m1-2 m1-3"), bot("m2-1 m2-2"))
    assert twice == ["m1 (hit 0 times): its answer stands there more than once"]


def test_an_answer_out_of_order_is_seen() -> None:
    assert faults(bot("m2-1 m2-2"), bot("m1-1 m1-2 m1-3")) == [
        "out of order: [1, 2] were asked for, [2, 1] stand there"
    ]


def test_people_of_one_group_may_be_answered_in_any_order() -> None:
    assert faults(bot("m3-1 m3-2"), bot("m1-1 m1-2 m1-3"), asked=(ONE, OTHER)) == []


def test_a_live_message_is_no_answer() -> None:
    verdict = judge((TWO,), (bot("m2-1 m2-2 ▌"),), Ends(), KNOWN)
    assert verdict.orphans == 1
    assert verdict.faults == ["m2 (hit 0 times): never answered"]


def test_a_live_message_that_was_edited_is_known_and_must_be_taken_up_again() -> None:
    left = Shown("m2-1 ▌", at=0, answered=True, edits=1)
    assert len(faults(left, bot("m2-1 m2-2"), asked=(TWO,))) == 1


def test_a_marked_copy_of_what_never_arrived_is_the_answer() -> None:
    verdict = judge((TWO,), (bot("↻\n\nm2-1 m2-2"),), Ends(), KNOWN)
    assert (verdict.faults, verdict.marked, verdict.doubled) == ([], 1, 0)


def test_a_marked_second_copy_needs_a_kill_between_the_two() -> None:
    shown = (bot("m2-1 m2-2", at=5), bot("↻\n\nm2-1 m2-2", at=9))
    assert judge((TWO,), shown, Ends(kills=(7,)), KNOWN).faults == []
    assert judge((TWO,), shown, Ends(kills=(7,)), KNOWN).doubled == 1
    assert judge((TWO,), shown, Ends(kills=(3, 11)), KNOWN).faults
    assert judge((TWO,), shown, Ends(losses=(9.5,)), KNOWN).faults == []
    assert judge((TWO,), shown, Ends(losses=(4,)), KNOWN).faults


def test_a_marked_second_copy_may_follow_a_request_that_was_never_answered() -> None:
    assert faults(bot("m2-1 m2-2", answered=False), bot("↻\n\nm2-1 m2-2"), asked=(TWO,)) == []


def test_a_second_copy_without_the_mark_is_a_fault_even_after_a_kill() -> None:
    assert faults(bot("m2-1 m2-2", at=5), bot("m2-1 m2-2", at=9), asked=(TWO,), ends=Ends(kills=(7,)))


def test_words_of_the_gateway_itself_are_seen() -> None:
    assert faults(bot("m2-1 m2-2"), bot("I tried three times"), asked=(TWO,))


def test_an_answer_in_another_chat_is_seen() -> None:
    assert faults(bot("m2-1 m2-2"), bot("m9-1"), asked=(TWO,)) == ["m9 is answered in another chat"]


def test_calls_that_ran_twice_or_without_being_asked_for_or_never_are_seen() -> None:
    calm, hit = Asked(1, 10, 10, 1, ("m1a",)), Asked(2, 10, 10, 1, ("m2a",), hits=1)
    assert judge_calls((calm, hit), ["m1a"]) == []
    assert judge_calls((calm, hit), ["m1a", "m2a", "m2a"]) == ["the call m2a ran 2 times"]
    assert judge_calls((calm, hit), ["m1a", "m7a"]) == ["a call that nobody asked for: 'm7a'"]
    assert judge_calls((calm, hit), ["m2a"]) == ["the call m1a never ran"]


def test_what_the_model_was_shown_must_be_all_that_was_said_once() -> None:
    first, answer = (
        {"role": "user", "content": "say:m1-1 m1-2 m1-3"},
        {"role": "assistant", "content": "m1-1 m1-2 m1-3"},
    )
    last = {"role": "user", "content": "say:m2-1 m2-2"}
    assert judge_memory((ONE, TWO), [first, answer, last]) == []
    assert judge_memory((ONE, TWO), [last])
    assert judge_memory((ONE, TWO), [first, {"role": "assistant", "content": None}, last])
    assert judge_memory(
        (ONE, TWO), [{"role": "user", "content": f"{first['content']}\n\n{first['content']}"}, answer, last]
    )
