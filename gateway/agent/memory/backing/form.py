"""The bytes of a text and the text itself: marks and newlines that edits do not see, and that writing keeps. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.agent.memory.backing.contract import Stored
from gateway.types import clean

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Form:
    """How somebody's editor writes the text."""

    bom: bool = False
    crlf: bool = False


def decode(raw: bytes) -> tuple[Stored, Form]:
    """Return the text, with what is not UTF-8 in it as U+FFFD, and its form: the newline that most lines end with."""
    form = Form(raw.startswith(BOM), 2 * raw.count(b"\r\n") > raw.count(b"\n"))
    try:
        return Stored(settled(raw.decode())), form
    except UnicodeDecodeError as error:
        damage = f"byte 0x{raw[error.start]:02X} at {error.start} is not UTF-8"
        return Stored(settled(raw.decode(errors="replace")), damage), form


def encode(text: str, form: Form) -> bytes:
    """Return the bytes of a text as `settled` leaves it."""
    return BOM * form.bom + (text.replace("\n", "\r\n") if form.crlf else text).encode()


def settled(text: str) -> str:
    r"""Return a text that comes back as it was stored: newlines are ``\n``, nothing in it that no store takes."""
    return clean(text).replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
