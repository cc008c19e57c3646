"""A model that repeats the fence shows it to nobody, however its answer is cut into deltas."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.memory.fence import CLOSE, NOTE, OPEN, compose
from gateway.agent.memory.scrub import Scrubber, scrubbed
from gateway.messages import Finished, Notice, Progress, Retracted, TextDelta, ToolCall, ToolStarted

ECHO = compose("", "likes tea\n\n- has a PIN").strip()


def shown(*deltas: str) -> str:
    scrubber = Scrubber()
    return "".join([*map(scrubber.feed, deltas), scrubber.flush()])


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("You like tea.\n", "You like tea.\n"),
        (ECHO, ""),
        (f"{ECHO}\n\nYou like tea.", "You like tea."),
        (f"Sure.\n\n{ECHO}\n\nYou like tea.", "Sure.\n\nYou like tea."),
        (f"Sure.\n  {ECHO.upper()} You like tea.", "Sure.\nYou like tea."),
        (f"{ECHO}\n{ECHO}\nYou like tea.", "You like tea."),
        (f"Sure.\n{OPEN}\nlikes tea and", "Sure.\n"),
        (f"Sure.\r\n{OPEN}\r\nlikes tea\r\n{CLOSE}\r\nYes.", "Sure.\r\nYes."),
        (f"Sure.\n{OPEN}", "Sure.\n"),
        (f"Sure.\n{NOTE}\nYou like tea.", "Sure.\nYou like tea."),
        (f"Sure.\n{CLOSE}\nYou like tea.", "Sure.\nYou like tea."),
        ("Sure.\n<memory-con", "Sure.\n<memory-con"),
    ],
)
def test_a_repeated_fence_is_not_shown(answer: str, left: str) -> None:
    assert shown(answer) == left
    assert shown(*answer) == left


@pytest.mark.parametrize(
    "answer",
    [
        f"The tag is called {OPEN}\nand it ends with {CLOSE}.",
        f"`{OPEN}`\nis the tag, `{CLOSE}` its end.",
        f"{OPEN} is the tag.",
        f"- {OPEN}\n- {CLOSE}",
        "[System note: this is mine]\n[1] and <b>",
        "a < b\n< c\n<mem\n[S",
        "    indented\n\n\n  text  \n",
    ],
)
def test_text_about_the_tag_stays(answer: str) -> None:
    assert shown(answer) == answer
    assert shown(*answer) == answer


PIECES = [
    "\n",
    "\r\n",
    " ",
    OPEN,
    CLOSE,
    NOTE,
    "<",
    "</memory",
    "-context>",
    "[System note: ",
    "tea",
    "`",
    OPEN.upper(),
    "x" * 300,
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join), st.data())
def test_how_an_answer_is_cut_changes_nothing(answer: str, data: st.DataObject) -> None:
    cuts: Sequence[int] = sorted(data.draw(st.sets(st.integers(0, len(answer)), max_size=8)))
    deltas = [answer[start:end] for start, end in zip([0, *cuts], [*cuts, len(answer)], strict=True)]
    assert shown(*deltas) == shown(answer) == shown(*answer)


def test_a_line_too_long_for_a_tag_is_none_however_it_is_cut() -> None:
    answer = f"{OPEN}{' ' * 600}\nlikes tea"
    assert shown(answer) == shown(*answer) == answer


def test_text_that_is_no_tag_is_shown_at_once() -> None:
    scrubber = Scrubber()
    assert [scrubber.feed(delta) for delta in ("Yes", ", <", "b>\n", "<m", "y>", "\n[", "1]")] == [
        "Yes", ", <", "b>\n", "", "<my>", "\n", "[1]",
    ]  # fmt: skip


def test_after_the_end_it_begins_anew() -> None:
    scrubber = Scrubber()
    assert scrubber.feed(f"{OPEN}\nlikes") == ""
    assert scrubber.flush() == ""
    assert scrubber.feed("tea\n") == "tea\n"


async def passed_on(*report: Progress) -> list[Progress]:
    async def reported() -> AsyncGenerator[Progress]:
        for progress in report:
            yield progress

    return [progress async for progress in scrubbed(reported())]


async def test_a_report_is_passed_on_without_the_fence() -> None:
    deltas = [TextDelta(letter) for letter in f"{ECHO}\n\nTea."]
    told = await passed_on(*deltas, Finished(f"{ECHO}\n\nTea.", ()))
    assert "".join(progress.text for progress in told if isinstance(progress, TextDelta)) == "Tea."
    assert told[-1] == Finished("Tea.", ())


async def test_a_notice_within_a_fence_does_not_end_it() -> None:
    told = await passed_on(TextDelta(f"{OPEN}\nlikes"), Notice("still here"), TextDelta(f"tea\n{CLOSE}\nYes"))
    assert told == [Notice("still here"), TextDelta("Yes")]


async def test_what_was_held_back_is_shown_before_a_tool_and_dropped_where_all_is_void() -> None:
    started = ToolStarted(ToolCall("c1", "look_up"))
    assert await passed_on(TextDelta("<mem"), started) == [TextDelta("<mem"), started]
    assert await passed_on(TextDelta("<mem"), Retracted(), TextDelta("Yes")) == [Retracted(), TextDelta("Yes")]


async def test_what_is_held_back_at_the_end_is_part_of_the_answer() -> None:
    assert await passed_on(TextDelta("<mem"), Finished("<mem", ())) == [Finished("<mem", ())]


async def test_an_answer_without_a_fence_keeps_its_white_space() -> None:
    assert await passed_on(Finished("    code\n", ())) == [Finished("    code\n", ())]
