"""What waits for approval, decided on from the command line: memory and skills alike."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from typing import Protocol, TypeVar

from gateway.cli import exits
from gateway.cli.output import Failure, Output

ALL = "all"
"""Stands for every id."""


class Waiting(Protocol):
    """Something that waits, under an id."""

    @property
    def id(self) -> str: ...


One_contra = TypeVar("One_contra", bound=Waiting, contravariant=True)


class Decides(Protocol[One_contra]):
    """Who carries out what waits, or drops it; returns a sentence."""

    def approve(self, staged: One_contra, by: str, /) -> Awaitable[str]: ...

    def reject(self, staged: One_contra, by: str, /) -> Awaitable[str]: ...


T = TypeVar("T", bound=Waiting)


async def decide(
    waiting: Iterable[tuple[Decides[T], T]], ids: tuple[str, ...], by: str, *, approved: bool
) -> dict[str, str]:
    """Decide on what has one of these ids; return what is said of each."""
    chosen = [(who, one) for who, one in waiting if one.id in ids or ALL in ids]
    return {one.id: await (who.approve if approved else who.reject)(one, by) for who, one in chosen}


def tell(output: Output, ids: tuple[str, ...], told: Mapping[str, str], group: str) -> None:
    """Say what came of it; fail for an id under which nothing waits. `group` is the command with ``pending``."""
    if missing := [id for id in ids if id not in told and id != ALL]:
        hint = f"hermes-gateway {group} pending lists what does"
        raise Failure(f"nothing waits as {', '.join(missing)}", code=exits.NOT_FOUND, hint=hint)
    output.answer({"decided": dict(told)}, [f"{id}: {words}" for id, words in told.items()] or ["nothing waits"])
