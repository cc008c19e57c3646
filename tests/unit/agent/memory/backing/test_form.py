"""Marks and newlines of other people's editors: not shown, and kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.memory.backing.contract import Stored
from gateway.agent.memory.backing.form import Form, decode, encode, settled

FORMS = st.builds(Form, st.booleans(), st.booleans())


@given(text=st.text(), form=FORMS)
def test_what_is_written_is_read_again(text: str, form: Form) -> None:
    assert decode(encode(settled(text), form))[0] == Stored(settled(text))


@pytest.mark.parametrize(
    "raw", [b"a\nb\n", b"a\r\nb\r\n", b"\xef\xbb\xbfa\r\nb", b"\xef\xbb\xbf", b"", "é\n東京".encode()]
)
def test_a_file_of_one_form_is_written_as_it_was_read(raw: bytes) -> None:
    stored, form = decode(raw)
    assert encode(stored.text, form) == raw
    assert "\r" not in stored.text
    assert "\ufeff" not in stored.text


def test_of_mixed_newlines_the_more_frequent_one_stays() -> None:
    assert decode(b"a\r\nb\r\nc\nd\r\n")[1].crlf
    assert not decode(b"a\r\nb\nc\n")[1].crlf


def test_damage_names_the_byte_in_the_file() -> None:
    stored, _ = decode(b"Likes na\xefve art\n")
    assert stored == Stored("Likes na\ufffdve art\n", "byte 0xEF at 8 is not UTF-8")
    assert decode(b"\xef\xbb\xbfab\xff")[0].damage == "byte 0xFF at 5 is not UTF-8"


@given(raw=st.binary())
def test_any_bytes_can_be_shown(raw: bytes) -> None:
    stored, _ = decode(raw)
    assert settled(stored.text) == stored.text
    assert bool(stored.damage) == (
        b"\xff" in raw or "\ufffd" in stored.text and raw.decode(errors="ignore").encode() != raw
    )
