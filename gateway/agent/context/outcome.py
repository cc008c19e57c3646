"""
What the result of a tool says of itself: how it ended, how many lines and items it has, and what went wrong.

In: the text of a result, JSON or not, whole or cut, within the fence for what is not trusted or without. Out: short
texts on one line. Nothing here raises, whatever the text is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

ERROR_CHARS = 160
UNKNOWN = "?"
FENCE = "untrusted_tool_result"
_IMAGES = ("image", "image_url", "input_image")
_COMMAND = re.compile(r'\{\s*"(?:output|exit_code|status|error)"')
"""How the JSON begins that other gateways make of a command's output, which may have been cut."""
_CODE = re.compile(r'"exit_code"\s*:\s*(-?\d{1,12})')
_END = re.compile(r"\n?\[(?:exit code (-?\d+)|(stopped after [^\]\n]{1,80}))\]\s*\Z")
"""How our own terminal says that a command did not end well."""
_UNCALLED = re.compile(
    r"no command can be run here|wrong arguments for |there is no tool named "
    r"|the tool \S{1,80} failed|\S{1,80} was not called:"
)
"""How our own tools begin to say that they were not run, or broke."""
_WRONG = (
    "error", "fail", "exception", "traceback", "timed out", "timeout", "fatal", "denied", "cannot", "no such",
    "not found", "panic",
)  # fmt: skip
_WRONG_ELSEWHERE = (
    "错误", "錯誤", "失败", "失敗", "异常", "異常", "エラー", "例外", "오류", "실패", "ошибк", "не удалось", "fehler",
    "fehlgeschlagen",
)  # fmt: skip
_BEGINS_WRONG = re.compile(
    rf"""[\s"'\[({{*!❌✗-]{{0,4}}(?:[\w.]{{0,60}}(?:{"|".join(_WRONG + _WRONG_ELSEWHERE)})[^\n:：]{{0,80}}[:：]"""
    r"|traceback \(|failed to |cannot |could not |unable to |permission denied)",
    re.IGNORECASE,
)
_FAILED = frozenset({"error", "failed", "failure", "timeout"})
_SAYING = ("error", "errors", "message", "detail", "reason", "stderr", "text", "content", "output", "result")
_LISTED = ("matches", "results", "items", "files", "entries", "data", "hits")
_HIDDEN = re.compile("[\\0-\\x1f\\x7f-\\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def flat(value: object, width: int) -> str:
    """Return a value, of whatever type, as one line of at most `width` characters; None is empty."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else _spelled(value)
    if len(text) <= width and text.isprintable():
        return text.strip()
    most = 4 * width
    line = " ".join(text[:most].split())
    if not line.isprintable():
        line = " ".join(_HIDDEN.sub("", _COLOURS.sub("", line)).split())
    return line if len(line) <= width and len(text) <= most else f"{line[: width - 3]}..."


class Result:
    """
    One result. `chars` is the length of its text, all of it.

    `data` is the object or list that it is the JSON of, None where it is no JSON; `fields` are those of an object.
    """

    def __init__(self, text: str) -> None:
        self.chars = len(text)
        self.text = text = _unfenced(text) if text.startswith(f"<{FENCE}") else text
        self._braced = text[:64].lstrip()[:1] in {"{", "["}
        self.data: Any = _parsed(text) if self._braced else None
        self.fields: Mapping[str, Any] = self.data if isinstance(self.data, dict) else {}

    @property
    def _printed(self) -> str | None:
        """What a command printed; None where the result is JSON that was cut, and it cannot be told."""
        fields = self.fields
        if "exit_code" in fields or ("output" in fields and ("status" in fields or "error" in fields)):
            output = fields.get("output")
            return output if isinstance(output, str) else ""
        if self.data is None and _COMMAND.match(self.text) and _CODE.search(self.text):
            return None
        printed = _unended(self.text)
        return "" if printed[:20].strip() == "(no output)" or _UNCALLED.match(printed) else printed

    def lines(self) -> int:
        """Return how many lines a command printed."""
        printed = self._printed
        if printed is None:
            return max(self.text.count("\\n"), self.text.count("\n")) + 1
        return printed.count("\n") + (printed != "" and not printed.endswith("\n"))

    def exit(self) -> str:
        """Return the exit code of a command; ``?`` where it has none, or the result does not say."""
        if "exit_code" in self.fields:
            code = self.fields["exit_code"]
            return flat(code, 20) if isinstance(code, int | str) and not isinstance(code, bool) else UNKNOWN
        if self._printed is None:
            return str(_CODE.findall(self.text)[-1])
        if end := _end(self.text):
            return end[1] or UNKNOWN
        return UNKNOWN if self.fields or _UNCALLED.match(self.text) else "0"

    def count(self) -> str:
        """Return how many things were found; "" where the result does not say."""
        if isinstance(self.data, list):
            return str(len(self.data))
        if self.data is None:
            cut = re.search(r'"total_count"\s*:\s*(\d{1,12})', self.text) if self._braced else None
            return cut[1] if cut else ""
        for key in ("total_count", "total", "count"):
            if isinstance(number := self.fields.get(key), int) and not isinstance(number, bool):
                return str(number)
        return next((str(len(listed)) for key in _LISTED if isinstance(listed := self.fields.get(key), list)), "")

    def error(self, *, ran: bool = False) -> str:
        """Return what went wrong, "" where nothing did; `ran` says that the result is what a command printed."""
        told = (_told(self.fields) if self.fields else "") or (self._last_words() if ran else "")
        if not told and self.data is None and (not ran or self.exit() == UNKNOWN):
            told = _beginning(self.text)
        if told.startswith("Traceback"):
            told = told.rpartition("\n")[2]
        return flat(told, ERROR_CHARS) if told else ""

    def _last_words(self) -> str:
        """Return the last line of a failed command that speaks of an error, or else the last."""
        if not self.fields and (end := _end(self.text)) and end[2]:
            return end[2]
        if self.exit() in {"0", UNKNOWN}:
            return ""
        printed = self.text if self._printed is None else self._printed or _words(self.fields)
        return _wrong_line(_unended(printed[-600:]))

    def picture(self) -> str | None:
        """Return the text beside the images of a result that is made of parts; None where there are none."""
        if "_multimodal" in self.fields:
            return flat(_words(self.fields.get("text_summary")), 200)
        parts = self.fields.get("content") if self.fields else self.data
        if not isinstance(parts, list) or not (parts and _typed(parts[0]) and any(map(_pictures, parts))):
            return None
        return flat(" ".join(_words(part.get("text")) for part in parts if isinstance(part, dict)), 200)


def _parsed(text: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:  # cut, or only like JSON; or with half a character, which its bytes cannot hold
        return None


def _typed(part: object) -> bool:
    return isinstance(part, dict) and "type" in part


def _pictures(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") in _IMAGES


def _spelled(value: object) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # nested too deeply, or nothing that JSON knows
        return "..."


def _unfenced(text: str) -> str:
    inner = text.partition("\n\n")[2] or text
    return inner.strip().removesuffix(f"</{FENCE}>").strip()


def _end(text: str) -> re.Match[str] | None:
    return _END.search(text, max(0, len(text) - 200)) if text[-8:].rstrip().endswith("]") else None


def _unended(text: str) -> str:
    """Return what a command printed, without our word on how it ended."""
    return text[: end.start()] if (end := _end(text)) else text


def _told(fields: Mapping[str, Any]) -> str:
    """Return what an object says went wrong; a word where it says only that something did."""
    if words := _words(fields.get("error")):
        return words
    status = fields.get("status")
    wrong = (
        bool(fields.get("error"))
        or fields.get("success") is False
        or fields.get("ok") is False
        or fields.get("isError") is True
        or (isinstance(status, str) and status.lower() in _FAILED)
    )
    return (_words(fields) or "failed") if wrong else ""


def _wrong_line(text: str) -> str:
    """Return the last line that speaks of an error; the last line where none does."""
    text = text.rstrip()
    lower = text.lower()
    words = _WRONG if lower.isascii() else _WRONG + _WRONG_ELSEWHERE
    place = max(lower.rfind(word) for word in words)
    if place < 0 or len(lower) != len(text):  # some letters are two in lower case
        return text.rpartition("\n")[2]
    return text[text.rfind("\n", 0, place) + 1 :].partition("\n")[0]


def _words(value: object, depth: int = 4) -> str:
    """Find the first text in a value: what it is, what its fields of the usual names hold, or its first item."""
    if isinstance(value, str):
        return value.strip()
    if depth and isinstance(value, dict):
        return next((words for key in _SAYING if (words := _words(value.get(key), depth - 1))), "")
    if depth and isinstance(value, list):
        return next((words for item in value[:4] if (words := _words(item, depth - 1))), "")
    return ""


def _beginning(text: str) -> str:
    """Return the line that says what went wrong where a text begins with an error; of a traceback, the last."""
    start = text[:200].lstrip()
    if start[:1].isdigit() or not (_UNCALLED.match(start) or _BEGINS_WRONG.match(start)):
        return ""
    if start.startswith("Traceback"):
        return text.strip()
    return start if _UNCALLED.match(start) else text.lstrip().partition("\n")[0]
