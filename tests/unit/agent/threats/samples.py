"""Reads `testdata`: for each pattern of a module, in its order, a text it finds and one it lets pass."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "testdata"


class Sample(NamedTuple):
    name: str
    finds: str
    passes: str


def samples(module: str) -> list[Sample]:
    read, name, finds = list[Sample](), "", ""
    for line in (FOLDER / f"{module}.txt").read_text().splitlines():
        sign, rest = line[0], line[2:]
        if sign == "[":
            name = line[1:-1]
        elif sign == "+":
            finds = rest
        else:
            read.append(Sample(name, finds, rest))
    return read


def notes() -> list[str]:
    return (FOLDER / "notes.txt").read_text().splitlines()


def threats() -> list[tuple[str, str]]:
    """Each with its class."""
    lines = (FOLDER / "threats.txt").read_text().splitlines()
    return [(name, said) for name, _, said in (line.partition(": ") for line in lines)]
