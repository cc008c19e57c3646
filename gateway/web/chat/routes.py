"""The page and what it asks of us: its own files, a message to send, the conversation, and the stream of changes."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gateway.access import people
from gateway.types import clean
from gateway.web.chat import conversation
from gateway.web.chat.assets import Asset
from gateway.web.chat.conversation import MOST, SHOWN, Summary, Update
from gateway.web.chat.stream import EventStream
from gateway.web.security import new_token, token_hash
from gateway.web.site import Here, Known

BODY_LIMIT = 1024 * 1024
"""Bytes of a message, as it is sent."""
PATIENCE = 16 * BODY_LIMIT
"""Bytes we still read of a body that is too long: a browser hears no answer before it has sent everything."""

END = 5
"""Messages that a page gets back with its own: the stream brings the rest."""

EMPTY = "There is nothing in this message; write something first."
TOO_LONG = "This message is too long: at most 1 MB can be sent at once."
MALFORMED = "This message did not arrive as the page sends it; reload the page and try again."
GONE = "There is no such summary in this conversation; it may have been undone."
CLOSING = "The gateway is shutting down; try again in a moment."


class Written(BaseModel):
    """A message from the page. `id` is made by the page and names the message: sent twice, it counts once."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")
    text: str


def chat_router() -> APIRouter:
    """Make the routes of the web chat."""
    router = APIRouter(tags=["chat"])
    page = Asset("index.html")

    @router.get("/", include_in_schema=False)
    async def show_page(request: Request, site: Here) -> Response:
        response, cookie = page.response(), site.browser_cookie
        token = cookie.read(request)
        if await site.visitor(request) is None:
            token = new_token()
            await site.database.write(lambda connection: people.welcome(connection, token_hash(token)))
        cookie.write(request, response, token)  # again each time, so that it does not run out
        return response

    @router.post(
        "/chat/messages",
        status_code=202,
        response_model_exclude_none=True,
        openapi_extra={"requestBody": {"content": {"application/json": {"schema": Written.model_json_schema()}}}},
    )
    async def send_message(request: Request, site: Here, visitor: Known) -> Update:
        """Take a message; answers once it is safe, with the end of the conversation."""
        if site.draining() or site.chat is None:
            raise HTTPException(503, CLOSING)
        written = _written(await _body(request))
        await site.chat.say(visitor.id, written.id, written.text)
        said = await conversation.read(site.database, visitor.id, site.lane(visitor.id), END)
        return await conversation.end(said)

    @router.get("/chat/conversation", response_model_exclude_none=True)
    async def show_conversation(
        site: Here, visitor: Known, limit: Annotated[int, Query(ge=1, le=MOST)] = SHOWN
    ) -> Update:
        """Return the newest messages of this browser's conversation."""
        found = await conversation.read(site.database, visitor.id, site.lane(visitor.id), limit)
        return await conversation.whole(found, site.model(visitor.id))

    @router.get("/chat/summaries/{number}")
    async def show_summary(site: Here, visitor: Known, number: Annotated[int, Path(ge=1, lt=2**63)]) -> Summary:
        """Return what the model reads in place of messages that were compressed, for the divider with this number."""
        found = await conversation.read_summary(site.database, site.lane(visitor.id), number)
        if found is None:
            raise HTTPException(404, GONE)
        return found

    @router.get("/chat/events", response_class=Response, responses={200: {"content": {"text/event-stream": {}}}})
    async def follow_conversation(site: Here, visitor: Known) -> Response:
        """Stream updates of this browser's conversation, the first of them whole, as server-sent events."""
        return EventStream(site, visitor.id)

    return router


async def _body(request: Request) -> bytes:
    """Return the body of a request, or refuse one that is too long."""
    body, size = bytearray(), 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > PATIENCE:
            break
        if size <= BODY_LIMIT:
            body += chunk
    if size > BODY_LIMIT:
        raise HTTPException(413, TOO_LONG)
    return bytes(body)


def _written(body: bytes) -> Written:
    try:
        # Not pydantic's parser: half a surrogate pair, as a cut-off paste may end in, is valid in a JSON text.
        written = Written.model_validate(json.loads(body))
    except (ValidationError, ValueError, RecursionError) as error:
        raise HTTPException(400, MALFORMED) from error
    if not clean(written.text).strip():
        raise HTTPException(400, EMPTY)
    return written
