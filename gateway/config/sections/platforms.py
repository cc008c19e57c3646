"""`platforms`: what every platform has, and the sections of those whose adapter is not built yet."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from gateway.config.sections.base import Section
from gateway.config.sections.sessions import DisplaySettings


class PlatformSettings(Section):
    """What every platform has besides its own."""

    enabled: bool | Literal["auto"] = "auto"
    """auto: when its token is set."""
    display: DisplaySettings = DisplaySettings()
    """What its chats show: the keys of `display`, where they are to be other here."""


class WebchatSettings(Section):
    """The web chat."""

    enabled: bool | Literal["auto"] = True
    """Serve it."""


class ChatPlatform(Section):
    """What chat platforms have in common."""

    api_base: str = ""
    """Another address of the platform's API."""
    allowed_users: list[str] = []
    """Ids of the people who may speak."""
    allowed_channels: list[str] = []
    """Ids of the channels we listen in."""
    require_mention: bool = True
    """In groups, answer only where the bot is mentioned or answered."""
    mention_patterns: list[str] = []
    """Patterns that count as a mention."""
    free_chats: list[str] = []
    """Chats that need no mention."""
    keep_unmentioned: bool = False
    """Keep what was said without a mention, as context."""


class DiscordSettings(ChatPlatform):
    """Discord."""

    token: SecretStr = SecretStr("")
    """The bot's token. DISCORD_BOT_TOKEN stands for it."""
    gateway_url: str = ""
    """Another address of the platform's gateway."""
    allowed_roles: list[str] = []
    """Ids of the roles that may speak."""
    allowed_guilds: list[str] = []
    """Ids of the servers we listen in."""
    auto_thread: bool = True
    """Answer in a thread."""
    max_attachment_mb: float = Field(10, gt=0, le=500)
    """The largest file that is sent."""


class SlackSettings(ChatPlatform):
    """Slack."""

    bot_token: SecretStr = SecretStr("")
    """The bot's token. SLACK_BOT_TOKEN stands for it."""
    app_token: SecretStr = SecretStr("")
    """The app's token, for mode socket. SLACK_APP_TOKEN stands for it."""
    signing_secret: SecretStr = SecretStr("")
    """The signing secret, for mode events. SLACK_SIGNING_SECRET stands for it."""
    mode: Literal["socket", "events"] = "socket"
    """How messages come: over a socket of ours, or by calls to us."""
    thread_replies: bool = True
    """Answer in the thread."""
