from __future__ import annotations

import json
from collections.abc import AsyncIterator, Coroutine

import pytest

from adapters.webhook import Settings, create
from gateway.contracts.adapter import Adapter
from gateway.types import Address
from tests.adapters.conformance import AdapterConformance, Rig
from tests.adapters.webhook.conftest import Answer, Caller, settings

ROUTE = {"auth": {"scheme": "bearer", "secret": "s"}, "prompt": "{text}", "session": "route"}


class Phone:
    """Says things to a route, each with a name of its own."""

    def __init__(self, adapter: Adapter) -> None:
        self._caller = Caller(adapter)
        self._said = 0
        self._last = ""

    def say(self, text: str) -> None:
        self._last = text
        self._said += 1
        self.repeat()

    def repeat(self) -> None:
        headers = {"authorization": "Bearer s", "x-request-id": f"r{self._said}"}
        answer = run(self._caller.call("talk", json.dumps({"text": self._last}).encode(), headers))
        assert answer == 202


def run(call: Coroutine[None, None, Answer]) -> int:
    """Carry a call through at once: nothing in it waits for anything but the event being kept."""
    with pytest.raises(StopIteration) as done:
        call.send(None)
    answer: Answer = done.value.value
    return answer.status


class TestWebhook(AdapterConformance):
    package = "adapters.webhook"

    def configured(self) -> Settings:
        return settings(talk=ROUTE)

    def offline(self) -> Adapter:
        return create("webhook", "", self.configured())

    @pytest.fixture
    async def rig(self) -> AsyncIterator[Rig]:
        async with self.offline() as adapter:
            phone = Phone(adapter)
            yield Rig(adapter, Address(platform="webhook", chat="talk"), phone.say, phone.repeat)
