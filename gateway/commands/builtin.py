"""The commands of the gateway itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.bus import bindings, reports
from gateway.commands.registry import Asked, Command, Commands, Said
from gateway.commands.stop import stop_turn
from gateway.delivery.prepare import Prepare
from gateway.sessions import store
from gateway.storage.database import Connection
from gateway.types import SessionKey


@dataclass(frozen=True, slots=True)
class Facts:
    """
    What the commands tell of this process, and of the agent of a conversation, by its key.

    `cache` is empty in a process that runs no turns.
    """

    version: str
    default_model: Callable[[SessionKey], str]
    models: Callable[[SessionKey], Sequence[str]]
    cache: Callable[[], str]


def builtin_commands(prepare: Prepare, facts: Facts, more: Sequence[Command] = ()) -> Commands:
    """Return the commands, in the order of the menu; `more` are those of other rooms."""
    commands: list[Command] = []

    def help_text(connection: Connection, asked: Asked) -> Said:
        lines = [f"`/{command.name}` {command.help}" for command in commands if asked.role.covers(command.role)]
        return Said("\n".join(f"- {line}" for line in lines))

    def new(connection: Connection, asked: Asked) -> Said:
        stopped = stop_turn(connection, prepare, asked, "/new")
        if stopped.refused:
            return Said(stopped.text)
        bindings.leave_session(connection, asked.key)
        return Said(f"A new conversation begins. {stopped.text}".strip(), stops=True)

    def stop(connection: Connection, asked: Asked) -> Said:
        stopped = stop_turn(connection, prepare, asked, "/stop")
        return Said(stopped.text or "Nothing is running.", stops=not stopped.refused)

    def status(connection: Connection, asked: Asked) -> Said:
        return Said(_status(connection, asked, facts))

    def model(connection: Connection, asked: Asked) -> Said:
        return _model(connection, asked, facts)

    def whoami(connection: Connection, asked: Asked) -> Said:
        event = asked.event
        return Said(f"You are `{event.account}`, {asked.role}, in `{event.origin}`.")

    commands += [
        Command("new", "begin a new conversation", new, aliases=("reset",), at_once=True),
        Command("stop", "stop what is running and drop what waits", stop, at_once=True),
        Command("retry", "answer the last message again", again=True),
        Command("model", "show or change the model of this chat", model),
        *more,
        Command("status", "show how this conversation stands", status, at_once=True),
        Command("whoami", "show who you are to the gateway", whoami, at_once=True),
        Command("help", "show the commands", help_text, aliases=("commands", "start"), at_once=True),
    ]
    return Commands(commands)


def _status(connection: Connection, asked: Asked, facts: Facts) -> str:
    standing = reports.standing(connection, asked.key)
    summary = store.summary(connection, standing.session_id) if standing.session_id else None
    lines = [
        f"Session: `{standing.session_id or 'none yet'}`",
        f"Model: `{standing.model or facts.default_model(asked.key)}`",
        f"Messages: {summary.messages if summary else 0}",
        f"Now: {'a turn runs' if standing.running else 'idle'}, {standing.waiting} waiting",
    ]
    if cache := facts.cache():
        lines.append(f"Live sessions here: {cache}")
    lines.append(f"hermes-gateway {facts.version}")
    return "\n".join(f"- {line}" for line in lines)


def _model(connection: Connection, asked: Asked, facts: Facts) -> Said:
    wanted, known = asked.rest.strip("`"), facts.models(asked.key)
    if not wanted:
        current = reports.standing(connection, asked.key).model or facts.default_model(asked.key)
        return Said(f"Model: `{current}`. Change it with /model NAME, or /model default.")
    if wanted == "default":
        bindings.choose_model(connection, asked.key, "")
        return Said(f"Model: `{facts.default_model(asked.key)}`.")
    if known and wanted not in known:
        names = ", ".join(f"`{name}`" for name in known)
        return Said(f"There is no model `{wanted[:80]}` here. Known: {names}.")
    bindings.choose_model(connection, asked.key, wanted)
    return Said(f"Model: `{wanted}`.")
