"""The files of the page, read once: out comes a response with an entity tag, so that a browser asks and keeps."""

from __future__ import annotations

import hashlib
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response

TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "html": "text/html"}
PAGES = resources.files("gateway.web.chat").joinpath("page")


class Asset:
    """One file, with the tag that says which version of it this is."""

    def __init__(self, name: str) -> None:
        self._body = PAGES.joinpath(name).read_bytes()
        self._tag = f'"{hashlib.sha256(self._body).hexdigest()[:32]}"'
        self._type = f"{TYPES[name.rpartition('.')[2]]}; charset=utf-8"

    def response(self) -> Response:
        """Return the file for this time only, as pages that come with a cookie must be."""
        return Response(self._body, media_type=self._type)

    def cached(self, request: Request) -> Response:
        """Return the file, or that it has not changed."""
        headers = {"etag": self._tag, "cache-control": "no-cache"}
        if self._tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(self._body, media_type=self._type, headers=headers)
