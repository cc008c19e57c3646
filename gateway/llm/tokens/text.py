"""
How many tokens a text is, told from the sorts of characters in it. Pure, and linear in the length of the text.

A tokenizer cuts a text into words, runs of digits and clusters of marks, and these into pieces it knows; how many
depends on the script. So each sort of character has a weight, and so has each beginning of a run of some sorts. The
weights are those that come closest to o200k, Qwen and DeepSeek alike (`tests/data/tokens/fit.py`).

Nothing here looks at single characters in Python: a text becomes bytes that name the sort of each character, and
bytes are counted. A megabyte takes some 20 to 40 ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from operator import mul

from gateway.llm.tokens.scripts import BLOCKS, SCRIPTS, table

PLAIN = table(
    b"p",
    {
        b"A": range(ord("A"), ord("Z") + 1),
        b"a": range(ord("a"), ord("z") + 1),
        b"0": range(ord("0"), ord("9") + 1),
        b" ": b" \t",
        b"n": b"\n\r",
        b"?": b"?",
    },
)
"""The sort of an ASCII character; ``?`` stands for all that is not ASCII, ``p`` for punctuation."""
LETTERS, DIGITS, MARKS, ENDS = (table(b".", {b"x": sorts}) for sorts in (b"Aa", b"0", b"p", b"n"))
WORDED = tuple(script for script in SCRIPTS if script.run)
RULERS = tuple(mark * 8 for mark in "-=_*#~.")

WEIGHTS = {
    "words": 0.4,  # and what each letter of them adds:
    "small": 0.147,
    "capitals": 0.57,  # pairs of them
    "humps": 0.7,  # a capital after a small letter
    "numbers": 1.75,
    "digits": 0.275,
    "clusters": 0.13,
    "marks": 0.48,
    "lines": 0.4,
    "gaps": 0.15,  # pairs of spaces
    "wide": -1.0,  # 16 spaces are hardly more than two
    "rulers": -3.6,  # eight of the same mark are hardly more than one
    "latin": 0.45,  # letters with accents, up to U+00FF
    "emoji_runs": 1.4,
    **{script.name: script.each for script in SCRIPTS},
    **{script.runs: script.run for script in WORDED},
}
"""Tokens for each."""


_PLAIN = ("words", "small", "capitals", "humps", "numbers", "digits", "clusters", "marks", "lines", "gaps")
_PLAIN_WEIGHTS = tuple(WEIGHTS[name] for name in _PLAIN)
_MARKS, _CLUSTERS, _GAPS = _PLAIN.index("marks"), _PLAIN.index("clusters"), _PLAIN.index("gaps")


def estimate_text(text: str) -> int:
    """Return about how many tokens a text is."""
    plain, counts = _counted(text)
    tokens: float = sum(map(mul, _PLAIN_WEIGHTS, counts))
    if rest := _others(text, plain, counts):
        tokens += sum(WEIGHTS[name] * count for name, count in rest.items())
    return max(ceil(tokens), bool(text))


def features(text: str) -> dict[str, int]:
    """Count what has a weight."""
    plain, counts = _counted(text)
    return dict(zip(_PLAIN, counts, strict=True)) | _others(text, plain, counts)


def _counted(text: str) -> tuple[bytes, tuple[int, ...]]:
    """Return the text with a letter for each kind of character, and how often there is what every text has."""
    plain = text.replace("?", "!").encode("ascii", "replace").translate(PLAIN)
    return plain, (
        _runs(plain.translate(LETTERS)),
        plain.count(b"a"),
        plain.count(b"AA"),
        plain.count(b"aA"),
        _runs(plain.translate(DIGITS)),
        plain.count(b"0"),
        _runs(plain.translate(MARKS)),
        plain.count(b"p"),
        _runs(plain.translate(ENDS)),
        plain.count(b"  "),
    )


def _others(text: str, plain: bytes, counts: Sequence[int]) -> dict[str, int]:
    """Count what few texts have."""
    found: dict[str, int] = {}
    if counts[_GAPS] >= 8:
        found["wide"] = plain.count(b" " * 16)
    if counts[_MARKS] - counts[_CLUSTERS] >= 7:
        found["rulers"] = sum(map(text.count, RULERS))
    return found if text.isascii() else found | _foreign(text, plain.count(b"?"))


def _foreign(text: str, strangers: int) -> dict[str, int]:
    # The upper byte of a UTF-16 unit is the block of 256 characters it belongs to.
    blocks = text.encode("utf-16-le", "surrogatepass")[1::2].translate(BLOCKS)
    found = {script.name: count for script in SCRIPTS if (count := blocks.count(script.sort))}
    if latin := strangers - sum(found.values()):
        found["latin"] = max(0, latin)  # below 0 where half a surrogate pair stands alone
    if emoji := found.get("emoji"):
        found["emoji_runs"] = emoji - blocks.count(b"-e")
    for script in WORDED:
        if script.name in found:
            found[script.runs] = _runs(blocks.translate(script.only))
    return found


def _runs(marked: bytes) -> int:
    return marked.count(b".x") + marked.startswith(b"x")
