"""The head of a Markdown file. In: its text, whoever wrote it. Out: what the head says, and the body. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from gateway.agent.skills.plain import Value, plain

MOST_CHARS = 16_000
"""A longer head is read line by line, as one is that is not YAML."""
MOST_BRACKETS = 200
"""More of them than that are a trap: the reader's time is quadratic in how deep they are."""

_END = re.compile(r"\n(?:---|\.\.\.) *(?:\n|\Z)")
_KEY = re.compile(r"^(name|description|version)[ \t]*:[ \t]*(.*)$", re.MULTILINE)
_WRONG = (
    YAMLError,
    RecursionError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
    NotImplementedError,
)


@dataclass(frozen=True, slots=True)
class Front:
    """What a head says; `problem` is "" or says in a sentence why it may say less than its author meant."""

    values: dict[str, Value] = field(default_factory=dict)
    body: str = ""
    problem: str = ""
    there: bool = True


def read_front(text: str) -> Front:
    """Read a text, with its newlines as ``\\n``, that may begin with front matter."""
    if not text.startswith("---"):
        return Front(body=text, there=False)
    parts = _cut(text)
    if parts is None:
        first = text.partition("\n")[2][:MOST_CHARS]
        return Front(_rescued(first), text, "its front matter has no end (a line ---)")
    head, body = parts
    values = plain(head)
    if values is not None:
        return Front(values, body)
    return _read(head, body)


def _cut(text: str) -> tuple[str, str] | None:
    """Part a text at the first line that ends a head; None where there is none."""
    start = text.find("\n") + 1
    if text[:start].rstrip() != "---":
        return None
    match = _END.search(text, start - 1)
    return (text[start : match.start() + 1], text[match.end() :]) if match else None


def _read(head: str, body: str) -> Front:
    if len(head) > MOST_CHARS:
        return Front(_rescued(head[:MOST_CHARS]), body, f"its front matter is longer than {MOST_CHARS:,} characters")
    if head.count("[") + head.count("{") > MOST_BRACKETS:
        return Front(_rescued(head), body, "its front matter has too many brackets to be meant")
    reader = YAML(typ="base", pure=True)
    reader.allow_duplicate_keys = True
    reader.composer.warn_double_anchors = False
    try:
        values = reader.load(head)
    except _WRONG as error:
        return Front(_rescued(head), body, f"its front matter is not YAML{_where(error)}")
    if values is None or values == "":
        return Front(body=body)
    if not isinstance(values, dict):
        return Front(_rescued(head), body, "its front matter is not a mapping of keys to values")
    return Front({key: value for key, value in values.items() if isinstance(key, str)}, body)


def _rescued(head: str) -> dict[str, Value]:
    """Return what stands in single lines of a broken head, as less strict readers take it."""
    return {match[1]: match[2].strip().strip("\"'") for match in reversed(list(_KEY.finditer(head)))}


def _where(error: BaseException) -> str:
    if isinstance(error, MarkedYAMLError) and error.problem_mark is not None:
        return f": line {error.problem_mark.line + 2}, {' '.join((error.problem or 'cannot be read').split())}"
    return ""
