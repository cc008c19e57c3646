"""From Markdown to what Telegram shows: a text and its entities, and the keyboard under it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from telegramify_markdown import RenderConfig
from telegramify_markdown.converter import EventWalker

from adapters.telegram.entities import Span, normalise
from adapters.telegram.markdown import events
from gateway.contracts.adapter import Limits, utf16
from gateway.errors import Unacceptable
from gateway.types import Button, Rendered, clean

HINT: Final = (
    "You are writing in Telegram. Markdown is shown formatted: bold, italic, strikethrough, code, links, quotes, lists "
    "and ||spoilers||. Tables become fixed-width text, so keep them narrow. People mostly read on a phone: short "
    "paragraphs and lists read best."
)

LIMITS: Final = Limits(
    text=4096,  # "1-4096 characters after entities parsing", which are UTF-16 code units
    measure=utf16,
    edits=True,
    edit_every=1.0,
    per_chat=1.0,
    per_account=30.0,
    buttons=True,
    threads=True,
    hint=HINT,
)

BUGS: Final = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a defect in the converter may raise: the text is then sent as it is."""

BUTTON_BYTES: Final = 64  # InlineKeyboardButton.callback_data
BUTTONS_PER_ROW: Final = 2


def _plain_marks() -> RenderConfig:
    """Return settings that put no pictures before headings and fold nothing away."""
    config = RenderConfig.isolated()
    marks = config.markdown_symbol
    marks.heading_level_1 = marks.heading_level_2 = marks.heading_level_3 = marks.heading_level_4 = ""
    marks.unordered_list_item = "•"
    marks.task_uncompleted = "⬜"
    config.cite_expandable = False
    return config


MARKS: Final = _plain_marks()


def render(markdown: str) -> Rendered:
    """Return the text with its entities in `extra`; plain where nothing could be made of it."""
    source = clean(markdown)
    try:
        text, spans = _convert(source)
    except BUGS:
        text, spans = "", []
    if not text.strip():
        text, spans = source.rstrip(), []
    length = utf16(text)
    entities = [span.as_json() for span in normalise(spans, length)]
    return Rendered(text, length, {"entities": entities} if entities else {})


def _convert(markdown: str) -> tuple[str, list[Span]]:
    source, steps = events(markdown)
    text, entities, _ = EventWalker(MARKS, source.decode()).walk(tuple(steps))
    spans = [
        Span(entity.offset, -(entity.offset + entity.length), entity.type, entity.url or "", entity.language or "")
        for entity in entities
    ]
    return text.rstrip(), spans


def keyboard(buttons: Sequence[Button]) -> list[list[dict[str, str]]]:
    """Return the rows of an inline keyboard."""
    for button in buttons:
        if not 1 <= len(clean(button.value).encode()) <= BUTTON_BYTES:
            raise Unacceptable(f"Telegram carries 1 to {BUTTON_BYTES} bytes in a button")
    keys = [{"text": clean(button.label) or "·", "callback_data": clean(button.value)} for button in buttons]
    return [keys[at : at + BUTTONS_PER_ROW] for at in range(0, len(keys), BUTTONS_PER_ROW)]
