"""What Telegram refuses: an exception of aiogram in, the `AdapterError` that says what to do out."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from aiogram.exceptions import (
    AiogramError,
    ClientDecodeError,
    TelegramAPIError,
    TelegramConflictError,
    TelegramEntityTooLarge,
    TelegramForbiddenError,
    TelegramMigrateToChat,
    TelegramNetworkError,
    TelegramNotFound,
    TelegramRetryAfter,
    TelegramServerError,
    TelegramUnauthorizedError,
)
from aiohttp import ClientConnectorError, ConnectionTimeoutError, InvalidURL

from gateway.errors import (
    AdapterError,
    Ambiguous,
    TargetGone,
    TargetMoved,
    Throttled,
    TokenRefused,
    Unacceptable,
    Unreachable,
)
from gateway.types import Address

GONE: Final = (
    "chat not found",
    "user not found",
    "peer_id_invalid",
    "group chat was deactivated",
    "chat_write_forbidden",
    "chat_restricted",
    "chat_admin_required",
    "channel_private",
    "not enough rights",
    "have no rights",
    "need administrator rights",
    "topic_closed",
)
NO_TOPIC: Final = ("message thread not found", "topic_deleted", "topic_id_invalid")
UNCHANGED: Final = "message is not modified"
NOTHING_TO_DELETE: Final = "message to delete not found"
BEFORE_WRITING: Final = (ClientConnectorError, ConnectionTimeoutError, InvalidURL)

REFUSED: Final = "Telegram does not know this token: ask @BotFather for the current one, and see that api_base is right"
POLLED: Final = "another program polls this bot: stop it, or give this gateway a bot of its own"
HOOKED: Final = (
    "this bot has a webhook, so Telegram answers no polling: end the program that set it, then call deleteWebhook, "
    "or give this gateway a bot of its own"
)


def says(error: BaseException | None, text: str) -> bool:
    """Say whether Telegram refused with this description."""
    return isinstance(error, TelegramAPIError) and text in error.message.lower()


def translate(error: AiogramError | OSError, target: Address | None = None) -> AdapterError:
    """
    Return what the error means.

    Without a target nothing was to be shown to anybody, so that asking again does no harm.
    """
    match error:
        case TelegramRetryAfter():
            return Throttled(float(error.retry_after), everywhere=target is None)
        case TelegramUnauthorizedError() | TelegramNotFound():
            return TokenRefused(REFUSED)
        case TelegramConflictError():
            return Unreachable(HOOKED if says(error, "webhook") else POLLED)
        case TelegramEntityTooLarge():  # a network error by its class only
            return _refused(error, target)
        case TelegramNetworkError() | TelegramServerError() | ClientDecodeError() | OSError():
            return _unanswered(error, target)
        case _:
            return _refused(error, target)


def _unanswered(error: AiogramError | OSError, target: Address | None) -> AdapterError:
    """Return whether the request may have been accepted; the sentence carries no address, which holds the token."""
    cause = error.__cause__
    if isinstance(cause, BEFORE_WRITING):
        return Unreachable(f"no connection to Telegram: {type(cause).__name__}")
    what = type(cause or error).__name__
    if target is None:
        return Unreachable(f"Telegram did not answer: {what}")
    return Ambiguous(f"Telegram did not answer, it may have taken the message: {what}")


def _refused(error: AiogramError, target: Address | None) -> AdapterError:
    sentence = f"Telegram: {error.message}" if isinstance(error, TelegramAPIError) else f"aiogram: {error}"
    if target is not None and isinstance(error, TelegramMigrateToChat):
        return TargetMoved(replace(target, chat=str(error.migrate_to_chat_id)))
    if target is not None and target.thread and any(says(error, text) for text in NO_TOPIC):
        return TargetMoved(replace(target, thread=""))
    if isinstance(error, TelegramForbiddenError) or any(says(error, text) for text in GONE):
        return TargetGone(sentence)
    return Unacceptable(sentence)
