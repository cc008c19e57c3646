"""`python -m bench [NAME…]`: take the measures, all or some, and print each as a line of JSON."""

from __future__ import annotations

import asyncio
import json
import sys

from bench.measures import MEASURES, Figures


async def _take(name: str) -> Figures:
    return await MEASURES[name]()


def main() -> int:
    """Return 0, or 2 for a name there is not."""
    names = sys.argv[1:] or list(MEASURES)
    if unknown := [name for name in names if name not in MEASURES]:
        sys.stderr.write(f"no measure is called {', '.join(unknown)}; there are {', '.join(MEASURES)}\n")
        return 2
    for name in names:
        sys.stdout.write(json.dumps({"measure": name, **asyncio.run(_take(name))}) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
