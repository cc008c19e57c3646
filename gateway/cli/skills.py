"""``skills``: what the agent has learned to do, and what it wants to change in that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gateway.cli import exits
from gateway.cli.command import Group, command
from gateway.cli.deciding import decide, tell
from gateway.cli.output import Failure, Output

if TYPE_CHECKING:
    from gateway.agent.skills.approvals import SkillApprovals, StagedSkill
    from gateway.agent.skills.library import Library
    from gateway.agent.skills.skill import Skill
    from gateway.config import Config
    from gateway.rooms import Rooms

T = TypeVar("T")
HERE = "gateway.cli.skills:"
BY = "cli:operator"
NAME, CATEGORY, DESCRIPTION, SUMMARY = 40, 30, 70, 80
LISTED = "hermes-gateway skills list shows what there is"

skills = Group(
    "skills",
    {
        "list": (f"{HERE}list_", "List skills, how much they are used and how they stand."),
        "show": (f"{HERE}show", "Print a skill."),
        "archive": (f"{HERE}archive", "Put a skill away; nothing of it is deleted."),
        "restore": (f"{HERE}restore", "Bring back a skill that was put away."),
        "pin": (f"{HERE}pin", "Keep a skill from being put away."),
        "unpin": (f"{HERE}unpin", "Let a skill be put away again."),
        "pending": (f"{HERE}pending", "List changes that wait for approval."),
        "approve": (f"{HERE}approve", "Carry out changes that wait."),
        "reject": (f"{HERE}reject", "Drop changes that wait."),
    },
    help="Show what the agent has learned to do, put it away, decide on changes.",
)

within = click.option("--profile", default="", metavar="NAME", help="The agent whose skills they are, if not the main.")
named = click.argument("name", metavar="NAME")
numbered = click.argument("ids", metavar="ID...", nargs=-1, required=True)


def _library(output: Output, profile: str) -> tuple[Library, Config]:
    """Return the skills of a home; no database is needed for them."""
    from gateway.app.skills import library_of
    from gateway.cli.opened import load_config, of_profile

    config = of_profile(load_config(output), profile)
    return library_of(config), config


def _found(library: Library, name: str) -> Skill:
    from gateway.errors import ToolError

    try:
        skill = library.find(name)
    except ToolError as error:
        raise Failure(str(error), code=exits.NOT_FOUND) from None
    if skill is None:
        raise Failure(f"there is no skill {name}", code=exits.NOT_FOUND, hint=LISTED)
    return skill


@command("list")
@click.option("--category", default="", metavar="NAME", help="Only those of this category.")
@click.option("--archived", is_flag=True, help="Those that were put away instead.")
@within
def list_(output: Output, *, category: str, archived: bool, profile: str) -> None:
    """
    List skills by category.

    The agent's own that nobody used for long are stale, and after a while put away: see skills.curator.
    """
    from gateway.cli.listing import columns, one_line

    library, config = _library(output, profile)
    if archived:
        names = library.shelf.archived()
        output.answer({"archived": names}, [one_line(name, NAME * 2) for name in names] or ["nothing was put away"])
        return
    found = _listed(library, config, category)
    head = ("SKILL", "CATEGORY", "USED", "STATE", "DESCRIPTION")
    rows = [
        (
            one_line(one["name"], NAME),
            one_line(one["category"], CATEGORY),
            str(one["uses"]),
            one["state"],
            one_line(one["description"], DESCRIPTION),
        )
        for one in found
    ]
    none = f"there is no skill in {category}" if category else "there are no skills"
    output.answer({"skills": found}, columns([head, *rows]) if rows else [none])
    for problem in library.catalog().problems:
        output.note(f"warning: {problem}")


def _listed(library: Library, config: Config, category: str) -> list[dict[str, Any]]:
    from datetime import UTC, datetime

    from gateway.agent.skills.curator import is_stale
    from gateway.agent.skills.usage import UNKNOWN

    catalog, wanted = library.catalog(), category.strip("/").casefold()
    days, now = config.settings.skills.curator.stale_after_days, datetime.now(UTC)
    found = []
    for label, skill in sorted(catalog.labels.items(), key=lambda item: (item[1].category, item[0])):
        if wanted and not f"{skill.category}/".casefold().startswith(f"{wanted}/"):
            continue
        record = catalog.records.get(skill.name, UNKNOWN)
        state = "pinned" if record.pinned else "stale" if is_stale(record, days, now) else "active"
        found.append(
            {
                "name": label,
                "category": skill.category,
                "description": skill.description,
                "source": str(skill.source),
                "state": state,
                "createdBy": record.created_by,
                "uses": record.uses + record.views,
                "lastUsed": record.last or None,
                "problem": skill.problem or None,
            }
        )
    return found


@command("show")
@named
@within
def show(output: Output, *, name: str, profile: str) -> None:
    """Print the SKILL.md of the skill NAME, and which files belong to it."""
    from gateway.agent.skills.skill import FILE
    from gateway.agent.skills.view import linked, view_file
    from gateway.log.redact import Redactor

    library, config = _library(output, profile)
    skill = _found(library, name)
    redact = Redactor(config.secrets)
    text = redact(str(view_file(skill, FILE)["content"]))
    files = [path for paths in linked(skill).values() for path in paths]
    document = {
        "name": skill.name,
        "category": skill.category,
        "description": skill.description,
        "folder": str(skill.folder),
        "files": files,
        "content": text,
    }
    output.answer(document, _shown(skill, files, text))


def _shown(skill: Skill, files: list[str], text: str) -> Iterator[str]:
    from gateway.cli.listing import visible

    yield visible(f"{skill.name} in {skill.folder}")
    yield from (visible(f"{skill.folder}/{path}") for path in files)
    yield ""
    yield from visible(text).split("\n")


@command("archive")
@named
@within
def archive(output: Output, *, name: str, profile: str) -> None:
    """Put the skill NAME into the folder skills/.archive."""
    from gateway.agent.skills.workshop import Workshop

    library, _ = _library(output, profile)
    shelved = Workshop(library).archive(_found(library, name))
    output.answer({"ok": True, "archivedAs": shelved}, [f"{name} is put away as {shelved}"])


@command("restore")
@named
@within
def restore(output: Output, *, name: str, profile: str) -> None:
    """Bring back what was put away as NAME."""
    from gateway.agent.skills.workshop import Workshop

    library, _ = _library(output, profile)
    there = library.shelf.archived()
    if not any(one == name or one.startswith(f"{name}-") for one in there):
        hint = "hermes-gateway skills list --archived shows what was"
        raise Failure(f"nothing was put away as {name}", code=exits.NOT_FOUND, hint=hint)
    path = Workshop(library).restore(name)
    output.answer({"ok": True, "path": path}, [f"{name} is back in {path}"])


@command("pin")
@named
@within
def pin(output: Output, *, name: str, profile: str) -> None:
    """Keep the skill NAME from being put away, by the agent too."""
    library, _ = _library(output, profile)
    skill = _found(library, name)
    library.shelf.pin(skill)
    output.answer({"ok": True}, [f"{skill.name} is pinned"])


@command("unpin")
@named
@within
def unpin(output: Output, *, name: str, profile: str) -> None:
    """Let the skill NAME be put away again."""
    library, _ = _library(output, profile)
    skill = _found(library, name)
    library.shelf.unpin(skill)
    output.answer({"ok": True}, [f"{skill.name} is not pinned any more"])


# --- what waits


def _with(output: Output, work: Callable[[list[tuple[str, SkillApprovals]]], Awaitable[T]], profile: str = "") -> T:
    """Do the work with the changes of every profile, by its name; `profile` is one that there must be."""
    from gateway.agent.skills.approvals import SkillApprovals
    from gateway.agent.skills.workshop import Workshop
    from gateway.app.skills import library_of
    from gateway.cli.opened import in_rooms, of_profile

    async def inside(rooms: Rooms) -> T:
        of_profile(rooms.config, profile)
        every = {"": rooms.config, **rooms.config.profiles}
        return await work(
            [(name, SkillApprovals(rooms.database, Workshop(library_of(own)), name)) for name, own in every.items()]
        )

    return in_rooms(output, inside)


@command("pending")
@within
def pending(output: Output, *, profile: str) -> None:
    """List the agent's changes of skills that wait for approval, the oldest first; with -v what they change."""
    from gateway.cli.listing import columns, indented, one_line

    async def work(every: list[tuple[str, SkillApprovals]]) -> list[tuple[str, StagedSkill, str]]:
        return [
            (name or "main", one, await approvals.difference(one))
            for name, approvals in every
            if profile in {"", name or "main"}
            for one in await approvals.waiting()
        ]

    found = _with(output, work, profile)
    document = [
        {"id": one.id, "profile": name, "origin": one.origin, "summary": one.summary, "difference": change}
        for name, one, change in found
    ]
    head = ("ID", "PROFILE", "ORIGIN", "CHANGE")
    rows = [(one.id, name, one.origin, one_line(one.summary, SUMMARY)) for name, one, _ in found]
    lines = list(columns([head, *rows])) if rows else ["nothing waits"]
    if output.options.verbose:
        lines += [line for _, one, change in found for line in (one.id, *indented(change))]
    output.answer({"pending": document}, lines)


@command("approve")
@numbered
def approve(output: Output, *, ids: tuple[str, ...]) -> None:
    """Carry out changes that wait, on the skills as they are now; `all` is every one."""
    _decide(output, ids, approved=True)


@command("reject")
@numbered
def reject(output: Output, *, ids: tuple[str, ...]) -> None:
    """Drop changes that wait; `all` is every one."""
    _decide(output, ids, approved=False)


def _decide(output: Output, ids: tuple[str, ...], *, approved: bool) -> None:
    async def work(every: list[tuple[str, SkillApprovals]]) -> dict[str, str]:
        waiting = [(by, one) for _, by in every for one in await by.waiting()]
        return await decide(waiting, ids, BY, approved=approved)

    tell(output, ids, _with(output, work), "skills")
