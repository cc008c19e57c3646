"""What in a text is worth keeping to the letter: paths, numbers, names, and sentences that bind. Pure, and linear."""

from __future__ import annotations

import re
from collections.abc import Iterator

import orjson

SENTENCE = 300
"""Characters of a sentence that is quoted."""
COVERED = 0.6
"""The share of a sentence's words that a summary has if it says the same."""
STEM = 6
"""Letters of a word that are compared: endings differ."""

PATH_KEYS = ("path", "file_path", "output_path", "workdir", "filename", "file")
"""The arguments of tools that hold a path; the reference's and our own."""

_SEGMENT = r"[A-Za-z0-9_.@+-]"
_PATH = re.compile(
    rf"(?<![A-Za-z0-9_.@+/~:-])(?:(?:~|\.{{1,2}})?/(?:{_SEGMENT}{{1,100}}/){{0,20}}{_SEGMENT}{{2,100}}"
    rf"|{_SEGMENT}{{1,100}}/(?:{_SEGMENT}{{1,100}}/){{0,20}}{_SEGMENT}{{1,96}}\.[A-Za-z0-9]{{1,8}}"
    r"|[A-Za-z]:\\[^\s\"'<>|]{2,200}"
    r"|[A-Za-z0-9_-]{1,60}(?:\.[A-Za-z0-9_-]{1,30}){0,3}\.(?:py|pyi|js|ts|tsx|jsx|json|ya?ml|toml|md|txt|csv|sql|sh|html|css"
    r"|go|rs|c|h|cpp|java|kt|rb|php|ini|cfg|conf|env|lock|log|xml|pdf|docx?|xlsx?|pptx?|png|jpe?g|zip|db)(?![\w/]))"
)
_NUMBER = re.compile(
    r"(?<![\w.,/#-])[$€£¥₩₽#]?\d(?:[\d.,:/-]{0,30}\d)?(?:\s?(?:%|[kKMG]i?B|ms|[kKM])\b|%)?(?![A-Za-z\d])"
)
_NAME = re.compile(
    r"https?://[^\s<>\"'`)\]，。、）】]{4,200}"
    r"|[\w.+-]{1,64}@[\w-]{1,60}(?:\.[\w-]{1,30}){1,4}"
    r"|(?<![\w/])[@#][A-Za-z0-9_-]{2,60}"
    r"|`([^`\n]{2,80})`|「([^」\n]{2,60})」|《([^》\n]{2,60})》|“([^”\n]{2,60})”"
    r"|(?<![A-Za-z0-9_])(?:[A-Za-z0-9]{1,40}_[A-Za-z0-9_]{1,60}|[A-Z][a-z0-9]{1,30}(?:[A-Z][A-Za-z0-9]{0,30}){1,4}|[A-Z]{2,20}-?\d{1,10}"
    r"|(?=[0-9a-f]{0,39}\d)[0-9a-f]{7,40})(?![A-Za-z0-9_])"
    r"|(?<=[a-z,;:] )[A-ZÀ-ÞА-ЯЁ][\wÀ-ÿ]{2,40}"
)
_WORDS = re.compile(r"[^\W_]{1,60}")
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,200}")
_SENTENCES = re.compile(r"[^\n.!?。！？]{0,2000}(?:[.!?](?![\s])[^\n.!?。！？]{0,500}){0,30}[.!?。！？]{0,5}")


def words(*alternatives: str) -> re.Pattern[str]:
    """Return a pattern of words, given as one string of alternatives for each language."""
    return re.compile("|".join(alternatives), re.IGNORECASE)


BINDS = words(
    r"\b(?:must|never|always|only|don'?t|do not|avoid|prefer|require[sd]?|should|no more than|at (?:most|least)"
    r"|make sure|without|deadline|budget|forbid)",
    r"必须|不要|不能|不得|禁止|只能|只用|务必|一定要|优先|最多|至少|不许|别再|偏好|要求|必ず|しないで|だけ|絶対|ないで|優先|以内|べき",
    r"반드시|절대|지 ?마|금지|만 사용|이내|우선|해야",
    r"\b(?:нельзя|не надо|не нужно|обязательно|только|никогда|всегда|долж[её]?н|предпочит|не более|запрещ)",
    r"\b(?:nunca|siempre|s[oó]lo|no uses|debe|evita|prefiero|obligatori|como máximo|prohib)",
    r"\b(?:niemals|nie\b|immer|nur|muss|darf nicht|bitte nicht|vermeide|bevorzug|höchstens|mindestens|verboten|kein)",
)
"""In what a person wrote: a demand or a preference."""
DECIDES = words(
    r"\b(?:decided|decision|chose|we'?(?:ll| will) (?:use|go with)|let'?s (?:use|go with)|instead of|settled on|agreed"
    r"|going with|switch(?:ed)? to)",
    r"决定|改用|采用|就用|选定|选择了|に決め|採用|ことにし|결정|하기로|채택",
    r"\b(?:решили|решил[аи]?\b|выбрали|выбираем|будем использовать|вместо)",
    r"\b(?:decid|elegi|vamos con|en lugar de|usaremos|acord)",
    r"\b(?:entschieden|entscheid|wir nehmen|gewählt|vereinbart|beschlossen)",
)
GOES_ON = words(
    r"\b(?:next(?: step)?\b|i'?(?:ll| will) (?:now|next|then)|remaining|to-?do\b|still (?:need|to|open)|pending"
    r"|not yet|left to do)",
    r"接下来|下一步|还需要|待办|尚未|还没|剩下|次に|次は|残り|未完了|これから|다음|남은|아직",
    r"\b(?:дальше|далее|следующ|осталось|ещё не|пока не)",
    r"\b(?:siguiente|próxim|falta|pendiente|todavía)",
    r"\b(?:nächste|noch nicht|ausstehend|danach)",
)
FAILS = words(
    r"\b(?:error|failed|failure|exception|traceback|timeout|timed out|fatal|denied)",
    r"错误|失败|异常|超时|报错|エラー|失敗|例外|タイムアウト|오류|실패|예외|시간 초과",
    r"ошибк|не удалось|сбой|исключени|таймаут",
    r"\b(?:fall[oó]\b|excepción|Fehler|fehlgeschlagen|Ausnahme|Zeitüberschreitung)",
)
_FINE = re.compile(r"\b(?:0|no|without|zero) (?:errors?|failures?|exceptions?)|exit[_ ]code\W{0,4}0\b", re.IGNORECASE)


def sentences(text: str) -> Iterator[str]:
    """Give the sentences of a text, of at most `SENTENCE` characters each; a bare word is none."""
    for found in _SENTENCES.finditer(text):
        sentence = found[0].strip()
        if len(sentence) >= 4:
            yield sentence if len(sentence) <= SENTENCE else f"{sentence[: SENTENCE - 1]}…"


def paths(text: str) -> list[str]:
    """Return the paths and the names of files in a text."""
    if "/" not in text and "." not in text and "\\" not in text:
        return []
    return [found.rstrip(".") for found in _PATH.findall(text)]


def numbers(text: str) -> list[str]:
    """Return the numbers of two digits or more."""
    return [found.strip() for found in _NUMBER.findall(text) if sum(map(str.isdigit, found)) > 1]


def names(text: str) -> list[str]:
    """Return what is called by a name: addresses, handles, identifiers, quoted and capitalised words."""
    return [next(filter(None, found.groups()), found[0]) for found in _NAME.finditer(text)]


def failures(text: str) -> list[str]:
    """Return the lines that tell of a failure."""
    if not FAILS.search(text):
        return []
    return [line.strip() for line in text.split("\n") if FAILS.search(line) and not _FINE.search(line)]


def called_paths(arguments: str) -> list[str]:
    """Return the paths in the arguments of a call."""
    return [value for key, value in _object(arguments).items() if key in PATH_KEYS and isinstance(value, str) and value]


def command(arguments: str) -> str:
    """Return the command that a call runs; "" where it runs none."""
    given = _object(arguments)
    found = given.get("command") or given.get("code")
    return found if isinstance(found, str) else ""


def _object(arguments: str | None) -> dict[str, object]:
    try:
        given = orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError:
        return {}
    return given if isinstance(given, dict) else {}


def stems(text: str) -> set[str]:
    """Return what texts are compared by: the beginnings of words, and pairs of letters where words are not parted."""
    folded = text.casefold()
    found = {word[:STEM] for word in _WORDS.findall(_DENSE.sub(" ", folded)) if len(word) > 2 or word.isdigit()}
    for run in _DENSE.findall(folded):
        found.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
    return found


def says(summary: set[str], sentence: str) -> bool:
    """Say whether a summary, by its `stems`, says what a sentence says."""
    wanted = stems(sentence)
    return len(wanted & summary) >= COVERED * len(wanted)
