"""
What skill_manage can do to a skill, checked. Blocking where it reads.

In: a `Change` as the agent wants it. Out: a `Step`: which file is written with what, or what is put away. Nothing is
done here, so that a change can be shown and wait before it is carried out. What is wrong is a `ToolError` that says
what to do instead.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from gateway.agent.skills.frontmatter import read_front
from gateway.agent.skills.library import Library
from gateway.agent.skills.reading import complete, decode
from gateway.agent.skills.skill import FILE, GENERAL, NAME_CHARS, SUPPORT, Skill, Source
from gateway.agent.skills.usage import Record
from gateway.agent.skills.walk import EXCLUDED, read
from gateway.agent.tools.files import WHY
from gateway.errors import ToolError
from gateway.toolkit.limits import brief
from gateway.types import clean

Action = Literal["create", "patch", "edit", "delete", "write_file", "remove_file"]
ACTIONS: tuple[Action, ...] = get_args(Action)
REVIEW = "background_review"
"""The origin of what a review writes; anything else is a person's turn."""

MOST_CHARS = 100_000
"""Characters of a SKILL.md."""
MOST_BYTES = 1024 * 1024
"""Bytes of any other file."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_PARTS = 3
"""How many folders a category may have, one in the other."""
_PREVIEW = 500


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be done; a field that its action does not use is left empty."""

    action: Action
    name: str
    content: str = ""
    category: str = ""
    file_path: str = ""
    file_content: str | None = None
    old_string: str = ""
    new_string: str | None = None
    replace_all: bool = False
    absorbed_into: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """
    What a change comes to. `path` is relative to the folder of skills.

    `before` and `after` are the texts of the file, None where there is none. `skill` is the one that is changed, None
    for a new one; `count` is how often a text was replaced.
    """

    kind: Literal["write", "remove", "archive"]
    name: str
    path: str
    before: str | None = None
    after: str | None = None
    skill: Skill | None = None
    count: int = 0


@dataclass(frozen=True, slots=True)
class Author:
    """Who changes: `origin` is foreground or background_review; `viewed` are the paths of skills it has looked at."""

    origin: str = "foreground"
    viewed: frozenset[str] = frozenset()

    @property
    def reviews(self) -> bool:
        return self.origin == REVIEW


def prepare(library: Library, change: Change, author: Author) -> Step:
    """Return what is to be done, or raise `ToolError`."""
    if change.action == "create":
        return _create(library, change)
    skill = _own(library, change.name)
    _allowed(skill, library.usage.record(skill.name), change, author)
    match change.action:
        case "patch":
            return _patch(skill, change)
        case "edit":
            return _edit(skill, change)
        case "delete":
            return _delete(library, skill, change, author)
        case "write_file":
            return _write_file(skill, change)
        case "remove_file":
            return _remove_file(skill, change)


def support_path(path: str) -> str:
    """Return the path of a file beside SKILL.md, in one of the four folders; raise `ToolError` for any other."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if path.startswith(("/", "~")) or "\\" in path or ".." in parts or any(ord(letter) < 32 for letter in path):
        raise ToolError(f"{brief(path)}: give a path within the skill's folder, such as references/api.md")
    if len(parts) < 2 or parts[0] not in SUPPORT or any(len(part.encode()) > 255 for part in parts):
        raise ToolError(f"{brief(path)}: files lie in {', '.join(f'{folder}/' for folder in SUPPORT)}")
    return "/".join(parts)


def bytes_of(skill: Skill, path: str, most: int) -> bytes:
    """Return the first bytes of a file of a skill; raise `ToolError` where it cannot be read."""
    whole = f"{skill.path}/{path}" if skill.path else path
    try:
        return read(skill.root, whole, most)
    except OSError as error:
        raise ToolError(f"{brief(path)}: {WHY.get(error.errno or 0, error.strerror)}") from error
    except ToolError as error:
        raise ToolError(f"{brief(path)}: {str(error).replace('the workspace', 'the folder of skills')}") from error


def _own(library: Library, name: str) -> Skill:
    skill = library.find(name)
    if skill is None:
        raise ToolError(f"there is no skill called {brief(name)}; skills_list shows them, action create makes one")
    if skill.source is not Source.LOCAL or not skill.path:
        raise ToolError(
            f"{skill.name} lies in a folder that is only read (skills.external_dirs); create one of your own"
            " under another name, or tell the person what should be changed in it"
        )
    return skill


def _allowed(skill: Skill, record: Record, change: Change, author: Author) -> None:
    if record.pinned and (author.reviews or change.action == "delete"):
        what = "only a person's turn changes it" if author.reviews else "a person must unpin it before it can go"
        raise ToolError(f"{skill.name} is pinned: {what}")
    if not author.reviews:
        return
    if record.created_by == "bundled":
        raise ToolError(f"{skill.name} came with the installation, and a review leaves it as it is")
    if skill.path not in author.viewed:
        raise ToolError(f"load {skill.name} with skill_view first, and change it as it is now")


def _create(library: Library, change: Change) -> Step:
    name, category = change.name, change.category
    if not _good(name):
        raise ToolError(f"{brief(name)}: a name is 1 to {NAME_CHARS} of a-z, 0-9, dots, dashes and underscores")
    parts = [] if category in {"", GENERAL} else category.split("/")
    if len(parts) > _PARTS or not all(map(_good, parts)):
        raise ToolError(f"{brief(category)}: a category is a name such as devops, or {_PARTS} of them with slashes")
    content = _whole(change.content)
    said = read_front(content).values["name"]
    if said != name:
        raise ToolError(f"the front matter calls it {brief(str(said))}: give it the name {name} there too")
    there = [skill for skill in library.catalog().skills if name in {skill.name, skill.path.rpartition("/")[2]}]
    if there:
        raise ToolError(f"{name} is there already ({there[0].category}); patch it, or choose another name")
    path = "/".join([*parts, name])
    if _holds_something(library.folder / path):
        raise ToolError(f"there is a folder {path} already that is no skill in use; choose another name")
    inside = [
        skill.path for skill in library.catalog().skills if skill.path and f"{path}/".startswith(f"{skill.path}/")
    ]
    if inside:
        raise ToolError(f"{inside[0]} is a skill, not a category")
    return Step("write", name, f"{path}/{FILE}", None, content)


def _holds_something(folder: Path) -> bool:
    """Say whether a place is taken; not by a folder that an attempt left on a full disk, empty or with half a file."""
    try:
        return any(not name.startswith(".") for name in os.listdir(folder))
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _good(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and len(name) <= NAME_CHARS and name not in EXCLUDED


def _edit(skill: Skill, change: Change) -> Step:
    content = _whole(change.content)
    return Step("write", skill.name, skill.file, _there(skill, FILE), content, skill)


def _patch(skill: Skill, change: Change) -> Step:
    if not change.old_string:
        raise ToolError("patch needs old_string: the text to be replaced, as it stands in the file")
    if change.new_string is None:
        raise ToolError('patch needs new_string; "" removes the text')
    inside = support_path(change.file_path) if change.file_path not in {"", FILE} else FILE
    before = _text(skill, inside)
    count = before.count(change.old_string)
    if not count:
        raise ToolError(f"old_string is not in {inside}, which begins:\n{before[:_PREVIEW]}")
    if count > 1 and not change.replace_all:
        raise ToolError(f"old_string is in {inside} {count} times: give more of what stands around it, or replace_all")
    _fits(len(before) + count * (len(change.new_string) - len(change.old_string)))
    after = before.replace(change.old_string, change.new_string)
    after = _whole(after) if inside == FILE else _bounded(after)
    return Step("write", skill.name, f"{skill.path}/{inside}", before, after, skill, count)


def _delete(library: Library, skill: Skill, change: Change, author: Author) -> Step:
    into = change.absorbed_into
    if into is None and author.reviews:
        raise ToolError('say with absorbed_into which skill has its content now, "" where it is simply of no use')
    if into:
        heir = library.find(into)
        if heir is None or heir.path == skill.path:
            raise ToolError(f"absorbed_into: there is no other skill called {brief(into)}; write it first")
    return Step("archive", skill.name, skill.path, _there(skill, FILE), None, skill)


def _write_file(skill: Skill, change: Change) -> Step:
    if change.file_content is None:
        raise ToolError("write_file needs file_content")
    inside = support_path(change.file_path)
    after = _bounded(change.file_content)
    return Step("write", skill.name, f"{skill.path}/{inside}", _there(skill, inside), after, skill)


def _remove_file(skill: Skill, change: Change) -> Step:
    inside = support_path(change.file_path)
    before = _there(skill, inside)
    if before is None:
        raise ToolError(f"{skill.name} has no file {inside}; skill_view lists those it has")
    return Step("remove", skill.name, f"{skill.path}/{inside}", before, None, skill)


def _there(skill: Skill, inside: str) -> str | None:
    """Return what a file holds, as far as it can be shown; None where there is none."""
    try:
        return decode(read(skill.root, f"{skill.path}/{inside}", MOST_BYTES))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ToolError(f"{brief(inside)}: {WHY.get(error.errno or 0, error.strerror)}") from error


def _text(skill: Skill, inside: str) -> str:
    """Return what is to be changed: a SKILL.md in whatever coding, any other file to the byte."""
    raw = bytes_of(skill, inside, MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise ToolError(f"{inside} is larger than {MOST_BYTES:,} bytes")
    if inside == FILE:
        return decode(raw)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise ToolError(f"{inside} is not text in UTF-8; write_file replaces all of it") from None


def _whole(content: str) -> str:
    """Check what is to be a SKILL.md."""
    content = clean(content).replace("\r\n", "\n")
    if len(content) > MOST_CHARS:
        raise ToolError(
            f"SKILL.md would have {len(content):,} characters, and may have {MOST_CHARS:,}: keep the steps in it, and"
            " move the details to references/ with write_file"
        )
    if said := complete(read_front(content)):
        raise ToolError(said)
    return content


def _bounded(content: str) -> str:
    content = clean(content)
    _fits(len(content.encode()))
    return content


def _fits(size: int) -> None:
    """Check a size before anything as large as that is made."""
    if size > MOST_BYTES:
        raise ToolError(f"the file would have {size:,} bytes or more, and may have {MOST_BYTES:,}")
