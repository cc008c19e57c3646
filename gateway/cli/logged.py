"""What rooms write into the log while a command works that has none: a warning each, without secrets, once."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable


class Logged(logging.Handler):
    """Takes the place of logging's last resort, which would print everything as it is. `redact` takes secrets out."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.redact: Callable[[str], str] = str
        self._told: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        text = f"warning: {' '.join(self.redact(record.getMessage()).split())}"
        if text not in self._told:
            self._told.add(text)
            print(text.encode("utf-8", "backslashreplace").decode(), file=sys.stderr)


def redact_log(redact: Callable[[str], str]) -> None:
    """Have secrets taken out of what is logged from now on."""
    if isinstance(logging.lastResort, Logged):
        logging.lastResort.redact = redact
