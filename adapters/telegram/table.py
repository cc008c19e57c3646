"""Tables as text of even columns: rows of cells in, lines out, measured as a terminal shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from wcwidth import wcswidth

COLUMN_CELLS: Final = 40  # a longer cell stands over; the others are not padded to it
GROWTH: Final = 4


def draw(rows: Sequence[Sequence[str]], alignments: Sequence[str] = ()) -> str:
    """
    Draw a table whose first row is its head.

    Padding may not make it many times longer than its cells: then they stand unpadded.
    """
    columns = max((len(row) for row in rows), default=0)
    cells = [[*(" ".join(cell.split()) for cell in row), *[""] * (columns - len(row))] for row in rows]
    widths = [min(COLUMN_CELLS, max(_width(row[at]) for row in cells)) for at in range(columns)]
    if sum(widths) * len(rows) > GROWTH * sum(len(cell) + 3 for row in cells for cell in row) + 4096:
        return "\n".join(" │ ".join(row).rstrip() for row in cells)
    sides = [*alignments, *["None"] * columns]
    lines = [" │ ".join(map(_pad, row, widths, sides)).rstrip() for row in cells]
    lines[1:1] = ["─┼─".join("─" * width for width in widths)]
    return "\n".join(lines)


def _pad(cell: str, width: int, side: str) -> str:
    space = max(0, width - _width(cell))
    left = space if side == "Right" else space // 2 if side == "Center" else 0
    return " " * left + cell + " " * (space - left)


def _width(text: str) -> int:
    """Return the columns a text takes; control characters have none to speak of."""
    return len(text) if text.isascii() else max(wcswidth(text), 0) or len(text)
