from __future__ import annotations

import pytest
from pydantic import SecretStr

from adapters.telegram import Settings, create
from gateway.contracts.adapter import Adapter
from gateway.errors import Ambiguous, TargetGone, TargetMoved, Throttled, TokenRefused, Unacceptable
from gateway.types import Address
from tests.adapters.conformance import AdapterConformance, Rig
from tests.fakes.telegram_server import TelegramServer

CHAT = 42


class TestTelegram(AdapterConformance):
    package, sdk = "adapters.telegram", ("aiogram", "aiohttp", "telegramify_markdown", "pyromark")

    def offline(self) -> Adapter:
        return create("telegram", "", Settings(token=SecretStr("1:secret"), api_base="http://127.0.0.1:9"))

    @pytest.fixture
    def rig(self, telegram: TelegramServer, adapter: Adapter) -> Rig:
        telegram.chat(CHAT)
        last: list[int] = []

        def say(text: str) -> None:
            last.append(telegram.say(CHAT, text))

        def repeat() -> None:
            message = {"message_id": last[-1], "date": 0, "chat": {"id": CHAT, "type": "private"}, "text": "first"}
            telegram.update("message", message | {"from": {"id": CHAT, "first_name": "User 42"}})

        return Rig(
            adapter,
            Address(platform="telegram", chat=str(CHAT)),
            say,
            repeat,
            lambda: telegram.texts(CHAT),
            {
                Throttled: lambda: telegram.fault("flood", retry_after=7),
                TargetGone: lambda: telegram.fault("blocked"),
                Unacceptable: lambda: telegram.fault("error", description="Bad Request: can't parse entities: no"),
                Ambiguous: lambda: telegram.fault("drop"),
                TokenRefused: lambda: telegram.fault("unauthorized"),
                TargetMoved: lambda: telegram.fault("error", migrate_to_chat_id=-1001),
            },
        )
