"""What a line belongs to: session, turn, message. Bound once, on every line that is written below.

``with bound(session=…, turn=…):`` holds for the task it stands in and those it starts; nothing need be handed on.
"""

from __future__ import annotations

from structlog.contextvars import bound_contextvars as bound

__all__ = ["bound"]
