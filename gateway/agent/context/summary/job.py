"""What is to be summed up, and how much room a summary has. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain

from gateway.agent.context.summary.spoken import asked
from gateway.contracts.context import Row

LEAST, MOST = 2_000, 10_000
"""Tokens of a summary; the reference's, like the shares."""
SHARE, WINDOW_SHARE = 0.20, 0.05
"""Of what is summed up, and of the window, that a summary may take."""
QUOTED = 12_000
"""Tokens that are quoted at most: 24,000 characters of messages, whatever the script, and what else is quoted."""
SMALL_SHARE = 0.125
"""Of a window so small that even the least would fill it."""


@dataclass(frozen=True, slots=True)
class Job:
    """
    One summary to be made.

    `rows` are what it stands for, in order, and `tokens` the estimate of each; a summary among them is passed over:
    its text comes as `previous`, with or without the marks around it ("" for the first one). `target` is the tokens
    the model should aim for (see `target`), `room` those that may follow its text, quoted to the letter (see `room`).
    `later` are the messages that stay behind it. `asked` says whether a person ever wrote anything in this session.
    `memory` is what a memory service adds. `search` says whether the agent can look things up in what was said.
    """

    rows: Sequence[Row]
    tokens: Sequence[int]
    target: int
    room: int
    previous: str = ""
    later: Sequence[Row] = ()
    asked: bool = True
    focus: str = ""
    memory: str = ""
    today: date | None = None
    search: bool = True

    @property
    def asked_newest(self) -> Iterator[str]:
        """What people wrote, the newest first: of what stays, then of what is summed up."""
        return chain(asked(self.later), asked(self.rows))


def target(content: int, window: int) -> int:
    """
    Return the tokens to aim for: a fifth of the content between 2,000 and 10,000, and at most 5 % of the window.

    `content` and `window` (the conversation's model) are in tokens. The reference's 2,000 hold where the window has
    16,000 or more, and never more than half of the content.
    """
    wished = max(LEAST, min(int(content * SHARE), int(window * WINDOW_SHARE), MOST))
    return max(1, min(wished, int(window * SMALL_SHARE), content // 2))


def room(window: int) -> int:
    """Return the tokens that may be quoted behind a summary: 5 % of the conversation's window, and at most 12,000."""
    return max(1, min(int(window * WINDOW_SHARE), QUOTED))
