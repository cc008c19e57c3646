"""Whatever text an event or a part holds, it can be stored, and comes back as any platform takes it."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from gateway.storage.packing import pack
from gateway.types import Address, Attachment, Button, Event, Media, Part, Rendered, Sender, clean

PART, EVENT = TypeAdapter(Part), TypeAdapter(Event)
TEXT = st.text(st.characters(exclude_categories=()) | st.sampled_from("\0\\u0\ud83d\ude00"), max_size=12)
PARTS = st.builds(
    Part,
    st.builds(Rendered, TEXT, st.integers(0, 9), st.dictionaries(TEXT, st.lists(TEXT | st.integers()), max_size=2)),
    TEXT,
    TEXT,
    st.none() | st.builds(Attachment, st.sampled_from(Media), TEXT, TEXT, TEXT),
    st.lists(st.builds(Button, TEXT, TEXT), max_size=2).map(tuple),
    TEXT,
)


def texts(value: object) -> Iterator[str]:
    """Yield every text in a JSON value."""
    match value:
        case str():
            yield value
        case list():
            yield from (text for item in value for text in texts(item))
        case dict():
            yield from (text for pair in value.items() for item in pair for text in texts(item))


@given(PARTS)
@example(Part(Rendered("a", 1), buttons=(Button("half \ud83d", "\\u0000 is no NUL"),)))
def test_a_part_comes_back_with_nothing_in_it_that_cannot_be_sent(part: Part) -> None:
    back = PART.validate_json(pack(PART, part))
    assert all(text == clean(text) for text in texts(PART.dump_python(back, mode="json")))
    assert (back.markdown, back.body.text) == (clean(part.markdown), clean(part.body.text))
    assert back.buttons == tuple(Button(clean(button.label), clean(button.value)) for button in part.buttons)


@given(PARTS)
def test_packing_what_comes_back_changes_nothing(part: Part) -> None:
    back = PART.validate_json(pack(PART, part))
    assert PART.validate_json(pack(PART, back)) == back


@given(TEXT, TEXT)
def test_an_event_with_any_name_of_a_file_can_be_kept(name: str, text: str) -> None:
    file = Attachment(Media.FILE, "ref", name)
    said = Event(
        id="1", origin=Address(platform="fake", chat="1"), sender=Sender("1", name), text=text, attachments=(file,)
    )
    back = EVENT.validate_json(pack(EVENT, said))
    assert (back.text, back.attachments[0].name, back.sender.name) == (clean(text), clean(name), clean(name))
