"""What an endpoint counted is believed of the conversation that it counted, and of no other."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.agent.context.settings import CompressionSettings
from gateway.contracts.context import Compressed, ContextEngine, Kept, Order, Past, Row
from gateway.contracts.model import Completed
from gateway.errors import AuthFailed, ModelRefused
from gateway.llm.tokens.calibration import Calibrations
from gateway.messages import Message, ToolCall
from gateway.sessions.store import Stored
from gateway.toolkit.function import tool
from gateway.toolkit.toolset import FunctionTools
from gateway.turns.live import LiveSession
from tests.fakes.counting import CountingModel
from tests.unit.agent.context.talks import PARAGRAPH, Talk


def fine(messages: Sequence[Message]) -> str:
    return "fine"


async def test_a_turn_tells_what_its_last_request_counted() -> None:
    talk = Talk(CountingModel(fine))
    finished = await talk.say("hello")
    assert finished.read == talk.model.tokens(talk.model.asked[-1])


async def test_a_turn_that_failed_after_more_was_said_tells_nothing() -> None:
    @tool()
    async def read_log() -> str:
        """Read the log."""
        return PARAGRAPH * 4

    def work(messages: Sequence[Message]) -> Completed:
        if messages[-1].role == "tool":
            raise ModelRefused("no")
        return Completed("", (ToolCall("c1", "read_log"),))

    talk = Talk(CountingModel(work, window=100_000), tools=FunctionTools([read_log]))
    finished = await talk.say("read it")
    assert finished.problem
    assert finished.read == 0


async def test_a_turn_that_left_out_the_older_half_tells_nothing() -> None:
    talk = Talk(CountingModel(fine, summarise=lambda prompt: AuthFailed("no credit")))
    while not any("left out" in told for told in talk.told):
        finished = await talk.say(PARAGRAPH)
    assert finished.text == "fine"
    assert finished.read == 0


async def test_what_an_engine_sends_in_place_of_the_conversation_teaches_nothing_of_it() -> None:
    class Last(ContextEngine):
        name = "last"
        due = 90_000

        async def compress(self, past: Past, order: Order) -> Compressed | Kept:
            return Kept(reason="never")

        def select(self, messages: Sequence[Message]) -> Sequence[Message]:
            return messages[-1:]

    talk = Talk(CountingModel(fine, window=100_000), CompressionSettings(), engine=Last())
    for _ in range(6):
        finished = await talk.say(PARAGRAPH)
    assert finished.read == 0
    assert talk.meter.corrected(1_000) == 1_000


def read(*said: Message, open_end: bool = False) -> LiveSession:
    session = LiveSession("s", "lane")
    rows = tuple(Row(number, message) for number, message in enumerate(said, 1))
    session.read(Stored("", rows, counted=("m", 900)), 1, open_end=open_end)
    return session


def test_the_count_of_the_turn_before_says_nothing_of_one_that_goes_on() -> None:
    said = Message("user", "one"), Message("assistant", "first")
    assert read(*said).conversation.reported[:2] == ("m", 900)
    assert read(*said, Message("user", PARAGRAPH * 9), open_end=True).conversation.reported == ("", 0, 0)


async def test_a_conversation_that_is_read_again_and_again_teaches_its_model_nothing_new() -> None:
    calibrations = Calibrations()
    talk = Talk(CountingModel(fine, factor=0.5, window=100_000), calibrations=calibrations)
    for _ in range(3):
        await talk.say(PARAGRAPH)
    before = calibrations.of(talk.model.name)
    for _ in range(5):
        talk.restart(counted=talk.model.tokens(talk.model.asked[-1]))
        talk.window()
    assert calibrations.of(talk.model.name) == before
    assert talk.meter.counted
