"""The database's clock as a SQL expression: seconds since 1970, a float. The only clock that leases know."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Float
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class now(FunctionElement[float]):
    """``now()``: the time of the statement on Postgres, of the call on SQLite."""

    type = Float()
    inherit_cache = True


@compiles(now, "sqlite")
def _sqlite(element: now, compiler: SQLCompiler, **options: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(now, "postgresql")
def _postgres(element: now, compiler: SQLCompiler, **options: Any) -> str:
    return "extract(epoch from clock_timestamp())::float8"
