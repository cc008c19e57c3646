"""Texts made to keep a scan busy."""

from __future__ import annotations

import random

from gateway.agent.threats.patterns import patterns

UNITS = {
    "ignore": "ignore ",
    "ignore all": "ignore all ",
    "edit": "edit ",
    "cat": "cat ",
    "curl": "curl $A ",
    "comments": "<!--",
    "colons": "=:",
    "one word": "a",
    "a word with a stem": "instruction",
    "dots": ". ",
    "dotted": ".a",
    "dollars": "$a",
    "quotes": "a'",
    "underscores": "_",
    "lines": "\n ",
    "numbers": "a1",
    "han": "忽略之前",
    "han apart": "忽 ",
    "hangul": "무시하",
    "zero width": "\u200b",
    "joiners": "👨\u200d",
    "tags": "🏴\U000e0061",
    "two alphabets": "aа ",
    "combining marks": "\u0300\u0316",
    "squares": "㌖",
    "ligatures": "\ufdfa",
    "jamo": "\u1100\u1161",
    "accents": "é",
}


def hostile(size: int) -> dict[str, str]:
    """By name, texts of so many bytes in UTF-8."""
    chance = random.Random(size)
    words = [word for word in patterns().words if word[0] != "#"]
    every = " . ".join(words)
    texts = {name: unit * (size // len(unit.encode())) for name, unit in UNITS.items()}
    texts["translate"] = "translate " + " " * size
    texts["an opening word"] = "instruction" + "a" * size
    texts["a han character and spaces"] = "忽" + " \n" * size
    texts["bytes"] = chance.randbytes(size).decode("latin-1")
    texts["all words"] = " ".join(chance.choices(words, k=size))
    texts["each word, then those with most steps"] = every + " " + "c2 no md " * size
    return {name: text.encode()[:size].decode(errors="ignore") for name, text in texts.items()}
