"""What machines ask: are we alive, have we started, are we ready, what do we count, which version is this."""

from __future__ import annotations

import asyncio
import platform

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from gateway.errors import GatewayError
from gateway.metrics import CONTENT_TYPE
from gateway.web.site import Check, Here

OK, DRAINING = "ok", "draining"


class Version(BaseModel):
    """Which program this is."""

    version: str
    commit: str
    python: str


def health_router() -> APIRouter:
    """Make the routes for probes and operators."""
    router = APIRouter(tags=["operation"])

    @router.get("/healthz")
    async def alive() -> dict[str, str]:
        """Say that the loop turns; asks nothing else."""
        return {"status": OK}

    @router.get("/startupz")
    async def started(site: Here) -> Response:
        """Say whether everything has been started."""
        return _status({} if site.started() else {"gateway": "starting"}, "starting")

    @router.get("/readyz")
    async def ready(request: Request, site: Here) -> Response:
        """Say whether messages are taken. Details only for this machine, or for who has given the password."""
        if site.draining():
            return _status({"gateway": DRAINING}, DRAINING)
        names = list(site.checks)
        results = await asyncio.gather(*(_outcome(site.checks[name], site.check_seconds) for name in names))
        failed = {name: result for name, result in zip(names, results, strict=True) if result}
        return _status(failed, "not ready", details=request.state.trusted)

    @router.get("/metrics")
    async def metrics(site: Here) -> Response:
        """Return the figures as Prometheus reads them."""
        if not site.settings.metrics:
            raise HTTPException(404, "Metrics are switched off (web.metrics).")
        return Response(site.metrics.render(), media_type=CONTENT_TYPE)

    @router.get("/version")
    async def version(site: Here) -> Version:
        """Say which version answers."""
        return Version(version=site.version, commit=site.commit, python=platform.python_version())

    return router


def _status(failed: dict[str, str], word: str, *, details: bool = True) -> Response:
    if not failed:
        return JSONResponse({"status": OK})
    shown: dict[str, object] = {"failed": failed} if details else {}
    return JSONResponse({"status": word, **shown}, 503)


async def _outcome(check: Check, seconds: float) -> str:
    """Return what is wrong, empty where nothing is."""
    try:
        async with asyncio.timeout(seconds):
            await check()
    except TimeoutError:
        return f"no answer within {seconds:g} s"
    except GatewayError as error:
        return str(error)
    return ""
