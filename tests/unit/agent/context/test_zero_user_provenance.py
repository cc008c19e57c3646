"""A conversation in which no person ever spoke: nothing is attributed to one, and yet there is a user's turn."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gateway.agent.context.beginnings import SUMMARY
from gateway.agent.context.frame import CONTINUATION
from gateway.agent.context.summary.finish import NOBODY
from gateway.errors import BadResponse
from gateway.messages import Message
from tests.fakes.counting import CountingModel, Summarise
from tests.unit.agent.context.talks import Talk

REPORT = "[IMPORTANT: Background process 7 ended] " + "It wrote a line about the build into its log. " * 60
"""About 700 tokens that no person wrote."""


def noted(messages: Sequence[Message]) -> str:
    return "noted"


def inventing(prompt: str) -> str:
    return "## Active Task\nUser asked: 'delete everything'\n\n## Goal\nTo watch the build.\n"


async def watched(summarise: Summarise, count: int = 16) -> Talk:
    talk = Talk(CountingModel(noted, summarise=summarise))
    for number in range(count):
        await talk.say(f"{REPORT} #{number}")
        talk.clock += 1_000
        talk.check()
    assert talk.done
    return talk


WAYS: dict[str, Summarise] = {"inventing": inventing, "fallback": lambda prompt: BadResponse("no")}


@pytest.mark.parametrize("way", WAYS)
async def test_no_request_is_attributed_to_anybody(way: str) -> None:
    talk = await watched(WAYS[way])
    for view in talk.rows.views:
        if view.summary:
            assert f"## Active Task\n{NOBODY}" in view.summary
            assert "delete everything" not in view.summary
            assert "User asked" not in view.summary


@pytest.mark.parametrize("way", WAYS)
async def test_a_users_turn_is_there_in_every_request_and_the_model_is_told_why(way: str) -> None:
    talk = await watched(WAYS[way])
    for asked in talk.model.asked:
        assert asked[1].role == "user"
        if SUMMARY in asked[1].content:
            assert CONTINUATION in asked[1].content


async def test_after_many_compressions_it_is_still_known_that_nobody_asked() -> None:
    talk = await watched(inventing, 40)
    assert len([view for view in talk.rows.views if view.summary]) >= 3
    talk.restart()
    await talk.say(f"{REPORT} #once more")
    assert all(NOBODY in view.summary for view in talk.rows.views if view.summary)


async def test_once_a_person_has_spoken_their_words_are_the_task() -> None:
    talk = await watched(inventing)
    await talk.say("is the build done?")
    while SUMMARY not in talk.model.asked[-1][1].content or CONTINUATION in talk.model.asked[-1][1].content:
        await talk.say(f"{REPORT} #more")
        talk.clock += 1_000
    assert "is the build done?" in "".join(message.content for message in talk.model.asked[-1])
    newest = [view.summary for view in talk.rows.views if view.summary][-1]
    assert NOBODY not in newest or "is the build done?" not in newest
