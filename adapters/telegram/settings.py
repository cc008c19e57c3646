"""What can be set under `platforms.telegram`, or under each of its accounts."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, SecretStr, field_validator

LATER = "is not built yet; take the key out"


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class WebhookMode(Strict):
    """How Telegram calls us, in `mode: webhook`."""

    url: str = ""
    """The public address at which Telegram calls us, for `mode: webhook`."""
    secret: SecretStr = SecretStr("")
    """What Telegram sends back in X-Telegram-Bot-Api-Secret-Token, so that nobody else can call."""


class Settings(Strict):
    """Telegram, by polling; several bots under `accounts`."""

    enabled: bool | Literal["auto"] = "auto"
    """`auto`: on when a token is set."""
    token: SecretStr = SecretStr("")
    """The bot's token, as @BotFather gave it: 123456789:ABC…"""
    api_base: str = ""
    """Root of another Bot API server, such as http://127.0.0.1:8081; empty for Telegram's own."""
    mode: Literal["polling", "webhook"] = "polling"
    """How messages come in. `polling` needs no public address; `webhook` is not built yet."""
    webhook: WebhookMode = WebhookMode()
    """Where Telegram calls us, with `mode: webhook`."""
    allowed_users: tuple[str, ...] = ()
    """Ids of the people who may talk to the bot."""
    allowed_chats: tuple[str, ...] = ()
    """Ids of the groups in which it may be talked to."""
    require_mention: bool = True
    """In groups only answer who mentions the bot, replies to it or gives it a command."""
    mention_patterns: tuple[str, ...] = ()
    """Expressions that count as a mention; not built yet."""
    free_chats: tuple[str, ...] = ()
    """Ids of groups in which no mention is needed."""
    keep_unmentioned: bool = False
    """Keep what a group says to others as background; not built yet."""
    reply_to: Literal["off", "first", "all"] = "first"
    """Which parts of an answer are shown as a reply to the message they answer."""
    rich_messages: bool = False
    """Send Bot API rich messages, which some clients show as empty; not built yet."""

    @property
    def active(self) -> bool:
        """Say whether this bot is to run."""
        return bool(self.token.get_secret_value()) if self.enabled == "auto" else self.enabled

    @field_validator("token")
    @classmethod
    def _looks_like_a_token(cls, token: SecretStr) -> SecretStr:
        number, colon, secret = token.get_secret_value().partition(":")
        if number + colon and not (colon and secret and number.isascii() and number.isdigit() and _unspaced(secret)):
            raise ValueError("not a bot token: @BotFather gives a number, a colon and a secret")
        return token

    @field_validator("api_base")
    @classmethod
    def _is_a_root(cls, url: str) -> str:
        parts = urlsplit(url)
        if url and (parts.scheme not in {"http", "https"} or not parts.hostname or "{" in url or parts.query):
            raise ValueError("write the server's root, such as http://127.0.0.1:8081")
        return url.rstrip("/")

    @field_validator("mode")
    @classmethod
    def _polls(cls, mode: str) -> str:
        if mode == "webhook":
            raise ValueError("webhook mode is not built yet; write polling, which needs no public address")
        return mode

    @field_validator("mention_patterns", "keep_unmentioned", "rich_messages")
    @classmethod
    def _is_built(cls, value: object) -> object:
        if value:
            raise ValueError(LATER)
        return value


def _unspaced(secret: str) -> bool:
    return (
        secret.isascii()
        and secret.isprintable()
        and not any(letter.isspace() or letter in "/?#{}" for letter in secret)
    )
