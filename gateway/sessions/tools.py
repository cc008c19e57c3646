"""session_search: the agent looks up what was said before, in conversations that who asks took part in.

In: words, or a session and a place in it, or nothing. Out: JSON of some 8,000 characters at most; of more conversations
than `FEW`, some 1,500 for each. What several people or tools said is fenced off: it is no order.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from gateway.errors import ToolError
from gateway.sessions.keys import is_of_one
from gateway.sessions.search import pages
from gateway.sessions.search.find import Found, Hit, Order, search
from gateway.sessions.search.index import catch_up
from gateway.sessions.search.pages import Head, Line, Page
from gateway.sessions.search.query import ROLES, Query, QueryError, parse
from gateway.sessions.search.scope import Asking
from gateway.storage.database import Connection, Database, T
from gateway.toolkit.fence import fenced
from gateway.toolkit.function import Tool, tool
from gateway.types import Turn

NAME = "session_search"
SECONDS = 10.0
"""How long a search may take, with what it indexes before."""
ROOM = 4500
"""Characters of what was said that one answer shows, divided among its messages."""
LEAST, MOST = 60, 4000
"""Characters that are shown of one message."""
FEW = 3
"""Results up to which each is shown with the beginning and the end of its session."""
NEAR, BOOKEND = 2, 2
FIRST, LAST = 20, 10
"""Messages at the beginning and the end of a session that reading it shows, as in the reference."""
NO_WORD = "the query holds no word to look for"
NO_SESSION = "there is no session {id} that you took part in; leave out session_id to list those there are"
NO_MESSAGE = "there is no message {id} in session {session}; take message ids from a search of that session"


def search_tool(database: Database) -> Tool:
    """Return the tool; a turn of nobody we know is refused."""

    @tool(name=NAME, parallel=True, repeatable=True)
    async def session_search(
        turn: Turn,
        query: str = "",
        limit: Annotated[int, Field(ge=1, le=10)] = 3,
        sort: Literal["newest", "oldest"] | None = None,
        session_id: str = "",
        around_message_id: int | None = None,
        window: Annotated[int, Field(ge=1, le=20)] = 5,
        role_filter: str = "user,assistant",
    ) -> str:
        """
        Look up what was said in earlier conversations with this person, and in this one before what you still see.

        Four ways: with `query` the best passages of each conversation that fits; with `session_id` and
        `around_message_id` what was said around a message; with `session_id` alone the beginning and the end of that
        conversation; with nothing the newest conversations. Use it when the person speaks of something from before,
        rather than saying you do not know.
        The query takes plain words of any language, all of which have to be there; "a phrase"; A OR B; conf* for
        beginnings of words; role:user; after:2026-11-30 and before:2026-12 (UTC). Found nothing: try fewer or other
        words, with OR.
        What was said earlier is no evidence of how things are now: where it matters, look at the source itself.

        Args:
            query: What to look for.
            limit: How many conversations.
            sort: By time in place of by how well it fits.
            session_id: A conversation, from an earlier result.
            around_message_id: A message of that conversation, from an earlier result.
            window: How many messages before and after it.
            role_filter: Whose messages: user, assistant, tool, with commas between.
        """
        if not turn.person:
            raise ToolError("it is not known who speaks here, and so there is nothing that may be searched")
        asking, roles = Asking(turn.person, turn.session_id, str(turn.session)), _roles(role_filter)
        if session_id and around_message_id is not None:
            return await _read(database, partial(_scroll, asking, session_id, around_message_id, window, roles))
        if session_id:
            return await _read(database, partial(_whole, asking, session_id, roles))
        if query.strip():
            wanted = _parsed(query, roles)
            async with _in_time():
                waiting = 0 if wanted.empty else await catch_up(database)
                return await database.read(partial(_discover, asking, query, wanted, limit, sort or "best", waiting))
        return await _read(database, partial(_browse, asking, limit))

    return session_search


async def _read(database: Database, job: Callable[[Connection], T]) -> T:
    async with _in_time():
        return await database.read(job)


@asynccontextmanager
async def _in_time() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(SECONDS):
            yield
    except TimeoutError:
        raise ToolError(f"the search took longer than {SECONDS:g} s; write rarer words, or a date") from None


def _parsed(query: str, roles: Sequence[str]) -> Query:
    try:
        wanted = parse(query)
    except QueryError as error:
        raise ToolError(str(error)) from None
    return wanted if wanted.roles else Query(wanted.alternatives, tuple(roles), wanted.since, wanted.until)


def _roles(written: str) -> tuple[str, ...]:
    named = tuple(dict.fromkeys(one.strip().lower() for one in written.split(",") if one.strip()))
    if set(named) - set(ROLES):
        raise ToolError(f"role_filter knows {', '.join(ROLES)}")
    return named or ROLES


# --- the four ways


def _discover(
    asking: Asking, typed: str, query: Query, limit: int, order: Order, waiting: int, connection: Connection
) -> str:
    found = Found(()) if query.empty else search(connection, query, asking, limit=limit, order=order, apart=True)
    full = len(found.hits) <= FEW
    lines = len(found.hits) * (2 * NEAR + 1 + 2 * BOOKEND if full else 3)
    shown = [_result(connection, hit, chars=_chars(lines), full=full) for hit in found.hits]
    said: dict[str, Any] = {"success": True, "mode": "discover", "query": typed, "results": shown}
    said |= {"count": len(shown), "sessions_searched": found.sessions, "messages_found": found.messages}
    if note := _note(query, found, waiting):
        said["message"] = note
    return _told(said, (hit.lane for hit in found.hits), (hit.role for hit in found.hits))


def _note(query: Query, found: Found, waiting: int) -> str:
    notes = [NO_WORD] if query.empty else []
    if found.passed_over:
        notes.append(found.passed_over)
    if waiting:
        notes.append(f"{waiting:,} older messages are still being indexed and were not searched")
    return "; ".join(notes)


def _result(connection: Connection, hit: Hit, *, chars: int, full: bool) -> dict[str, Any]:
    size = NEAR if full else 1
    page = pages.around(connection, hit.session_id, hit.id, size, ("user", "assistant")) or Page(())
    result: dict[str, Any] = {
        "session_id": hit.session_id,
        "when": _time(hit.created),
        "source": _source(hit.lane),
        "title": hit.title,
        "matched_role": hit.role,
        "match_message_id": hit.id,
        "snippet": hit.snippet,
        "state": hit.state,
        "more_matches": hit.more,
        "messages": [_line(line, chars, anchor=line.id == hit.id) for line in page.lines],
        "messages_before": page.before,
        "messages_after": page.after,
    }
    if full:
        near = {line.id for line in page.lines}
        first, last = pages.ends(connection, hit.session_id, BOOKEND, BOOKEND, ("user", "assistant"))
        result["bookend_start"] = [_line(line, chars) for line in first.lines if line.id not in near]
        result["bookend_end"] = [_line(line, chars) for line in last.lines if line.id not in near]
    return result


def _scroll(
    asking: Asking, session_id: str, message: int, window: int, roles: Sequence[str], connection: Connection
) -> str:
    about = _head(connection, asking, session_id)
    page = pages.around(connection, session_id, message, window, roles)
    if page is None:
        raise ToolError(NO_MESSAGE.format(id=message, session=session_id[:80]))
    chars = _chars(len(page.lines))
    said = {
        "success": True,
        "mode": "scroll",
        "session_id": session_id,
        "around_message_id": message,
        "messages": [_line(line, chars, anchor=line.id == message) for line in page.lines],
        "messages_before": page.before,
        "messages_after": page.after,
    }
    return _told(said, (about.lane,), (line.role for line in page.lines))


def _whole(asking: Asking, session_id: str, roles: Sequence[str], connection: Connection) -> str:
    about = _head(connection, asking, session_id)
    first, last = pages.ends(connection, session_id, FIRST, LAST, roles)
    left_out = last.before - len(first.lines) if last.lines else 0
    lines = (*first.lines, *last.lines)
    chars = _chars(len(lines))
    said: dict[str, Any] = {"success": True, "mode": "read", **_about(about), "truncated": left_out > 0}
    said["messages"] = [_line(line, chars) for line in lines]
    if left_out:
        said["message"] = f"{left_out} messages between message {first.lines[-1].id} and the last {LAST} are left out"
    return _told(said, (about.lane,), (line.role for line in lines))


def _browse(asking: Asking, limit: int, connection: Connection) -> str:
    found = pages.recent(connection, asking, limit)
    said = {"success": True, "mode": "browse", "results": [_about(one) for one in found], "count": len(found)}
    return _told(said, (one.lane for one in found), ())


# --- how it is shown


def _head(connection: Connection, asking: Asking, session_id: str) -> Head:
    if (found := pages.head(connection, asking, session_id)) is None:
        raise ToolError(NO_SESSION.format(id=session_id[:80]))
    return found


def _about(one: Head) -> dict[str, Any]:
    return {
        "session_id": one.id,
        "title": one.title,
        "source": _source(one.lane),
        "started_at": _time(one.created),
        "last_active": _time(one.last),
        "message_count": one.messages,
        "preview": _cut(" ".join(one.preview.split()), 120),
    }


def _line(line: Line, chars: int, *, anchor: bool = False) -> dict[str, Any]:
    text = line.text or "".join(f"[called {name}]" for name in line.called)
    shown: dict[str, Any] = {"id": line.id, "role": line.role, "when": _time(line.created), "text": _cut(text, chars)}
    if line.name:
        shown["name"] = line.name
    if line.state != "in view":
        shown["state"] = line.state
    return shown | {"anchor": True} if anchor else shown


def _chars(lines: int) -> int:
    return min(MOST, max(LEAST, ROOM // max(1, lines) - 80))


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[:chars]}..."


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _source(lane: str) -> str:
    """Return the platform of a lane, and what kind of chat it is."""
    _, _, place, kind, *_ = lane.split(":")
    return f"{place} {kind}"


def _told(said: dict[str, Any], lanes: Iterable[str], roles: Iterable[str]) -> str:
    told = json.dumps(said, ensure_ascii=False)
    strangers = any(not is_of_one(lane) for lane in lanes) or "tool" in roles
    return fenced(told, NAME) if strangers else told
