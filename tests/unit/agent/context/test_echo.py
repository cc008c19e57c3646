"""A model that repeats the summary it was given shows it to nobody, however its answer is cut into deltas."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.context.beginnings import OLD_SUMMARY, SUMMARY
from gateway.agent.context.echo import Echo, strip_echo, unechoed
from gateway.agent.context.frame import END, NOTE, PREFIX, PRIOR, PRIOR_ENDS, framed
from gateway.agent.context.summary.sections import RECOVERY
from gateway.contracts.model import Completed, ModelPiece
from gateway.messages import Retracted, TextDelta, ToolCall

BODY = "## Active Task\nThe tax form, page 3.\n\n## Goal\nThe form is sent."
ECHO = framed(BODY)


def shown(*deltas: str) -> str:
    echo = Echo()
    return "".join([*map(echo.feed, deltas), echo.flush()])


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("The light is dim.\n", "The light is dim.\n"),
        (ECHO, ""),
        (f"{ECHO}\n\nThe light is dim.", "The light is dim."),
        (f"{ECHO} The light is dim.", "The light is dim."),
        (f"Sure.\n\n{ECHO}\n\nThe light is dim.", "Sure.\n\nThe light is dim."),
        (f"{ECHO.upper()}\nThe light is dim.", "The light is dim."),
        (f"{ECHO}\n{ECHO}\nThe light is dim.", "The light is dim."),
        (f"{ECHO}{ECHO}\nThe light is dim.", "The light is dim."),
        (f"{framed(BODY, asked=False)}\n\nThe light is dim.", "The light is dim."),
        ("> " + ECHO.replace("\n", "\n> ") + "\n\nThe light is dim.", "The light is dim."),
        (f"**{SUMMARY}**\nThe light is dim.", "The light is dim."),
        (
            f"{SUMMARY.replace('—', '-')}\n{BODY}\n\n--- END OF CONTEXT SUMMARY ---\n\nThe light is dim.",
            "The light is dim.",
        ),
        (f"{NOTE}\nThe light is dim.", "The light is dim."),
        (f"{END}\nThe light is dim.", "The light is dim."),
        (f"{PRIOR}\nThe light is dim.\n{PRIOR_ENDS}\n{ECHO}", "The light is dim.\n"),
        (f"{ECHO}\r\nThe light\r\nis dim.", "The light\r\nis dim."),
    ],
)
def test_a_repeated_summary_is_not_shown(answer: str, left: str) -> None:
    assert strip_echo(answer) == left
    assert shown(*answer) == left


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        (SUMMARY, ""),
        (PREFIX, ""),
        (ECHO[:200], ""),
        (ECHO[: len(PREFIX) + 40], ""),
        (f"Sure.\n{OLD_SUMMARY}\n**Goal:**\nThe form is sent.", "Sure.\n"),
        (f"> {SUMMARY}\n> ## Goal\n> The form is sent.", ""),
        (f"{PREFIX}\nThe form is on page 3.\n\n## {RECOVERY}\nSearch for the rest.", ""),
        (f"{PREFIX}\nThe light is dim.\n## Goal\nis a heading.", "The light is dim.\n## Goal\nis a heading."),
        (f"{SUMMARY} The light is dim.", "The light is dim."),
        (f"{PREFIX}\nThe light is dim.", "The light is dim."),
        (f"{SUMMARY} Earlier turns were compacted into the summary below. The light is dim.", "The light is dim."),
        (f"{OLD_SUMMARY} the light is dim.", "the light is dim."),
    ],
)
def test_of_an_echo_that_does_not_end_only_an_answer_is_left(answer: str, left: str) -> None:
    assert strip_echo(answer) == left
    assert shown(*answer) == left


@pytest.mark.parametrize(
    "answer",
    [
        f"The header is {SUMMARY}\nand the end is {END}",
        f"`{SUMMARY}`\nis the header, `{END}` the end.",
        "[CONTEXT] is a word\n[1] and [2]",
        "a\n---\nb\n--- \n[CONT",
        "    indented\n\n\n  text  \n",
        "## Active Task\nis a heading of its own",
    ],
)
def test_text_about_the_marks_stays(answer: str) -> None:
    assert strip_echo(answer) == answer
    assert shown(*answer) == answer


PIECES = [
    "\n",
    "\r\n",
    " ",
    "> ",
    SUMMARY,
    OLD_SUMMARY,
    PREFIX,
    END,
    NOTE,
    BODY,
    "---",
    "—",
    "[CONTEXT ",
    "tea",
    ": ",
    "x" * 600,
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join), st.data())
def test_how_an_answer_is_cut_changes_nothing(answer: str, data: st.DataObject) -> None:
    cuts: Sequence[int] = sorted(data.draw(st.sets(st.integers(0, len(answer)), max_size=8)))
    deltas = [answer[start:end] for start, end in zip([0, *cuts], [*cuts, len(answer)], strict=True)]
    assert shown(*deltas) == shown(*answer) == strip_echo(answer)


@given(st.text("aç天 .#\n", max_size=80), st.text("ab天 .\n", max_size=80))
def test_whatever_the_summary_says_only_the_answer_is_left(summary: str, answer: str) -> None:
    assert strip_echo(f"{framed(summary)}\n\n{answer}") == answer.lstrip()


def test_text_that_is_no_mark_is_shown_at_once() -> None:
    echo = Echo()
    assert [echo.feed(delta) for delta in ("Yes", ", [", "b]\n", "[C", "y]", "\n-", "-x")] == [
        "Yes", ", [", "b]\n", "", "[Cy]", "\n", "--x",
    ]  # fmt: skip


async def passed_on(*given: ModelPiece) -> list[ModelPiece]:
    async def streamed() -> AsyncGenerator[ModelPiece]:
        for piece in given:
            yield piece

    return [piece async for piece in unechoed(streamed())]


async def test_what_is_streamed_and_what_is_stored_are_without_the_echo() -> None:
    call = ToolCall("c1", "dim")
    deltas = [TextDelta(letter) for letter in f"{ECHO}\n\nDim."]
    pieces = await passed_on(*deltas, Completed(f"{ECHO}\n\nDim.", (call,)))
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)) == "Dim."
    assert pieces[-1] == Completed("Dim.", (call,))


async def test_what_was_held_back_is_shown_at_the_end_and_dropped_where_all_is_void() -> None:
    assert await passed_on(TextDelta("[CON"), Completed("[CON")) == [TextDelta("[CON"), Completed("[CON")]
    again = await passed_on(TextDelta(ECHO[:300]), Retracted(), TextDelta("Yes"), Completed("Yes"))
    assert again == [Retracted(), TextDelta("Yes"), Completed("Yes")]
