"""What was said and no more: without a model's thoughts, without what the gateway composed into it. Pure, linear."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gateway.agent.memory.fence import NOTE_BEGINS, OPEN
from gateway.contracts.context import Row
from gateway.messages import Message

_TAG = re.compile(r"<(/?)(think|thinking|thought|reasoning|reasoning_scratchpad)>", re.IGNORECASE)
_RECALLED = f"\n\n{OPEN}\n{NOTE_BEGINS}"

SCAFFOLDING = (
    "[System: Your previous response was truncated",
    "[System: The previous response was cut off",
    "[System: Your previous tool call",
    "[Your active task list was preserved across context compression]",
    "[IMPORTANT: Background process ",
    "Continue from the compressed conversation context above.",
)
"""How messages in a user's role begin that no person wrote; the reference's."""


def unthought(text: str) -> str:
    """
    Return a text without the blocks in which a model thinks; as it is where nothing else would remain.

    A block begins at the beginning of a line, so that prose about the tag stays. One that never closes goes on to the
    end; before one that closes without having begun all is thought, as some templates have it.
    """
    kept: list[str] = []
    at, inside, prose = 0, False, False
    for tag in _TAG.finditer(text):
        begins = _begins_line(text, tag)
        if tag[1]:
            if inside or (not prose and (begins or text[tag.end() : tag.end() + 1] in {"", "\n"})):
                at, inside = tag.end(), False
            prose = False
        elif not inside and begins:
            kept.append(text[at : tag.start()])
            inside = True
        elif not inside:
            prose = True
    if not inside:
        kept.append(text[at:])
    return "".join(kept).strip() or text if at or inside else text


def _begins_line(text: str, tag: re.Match[str]) -> bool:
    before = text[max(0, tag.start() - 9) : tag.start()]
    return ("\n" in before or tag.start() <= 9) and not before.rpartition("\n")[2].strip()


def said(message: Message) -> str:
    """Return what a message brings: a person's words with sender and quotes, but without what was recalled for them."""
    if message.role == "user":
        return message.content.partition(_RECALLED)[0]
    return unthought(message.content) if message.role == "assistant" else message.content


def asks(row: Row) -> bool:
    """Say whether a person wrote this, and not the gateway in a user's role."""
    return row.asks and not row.message.text.startswith(SCAFFOLDING)


def asked(rows: Sequence[Row]) -> Iterator[str]:
    """Give what people wrote, the newest first."""
    return (row.message.text for row in reversed(rows) if asks(row))


def answered(rows: Sequence[Row]) -> bool:
    """Say whether the last thing that a person wrote has an answer behind it that they could read."""
    for row in reversed(rows):
        if row.visible:
            return True
        if row.asks:
            return False
    return True
