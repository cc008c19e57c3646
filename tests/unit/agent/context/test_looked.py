"""What one is told of a context: what fills the window, how the threshold came about, what keeps compressions off."""

from __future__ import annotations

import pytest

from gateway.agent.context.frame import NOTE, framed
from gateway.agent.context.guards import Guards
from gateway.agent.context.looked import Measure, Share
from gateway.agent.context.meter import Meter
from gateway.agent.context.settings import CompressionSettings
from gateway.agent.context.standing import standing
from gateway.agent.context.threshold import explained, threshold
from gateway.agent.prompt.prompt import Prompt
from gateway.contracts.context import Row
from gateway.contracts.tool import ToolSpec
from gateway.llm.tokens.calibration import Calibrations
from gateway.llm.tokens.messages import estimate, estimate_tools
from gateway.messages import Message, ToolCall, Usage
from tests.fakes.model import DrivenModel

NOW = 1_000_000.0
SPECS = [ToolSpec("look", "Look something up.", {"type": "object"})]
ROWS = [
    Row(0, Message("user", framed("## Goal\nTo get home.")), summary=True),
    Row(1, Message("user", "where is the key?")),
    Row(2, Message("assistant", "", (ToolCall("c1", "look"),))),
    Row(3, Message("tool", "under the mat", call_id="c1", name="look")),
    Row(4, Message("assistant", "Under the mat.")),
]


def measure(calibrations: Calibrations | None = None) -> Measure:
    return Measure(DrivenModel(), SPECS, Meter(calibrations or Calibrations(), "driven"))


def test_every_message_is_counted_with_its_kind_and_all_together_are_the_request() -> None:
    filled = measure().fill(Prompt("Be kind."), ROWS)
    request = [Message("system", f"Be kind.\n\n{NOTE}"), *(row.message for row in ROWS)]
    assert filled.total == sum(map(estimate, request)) + estimate_tools(SPECS)
    assert [share.number for share in (filled.tools, filled.people, filled.answers, filled.results)] == [1, 1, 2, 1]
    assert filled.summary == estimate(ROWS[0].message)


def test_of_an_empty_conversation_only_prompt_and_tools_count() -> None:
    filled = measure().fill(Prompt("Be kind."), [])
    assert filled.people == filled.answers == filled.results == Share(0, 0)
    assert filled.total == estimate(Message("system", "Be kind.")) + estimate_tools(SPECS)


def test_what_the_endpoint_counts_corrects_every_figure() -> None:
    known = Calibrations()
    for _ in range(50):
        known.learn("driven", 1_000, Usage(prompt=2_000))
    plain, corrected = measure().fill(Prompt("Be kind."), ROWS), measure(known).fill(Prompt("Be kind."), ROWS)
    assert 1.9 < corrected.total / plain.total < 2.1


def test_the_answer_has_room_of_its_own_in_the_window() -> None:
    model = DrivenModel()
    model.window, model.max_tokens = 8_000, 1_000
    assert Measure(model, (), Meter(Calibrations(), "driven")).room == 7_000
    model.max_tokens = 9_000
    assert Measure(model, (), Meter(Calibrations(), "driven")).room == 8_000


@pytest.mark.parametrize(
    ("settings", "window", "answer", "words"),
    [
        ({}, 1_000_000, None, "50% of 1,000,000 tokens"),
        ({}, 200_000, None, "75% of 200,000 tokens"),
        ({"threshold": 0.8}, 200_000, None, "80% of 200,000 tokens"),
        ({}, 200_000, 8_000, "75% of 192,000 tokens (the window without the 8,000 kept for an answer)"),
        ({}, 80_000, None, "the least there is, of 80,000 tokens"),
        ({}, 8_000, None, "85% of 8,000 tokens"),
        ({"threshold_tokens": 30_000}, 200_000, None, "as compression.threshold_tokens says"),
    ],
)
def test_how_a_threshold_came_about_is_said(
    settings: dict[str, float], window: int, answer: int | None, words: str
) -> None:
    chosen = CompressionSettings.model_validate(settings)
    assert explained(chosen, threshold(chosen, "m", window, answer), "m", window) == words


@pytest.mark.parametrize(
    ("guards", "lines"),
    [
        (Guards(), []),
        (
            Guards(until=NOW + 240, reason="the endpoint\nhas trouble."),
            ["paused for 4 min, since the last compression failed: the endpoint has trouble"],
        ),
        (Guards(ineffective=1), ["1 in a row won too little (at 2 automatic ones pause)"]),
        (
            Guards(ineffective=2, tried=NOW - 60),
            ["2 in a row won too little; the next automatic one in 4 min at the earliest"],
        ),
        (Guards(fallbacks=3, tried=NOW - 600), ["3 in a row had no model's summary; one more is tried"]),
        (Guards(held=True), ["held after an undo, until the model's endpoint counts more than the threshold"]),
        (Guards(until=NOW - 1, reason="long ago"), []),
    ],
)
def test_what_keeps_automatic_compressions_off_is_said_with_the_time_left(guards: Guards, lines: list[str]) -> None:
    assert standing(guards, NOW) == lines
