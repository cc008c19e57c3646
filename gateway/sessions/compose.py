"""From the events of a turn to the user's message: what was said, and what the model is shown of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from gateway.messages import Message
from gateway.types import Event, clean

CUT_CHARS = 1800
"""A part of a burst that is at least so long was cut by the client (4,096 UTF-16 units, 2,048 emoji); a shorter one
belongs to an album."""
QUOTE_CHARS = 500
"""How much of a quoted message goes along."""
NONE: Mapping[str, str] = MappingProxyType({})
JOINERS = "\u200c\u200d"
"""Not to be seen, and yet part of a Persian name or of a family."""


def user_message(events: Sequence[Event], called: Mapping[str, str] = NONE) -> Message:
    """
    Return one message of all the events, in order and with their boundaries kept.

    `text` is what people wrote; `api_content` is set where the model must know more: who speaks in a shared session,
    what a message answers, what a message calls (`called`, by the ids of events), which is read in its place.
    """
    text = _together(events, lambda event: clean(event.text)) or _without_text(events)
    shown = _together(events, partial(_shown, called))
    return Message("user", text, api_content=None if shown == text else shown)


def _together(events: Sequence[Event], say: Callable[[Event], str]) -> str:
    """Join what events say, with a blank line between messages and nothing where a client has cut one in two."""
    text, cut_by = "", ""
    for event in events:
        goes_on = bool(cut_by) and event.sender.id == cut_by
        said = clean(event.text) if goes_on else say(event)
        text += said if goes_on or not text or not said else f"\n\n{said}"
        cut_by = event.sender.id if event.burst and len(event.text) >= CUT_CHARS else ""
    return text


def _shown(called: Mapping[str, str], event: Event) -> str:
    body = clean(called.get(event.id, event.text)) or _without_text((event,))
    name = "" if event.private else _one_line(event.sender.name)
    who = f"[{name}] " if name else ""
    return f"{_quoted(event)}{who}{body}"


def _quoted(event: Event) -> str:
    """Quote what the message answers, unless the model said it itself a moment ago and will find it above."""
    quote = event.reply_to
    if quote is None or not quote.text.strip():
        return ""
    text = clean(quote.text).strip()
    text = text if len(text) <= QUOTE_CHARS else f"{text[:QUOTE_CHARS]}…"
    whose = "your message" if quote.ours else f"a message of {_one_line(quote.author) or 'somebody'}"
    lines = "\n".join(f"> {line}" for line in text.splitlines())
    return f"[In reply to {whose}:]\n{lines}\n\n"


def _one_line(name: str) -> str:
    """A name is a stranger's text: one short visible line without brackets, so that it cannot pass for our labels."""
    visible = "".join(letter if letter.isprintable() or letter in JOINERS else " " for letter in clean(name))
    return " ".join(visible.replace("[", "(").replace("]", ")").split())[:64]


def _without_text(events: Sequence[Event]) -> str:
    attachments = [attachment for event in events for attachment in event.attachments]
    names = [f"{attachment.kind} {_one_line(attachment.name)}".strip() for attachment in attachments]
    return f"[sent without text: {', '.join(names)}]" if names else "[a message without text]"
