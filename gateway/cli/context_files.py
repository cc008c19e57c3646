"""``context-files``: what AGENTS.md and its like and SOUL.md tell the agent, and what of them is kept from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gateway.cli import exits
from gateway.cli.command import Group, command
from gateway.cli.output import Failure, Output

if TYPE_CHECKING:
    from gateway.agent.context_files.load import Section
    from gateway.agent.threats.blocked import Finding
    from gateway.config import Config
    from gateway.log.redact import Redactor
    from gateway.rooms import Rooms
    from gateway.storage.database import Connection

HERE = "gateway.cli.context_files:"
BY = "cli:operator"
LISTED = "hermes-gateway context-files list shows what is there"

context_files = Group(
    "context-files",
    {
        "list": (f"{HERE}list_", "List the files that the agent is told, and what of them is blocked."),
        "allow": (f"{HERE}allow", "Let a part pass that the threat scan has blocked."),
    },
    help="Show what context files tell the agent, and what of them is blocked.",
)


def where(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say whose files are meant."""
    folder = click.Path(exists=True, file_okay=False, path_type=Path)
    for option in (
        click.option("--profile", default="", metavar="NAME", help="The agent who is told, if not the main."),
        click.option("--session", metavar="ID", default="", help="The files of a conversation, whosever it is."),
        click.option("--workspace", type=folder, metavar="DIR", help="The files of a folder."),
    ):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Where:
    """Whose files are meant: a conversation says which agent it is with."""

    profile: str
    session: str
    workspace: Path | None


@dataclass(frozen=True, slots=True)
class Told:
    """What the agent would be told now. `workspace` is None where each conversation has a folder of its own."""

    workspace: Path | None
    limit: int
    sections: tuple[Section, ...]
    nearby: tuple[Section, ...]
    """Of folders below the workspace, which the agent hears of when it comes there."""

    @property
    def findings(self) -> list[Finding]:
        return [finding for section in (*self.sections, *self.nearby) for finding in section.findings]


@command("list")
@where
def list_(output: Output, *, profile: str, workspace: Path | None, session: str) -> None:
    """
    List SOUL.md and the context files of the configured workspace: sizes, what is cut, what is blocked.

    Files of folders below it are told to the agent when it comes there.

    A blocked part is shown as it stands in the file, with the hash that lets it pass. Where each conversation has a
    folder of its own, name one.
    """
    import asyncio

    from gateway.cli.opened import in_rooms, load_config, of_profile
    from gateway.log.redact import Redactor

    if session:
        told, redact = in_rooms(output, lambda rooms: _meant(rooms, Where(profile, session, workspace)))
    else:
        config = load_config(output)
        allowed = asyncio.run(_allowed(config))
        own = of_profile(config, profile)
        told, redact = _told(own, _folder(own, workspace), allowed), Redactor(config.secrets)
    output.answer(_document(told, redact), map(redact, _lines(told)))
    if told.workspace is None:
        output.note("each conversation has a folder of its own; name one with --session or --workspace")


@command("allow")
@click.argument("digest", metavar="HASH")
@click.option("--revoke", is_flag=True, help="Block it again.")
@where
def allow(output: Output, *, digest: str, revoke: bool, profile: str, workspace: Path | None, session: str) -> None:
    """
    Let the part with HASH pass, whatever the threat scan finds in it, from the next conversation on.

    The hash is of what the part says: once that changes, it is blocked again.
    """
    from gateway.agent.context_files import allowed
    from gateway.cli.opened import in_rooms

    digest = digest.lower()

    async def work(rooms: Rooms) -> None:
        if revoke:
            if not await rooms.database.write(lambda connection: allowed.revoke(connection, digest)):
                raise Failure(f"nothing passes as {digest}", code=exits.NOT_FOUND, hint=LISTED)
            return
        told, _ = await _meant(rooms, Where(profile, session, workspace))
        if not digest or digest not in {finding.digest for finding in told.findings}:
            raise Failure(f"no context file holds a part {digest} that is blocked", code=exits.NOT_FOUND, hint=LISTED)
        await rooms.database.write(lambda connection: allowed.allow(connection, digest, BY))

    in_rooms(output, work)
    done = "is blocked again" if revoke else "passes"
    output.answer({"ok": True}, [f"{digest} {done} from the next conversation on"])


async def _meant(rooms: Rooms, where: Where) -> tuple[Told, Redactor]:
    from gateway.agent.context_files import allowed
    from gateway.cli.opened import of_profile

    lineage, config = list[str](), of_profile(rooms.config, where.profile)
    if where.session:
        lineage, lane = await rooms.database.read(lambda connection: _lineage(connection, where.session))
        config = rooms.of(lane).config
    digests = await rooms.database.read(allowed.digests)
    return _told(config, _folder(config, where.workspace, lineage), digests), rooms.redact


def _lineage(connection: Connection, session: str) -> tuple[list[str], str]:
    """Return the sessions that lead to this one, and its lane."""
    from gateway.cli.compaction import existing, lane_of
    from gateway.sessions import store

    existing(connection, session)
    return store.lineage(connection, session), lane_of(connection, session)


async def _allowed(config: Config) -> frozenset[str]:
    """Return what passes: nothing where no gateway ever ran."""
    from gateway.agent.context_files import allowed
    from gateway.rooms import NoDatabase, open_rooms

    try:
        async with open_rooms(config) as rooms:
            return await rooms.database.read(allowed.digests)
    except NoDatabase:
        return frozenset()


def _folder(config: Config, given: Path | None, sessions: list[str] | None = None) -> Path | None:
    """Return the folder whose files are meant; of a conversation, that of the session where it began."""
    from gateway.agent.tools.workspace import folder_for

    settings, home = config.settings.workspace, config.home.path
    if given:
        return given.absolute()
    if settings.per in {"fixed", "profile"}:
        return folder_for(home, settings, "")
    if not sessions:
        return None
    if settings.per == "chat":
        hint = "name the folder with --workspace"
        raise Failure("the workspace is the chat's, not the session's", code=exits.USAGE, hint=hint)
    folders = [folder_for(home, settings, session) for session in sessions]
    return next((folder for folder in folders if folder.is_dir()), folders[0])


def _told(config: Config, workspace: Path | None, allowed: frozenset[str]) -> Told:
    from gateway.agent.context_files.cut import limit_for
    from gateway.agent.context_files.find import find, top_of
    from gateway.agent.context_files.load import Section, read_soul, shown
    from gateway.agent.context_files.nearby import below
    from gateway.llm.windows import DEFAULT, known_window

    settings = config.settings
    window = settings.model.context_length or known_window(settings.model.default) or DEFAULT
    limit = limit_for(window, settings.agent.context_file_max_chars)
    soul = read_soul(config.home.soul_file, allowed)
    sections, nearby = [soul] if soul.text else [], list[Section]()
    if workspace:
        top = top_of(workspace, config.home.path, fixed=settings.workspace.per == "fixed")
        sections += shown(find(workspace, top), limit, allowed).sections
        nearby = below(workspace, allowed)
    return Told(workspace, limit, tuple(sections), tuple(nearby))


def _lines(told: Told) -> Iterator[str]:
    from gateway.cli.listing import indented, visible

    if not told.sections and not told.nearby:
        yield "there are no context files"
    for section in (*told.sections, *told.nearby):
        cut = f", {section.left_out:,} of them left out" if section.left_out else ""
        when = ", when it comes there" if section in told.nearby else ""
        yield visible(f"{section.name}: {section.size:,} characters{cut}{when}")
        for finding in section.findings:
            state = "allowed" if finding.allowed else "blocked" if finding.digest else "taken out"
            yield f"  line {finding.line:,} {state}: {', '.join(finding.ids)}"
            yield from indented(finding.text, "    ")
            if finding.digest:
                again = " --revoke" if finding.allowed else ""
                yield f"  hermes-gateway context-files allow {finding.digest}{again}"


def _document(told: Told, redact: Redactor) -> dict[str, Any]:
    return {
        "workspace": str(told.workspace) if told.workspace else None,
        "limit": told.limit,
        "files": [
            {
                "name": section.name,
                "characters": section.size,
                "leftOut": section.left_out,
                "nearby": section in told.nearby,
                "findings": [
                    {
                        "hash": finding.digest or None,
                        "line": finding.line,
                        "ids": list(finding.ids),
                        "text": redact(finding.text),
                        "allowed": finding.allowed,
                    }
                    for finding in section.findings
                ],
            }
            for section in (*told.sections, *told.nearby)
        ],
    }
