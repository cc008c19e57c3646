"""What became of an event, for a caller that comes back for the answer. An adapter and an id in, a `Run` out."""

from __future__ import annotations

from functools import partial

from gateway.app.gateway import Gateway
from gateway.bus import reports
from gateway.contracts.adapter import AsgiApp, Run
from gateway.sessions import store
from gateway.storage.database import Connection, Database

FULL = "too many calls of this conversation were waiting"
"""Why an event was dropped that nobody stopped."""


def hooks_of(gateway: Gateway) -> dict[str, AsgiApp]:
    """Return what the adapters want called from outside, by path."""
    hooks = [adapter.hooks(partial(run_of, gateway.database, name)) for name, adapter in gateway.adapters.items()]
    return {path: app for each in hooks for path, app in each.items()}


async def run_of(database: Database, adapter: str, id: str) -> Run | None:
    """Return what became of an event of an adapter; None where there never was one."""
    return await database.read(lambda connection: _run(connection, f"{adapter}:{id}"))


def _run(connection: Connection, key: str) -> Run | None:
    fate = reports.fate(connection, key)
    if fate is None:
        return None
    if fate.state in {"waiting", "claimed"}:
        return Run("running" if fate.state == "claimed" else "waiting")
    if fate.state == "discarded":
        return Run("dropped", problem=fate.reason or FULL)
    if fate.state == "dead" or fate.problem:
        return Run("failed", problem=fate.problem or fate.reason)
    said = [message.text.strip() for message in store.of_turn(connection, fate.turn) if message.role == "assistant"]
    return Run("done", answer="\n\n".join(text for text in said if text))
