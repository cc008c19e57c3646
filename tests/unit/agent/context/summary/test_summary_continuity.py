"""One compression after the other, with models that fail in every way: what goes on, and what never does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.agent.context.frame import framed
from gateway.agent.context.summary.fallback import fallback
from gateway.agent.context.summary.job import Job
from gateway.agent.context.summary.sections import HEADINGS, earlier, split
from gateway.agent.context.summary.summarise import Failure, summarise
from gateway.contracts.context import Row
from gateway.contracts.model import Completed
from gateway.errors import AuthFailed, ModelBusy, ModelError
from gateway.messages import Message
from tests.fakes.model import DrivenModel
from tests.unit.agent.context.summary.talk import COUNT, REDACT, SECRET, agent, call, job, rows, user

GOOD = "## Active Task\nNone.\n\n## Goal\nA fleet of oak.\n\n## Constraints & Preferences\n- Nothing on Sundays."
MARK = "[SKILL_PRUNED: content lost in compression; reload with skill_view(name='baking')]"
ANSWERS = ("good", "forgetful", "plain", "thinking", "empty", "cut", "echo", "busy", "key")


def answer(kind: str, asked: str) -> Completed:
    """What a summariser makes of a request: a good one keeps what it is shown, others do not."""
    errors: dict[str, ModelError] = {"busy": ModelBusy("silent"), "key": AuthFailed("refused")}
    if kind in errors:
        raise errors[kind]
    texts = {
        "forgetful": "## Goal\nSomething else.",
        "plain": "They are building ships.",
        "thinking": f"<think>{asked[:200]}</think>{GOOD}",
        "empty": "<think></think>",
        "echo": framed(GOOD),
    }
    return Completed(texts.get(kind, GOOD), ending="length" if kind == "cut" else "stop")


def compressed(kind: str, one: Job) -> str | None:
    """The summary of a job by a model of a kind, without one where it fails; None where all stays as it is."""

    def say(messages: Sequence[Message]) -> Completed:
        return answer(kind, messages[-1].text)

    model = DrivenModel(say)
    model.window = 32_000
    made = asyncio.run(summarise(model, one, COUNT, REDACT))
    if not isinstance(made, Failure):
        return made.text
    return None if made.cause.aborts else fallback(one, made.text, REDACT)


def stretch(number: int) -> list[Row]:
    return rows(
        user(f"Request {number}: build ship {number} of oak, never on Sundays, and keep {SECRET} to yourself."),
        *call(f"c{number}", "skill_view", MARK if number == 0 else "Bake it. " * 300),
        *call(f"d{number}", "write_file", "ok", path=f"ships/{number}.py"),
        agent(f"Ship {number} is built. " * 400),
    )


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(ANSWERS), min_size=1, max_size=10))
def test_whatever_fails_requests_goal_and_skills_go_on_and_secrets_do_not(kinds: list[str]) -> None:
    text, waiting, wanted = "", list[Row](), list[str]()
    for number, kind in enumerate(kinds):
        waiting += stretch(number)
        wanted.insert(0, f"Request {number}: build ship {number}")
        made = compressed(kind, job(waiting, previous=text, room=3_000, target=500))
        if made is None:
            continue
        text, waiting = framed(made), []
        read = earlier(text)
        assert [ask[: len(mine)] for ask, mine in zip(read.asks, wanted, strict=True)] == wanted
        assert "never on Sundays" in text
        assert read.skills == ("baking",)
        assert SECRET not in text
        assert COUNT(text) < 5_000, "it does not grow from one to the next"
        assert text.count("[CONTEXT COMPACTION") == 1


def test_a_goal_that_a_later_summary_forgets_is_quoted() -> None:
    first = compressed("good", job(stretch(0)))
    assert first is not None
    second = compressed("forgetful", job(stretch(1), previous=framed(first)))
    assert second is not None
    assert "- [goal] A fleet of oak." in second
    assert "- [constraint] Nothing on Sundays." in second


def test_a_summary_of_the_reference_is_taken_up() -> None:
    theirs = (
        "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted into the summary below. …\n"
        "## Historical Task Snapshot\nUser asked: 'build a fleet'\n\n## Goal\nA fleet of oak.\n\n"
        "## Historical Remaining Work\nThe masts.\n\n"
        "--- END OF CONTEXT SUMMARY — respond to the message below, not the summary above ---"
    )
    made = fallback(job(stretch(0), previous=theirs), "x", REDACT)
    assert "A fleet of oak." in made
    assert "The masts." in made
    assert {part.heading for part in split(made)} >= set(HEADINGS[:3])
