"""The line about the compressions of a turn."""

from __future__ import annotations

import pytest

from gateway.agent.context.settings import CompressionSettings
from gateway.messages import Compressing, CompressionEnded, Progress, TextDelta
from gateway.turns.notices import CompressionNotice, Wanted, wanted

TWICE: list[Progress] = [
    Compressing(84_000),
    CompressionEnded(84_000, 31_000, 1),
    TextDelta("So"),
    Compressing(60_000),
    CompressionEnded(60_000, 950, 2),
]


def lines(notice: CompressionNotice, reported: list[Progress]) -> list[str]:
    found = []
    for progress in reported:
        notice.hear(progress)
        found.append(notice.line)
    return found


def test_what_is_kept_tells_of_every_compression_of_the_turn_in_one_line() -> None:
    notice = CompressionNotice("kept")
    assert lines(notice, TWICE) == [
        "🗜️ compressing… (84k tokens)",
        "🗜️ done: 84k → 31k tokens",
        "🗜️ done: 84k → 31k tokens",
        "🗜️ done: 84k → 31k tokens; compressing… (60k tokens)",
        "🗜️ done: 84k → 31k, 60k → 950 tokens",
    ]
    assert notice.result == "🗜️ done: 84k → 31k, 60k → 950 tokens"


def test_what_is_not_kept_gives_way_to_the_answer() -> None:
    notice = CompressionNotice("progress")
    assert lines(notice, TWICE)[2:4] == ["", "🗜️ compressing… (60k tokens)"]
    assert notice.result == ""


def test_what_changed_nothing_is_no_result() -> None:
    notice = CompressionNotice("kept")
    reported: list[Progress] = [Compressing(84_000), CompressionEnded(84_000, 84_000, 0, "no model", failed=True)]
    assert lines(notice, reported)[-1] == "🗜️ nothing was changed"
    assert notice.result == ""


def test_what_an_earlier_attempt_of_the_turn_did_counts() -> None:
    assert CompressionNotice("kept", [(84_000, 31_000)]).result == "🗜️ done: 84k → 31k tokens"


@pytest.mark.parametrize(
    ("progress", "keep", "expected"),
    [(False, False, "nothing"), (False, True, "nothing"), (True, False, "progress"), (True, True, "kept")],
)
def test_the_settings_say_what_is_wanted(*, progress: bool, keep: bool, expected: Wanted) -> None:
    assert wanted(CompressionSettings(progress_notices=progress, keep_notices=keep)) == expected
