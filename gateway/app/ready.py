"""What must hold for the gateway to take messages: the checks behind /readyz."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from gateway.app.gateway import Gateway
from gateway.bus import lanes
from gateway.errors import GatewayError, Unreachable


def checks(gateway: Gateway) -> dict[str, Callable[[], Awaitable[None]]]:
    """Return a check for the database, the bus and every account; each raises a `GatewayError` with a sentence."""
    found: dict[str, Callable[[], Awaitable[None]]] = {
        "database": partial(_database, gateway),
        "bus": partial(_bus, gateway),
    }
    return found | {name: partial(_account, gateway, name) for name in gateway.adapters}


async def _database(gateway: Gateway) -> None:
    await gateway.database.read(lambda connection: lanes.generations(connection, []))


async def _bus(gateway: Gateway) -> None:
    if problem := await gateway.hints.problem():
        raise Unreachable(problem)


async def _account(gateway: Gateway, name: str) -> None:
    if trouble := gateway.listening.troubles.get(name):
        raise GatewayError(trouble)
