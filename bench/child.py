"""The gateway as a child of a measure: its own rooms and server, and one more adapter that tells of every delivery."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from gateway.app.gateway import Gateway
from gateway.app.mind import mind_of
from gateway.app.plan import plan_of
from gateway.app.platforms import make_adapters
from gateway.app.runs import hooks_of
from gateway.config import load
from gateway.contracts.adapter import Adapter, Emit, Limits
from gateway.llm import open_models
from gateway.types import Address, Part, Receipt
from gateway.web.app import create_app
from gateway.web.serve import listen, serve, url_of
from gateway.web.site import Site


class Sink(Adapter):
    """A platform that takes everything at once and prints it, a line each."""

    name = "sink"
    limits = Limits(text=100_000, edits=False, per_chat=1e9, per_account=1e9, idempotent=True)

    async def listen(self, emit: Emit) -> None:
        await asyncio.Event().wait()

    async def send(self, target: Address, part: Part) -> Receipt:
        sys.stdout.write(f"{part.markdown}\n")
        sys.stdout.flush()
        return Receipt(target, part.key)


async def main(home: Path) -> None:
    """Print the address of the server, then every delivery, until killed."""
    config = load(home)
    models = open_models(config.settings.model)
    adapters = {**make_adapters(config.accounts), "sink": Sink()}
    plan = plan_of(config)
    gateway = Gateway(plan, adapters, {plan.main.name: mind_of(config, models)})
    listener = listen("127.0.0.1", 0)
    async with models, gateway:
        site = Site(
            settings=config.settings.web,
            database=gateway.database,
            hints=gateway.hints,
            metrics=gateway.metrics,
            stopping=asyncio.Event(),
            version="bench",
            model=lambda _: ("bench", False),
            hooks=hooks_of(gateway),
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(gateway.run())
            group.create_task(serve(create_app(site), "127.0.0.1", 0, asyncio.Event(), listener=listener))
            sys.stdout.write(f"{url_of(listener)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
