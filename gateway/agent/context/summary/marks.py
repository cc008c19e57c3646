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
    r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,60}(?:\.[\w-]{1,30}){1,4}"
    r"|(?<![\w/])[@#][A-Za-z0-9_-]{2,60}"
    r"|(?<![A-Za-z0-9_])(?:[A-Za-z0-9]{1,40}_[A-Za-z0-9_]{1,60}|[A-Z][a-z0-9]{1,30}(?:[A-Z][A-Za-z0-9]{0,30}){1,4}|[A-Z]{2,20}-?\d{1,10}"
    r"|(?=[0-9a-f]{0,39}\d)[0-9a-f]{7,40})(?![A-Za-z0-9_])"
    r"|(?<=[a-z,;:] )[A-ZÀ-ÞА-ЯЁ][\wÀ-ÿ]{2,40}"
)
_QUOTED = re.compile(r"`[^`\n]{2,60}`|「[^」\n]{2,60}」|《[^》\n]{2,60}》|“[^”\n]{2,60}”")
_WORDS = re.compile(r"[^\W_]{1,60}")
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,200}")
_SENTENCES = re.compile(r"[^\n.!?。！？]{0,2000}(?:[.!?](?![\s])[^\n.!?。！？]{0,500}){0,30}[.!?。！？]{0,5}")


class Marker:
    """Says whether a text has one of some words, given in small letters, a string for each language."""

    def __init__(self, *languages: str) -> None:
        self._words = tuple(word for words in languages for word in words.split("|"))

    def __call__(self, text: str) -> bool:
        """A word counts from its beginning on, its ending may be another; where words are not parted, anywhere."""
        folded = text.lower()
        return any(word in folded and _begins(word, folded) for word in self._words)


def _begins(word: str, text: str) -> bool:
    if _DENSE.match(word):
        return True
    at = text.find(word)
    while at > 0 and text[at - 1].isalpha() and not _DENSE.match(text[at - 1]):
        at = text.find(word, at + 1)
    return at >= 0


BINDS = Marker(
    "must|never|always|only|don't|don’t|do not|avoid|prefer|require|should|no more than|at most|at least|make sure"
    "|without|deadline|budget|forbid",
    "必须|不要|不能|不得|禁止|只能|只用|务必|一定要|优先|最多|至少|不许|千万|切勿|别再|别忘|偏好|要求",
    "必ず|しないで|だけ|絶対|ないで|優先|以内|べき",
    "반드시|절대|지 마|지마|금지|만 사용|이내|우선|해야",
    "нельзя|не надо|не нужно|обязательно|только|никогда|всегда|должен|должн|долж|предпочит|не более|запрещ",
    "nunca|siempre|solo|sólo|no uses|debe|evita|prefiero|obligatori|como máximo|prohib",
    "niemals|nie |immer|nur |muss|darf nicht|bitte nicht|vermeide|bevorzug|höchstens|mindestens|verboten|kein",
)
"""In what a person wrote: a demand or a preference."""
DECIDES = Marker(
    "decided|decision|chose|we'll use|we will use|we'll go with|let's use|let's go with|instead of|settled on|agreed"
    "|going with|switched to|switch to",
    "决定|改用|采用|就用|选定|选择了|に決め|採用|ことにし|결정|하기로|채택",
    "решили|решил |решила|выбрали|выбираем|будем использовать|вместо",
    "decid|elegi|vamos con|en lugar de|usaremos|acord",
    "entschieden|entscheid|wir nehmen|gewählt|vereinbart|beschlossen",
)
GOES_ON = Marker(
    "next|i'll now|i will now|i'll then|remaining|todo|to-do|still need|still to|still open|pending|not yet|left to do",
    "接下来|下一步|还需要|待办|尚未|还没|剩下|次に|次は|残り|未完了|これから|다음|남은|아직",
    "дальше|далее|следующ|осталось|ещё не|пока не",
    "siguiente|próxim|falta|pendiente|todavía",
    "nächste|noch nicht|ausstehend|danach",
)
FAILS = Marker(
    "error|failed|failure|exception|traceback|timeout|timed out|fatal|denied|valueerror|typeerror|keyerror|oserror",
    "错误|失败|异常|超时|报错|エラー|失敗|例外|タイムアウト|오류|실패|예외|시간 초과",
    "ошибк|не удалось|сбой|исключени|таймаут",
    "falló|fallo|excepción|fehler|fehlgeschlagen|ausnahme|zeitüberschreitung",
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
    return [*terms(text), *_NAME.findall(text)]


def terms(text: str) -> list[str]:
    """Return what stands in quotation marks that are for terms, or as code."""
    return [found[1:-1] for found in _QUOTED.findall(text)]


def failures(text: str) -> list[str]:
    """Return the lines that tell of a failure."""
    if not FAILS(text):
        return []
    return [line.strip() for line in text.split("\n") if FAILS(line) and not _FINE.search(line)]


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
    """Say whether a summary, by its `stems`, says what a sentence says; of one without words there is no telling."""
    wanted = stems(sentence)
    return bool(wanted) and len(wanted & summary) >= COVERED * len(wanted)
