"""
The tools of Honcho: what a model may ask it, and tell it.

Each is about one of the two peers of the owner, as the peer that speaks for the agent sees it; no id and no name that a
model gives leads to anything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from gateway.agent.memory.providers.honcho_client import HonchoClient, Talk
from gateway.agent.memory.providers.offered import Arguments, offer, read
from gateway.agent.memory.providers.service import Missing
from gateway.contracts.memory import Scope
from gateway.errors import ToolError
from gateway.types import clean

LONGEST_QUERY = 10_000
LONGEST_SEARCH = 2000
LONGEST_CONCLUSION = 1000
"""Characters."""
CONTEXT_TOKENS = 2000
"""Tokens of a conversation that are asked for; two fifths of them are the summary's."""
ID = re.compile(r"[A-Za-z0-9_-]{1,100}")

Peer = Literal["user", "ai"]
WHOM = "Whom it is about: the user, or you yourself (ai)."


class Profile(Arguments):
    """Read the card of key facts about the user, or put another in its place. Costs little."""

    peer: Peer = Field("user", description=WHOM)
    card: list[str] | None = Field(None, max_length=100, description="The new card, a fact a line; not given: read it.")


class Search(Arguments):
    """Search what was said in all earlier conversations with the user. Returns excerpts, best first."""

    query: str = Field(min_length=1, description="What to look for.")
    max_tokens: int = Field(800, ge=50, le=2000, description="The most to return.")
    peer: Peer = Field("user", description="Who said it: the user, or you yourself (ai).")


class Reasoning(Arguments):
    """Ask Honcho's own model a question about the user, which it answers from all it has read. Slow, and costs."""

    query: str = Field(min_length=1, description="The question, as a sentence.")
    reasoning_level: Literal["minimal", "low", "medium", "high", "max"] | None = Field(
        None, description="How hard it thinks; not given: as it is set up."
    )
    peer: Peer = Field("user", description=WHOM)


class Context(Arguments):
    """Read all that Honcho has on this conversation: its summary, what it thinks of the user, the card of key facts."""

    peer: Peer = Field("user", description=WHOM)


class Conclude(Arguments):
    """Write down, list, look for or delete what is concluded about the user. Give one of the four."""

    conclusion: str | None = Field(None, min_length=1, max_length=10_000, description="A lasting fact to write down.")
    delete_id: str | None = Field(None, description="The id of a conclusion to delete.")
    listed: bool = Field(default=False, alias="list", description="List the newest conclusions, with their ids.")
    query: str | None = Field(None, min_length=1, description="Look for conclusions by meaning.")
    peer: Peer = Field("user", description=WHOM)


PROFILE = offer("honcho_profile", Profile)
SEARCH = offer("honcho_search", Search, repeatable=True)
REASONING = offer("honcho_reasoning", Reasoning, repeatable=True)
CONTEXT = offer("honcho_context", Context, repeatable=True)
CONCLUDE = offer("honcho_conclude", Conclude)
SPECS = (PROFILE, SEARCH, REASONING, CONTEXT, CONCLUDE)


class HonchoTools:
    """`level` is how hard Honcho's model thinks where a call does not say."""

    def __init__(self, client: HonchoClient, level: str) -> None:
        self._client, self._level = client, level

    async def call(self, name: str, arguments: Mapping[str, Any], scope: Scope) -> str:
        """Answer a call, or raise `ToolError`."""
        match name:
            case PROFILE.name:
                return await self._profile(read(PROFILE, Profile, arguments), scope)
            case SEARCH.name:
                return await self._search(read(SEARCH, Search, arguments), scope)
            case REASONING.name:
                return await self._reasoning(read(REASONING, Reasoning, arguments), scope)
            case CONTEXT.name:
                asked = read(CONTEXT, Context, arguments)
                parts = await self.known(await self._client.talk(scope), asked.peer, "")
                return "\n\n".join(part for part in parts if part) or "Nothing is known yet."
            case CONCLUDE.name:
                return await self._concluding(read(CONCLUDE, Conclude, arguments), scope)
        raise ToolError(f"Honcho has no tool {name}")

    async def _profile(self, asked: Profile, scope: Scope) -> str:
        if asked.card is not None:
            _writing(scope)
        talk = await self._client.talk(scope)
        observed = talk.observed(asked.peer)
        if asked.card is None:
            return _json(card=await self._client.ask(talk.ai.aio.get_card(target=observed)) or [])
        card = [clean(fact) for fact in asked.card]
        return _json(card=await self._client.ask(talk.ai.aio.set_card(card, target=observed)) or [])

    async def _search(self, asked: Search, scope: Scope) -> str:
        talk = await self._client.talk(scope)
        query = _question(asked.query)[:LONGEST_SEARCH]
        found = await self._client.ask(talk.observed(asked.peer).aio.search(query, limit=20))
        room, results = asked.max_tokens * 4, []
        for message in found:
            said = clean(message.content)[:room]
            if not said:
                break
            room -= len(said)
            results.append({"said": said, "at": message.created_at.isoformat(timespec="minutes")})
        return _json(results=results)

    async def _reasoning(self, asked: Reasoning, scope: Scope) -> str:
        talk = await self._client.talk(scope)
        query, level = _question(asked.query)[:LONGEST_QUERY], asked.reasoning_level or self._level
        answer = await self._client.ask(
            talk.ai.aio.chat(query, target=talk.observed(asked.peer), reasoning_level=level)
        )
        return clean(answer or "").strip() or "Honcho knows nothing of this."

    async def _concluding(self, asked: Conclude, scope: Scope) -> str:
        if sum((asked.conclusion is not None, asked.delete_id is not None, asked.listed, asked.query is not None)) != 1:
            raise ToolError("give honcho_conclude one of conclusion, delete_id, list and query")
        if asked.conclusion is not None or asked.delete_id is not None:
            _writing(scope)
        talk = await self._client.talk(scope)
        view = talk.ai.conclusions_of(talk.observed(asked.peer))
        if asked.conclusion is not None:
            return _json(result="written down", id=await self.conclude(talk, asked.peer, asked.conclusion))
        if asked.delete_id is not None:
            await self._delete(view, asked.delete_id)
            return _json(result="deleted", id=asked.delete_id)
        if asked.query is not None:
            found = await self._client.ask(view.aio.query(_question(asked.query)[:LONGEST_SEARCH]))
        else:
            found = (await self._client.ask(view.aio.list(size=20, reverse=True))).items
        return _json(
            conclusions=[{"id": one.id, "conclusion": clean(one.content)[:LONGEST_CONCLUSION]} for one in found]
        )

    async def _delete(self, view: Any, id: str) -> None:
        """Delete a conclusion of this very view; the SDK would put anything into the path."""
        try:
            if not ID.fullmatch(id):
                raise Missing
            await self._client.ask(view.aio.get(id))
        except Missing:
            raise ToolError("there is no conclusion with this id: honcho_conclude with list shows them") from None
        await self._client.ask(view.aio.delete(id))

    async def conclude(self, talk: Talk, peer: str, text: str) -> str:
        """Write a conclusion down; return its id."""
        text = clean(text).strip()
        if not text:
            raise ToolError("there is nothing to conclude: give a whole sentence")
        view = talk.ai.conclusions_of(talk.observed(peer))
        made = await self._client.ask(view.aio.create([{"content": text, "session_id": talk.session.id}]))
        return str(made[0].id)

    async def known(self, talk: Talk, peer: str, query: str) -> list[str]:
        """Return the summary, what is thought of a peer in view of a message, and its card; "" each if not there."""
        context = await self._client.ask(
            talk.session.aio.context(
                summary=True,
                tokens=CONTEXT_TOKENS,
                peer_target=talk.observed(peer).id,
                peer_perspective=talk.ai.id,
                search_query=query or None,
            )
        )
        summary = context.summary.content if context.summary else ""
        card = "\n".join(f"- {fact}" for fact in context.peer_card or ())
        titled = (("Summary", summary), ("What is thought", context.peer_representation or ""), ("Key facts", card))
        return [f"{title}:\n{clean(text).strip()}" if text.strip() else "" for title, text in titled]


def _question(text: str) -> str:
    asked = clean(text).strip()
    if not asked:
        raise ToolError("the query is empty: say what to look for")
    return asked


def _writing(scope: Scope) -> None:
    if scope.context != "primary":
        raise ToolError("nothing is written to Honcho in a run without a person: leave it to a conversation")


def _json(**answer: Any) -> str:
    return json.dumps(answer, ensure_ascii=False)
