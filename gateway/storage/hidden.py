"""
What a view that stands does to a message: one place for the conditions. In: a column with a message's id.

A view may hide a message, or only show another text in its place: such a message is still there. A compression hides
from the model; every other view takes back what was said.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, select

from gateway.storage.tables import COMPRESSION, view_rows, views

HIDES = (views.c.undone == 0) & (view_rows.c.shown == "")
"""Says that a row of a view hides its message; for a query that joins both tables."""
COMPRESSES = HIDES & (views.c.kind == COMPRESSION)
TAKES_BACK = HIDES & (views.c.kind != COMPRESSION)


def compressed(message: ColumnElement[Any]) -> ColumnElement[bool]:
    """Say that a compression keeps the message from the model."""
    return _one(message, COMPRESSES)


def taken_back(message: ColumnElement[Any]) -> ColumnElement[bool]:
    """Say that the message was taken back, by whichever session's view."""
    return _one(message, TAKES_BACK)


def spelled(condition: ColumnElement[bool]) -> str:
    """Return a condition as SQL of both databases, for a statement that is text."""
    return str(condition.compile(compile_kwargs={"literal_binds": True}))


def _one(message: ColumnElement[Any], condition: ColumnElement[bool]) -> ColumnElement[bool]:
    rows = select(view_rows.c.message).join(views, views.c.id == view_rows.c.view)
    return rows.where(view_rows.c.message == message, condition).exists()
