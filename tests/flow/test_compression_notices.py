"""What a chat is told while its conversation is compressed: nothing, one message that changes, or what went wrong."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field, replace

import pytest
from sqlalchemy import select

from gateway.agent.context.settings import CompressionSettings
from gateway.contracts.adapter import Status
from gateway.delivery.prepare import PAUSED, STOPPED
from gateway.errors import AdapterError, Ambiguous, BadResponse, Throttled, Unacceptable
from gateway.storage.tables import live
from gateway.turns import TurnSettings
from gateway.types import Address, Part, Receipt
from tests.fakes.counting import CountingModel, held_writer
from tests.fakes.platform import FakePlatform
from tests.flow.conftest import House
from tests.flow.long import shortly

MARK = "🗜️"
DOING = re.compile(r"🗜️ compressing… \([\d.]+k? tokens\)")
DONE = re.compile(r"🗜️ done: [\d.]+k → [\d.]+k? tokens")
PARAGRAPH = "The letter about the tax form says that the second page has to be filled in again, and by hand. " * 12
"""About 250 tokens."""
WIDE = 200_000
SILENT = CompressionSettings()
PASSING = CompressionSettings(progress_notices=True)
KEPT = CompressionSettings(progress_notices=True, keep_notices=True)


@dataclass
class Screen(FakePlatform):
    """Keeps every state that a person has seen of a message, and the status that a page would have shown."""

    seen: list[str] = field(default_factory=list)
    statuses: list[Status] = field(default_factory=list)

    async def send(self, target: Address, part: Part) -> Receipt:
        receipt = await super().send(target, part)
        self.seen.append(part.body.text)
        return receipt

    async def edit(self, receipt: Receipt, part: Part) -> None:
        await super().edit(receipt, part)
        self.seen.append(part.body.text)

    async def status(self, target: Address, status: Status) -> None:
        self.statuses.append(status)

    @property
    def noticed(self) -> list[str]:
        """Every state in which a compression was spoken of."""
        return [text for text in self.seen if MARK in text]

    @property
    def notices(self) -> list[str]:
        """The messages that speak of one now."""
        return [text for text in self.texts() if MARK in text]


def furnish(house: House, settings: CompressionSettings, **limits: bool) -> Screen:
    """Give a house a screen that is watched, a model with a window, and a writer that waits."""
    house.platform = screen = Screen(limits=replace(house.platform.limits, text=WIDE, **limits))  # type: ignore[arg-type]
    house.models[""] = CountingModel(shortly)
    house.writers = [held_writer()]
    house.change(compression=settings)
    return screen


def writer_of(house: House) -> CountingModel:
    found = house.writers[0]
    assert isinstance(found, CountingModel)
    return found


async def talk_until_a_summary_is_written(house: House) -> str:
    """Say long things until one is not answered at once; return what it will be answered with."""
    writer = writer_of(house)
    for number in range(40):
        house.platform.say(f"{PARAGRAPH} #{number}")
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(house.platform.sees(f"heard {number}")), group.create_task(writer.begun.wait())]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
        if writer.begun.is_set():
            return f"heard {number}"
    raise AssertionError("nothing was compressed")


# --- while it goes on


async def test_one_message_says_that_it_is_compressed_and_becomes_the_answer(house: House) -> None:
    screen = furnish(house, PASSING)
    async with house.running():
        answer = await talk_until_a_summary_is_written(house)
        await screen.sees(MARK)
        assert DOING.fullmatch(screen.texts()[-1])
        count = len(screen.texts())
        house.model.midway.clear()
        writer_of(house).gate.set()
        await screen.until(lambda: bool(DONE.match(screen.texts()[-1])) or "heard ▌" in screen.texts()[-1], "it ended")
        house.model.midway.set()
        await screen.sees(answer)
    assert len(screen.texts()) == count
    assert screen.texts()[-1] == answer
    assert screen.notices == []


async def test_a_notice_that_is_kept_says_what_was_done_above_the_answer(house: House) -> None:
    screen = furnish(house, KEPT)
    async with house.running():
        answer = await talk_until_a_summary_is_written(house)
        await screen.sees(MARK)
        writer_of(house).gate.set()
        await screen.until(lambda: screen.texts()[-1] == answer, "the answer")
    assert DONE.fullmatch(screen.texts()[-2])
    assert len(screen.notices) == 1
    assert len([text for text in screen.sendings if MARK in text]) == 1


async def test_a_kept_notice_stands_where_it_was_over_too_soon_to_be_seen_and_before_the_answer(small: House) -> None:
    screen = furnish(small, KEPT)
    small.change(edit_every=60.0)
    writer_of(small).gate.set()
    async with small.running():
        answer = await talk_until_a_summary_is_written(small)
        await screen.until(lambda: screen.texts()[-1] == answer, "the answer")
    assert DONE.fullmatch(screen.texts()[-2])
    assert len(screen.noticed) == 1


async def test_without_streaming_the_notice_is_all_that_is_shown_before_the_answer(small: House) -> None:
    screen = furnish(small, PASSING)
    small.change(edit_every=None)
    async with small.running():
        answer = await talk_until_a_summary_is_written(small)
        await screen.sees(MARK)
        writer_of(small).gate.set()
        await screen.until(lambda: screen.texts()[-1] == answer, "the answer")
    assert screen.notices == []
    assert not any("▌" in text for text in screen.seen)


# --- off, and platforms that cannot


async def test_with_notices_off_nothing_is_sent_or_edited_but_answers(house: House) -> None:
    screen = furnish(house, SILENT)
    house.change(edit_every=None)
    writer_of(house).gate.set()
    async with house.running():
        answer = await talk_until_a_summary_is_written(house)
        await screen.until(lambda: screen.texts()[-1] == answer, "the answer")
    assert screen.seen == [f"heard {number}" for number in range(len(screen.seen))]
    assert screen.statuses == ["compressing", "compressed"]


async def test_with_notices_off_nothing_is_shown_however_long_it_takes(small: House) -> None:
    screen = furnish(small, SILENT)
    async with small.running():
        answer = await talk_until_a_summary_is_written(small)
        screen.say("hello #there", chat="bob")  # whose answer takes longer than a notice would
        await screen.sees("heard there", chat="bob")
        writer_of(small).gate.set()
        await screen.until(lambda: screen.texts()[-1] == answer, "the answer")
    assert screen.noticed == []


@pytest.mark.parametrize(("settings", "lines"), [(PASSING, 0), (KEPT, 1)])
async def test_a_platform_that_cannot_edit_is_told_only_what_stays(
    small: House, settings: CompressionSettings, lines: int
) -> None:
    screen = furnish(small, settings, edits=False)
    writer_of(small).gate.set()
    async with small.running():
        answer = await talk_until_a_summary_is_written(small)
        await screen.until(lambda: screen.texts()[-1] == answer, "the answer")
    assert len(screen.noticed) == lines
    assert all(DONE.fullmatch(text) for text in screen.noticed)


# --- trouble


@pytest.mark.parametrize(
    ("settings", "error", "left"),
    [
        (PASSING, Throttled(0.05), 0),
        (PASSING, Unacceptable("not here"), 0),
        (PASSING, Ambiguous("no answer came"), 0),
        (KEPT, Throttled(0.05), 1),
        (KEPT, Unacceptable("not here"), 1),
        (KEPT, Ambiguous("no answer came"), 0),  # it may stand there already
    ],
)
async def test_a_platform_that_refuses_every_notice_costs_no_answer(
    small: House, settings: CompressionSettings, error: AdapterError, left: int
) -> None:
    screen, refused = furnish(small, settings), asyncio.Event()

    def refuse(what: str, target: Address, part: Part) -> AdapterError | None:
        if "compressing" not in part.body.text:
            return None
        refused.set()
        return error

    screen.fault = refuse
    async with small.running():
        answer = await talk_until_a_summary_is_written(small)
        await refused.wait()
        writer_of(small).gate.set()
        await screen.until(lambda: screen.texts()[-1] == answer, "the answer")
    assert len(screen.notices) == left
    assert all(DONE.fullmatch(text) for text in screen.notices)
    assert not any("compressing" in text for text in screen.seen)


async def test_a_notice_that_may_have_arrived_is_not_sent_a_second_time(small: House) -> None:
    screen = furnish(small, KEPT)
    screen.after = lambda what, target, part: Ambiguous("no answer came") if "compressing" in part.body.text else None
    async with small.running():
        answer = await talk_until_a_summary_is_written(small)
        await screen.sees(MARK)
        writer_of(small).gate.set()
        await screen.until(lambda: screen.texts()[-1] == answer, "the answer")
    assert len(screen.notices) == 1


@pytest.mark.parametrize("settings", [PASSING, KEPT])
async def test_after_a_kill_while_a_summary_is_written_there_is_still_one_message(
    house: House, settings: CompressionSettings
) -> None:
    screen = furnish(house, settings)
    async with house.running(kill=True):
        answer = await talk_until_a_summary_is_written(house)
        await screen.sees(MARK)
        await shown_is_stored(house)
    house.writers = [held_writer()]
    writer_of(house).gate.set()
    async with house.running():
        await screen.until(lambda: screen.texts()[-1] == answer, "the answer")
    assert len(screen.notices) == (1 if settings is KEPT else 0)
    assert all(DONE.fullmatch(text) for text in screen.notices)
    assert screen.texts().count(answer) == 1
    assert len([text for text in screen.sendings if MARK in text]) == 1


@pytest.mark.parametrize("settings", [PASSING, KEPT])
async def test_after_a_kill_between_the_compression_and_the_answer_what_was_done_is_said_once(
    house: House, settings: CompressionSettings
) -> None:
    screen = furnish(house, settings)
    async with house.running(kill=True):
        answer = await talk_until_a_summary_is_written(house)
        await screen.sees(MARK)
        house.model.gate.clear()
        writer_of(house).gate.set()
        await screen.until(lambda: bool(DONE.fullmatch(screen.texts()[-1])), "that it is done")
        await shown_is_stored(house)
    summaries = len(writer_of(house).summed_up)
    async with house.running():
        house.model.gate.set()
        await screen.until(lambda: screen.texts()[-1] == answer, "the answer")
    assert len(writer_of(house).summed_up) == summaries
    assert len(screen.notices) == (1 if settings is KEPT else 0)
    assert all(DONE.fullmatch(text) for text in screen.notices)
    assert len([text for text in screen.sendings if MARK in text]) == 1


async def shown_is_stored(house: House) -> None:
    """Wait until the id of the message that stands in the chat is in the rows."""
    async with asyncio.timeout(30):
        while not await house.database.read(lambda connection: connection.execute(select(live.c.message_id)).scalar()):
            await asyncio.sleep(0)


async def test_stopped_while_it_is_compressed_the_message_says_so_and_the_model_hears_nothing_of_it(
    house: House,
) -> None:
    screen = furnish(house, KEPT)
    async with house.running():
        await talk_until_a_summary_is_written(house)
        await screen.sees(MARK)
        screen.say("/stop")
        await screen.until(lambda: STOPPED in screen.texts(), "that it was stopped")
        assert screen.notices == []
        house.writers.clear()
        screen.say("and now? #now")
        await screen.sees("heard now")
    said = [message.content for asked in house.model.asked for message in asked]
    assert not any(MARK in text for text in said)


async def test_a_drain_while_it_is_compressed_says_that_it_goes_on(small: House) -> None:
    screen = furnish(small, PASSING)
    small.change(turns=TurnSettings(max_concurrent=16, drain_seconds=0.1))
    async with small.running():
        answer = await talk_until_a_summary_is_written(small)
        await screen.sees(MARK)
        await shown_is_stored(small)
    assert screen.texts()[-1] == PAUSED
    writer_of(small).gate.set()
    async with small.running():
        await screen.until(lambda: screen.texts()[-1] == answer, "the answer")


@pytest.mark.parametrize("settings", [SILENT, PASSING, KEPT])
async def test_what_went_wrong_is_told_once_whatever_is_told_of_progress(
    small: House, settings: CompressionSettings
) -> None:
    screen = furnish(small, settings)
    small.writers = []
    small.models[""] = CountingModel(shortly, summarise=lambda prompt: BadResponse("that is no answer"))
    async with small.running():
        for number in range(30):
            screen.say(f"{PARAGRAPH} #{number}")
            await screen.sees(f"heard {number}")
    warnings = [text for text in screen.texts() if "heard" not in text and MARK not in text]
    assert len(warnings) == 1
    assert "/compact" in warnings[0]


async def test_compressions_are_counted(small: House) -> None:
    screen = furnish(small, SILENT)
    writer_of(small).gate.set()
    async with small.running():
        answer = await talk_until_a_summary_is_written(small)
        await screen.sees(answer)
        metrics = small.gateways[0].metrics.render().decode()
    assert 'hermes_gateway_compressions_total{outcome="summary"} 1.0' in metrics
    assert "hermes_gateway_compression_seconds_count 1.0" in metrics
    saved = re.search(r"^hermes_gateway_compression_tokens_saved_total (\d+)", metrics, re.MULTILINE)
    assert saved is not None
    assert int(saved[1]) > 500
