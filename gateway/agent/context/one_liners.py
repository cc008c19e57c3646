"""
A result of a tool in one line: what was called, how it ended, how much it said, and its error.

In: the name of the tool, the arguments of its call, the text of its result. Out: the line that takes the result's
place in the model's context; its forms are the reference's, with `; error: …` after them where something went wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gateway.agent.context.arguments import CUT, read
from gateway.agent.context.outcome import UNKNOWN, Result, flat

LONGEST = 400
"""Characters of a line at most."""
SCREENSHOT = "[screenshot removed]"
IMAGE = "[screenshot removed to save context]"
_Arguments = Mapping[str, Any]
_Form = Callable[[_Arguments, Result], str]


def one_liner(name: str, arguments: object, text: str) -> str:
    """
    Return what stands for a result: one physical line of at most `LONGEST` characters.

    `arguments` is the JSON text of the call, or anything else, of which then nothing is said. Never raises.
    """
    result = Result(text)
    if (beside := result.picture()) is not None:
        return f"{SCREENSHOT if '_multimodal' in result.fields else IMAGE} {beside}".rstrip()
    tool = shown(name)
    form = _FORMS.get(tool) or (_browser if tool.startswith("browser_") else _other)
    line = f"[{tool}] {form(read(arguments), result)}"
    error = result.error(ran=tool in _COMMANDS)
    return f"{line}; error: {error}"[:LONGEST] if error else line[:LONGEST]


def shown(name: str) -> str:
    """Return the name of a tool as a line begins with it."""
    return flat(name, 64) or "tool"


def written(text: str, name: str) -> bool:
    """Say whether a text is such a line already, or as short as one."""
    return len(text) <= LONGEST and "\n" not in text and text.startswith((f"[{shown(name)}] ", SCREENSHOT[:-1]))


def _terminal(given: _Arguments, result: Result) -> str:
    return f"ran `{flat(given.get('command'), 80)}` -> exit {result.exit()}, {result.lines()} lines output"


def _execute_code(given: _Arguments, result: Result) -> str:
    return f"`{_cut(given.get('code'), 60)}` ({result.lines()} lines output)"


def _read_file(given: _Arguments, result: Result) -> str:
    return f"read {_path(given)} from line {flat(given.get('offset'), 20) or 1} ({result.chars:,} chars)"


def _write_file(given: _Arguments, _result: Result) -> str:
    content = given.get("content")
    if not isinstance(content, str) or content.endswith(CUT):
        return f"wrote to {_path(given)} ({UNKNOWN} lines)"
    return f"wrote to {_path(given)} ({content.count(chr(10)) + (content != '' and content[-1] != chr(10))} lines)"


def _search_files(given: _Arguments, result: Result) -> str:
    target, pattern = flat(given.get("target"), 20) or "content", flat(given.get("pattern"), 80)
    where = flat(given.get("path"), 80) or "."
    return f"{target} search for '{pattern}' in {where} -> {result.count() or UNKNOWN} matches"


def _patch(given: _Arguments, result: Result) -> str:
    return f"{flat(given.get('mode'), 20) or 'replace'} in {_path(given)} ({result.chars:,} chars result)"


def _browser(given: _Arguments, result: Result) -> str:
    url, ref = flat(given.get("url"), 140), flat(given.get("ref"), 40)
    what = url or (f"ref={ref}" if ref else "")
    return f"{what} ({result.chars:,} chars)".lstrip()


def _web_search(given: _Arguments, result: Result) -> str:
    return f"query='{flat(given.get('query'), 120)}' ({result.chars:,} chars result)"


def _web_extract(given: _Arguments, result: Result) -> str:
    urls = given.get("urls", given.get("url"))
    listed = urls if isinstance(urls, list) else [urls]
    first = listed[0] if listed else None
    if isinstance(first, dict):
        first = first.get("url") or first.get("href")
    more = f" (+{len(listed) - 1} more)" if len(listed) > 1 else ""
    return f"{flat(first, 140) or UNKNOWN}{more} ({result.chars:,} chars)"


def _delegate_task(given: _Arguments, result: Result) -> str:
    goal, tasks = given.get("goal"), given.get("tasks")
    if not goal and isinstance(tasks, list) and tasks:
        goal = tasks[0].get("goal") if isinstance(tasks[0], dict) else tasks[0]
    return f"'{flat(goal, 60)}' ({result.chars:,} chars result)"


def _skill(given: _Arguments, result: Result) -> str:
    return f"name={flat(given.get('name'), 80) or UNKNOWN} ({result.chars:,} chars)"


def _vision_analyze(given: _Arguments, result: Result) -> str:
    return f"'{flat(given.get('question'), 50)}' ({result.chars:,} chars)"


def _memory(given: _Arguments, _result: Result) -> str:
    many = given.get("operations")
    action = flat(given.get("action"), 40) or (f"{len(many)} operations" if isinstance(many, list) else "operations")
    return f"{action} on {flat(given.get('target'), 40) or 'memory'}"


def _process(given: _Arguments, _result: Result) -> str:
    return f"{flat(given.get('action'), 40) or UNKNOWN} session={flat(given.get('session_id'), 80) or UNKNOWN}"


def _other(given: _Arguments, result: Result) -> str:
    """Say it of any tool, those of MCP servers among them: its first two arguments, and how many things it found."""
    pairs = [f"{flat(key, 30)}={_cut(value, 40)} " for key, value in list(given.items())[:2]]
    count = result.count()
    return f"{''.join(pairs)}({result.chars:,} chars result){f'; {count} items' if count else ''}"


def _path(given: _Arguments) -> str:
    return flat(given.get("path") or given.get("file_path"), 140) or UNKNOWN


def _cut(value: object, width: int) -> str:
    """Return the first `width` characters of a value, and dots where there were more."""
    line = flat(value, width + 3)
    return line if len(line) <= width else f"{line[:width]}..."


_COMMANDS = frozenset({"terminal", "execute_code"})
_FORMS: dict[str, _Form] = {
    "terminal": _terminal,
    "execute_code": _execute_code,
    "read_file": _read_file,
    "write_file": _write_file,
    "search_files": _search_files,
    "patch": _patch,
    "web_search": _web_search,
    "web_extract": _web_extract,
    "delegate_task": _delegate_task,
    "skill_view": _skill,
    "skills_list": _skill,
    "skill_manage": _skill,
    "vision_analyze": _vision_analyze,
    "memory": _memory,
    "process": _process,
    "todo": lambda _given, _result: "updated task list",
    "clarify": lambda _given, _result: "asked user a question",
    "text_to_speech": lambda _given, result: f"generated audio ({result.chars:,} chars)",
    "cronjob": lambda given, _result: flat(given.get("action"), 40) or UNKNOWN,
}
