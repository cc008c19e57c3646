"""What became of one reference."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.agent.references.parse import Reference


@dataclass(frozen=True, slots=True)
class Piece:
    """
    What a reference brought. `language` is that of the code fence, None for text that is Markdown or a note already.

    `remark` says how it was read. `size` is 0, or the length in bytes of what is too much, whose beginning is the text.
    """

    reference: Reference
    icon: str
    text: str
    language: str | None = None
    remark: str = ""
    size: int = 0

    @property
    def whole(self) -> bool:
        """Say whether all of it was read."""
        return not self.size


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
