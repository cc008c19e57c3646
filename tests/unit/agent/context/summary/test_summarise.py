"""A summary asked of a model, in each way that a model can fail."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from gateway.agent.context.summary.summarise import Cause, Failure, Summary, summarise
from gateway.contracts.model import Completed, Ending
from gateway.errors import AuthFailed, BadResponse, ContextOverflow, ModelBusy, ModelError, ModelRefused
from gateway.llm.faults import BrokenOff, ModelUnknown, ModelUnreachable
from gateway.llm.scripted import ScriptedModel
from gateway.messages import Message, Usage
from tests.fakes.model import Answer, DrivenModel
from tests.unit.agent.context.summary.talk import COUNT, REDACT, SECRET, job, long_talk

GOOD = "## Active Task\nNone.\n\n## Goal\nWrite the report."


def driven(answer: Answer, window: int = 64_000) -> DrivenModel:
    model = DrivenModel(answer, name="aux")
    model.window = window
    return model


def failing(error: ModelError) -> DrivenModel:
    def answer(_: Sequence[Message]) -> str:
        raise error

    return driven(answer)


async def test_a_summary_is_asked_for_in_one_message_and_comes_with_what_it_took() -> None:
    model = driven(lambda _: Completed(GOOD, usage=Usage(900, 80)))
    made = await summarise(model, job(long_talk()), COUNT, REDACT)
    assert isinstance(made, Summary)
    assert made.text.startswith(GOOD)
    assert (made.usage, made.model) == (Usage(900, 80), "aux")
    assert made.tokens == COUNT(made.text)
    assert 0 <= made.anchors.score <= 1
    ((asked,),) = model.asked
    assert asked.role == "user"
    assert "ask 39:" in asked.text


@pytest.mark.parametrize(
    ("error", "cause", "aborts", "pause"),
    [
        (AuthFailed("the key"), Cause.REFUSED, True, 60),
        (ModelUnknown("no such"), Cause.UNKNOWN_MODEL, False, 60),
        (ModelBusy("silent for 120 s"), Cause.TIMEOUT, False, 60),
        (ModelUnreachable("cannot be reached"), Cause.UNREACHABLE, True, 30),
        (BrokenOff("broke in the middle"), Cause.BROKEN_OFF, True, 30),
        (BadResponse("a web page"), Cause.MALFORMED, False, 30),
        (ModelRefused("will not"), Cause.OTHER, False, 60),
    ],
)
async def test_each_failure_of_an_endpoint_has_its_cause(
    error: ModelError, cause: Cause, aborts: bool, pause: float
) -> None:
    failed = await summarise(failing(error), job(long_talk()), COUNT, REDACT)
    assert isinstance(failed, Failure)
    assert (failed.cause, failed.text, failed.model) == (cause, str(error), "aux")
    assert (failed.cause.aborts, failed.cause.pause()) == (aborts, pause)


@pytest.mark.parametrize(
    ("answer", "ending", "cause"),
    [
        ("", "stop", Cause.EMPTY),
        (" \n", "stop", Cause.EMPTY),
        ("## Goal\n", "stop", Cause.EMPTY),
        (GOOD, "length", Cause.CUT_SHORT),
        ("", "length", Cause.CUT_SHORT),
        (GOOD, "filter", Cause.CUT_SHORT),
        ("word " * 20_000, "stop", Cause.NOT_SHORTER),
    ],
)
async def test_an_answer_that_is_no_summary_is_a_failure_and_what_it_took_is_known(
    answer: str, ending: Ending, cause: Cause
) -> None:
    model = driven(lambda _: Completed(answer, usage=Usage(10, 5), ending=ending))
    failed = await summarise(model, job(long_talk()), COUNT, REDACT)
    assert isinstance(failed, Failure)
    assert (failed.cause, failed.usage) == (cause, Usage(10, 5))
    assert failed.cause.aborts is (cause is not Cause.NOT_SHORTER)


async def test_without_a_model_there_is_a_long_pause() -> None:
    failed = await summarise(None, job(long_talk()), COUNT, REDACT)
    assert isinstance(failed, Failure)
    assert (failed.cause, failed.cause.pause(), failed.cause.aborts) == (Cause.NO_MODEL, 600, False)


def test_timeouts_in_a_row_are_waited_out_longer_each_time() -> None:
    assert [Cause.TIMEOUT.pause(before) for before in range(5)] == [60, 300, 900, 900, 900]
    assert [Cause.OTHER.pause(before) for before in range(3)] == [60, 60, 60]


async def test_a_model_that_never_ends_is_given_up() -> None:
    model = driven(lambda _: GOOD)
    model.gate.clear()
    failed = await summarise(model, job(long_talk()), COUNT, REDACT, deadline=0.01)
    assert isinstance(failed, Failure)
    assert failed.cause is Cause.TIMEOUT


async def test_who_is_stopped_is_stopped() -> None:
    model = driven(lambda _: GOOD)
    model.gate.clear()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(summarise(model, job(long_talk()), COUNT, REDACT))
        await model.begun.wait()
        task.cancel()
    assert task.cancelled()


@pytest.mark.parametrize("window", [4_096, 8_192, 32_768, 128_000, 1_000_000])
async def test_the_request_fits_whatever_the_window(window: int) -> None:
    model = driven(lambda _: GOOD, window)
    made = await summarise(model, job(long_talk(5_000), target=400), COUNT, REDACT)
    assert isinstance(made, Summary)
    ((asked,),) = model.asked
    assert COUNT(asked.text) < window * 0.9 - 400


@pytest.mark.parametrize("window", [32_000, 2_000_000])
async def test_a_model_that_still_finds_it_too_long_is_asked_again_with_less(window: int) -> None:
    model = ScriptedModel(ContextOverflow("no"), ContextOverflow("no"), Completed(GOOD), window=window)
    made = await summarise(model, job(long_talk(5_000)), COUNT, REDACT)
    assert isinstance(made, Summary)
    first, second, third = (COUNT(messages[0].text) for messages in model.asked)
    assert second < first * 0.6
    assert third < second * 0.6


async def test_one_that_finds_everything_too_long_is_a_failure() -> None:
    failed = await summarise(failing(ContextOverflow("no")), job(long_talk(5_000)), COUNT, REDACT)
    assert isinstance(failed, Failure)
    assert (failed.cause, failed.cause.aborts) == (Cause.TOO_LONG, False)
    tiny = driven(lambda _: GOOD, 1_024)
    assert isinstance(await summarise(tiny, job(long_talk()), COUNT, REDACT), Failure)
    assert not tiny.asked


async def test_what_an_endpoint_says_is_kept_short_and_without_secrets() -> None:
    failed = await summarise(failing(ModelRefused(f"{SECRET} " + "no " * 200)), job(long_talk()), COUNT, REDACT)
    assert isinstance(failed, Failure)
    assert failed.text.startswith("*** no no")
    assert len(failed.text) == 220


async def test_plain_text_is_a_summary() -> None:
    made = await summarise(driven(lambda _: "They wrote a report."), job(long_talk()), COUNT, REDACT)
    assert isinstance(made, Summary)
    assert made.text.startswith("They wrote a report.\n")
