"""The settings of the HTTP server, and the checks that need more than their types."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from gateway.errors import ConfigError
from gateway.web.local import loopback


class WebSettings(BaseModel):
    """Where the server listens and who may use it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = Field(default="127.0.0.1", min_length=1)
    """The address to listen on. Anything but this machine's own (127.0.0.1, ::1, localhost) needs a password."""
    port: int = Field(default=8642, ge=0, le=65535)
    """The port to listen on; 0 takes any that is free."""
    api_keys: tuple[str, ...] = ()
    """Keys of the OpenAI-compatible API; empty: /v1 is off. Not built yet, so nothing else is taken."""
    admin_password_file: str = ""
    """A file that holds the password of the pages. Without one only this machine is served."""
    metrics: bool = True
    """Serve /metrics. With a password set, a program sends it along: as HTTP Basic with any name, or as Bearer."""

    @field_validator("api_keys")
    @classmethod
    def _not_built(cls, keys: tuple[str, ...]) -> tuple[str, ...]:
        if keys:
            raise ValueError("the API that these keys open is not built yet; leave the list empty")
        return keys


def read_password(settings: WebSettings, home: Path) -> str:
    """
    Return the password of the pages, empty where there is none.

    A relative path counts from the home. Raise `ConfigError` where the server would stand open to other machines.
    """
    if not settings.admin_password_file:
        if not loopback(settings.host):
            raise ConfigError(
                f"web.host: {settings.host} can be reached from other machines and no password is set",
                hint="put one into a file and name it in web.admin_password_file, or use 127.0.0.1",
            )
        return ""
    file = home / Path(settings.admin_password_file).expanduser()
    try:
        password = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "is not UTF-8 text"
        raise ConfigError(f"web.admin_password_file: {file}: {reason}") from error
    if not password:
        raise ConfigError(f"web.admin_password_file: {file} is empty", hint="write the password into it")
    return password
