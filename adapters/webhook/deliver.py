"""Where a route's answers go: the words of `deliver` in, addresses out. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gateway.types import Address

HOME: Final = frozenset({"origin", "local"})


def addresses(deliver: str | Sequence[str]) -> tuple[Address | None, ...]:
    """
    Return the places, None standing for the origin; nothing where the origin is the only one.

    Raise `ValueError` with a sentence for anything that is no address.
    """
    words = [deliver] if isinstance(deliver, str) else list(deliver)
    places = tuple(dict.fromkeys(None if word in HOME else _address(word) for word in words))
    return () if places == (None,) else places


def _address(word: str) -> Address:
    if ":" not in word:
        raise ValueError(
            f"write origin, local or platform:chat, such as {word or 'telegram'}:42; a home chat is no place yet"
        )
    return Address.parse(word)
