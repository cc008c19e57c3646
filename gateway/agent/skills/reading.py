"""From the bytes of a SKILL.md, whichever agent it was written for, to a `Skill`. Pure."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from gateway.agent.skills.frontmatter import Front, read_front
from gateway.agent.skills.plain import Value
from gateway.agent.skills.skill import (
    ANYBODY,
    DESCRIPTION_CHARS,
    NAME_CHARS,
    NOTHING,
    About,
    Conditions,
    ConfigItem,
    Skill,
    Source,
)
from gateway.agent.skills.words import as_name, one_line
from gateway.types import clean

MOST_ITEMS = 64
_WORD_CHARS = 128
_OF_SYSTEMS = ("platforms", "environments")
_OF_TOOLS = ("requires_tools", "requires_toolsets", "fallback_for_tools", "fallback_for_toolsets")
_HEADING = re.compile(r"\s*(?:#|---|===|```|<!--)")


def decode(raw: bytes) -> str:
    """Return the text of a file, or of the beginning of one: UTF-8, UTF-16 by its mark, or else Windows-1252."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = raw.decode("utf-16", "replace")
    else:
        text = _bytes(raw.removeprefix(codecs.BOM_UTF8))
    text = clean(text)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _bytes(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        if error.end == len(raw) and error.reason == "unexpected end of data":
            return raw[: error.start].decode()
        return raw.decode("cp1252", "replace")


def read_skill(raw: bytes, path: str, root: Path, source: Source) -> Skill:
    """Make what can be made of a SKILL.md; the folder's name and the first paragraph stand in for what it lacks."""
    front = read_front(decode(raw))
    values = front.values
    folder = path.rpartition("/")[2] or root.name
    name = as_name(_text(values.get("name")), NAME_CHARS) or as_name(folder, NAME_CHARS) or "unnamed"
    description = one_line(_text(values.get("description")), DESCRIPTION_CHARS)
    description = description or one_line(first_paragraph(front.body), DESCRIPTION_CHARS)
    return Skill(name, description, path, root, source, _about(values), front.problem)


def read_category(raw: bytes) -> str:
    """Return the description that a DESCRIPTION.md gives its category."""
    front = read_front(decode(raw))
    return one_line(_text(front.values.get("description")) or first_paragraph(front.body), DESCRIPTION_CHARS)


def complete(front: Front) -> str:
    """Say what a SKILL.md that we are to store lacks, or ""."""
    if not front.there:
        return "SKILL.md must begin with front matter: a line ---, name and description, and a line ---"
    if front.problem:
        return f"SKILL.md cannot be stored: {front.problem}"
    for key, most in (("name", NAME_CHARS), ("description", DESCRIPTION_CHARS)):
        said = _text(front.values.get(key))
        if not said.strip():
            return f"the front matter of SKILL.md needs a {key}"
        if len(said) > most:
            return f"the {key} has {len(said):,} characters, and may have {most:,}"
    return "" if front.body.strip() else "SKILL.md needs a body below its front matter: what to do, step by step"


def first_paragraph(body: str) -> str:
    """Return the first lines that are prose; where all are headings, the first of them."""
    lines = body[:4000].split("\n")
    start = next((place for place, line in enumerate(lines) if line.strip() and not _HEADING.match(line)), None)
    if start is None:
        return next((line.lstrip("# ") for line in lines if line.lstrip().startswith("#")), "")
    end = next((place for place in range(start, len(lines)) if not lines[place].strip()), len(lines))
    return " ".join(lines[start:end])


def _about(values: dict[str, Value]) -> About:
    metadata = _mapping(values.get("metadata"))
    ours, needs = _mapping(metadata.get("hermes")), _mapping(values.get("prerequisites"))
    if not (metadata or needs or values.keys() - {"name", "description", "license", "author"}):
        return NOTHING
    return About(
        version=one_line(_text(values.get("version")) or _text(metadata.get("version")), _WORD_CHARS),
        tags=_words(ours.get("tags") or values.get("tags")),
        related=_words(ours.get("related_skills") or values.get("related_skills")),
        conditions=_conditions(values, ours),
        variables=_together(_words(needs.get("env_vars")), _names(values.get("required_environment_variables"))),
        commands=_words(needs.get("commands")),
        config=_config(ours.get("config")),
    )


def _conditions(values: dict[str, Value], ours: dict[str, Value]) -> Conditions:
    if values.keys().isdisjoint(_OF_SYSTEMS) and ours.keys().isdisjoint(_OF_TOOLS):
        return ANYBODY
    systems = (tuple(word.lower() for word in _words(values.get(key))) for key in _OF_SYSTEMS)
    return Conditions(*systems, *(_words(ours.get(key)) for key in _OF_TOOLS))


def _mapping(value: Value | None) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}


def _text(value: Value | None) -> str:
    return value if isinstance(value, str) else ""


def _words(value: Value | None) -> tuple[str, ...]:
    """Read a list of words; one alone, or several between commas, are a list too."""
    if isinstance(value, str):
        value = list(value.split(","))
    if not isinstance(value, list):
        return ()
    words = (one_line(item, _WORD_CHARS) for item in value[:MOST_ITEMS] if isinstance(item, str))
    return tuple(word for word in words if word)


def _names(value: Value | None) -> tuple[str, ...]:
    """Read a list of words, or of mappings with a `name` of which some are optional."""
    if not isinstance(value, list):
        return _words(value)
    entries = [_mapping(item) or {"name": item} for item in value[:MOST_ITEMS]]
    needed = (entry for entry in entries if _text(entry.get("optional")).lower() not in {"true", "yes"})
    return _words([_text(entry.get("name")) for entry in needed])


def _together(*lists: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for words in lists for word in words))


def _config(value: Value | None) -> tuple[ConfigItem, ...]:
    items = [_mapping(item) for item in value[:MOST_ITEMS]] if isinstance(value, list) else []
    fields = ("key", "description", "default", "prompt")
    said = ([one_line(_text(item.get(name)), DESCRIPTION_CHARS) for name in fields] for item in items)
    return tuple(ConfigItem(*texts) for texts in said if texts[0])
