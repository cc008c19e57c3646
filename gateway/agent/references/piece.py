"""What became of one reference."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.agent.references.parse import Reference


@dataclass(frozen=True, slots=True)
class Piece:
    """
    What a reference brought. `language` is that of the code fence, None for text that is Markdown or a note already.

    `remark` says how it was read; `size` is the length in bytes, where it is known. `whole` is false where only the
    beginning was read, since all of it is too much; `advice` says how one gets at the rest.
    """

    reference: Reference
    icon: str
    text: str
    language: str | None = None
    remark: str = ""
    size: int = 0
    whole: bool = True
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """What stands at a URL; `language` and `remark` are those of a `Piece`."""

    text: str
    language: str | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Unread:
    """A reference that brought nothing, and why: a sentence without its end."""

    reference: Reference
    why: str
