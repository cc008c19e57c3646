"""What each refusal means, for those a server cannot easily be made to give."""

from __future__ import annotations

import aiohttp
import pytest
from aiogram.exceptions import (
    ClientDecodeError,
    TelegramBadRequest,
    TelegramEntityTooLarge,
    TelegramForbiddenError,
    TelegramNetworkError,
    TelegramNotFound,
)
from aiogram.methods import SendMessage

from adapters.telegram.errors import translate
from gateway.errors import (
    AdapterError,
    Ambiguous,
    TargetGone,
    TargetMoved,
    TokenRefused,
    Unacceptable,
    Unreachable,
)
from gateway.types import Address

METHOD = SendMessage(chat_id=42, text="x")
TOPIC = Address(platform="telegram", chat="-1001", thread="7")
URL = "https://api.telegram.org/bot1:secret/sendMessage"


def caused(cause: BaseException) -> TelegramNetworkError:
    error = TelegramNetworkError(METHOD, f"{type(cause).__name__}: {cause}")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (aiohttp.ConnectionTimeoutError(f"Connection timeout to host {URL}"), Unreachable),
        (aiohttp.InvalidURL(URL), Unreachable),
        (TimeoutError(), Ambiguous),
        (aiohttp.SocketTimeoutError(), Ambiguous),
        (aiohttp.ServerDisconnectedError(), Ambiguous),
        (aiohttp.ClientOSError(104, "Connection reset by peer"), Ambiguous),
        (aiohttp.ClientPayloadError(URL), Ambiguous),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_only_what_was_surely_not_sent_is_out_of_reach(cause: BaseException, kind: type[AdapterError]) -> None:
    error = translate(caused(cause), TOPIC)
    assert type(error) is kind
    assert "secret" not in str(error)
    assert type(translate(caused(cause))) is Unreachable


def test_a_broken_connection_outside_aiohttp_is_in_doubt_too() -> None:
    assert type(translate(ConnectionResetError(), TOPIC)) is Ambiguous


def test_an_answer_that_is_no_json_is_in_doubt() -> None:
    assert type(translate(ClientDecodeError("no", ValueError("no"), "<html>"), TOPIC)) is Ambiguous


@pytest.mark.parametrize(
    "description",
    [
        "Forbidden: bot was kicked from the supergroup chat",
        "Forbidden: user is deactivated",
        "Forbidden: bot can't initiate conversation with a user",
    ],
)
def test_who_forbids_us_is_not_asked_again(description: str) -> None:
    assert type(translate(TelegramForbiddenError(METHOD, description), TOPIC)) is TargetGone


@pytest.mark.parametrize(
    ("description", "kind"),
    [
        ("Bad Request: chat not found", TargetGone),
        ("Bad Request: not enough rights to send text messages to the chat", TargetGone),
        ("Bad Request: TOPIC_CLOSED", TargetGone),
        ("Bad Request: PEER_ID_INVALID", TargetGone),
        ("Bad Request: message thread not found", TargetMoved),
        ("Bad Request: message is too long", Unacceptable),
        ("Bad Request: can't parse entities: Unsupported start tag", Unacceptable),
        ("Bad Request: something new", Unacceptable),
    ],
)
def test_a_bad_request_is_told_by_its_words(description: str, kind: type[AdapterError]) -> None:
    error = translate(TelegramBadRequest(METHOD, description), TOPIC)
    assert type(error) is kind
    if kind is not TargetMoved:
        assert description in str(error)


def test_an_unknown_token_is_told_by_its_404() -> None:
    assert type(translate(TelegramNotFound(METHOD, "Not Found"), TOPIC)) is TokenRefused


def test_what_is_too_large_is_unacceptable() -> None:
    error = translate(TelegramEntityTooLarge(METHOD, "Request Entity Too Large"), TOPIC)
    assert type(error) is Unacceptable
