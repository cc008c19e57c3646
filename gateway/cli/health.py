"""``health``: one question to the running gateway, for container probes and people."""

from __future__ import annotations

import json
from base64 import b64encode
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

import click

from gateway.cli import exits
from gateway.cli.command import command
from gateway.cli.output import Failure, Output

if TYPE_CHECKING:
    from gateway.web.settings import WebSettings

ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
"""Where to ask a server that listens on every address."""
LONGEST = 64 * 1024


@command("health")
@click.option("--quick", is_flag=True, help="Ask only whether it is alive, not whether it is ready.")
@click.option("--timeout", default=5.0, show_default=True, type=click.FloatRange(0.1, 300), help="Seconds to wait.")
def health(output: Output, *, quick: bool, timeout: float) -> int:
    """Ask the gateway of this home whether it is well: exit code 0 yes, 1 not ready, 5 no answer."""
    from gateway.config import load

    asked = output.options
    web = load(Path(asked.home) if asked.home else None).settings.web
    url = url_of(web, "healthz" if quick else "readyz")
    status, document = ask(url, timeout)
    well = status == 200
    state = str(document.get("status", "")) or ("ok" if well else f"HTTP {status}")
    output.answer({"ok": well, "url": url, **document}, [f"{url}: {state}"])
    return exits.OK if well else exits.FAILURE


def url_of(web: WebSettings, path: str) -> str:
    """Return where the gateway of these settings answers."""
    host = ANYWHERE.get(web.host, web.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{web.port}/{path}"


def ask(url: str, timeout: float, password: str = "") -> tuple[int, dict[str, Any]]:
    """Return the status and the JSON of an answer; a proxy of the environment has no part in it."""
    opener, headers = build_opener(ProxyHandler({})), {"Accept": "application/json"}
    if password:
        headers["Authorization"] = f"Basic {b64encode(f':{password}'.encode()).decode()}"
    try:
        with opener.open(Request(url, headers=headers), timeout=timeout) as answer:
            return answer.status, _document(answer.read(LONGEST))
    except HTTPError as error:
        with error:
            return error.code, _document(error.read(LONGEST))
    except HTTPException as error:
        raise Failure(f"what answers at {url} is no gateway", code=exits.UNREACHABLE) from error
    except (URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        why = getattr(reason, "strerror", None) or reason
        raise Failure(f"no gateway answers at {url}: {why}", code=exits.UNREACHABLE) from error


def _document(content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
