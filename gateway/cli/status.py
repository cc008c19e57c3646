"""``status``: whether a gateway runs on the home, and how much there is of everything. Fast, without the network."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from gateway.cli import exits
from gateway.cli.command import command
from gateway.cli.opened import load_config
from gateway.cli.output import Output
from gateway.cli.processes import lives

if TYPE_CHECKING:
    from gateway.cli.probes import Probe
    from gateway.config import Config
    from gateway.home import Home
    from gateway.storage.figures import Figures
    from gateway.storage.lease import Worker

GATEWAYS = frozenset({"all", "edge", "worker"})
"""Roles of a process that serves everybody; a command that takes a turn for itself has another."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What the rows say. Without a database there are none. `refused`: why a platform refuses our token, by account."""

    database: str
    workers: tuple[Worker, ...] = ()
    figures: Figures | None = None
    held: tuple[tuple[str, str], ...] = ()
    owners: frozenset[str] = frozenset()
    refused: tuple[tuple[str, str], ...] = ()

    @property
    def gateways(self) -> list[Worker]:
        return [worker for worker in self.workers if worker.role in GATEWAYS]


@command("status")
@click.option("--deep", is_flag=True, help="Also ask the database, the bus, the models and the platforms.")
@click.option(
    "--timeout", default=10.0, show_default=True, type=click.FloatRange(0.1, 300), help="Seconds for each question."
)
def status(output: Output, *, deep: bool, timeout: float) -> int:
    """Show whether a gateway runs on this home, and what it has to do; with --deep, exit code 1 if anything is ill."""
    config = load_config(output)
    standing = standing_of(config)
    probes = asyncio.run(_probes(config, timeout, running=bool(standing.gateways))) if deep else []
    document = _document(config, standing)
    if deep:
        document["probes"] = [asdict(probe) for probe in probes]
    output.answer(document, _lines(config, standing, probes))
    return exits.FAILURE if any(probe.ok is False for probe in probes) else exits.OK


def standing_of(config: Config) -> Standing:
    """Read the rows without changing any; raise `StorageError` where they cannot be read."""
    from gateway.access import people
    from gateway.storage import figures, inspection, lease, refusals
    from gateway.storage.database import Connection

    def look(connection: Connection) -> Standing:
        return Standing(
            found.place,
            tuple(worker for worker in lease.living(connection) if _lives(worker)),
            figures.figures(connection),
            tuple(figures.holdings(connection).items()),
            people.owners(connection),
            tuple(refusals.refusals(connection).items()),
        )

    place = config.settings.gateway.database, config.home.path
    found = inspection.inspect(*place)
    if not found.exists:
        return Standing("none yet")
    rows = inspection.read(*place, look)
    if rows is None:
        way = "of a later version: update hermes-gateway" if found.newer else "until the gateway starts the next time"
        return Standing(f"{found.place}, with schema {found.schema or 'none'} {way}")
    return rows


def _lives(worker: Worker) -> bool:
    """Say whether a process is there; of another machine's, its word is all there is."""
    return worker.host != socket.gethostname() or lives(worker.pid, worker.since)


async def _probes(config: Config, seconds: float, *, running: bool) -> list[Probe]:
    from gateway.cli.probes import probe_all

    return await probe_all(config, seconds, running=running)


def _document(config: Config, standing: Standing) -> dict[str, Any]:
    return {
        "home": str(config.home.path),
        "running": bool(standing.gateways),
        "processes": [asdict(worker) for worker in standing.workers],
        "lock": _signed(config.home),
        "database": standing.database,
        "counts": asdict(standing.figures) if standing.figures else None,
        "platforms": dict(_refused(config, standing)),
        "leases": {"shards": len(_shards(standing)), "others": _others(standing)},
    }


def _lines(config: Config, standing: Standing, probes: list[Probe]) -> Iterator[str]:
    from gateway.cli.checks.services import mend_account
    from gateway.cli.listing import columns, counted

    mends = {account.name: mend_account(account) for account in config.accounts}
    rows = [("gateway", process) for process in _processes(config, standing)]
    rows += [("home", str(config.home.path)), ("database", standing.database)]
    if (figures := standing.figures) is not None:
        dead = "  (hermes-gateway deliveries list --dead, with --in for messages)"
        given_up = f"{counted(figures.refused, 'part')} refused, {counted(figures.dead, 'message')} dead"
        rows += [
            ("sessions", str(figures.sessions)),
            ("messages", f"{figures.running} in a turn, {figures.waiting} waiting"),
            ("deliveries", f"{figures.undelivered} on their way"),
            ("given up", given_up + (dead if figures.refused or figures.dead else "")),
            (
                "leases",
                f"{counted(len(_shards(standing)), 'shard')}" + "".join(f", {name}" for name in _others(standing)),
            ),
        ]
    rows += [
        ("platform", f"{name} is off: {why}; set it with {mends[name]}, then start the gateway again")
        for name, why in _refused(config, standing)
    ]
    yield from columns(rows)
    if probes:
        yield ""
        signs = {True: "ok", False: "ILL", None: "not asked"}
        yield from columns([(signs[probe.ok], probe.what, probe.detail) for probe in probes])


def _processes(config: Config, standing: Standing) -> list[str]:
    """Return a line for each process that is alive; what only holds the lock is told apart."""
    rows = [f"pid {worker.pid} on {worker.host}, {worker.role}" for worker in standing.workers]
    if standing.gateways:
        return [f"runs: {row}" for row in rows]
    if rows:
        return [f"not running; a command is at work: {row}" for row in rows]
    signed = _signed(config.home)
    if signed is None:
        return ["not running"]
    return [f"not answering: pid {signed['pid']} has signed {config.home.lock_file}; it starts, ends or hangs"]


def _signed(home: Home) -> dict[str, Any] | None:
    """Return who signed the lock file, if a process of that number is there; the lock itself is not touched."""
    with suppress(OSError, ValueError, OverflowError, KeyError, TypeError):
        signed = json.loads(home.lock_file.read_bytes())
        pid, host = int(signed["pid"]), str(signed["host"])
        since = datetime.fromisoformat(str(signed["started"])).timestamp()
        if pid > 0 and host == socket.gethostname() and lives(pid, since):
            return {"pid": pid, "host": host, "started": str(signed["started"])}
    return None


def _refused(config: Config, standing: Standing) -> list[tuple[str, str]]:
    """Return the accounts that are switched on and whose token was refused when it was last tried, with the reason."""
    enabled = {account.name for account in config.accounts if account.enabled}
    return [(name, why) for name, why in standing.refused if name in enabled]


def _shards(standing: Standing) -> list[str]:
    return [name for name, _ in standing.held if name.startswith("shard:")]


def _others(standing: Standing) -> list[str]:
    return [name for name, _ in standing.held if not name.startswith("shard:")]
