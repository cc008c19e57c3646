"""What the profiles of a gateway think with, from their settings: opened together, and named where one cannot be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.app.gateway import Gateway
from gateway.app.minds import Minds
from gateway.app.plan import plan_of
from gateway.config import load
from gateway.errors import ConfigError

WINDOW = 54_321


@asynccontextmanager
async def endpoint(callers: int) -> AsyncIterator[str]:
    """Serve a list of models that nobody is told before so many have asked for it."""
    asked = asyncio.Barrier(callers)
    listed = json.dumps({"data": [{"id": "m", "context_length": WINDOW}]})
    answer = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(listed)}\r\n\r\n{listed}"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await asked.wait()
        writer.write(answer.encode())
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1") as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def homes(home: Path, own: str, coders: str) -> None:
    """Write the settings of a gateway and of its one profile."""
    (home / "coder").mkdir()
    (home / "config.yaml").write_text(f"profiles: [{{home: coder}}]\n{own}")
    (home / "coder" / "config.yaml").write_text(coders)


async def test_endpoints_of_profiles_are_asked_side_by_side(tmp_path: Path) -> None:
    async with endpoint(2) as url:
        homes(tmp_path, *(f"model: {{default: m, base_url: '{url}/{name}/v1'}}" for name in ("a", "b")))
        async with Minds(load(tmp_path, environ={})) as minds:
            windows = {name: mind.model("").window for name, mind in minds.of.items()}
    assert windows == {"main": WINDOW, "coder": WINDOW}


async def test_what_cannot_be_in_a_profile_is_told_with_its_name(tmp_path: Path) -> None:
    homes(tmp_path, "model: {default: m, base_url: 'http://127.0.0.1:9/v1'}", "memory: {provider: nobody}")
    config = load(tmp_path, environ={})
    async with Minds(config) as minds:
        with pytest.raises(ConfigError, match="^the profile coder: memory.provider: there is no provider 'nobody'"):
            await Gateway(plan_of(config), {}, minds.of).__aenter__()
