"""Words of any script, as they are compared. Pure and linear."""

from __future__ import annotations

import re
import unicodedata

LONGEST_WORD = 64
MOST_NAMES = 32

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\uac00-\ud7af"  # Korean, whose particles cling to its words
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_TOKEN = re.compile(rf"([{_UNSPACED}]+)|((?:(?![{_UNSPACED}])[\w\u0900-\u0dff])+)")
_ACCENTS = re.compile("[\u0300-\u036f\u064b-\u0652]")
_QUOTED = re.compile(r"[\"“«「『]([^\"“”«»「」『』\n]{1,64})[\"”»」』]")
_TITLED = re.compile(r"[^\W\d_][\w’'-]{1,63}(?: [^\W\d_][\w’'-]{1,63})*")
_KATAKANA = re.compile("[ァ-ヺー]{2,64}")

_STOP = frozenset(
    word
    for words in (
        "a about am an and are as at be been but by can could did do does for from had has have he her his how i if in",
        "is it its me my of on or our she so that the their them there they this to us was we were what when where",
        "which who whom whose why will with would you your",
        "das dein der die ein eine er es fur ich im mein mit und von wann war was wer wie wir wo zu",
        "ist sie",  # codespell:ignore ist,sie
        "como con cual cuando de del donde el en es esta la las lo los mi que quien se su tu un una y",
        "au ce dans des du elle est et il je le les ma mon ou ou pour quand quel quelle qui quoi sa son sur un une",
        "в где его ее и из как когда кто мне мои моя на не о он она они по с у что это я",
    )
    for word in words.split()
)
"""What is in every question: folded, hence ее and мои."""


def fold(text: str) -> str:
    """Make texts that read alike the same: width, case and accents."""
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", bare).casefold()


def terms(text: str) -> list[str]:
    """Return what a text is found by, each once: its words, and pairs of letters where words have no spaces."""
    found: dict[str, None] = {}
    for unspaced, word in _TOKEN.findall(fold(text)):
        if word:
            if word not in _STOP:
                found[_stem(word)] = None
        elif len(unspaced) == 1:
            found[unspaced] = None
        else:
            found.update(dict.fromkeys(map("".join, zip(unspaced, unspaced[1:], strict=False))))
    return list(found)


def letters(text: str) -> set[str]:
    """Return the letters of words without spaces, since one alone may be a word that is asked for."""
    return {letter for unspaced, _ in _TOKEN.findall(fold(text)) for letter in unspaced}


def names(text: str) -> list[str]:
    """Return what a text seems to speak of, folded: quoted words, names with a capital, words in katakana."""
    found = [*_QUOTED.findall(text), *_KATAKANA.findall(text)]
    for words in map(str.split, _TITLED.findall(text)):
        for first, word in enumerate(words):
            if not _is_name(word) or (first and _is_name(words[first - 1])):
                continue
            end = next((at for at in range(first, len(words)) if not _is_name(words[at])), len(words))
            found += [" ".join(words[first:end]), *words[first:end]]
    folded = dict.fromkeys(fold(name).strip() for name in found)
    return [name for name in folded if len(name) <= LONGEST_WORD][:MOST_NAMES]


def _is_name(word: str) -> bool:
    return word[0].isupper() and fold(word) not in _STOP


def _stem(word: str) -> str:
    """Take the plural from an English word, so that Monday finds Mondays."""
    plural = word.isascii() and len(word) > 3 and word.endswith("s") and not word.endswith("ss")
    return (word[:-1] if plural else word)[:LONGEST_WORD]
