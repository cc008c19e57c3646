"""The log put together: every line of ours and of the libraries, to the file of the home and to the terminal.

In: the settings, the home, the secrets. Out: handlers on the root logger, until `configure` is left. Redaction is the
last step before a line is written, behind the formatting of exceptions: what was not text by then is made text first,
so that no object can print a secret later.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from math import isfinite
from pathlib import Path
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from gateway.home import Home
from gateway.log.redact import MASK, Redactor
from gateway.log.settings import LogSettings

PARTS = {"compression": "gateway.agent.context"}
"""Names in `log.levels` that are not the name of a module of ours."""
NOISY = (
    "aiogram.event",
    "alembic",
    "asyncio",
    "discord",
    "httpcore",
    "httpcore2",
    "httpx",
    "httpx2",
    "openai",
    "slack_bolt",
    "slack_sdk",
    "uvicorn",
)
"""Libraries that tell each request or step: heard from warning on, unless everything is wanted or they are named."""
SERVER = ("uvicorn", "uvicorn.access", "uvicorn.error")
"""They bring handlers of their own."""
LONGEST = 32 * 1024
"""Characters of one text in one line."""
DEEPEST = 8
STEERING = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}
"""Characters that mean something to a terminal."""
OURS = frozenset({"level", "logger", "timestamp"})
"""What no stranger and no secret has a part in."""
HIDDEN = frozenset({"api_key", "apikey", "authorization", "password", "secret", "token", "bot_token", "app_token"})
"""Names of values that are never written."""


@contextmanager
def configure(
    settings: LogSettings,
    home: Home,
    secrets: Iterable[str],
    *,
    color: bool | None = None,
    stream: TextIO | None = None,
) -> Iterator[Redactor]:
    """
    Write the log until left; yield what takes the secrets out, for others who show texts.

    The terminal is `stream`, stderr where there is none. Raise `OSError` where the file cannot be written.
    """
    redact = Redactor(secrets)
    terminal = _to_terminal(settings, stream or sys.stderr, redact, color=color)
    with _handled_by(_to_file(settings, home, redact), terminal), _heard_from(settings), _structured():
        yield redact


@contextmanager
def _handled_by(*handlers: logging.Handler) -> Iterator[None]:
    """Send every line to these handlers, those of libraries with handlers of their own too."""
    root = logging.getLogger()
    before, root.handlers[:] = root.handlers[:], handlers
    for name in SERVER:
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = True
    logging.captureWarnings(capture=True)
    try:
        yield
    finally:
        logging.captureWarnings(capture=False)
        root.handlers[:] = before
        for handler in handlers:
            with suppress(OSError):  # a full disk has been said already
                handler.close()


@contextmanager
def _heard_from(settings: LogSettings) -> Iterator[None]:
    """Give every logger its level."""
    levels = list(_levels(settings))
    before = {logger: logger.level for logger, _ in levels}
    for logger, level in levels:
        logger.setLevel(level)
    try:
        yield
    finally:
        for logger, level in before.items():
            logger.setLevel(level)


@contextmanager
def _structured() -> Iterator[None]:
    """Let structlog write to the handlers of logging."""
    structlog.configure(
        processors=[*_first(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    try:
        yield
    finally:
        structlog.reset_defaults()


def _levels(settings: LogSettings) -> Iterator[tuple[logging.Logger, int]]:
    """Yield the loggers that have a level of their own, the root first."""
    yield logging.getLogger(), _number(settings.level)
    quiet = max(_number(settings.level), logging.WARNING)
    for name in NOISY if settings.level != "debug" else ():
        yield logging.getLogger(name), quiet
    for name, level in settings.levels.items():
        for each in dict.fromkeys((name, PARTS.get(name, f"gateway.{name}"))):
            yield logging.getLogger(each), _number(level)


def _number(level: str) -> int:
    return logging.getLevelNamesMapping()[level.upper()]


def _first() -> list[Processor]:
    """Return what happens to a line where it is written, while its task and its exception are at hand."""
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.StackInfoRenderer(),
    ]


def _formatter(redact: Redactor, *renderers: Processor) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[structlog.stdlib.ExtraAdder(), *_first()],
        processors=[
            _when,
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            _Clean(redact),
            *renderers,
        ],
    )


def _when(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Add the time of the line itself, the same wherever it is shown."""
    record: logging.LogRecord = event["_record"]
    at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    return {**event, "timestamp": at.replace("+00:00", "Z")}


class _Clean:
    """Makes a line plain text without secrets."""

    def __init__(self, redact: Redactor) -> None:
        self._redact = redact

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        return {
            key if key in OURS else self._text(key): value if key in OURS else self._named(key, value)
            for key, value in event.items()
        }

    def _named(self, name: object, value: object) -> Any:
        hidden = str(name).lower().replace("-", "_") in HIDDEN
        return MASK if hidden and value else self._plain(value, 0)

    def _plain(self, value: object, depth: int) -> Any:
        if value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and isfinite(value)):
            return value
        if isinstance(value, str):
            return self._text(value)
        if depth < DEEPEST and isinstance(value, dict):
            return {self._text(str(key)): self._below(key, one, depth) for key, one in value.items()}
        if depth < DEEPEST and isinstance(value, (list, tuple, set, frozenset)):
            return [self._plain(one, depth + 1) for one in value]
        return self._text(_shown(value))

    def _below(self, key: object, value: object, depth: int) -> Any:
        return MASK if str(key).lower() in HIDDEN and value else self._plain(value, depth + 1)

    def _text(self, text: str) -> str:
        clean = self._redact(text)
        return clean if len(clean) <= LONGEST else f"{clean[:LONGEST]}… [{len(clean)} characters]"


def _shown(value: object) -> str:
    """Make text of any object, also of one that cannot be shown."""
    try:
        return value if isinstance(value, str) else repr(value)
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        return f"<{type(value).__name__}>"


def _to_file(settings: LogSettings, home: Home, redact: Redactor) -> logging.Handler:
    home.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    handler = _File(home.log_file, int(settings.max_megabytes * 1024 * 1024), settings.keep)
    handler.setFormatter(_formatter(redact, structlog.processors.JSONRenderer(ensure_ascii=False)))
    return handler


def _to_terminal(settings: LogSettings, stream: TextIO, redact: Redactor, *, color: bool | None) -> logging.Handler:
    handler = _Terminal(stream)
    on_terminal = stream.isatty()
    if settings.format == "json" or (settings.format == "auto" and not on_terminal):
        handler.setFormatter(_formatter(redact, structlog.processors.JSONRenderer(ensure_ascii=False)))
        return handler
    colors = on_terminal if color is None else color
    text = structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)
    handler.setFormatter(_formatter(redact, _printable, text))
    return handler


def _printable(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Escape what would steer the terminal; the text may be a stranger's."""
    return {key: _escaped(value, lines=key in {"exception", "stack"}) for key, value in event.items()}


def _escaped(value: Any, *, lines: bool) -> Any:
    if not isinstance(value, str):
        return value
    return "\n".join(line.translate(STEERING) for line in (value.split("\n") if lines else [value]))


class _Quiet(logging.Handler):
    """A handler whose own trouble is no reason to print the line, unredacted, with a traceback."""

    failed = 0

    def handleError(self, record: logging.LogRecord) -> None:
        error = sys.exc_info()[1]
        reason = error.strerror if isinstance(error, OSError) else type(error).__name__
        if not self.failed:
            sys.stderr.write(f"hermes-gateway: a line of {record.name}:{record.lineno} cannot be logged: {reason}\n")
        self.failed += 1


class _Terminal(_Quiet, logging.StreamHandler[TextIO]):
    """Writes to the terminal; what it cannot show is escaped."""

    def format(self, record: logging.LogRecord) -> str:
        encoding = self.stream.encoding or "utf-8"
        return super().format(record).encode(encoding, "backslashreplace").decode(encoding)


class _File(_Quiet, RotatingFileHandler):
    """A file for its owner only, that another process of the same home may have put aside meanwhile."""

    def __init__(self, file: Path, size: int, keep: int) -> None:
        super().__init__(file, maxBytes=size, backupCount=keep)

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding="utf-8", errors="backslashreplace", opener=_for_its_owner)

    def shouldRollover(self, record: logging.LogRecord) -> bool:
        """Say whether the file is full; the line need not be formatted for that."""
        stream = self.stream
        if stream is None or self._put_aside(stream):
            if stream is not None:
                stream.close()
            stream = self.stream = self._open()
        return stream.tell() >= self.maxBytes

    def _put_aside(self, stream: TextIOWrapper) -> bool:
        try:
            there = os.stat(self.baseFilename)
        except FileNotFoundError:
            return True
        ours = os.fstat(stream.fileno())
        return (there.st_ino, there.st_dev) != (ours.st_ino, ours.st_dev)


def _for_its_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
