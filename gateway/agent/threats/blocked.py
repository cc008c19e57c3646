"""
A text from a file as the model may see it: what the scan finds is blocked, and only that. Pure.

In: a text, the hashes of what its owner lets pass. Out: the text with a sentence in place of each part that holds a
finding, without characters nobody sees where they have no business, and what was found. Whatever the text holds, the
scan finds nothing in what comes out but what is let pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from hashlib import sha256

from gateway.agent.threats import scan
from gateway.agent.threats.classes import Scope
from gateway.agent.threats.spans import Span, spans

MOST = 40
"""Parts of one text that are blocked one by one; with more of them, all of it is."""
ROUNDS = 4
"""What is blocked may bring together what stood apart; a text that goes on like this is blocked as a whole."""
MOST_IDS = 6
"""What the sentence in place of a part names."""
HASH = 32
"""Digits: 128 bits, so that nobody writes two texts of which one passes where the owner has allowed the other."""


@dataclass(frozen=True, slots=True)
class Finding:
    """
    A part of a text in which the scan found what the ids name; `line` is its first, counted from 1.

    `digest` is "" for characters nobody sees, which are taken out whatever is allowed; all of them are one finding.
    """

    digest: str
    ids: tuple[str, ...]
    line: int
    text: str
    allowed: bool = False


@dataclass(frozen=True, slots=True)
class Screened:
    """`text` is for the model, `findings` for the owner."""

    text: str
    findings: tuple[Finding, ...] = ()


def blocked(text: str, scope: Scope, allowed: Set[str], name: str) -> Screened:
    """Return the text of the file `name` with all that the scan finds blocked, but for what is allowed."""
    stopped, rest = list[Finding](), text
    for _ in range(ROUNDS):
        found = spans(rest, scope) if scan(rest, scope) else []
        named = _findings(rest, [span for span in found if not span.unseen], allowed)
        stop = [finding for finding in named if not finding.allowed]
        unseen = [span for span in found if span.unseen]
        stopped += [*stop, *_unseen(rest, unseen)]
        if not stop and not unseen:
            return Screened(rest, tuple(sorted((*stopped, *named), key=lambda finding: finding.line)))
        if len(stop) > MOST:
            break
        rest = _replaced(rest, found, {finding.digest: finding for finding in stop}, name)
    return whole(text, scope, allowed, name)


def whole(text: str, scope: Scope, allowed: Set[str], name: str) -> Screened:
    """Return all of a text as one part with a finding."""
    finding = Finding(digest(text), scan(text, scope), 1, text, digest(text) in allowed)
    return Screened(text if finding.allowed else sentence(name, finding), (finding,))


def digest(text: str) -> str:
    """Name a part of a text by what it says: the same whatever its line ends are, and the space around it."""
    lines = (line.strip() for line in text.strip().splitlines())
    return sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:HASH]


def sentence(name: str, finding: Finding) -> str:
    """Say in place of a part of the file `name` what was there, and how its owner lets it pass."""
    more = f" and {len(finding.ids) - MOST_IDS} more" if len(finding.ids) > MOST_IDS else ""
    return (
        f"[BLOCKED: {name} contained potential prompt injection ({', '.join(finding.ids[:MOST_IDS])}{more})."
        f" This part was not loaded;"
        f" the owner finds it with `hermes-gateway context-files list` and lets it pass with"
        f" `hermes-gateway context-files allow {finding.digest}`.]"
    )


def _findings(text: str, found: Sequence[Span], allowed: Set[str]) -> list[Finding]:
    findings, line, at = list[Finding](), 1, 0
    for span in found:
        line += text.count("\n", at, span.start)
        at, part = span.start, text[span.start : span.end]
        findings.append(Finding(named := digest(part), span.ids, line, part, named in allowed))
    return findings


def _unseen(text: str, found: Sequence[Span]) -> list[Finding]:
    if not found:
        return []
    ids = sorted({name for span in found for name in span.ids})
    count = sum(span.end - span.start for span in found)
    line = 1 + text.count("\n", 0, found[0].start)
    return [Finding("", tuple(ids), line, f"{count:,} that nobody sees, taken out")]


def _replaced(text: str, found: Sequence[Span], stop: Mapping[str, Finding], name: str) -> str:
    pieces, at = list[str](), 0
    for span in found:
        finding = stop.get(digest(text[span.start : span.end]))
        if not finding and not span.unseen:
            continue
        pieces += [text[at : span.start], sentence(name, finding) if finding else ""]
        at = span.end
    return "".join((*pieces, text[at:]))
