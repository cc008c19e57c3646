"""/personality: how the agent speaks in a chat, out of those that whoever runs the gateway has written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from gateway.bus import bindings, reports
from gateway.commands.registry import Asked, Command, Said
from gateway.storage.database import Connection
from gateway.types import SessionKey

NONE = ("none", "default", "off")
"""What one calls the agent's own way to speak."""
NOTHING_THERE = (
    "There are no personalities here. Whoever runs the gateway writes them under agent.personalities in config.yaml."
)
SHOWN = 60
MOST_LISTED = 100

Known = Callable[[SessionKey], Mapping[str, str]]
"""The texts of the personalities of a lane's agent, by their names."""


def personality_command(known: Known) -> Command:
    """Return the command. A choice holds from the next message on, for this chat, until another is made."""
    return Command("personality", "show or change how I speak in this chat", partial(_personality, known))


def _personality(known: Known, connection: Connection, asked: Asked) -> Said:
    texts, wanted = known(asked.key), asked.rest.strip("`\"' ")
    current = reports.standing(connection, asked.key).personality
    if not texts and not current:
        return Said(NOTHING_THERE)
    if not wanted:
        gone = ", which is not there any more" if current and current not in texts else ""
        head = f"Personality: {_named(current)}{gone}. Change it with /personality NAME, or none."
        return Said("\n".join([head, *_listed(texts)]))
    if wanted.lower() in NONE and wanted not in texts:
        bindings.choose_personality(connection, asked.key, "")
        return Said("I speak as myself again, from your next message on.")
    alike = [name for name in texts if name.casefold() == wanted.casefold()]
    name = wanted if wanted in alike else next(iter(alike), None)
    if name is None:
        return Said("\n".join([f"There is no personality `{wanted[:SHOWN]}` here. There are:", *_listed(texts)]))
    bindings.choose_personality(connection, asked.key, name)
    return Said(f"From your next message on I speak as {_named(name)}. /personality none ends that.")


def _named(name: str) -> str:
    return f"`{name}`" if name else "none"


def _listed(texts: Mapping[str, str]) -> list[str]:
    lines = [f"- `{name}`: {_line(text)}" for name, text in sorted(texts.items())[:MOST_LISTED]]
    return [*lines, f"- and {len(texts) - MOST_LISTED} more"] if len(texts) > MOST_LISTED else lines


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}…"
