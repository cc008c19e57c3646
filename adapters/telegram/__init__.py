"""Telegram, by polling the Bot API: settings in, an adapter out. Imports aiogram only when an adapter is made."""

from __future__ import annotations

from adapters.telegram.settings import Settings
from gateway.contracts.adapter import Adapter

__all__ = ["Settings", "create"]


def create(name: str, account: str, settings: Settings) -> Adapter:
    """Make the adapter of one bot; `name` is ``telegram`` or ``telegram@account``."""
    from adapters.telegram.adapter import TelegramAdapter  # 2.4 s and 170 MB, only for those who have a bot

    return TelegramAdapter(name, account, settings)
