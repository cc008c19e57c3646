"""A summary without a model, put together from the messages themselves. Pure, and the same for the same messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, islice

from gateway.agent.context.summary import marks
from gateway.agent.context.summary.clip import clip, line, spread
from gateway.agent.context.summary.finish import NOBODY
from gateway.agent.context.summary.job import Job
from gateway.agent.context.summary.sections import (
    ACTIONS,
    ANCHORS,
    BLOCKED,
    CONSTRAINTS,
    CRITICAL,
    DECISIONS,
    DROPPED,
    FILES,
    GOAL,
    MESSAGES,
    RECOVERY,
    RESOLVED,
    SKILLS,
    SNAPSHOT,
    STATE,
    TASK,
    Earlier,
    Section,
    earlier,
    joined,
    quoted,
    skills_in,
    skills_text,
    split,
)
from gateway.agent.context.summary.serialise import Redact
from gateway.agent.context.summary.spoken import asked, said
from gateway.agent.context.summary.words import Words, words
from gateway.contracts.context import Row

MOST = 8_000
"""Characters of the whole; the reference's, like those below."""
TURN, TURNS = 700, 8
"""Characters of a message that was dropped, and how many are shown."""
ACTED, BLOCKS, PATHS = 12, 5, 12
"""Things done, failures and paths that are listed."""
BEFORE = 3_000
"""Characters of the summary before this one."""
REASON = 220
ITEM = 150
"""Characters of one thing that is listed; fewer where there is little room."""
ASKED = 1_800
"""Characters of what people wrote: all of it, each cut as short as that needs."""
NEWEST = 300
"""Of which the newest has so many."""
LEAST = 24
"""Characters of a message below which it says nothing; with more messages the oldest but the first are left out."""
MARKS = 500
"""Characters of the marks of pruned skills, and of anchors."""
LOOK = 2_000
"""Messages at the end that are looked at for what was done, what failed, and paths."""
READ = 4_000
"""Characters of one message that are looked at."""


def fallback(job: Job, reason: str, redact: Redact) -> str:
    """
    Return what stands for a job's messages where no summary could be made: at most 8,000 characters, without marks.

    The content of the summary before goes on; where that was made without a model too, its lists are continued and
    what it carried is carried on. What people wrote is all kept, shortened where it must be, through any number of
    fallbacks, as long as there are no more than about fifty messages; of more the first and the newest. `reason` says
    in a few words why there is no summary.
    """
    before = earlier(job.previous)
    old = {part.heading: part.text for part in split(before.body)}
    bare = old if DROPPED in old else {}
    speech = words(chain(job.asked_newest, before.asks))
    quotes = _shortened([*asked(job.rows), *before.asks], redact)
    turns = [row for row in job.rows if not row.summary]
    lists = {
        ACTIONS: _merged(bare, ACTIONS, _acted(turns, speech, redact), ACTED),
        BLOCKED: _merged(bare, BLOCKED, _blocked(turns, redact), BLOCKS),
        FILES: _merged(bare, FILES, _paths(turns, redact), PATHS),
    }
    fixed = {
        TASK: _task(quotes, speech, nobody=not job.asked),
        GOAL: _goal(quotes, speech, reason),
        CONSTRAINTS: "\n".join(f"- {text}" for text in (speech.newer, speech.repeat, speech.secrets)),
        STATE: speech.unknown,
        DECISIONS: speech.none,
        RESOLVED: speech.none,
        CRITICAL: speech.replaced.format(count=len(turns)),
        SKILLS: _skills(turns, before),
        SNAPSHOT: clip(old.get(SNAPSHOT, ""), BEFORE) if bare else redact(_flat(before.body)),
    }
    end = _end(job, quotes, before.anchors, speech)
    room = MOST - len(end) - sum(len(name) + len(text) + 6 for name, text in fixed.items()) - sum(map(len, lists)) - 80
    share = min(ITEM, spread([len(text) + 4 for items in lists.values() for text in items], room))
    fixed |= {name: _listed(name, items, share, speech) for name, items in lists.items()}
    body = joined(Section(name, fixed[name]) for name in ORDER if fixed[name])
    dropped = joined([Section(DROPPED, _dropped(turns, redact, MOST - len(body) - len(end) - len(DROPPED) - 8))])
    return f"{body}\n\n{dropped}\n\n{end}"


ORDER = (
    TASK, GOAL, CONSTRAINTS, ACTIONS, STATE, BLOCKED, DECISIONS, RESOLVED, FILES, CRITICAL, SKILLS, SNAPSHOT,
)  # fmt: skip


def _end(job: Job, quotes: Sequence[str], anchors: Iterable[str], speech: Words) -> str:
    """Return what the next summary carries on to the letter, and where the rest can be found."""
    parts = [Section(RECOVERY, speech.recovery if job.search else speech.recovery_bare)]
    if quotes:
        parts.insert(0, Section(MESSAGES, f"{speech.messages}\n\n{quoted(quotes)}"))
    if lines := _first([f"- {text}" for text in anchors], MARKS):
        parts.insert(0, Section(ANCHORS, "\n".join(lines)))
    return joined(parts)


def _first(texts: Iterable[str], room: int) -> list[str]:
    kept: list[str] = []
    for text in texts:
        room -= len(text) + 1
        if room < 0:
            break
        kept.append(text)
    return kept


def _task(quotes: Sequence[str], speech: Words, *, nobody: bool) -> str:
    if quotes:
        return f"{speech.asked_last} '{line(quotes[0], ITEM)}'"
    return NOBODY if nobody else speech.unknown


def _goal(quotes: Sequence[str], speech: Words, reason: str) -> str:
    made = speech.made.format(reason=line(reason, REASON))
    return f"{made}\n{speech.asked_first} '{line(quotes[-1], ITEM)}'" if quotes else made


def _acted(turns: Sequence[Row], speech: Words, redact: Redact) -> list[str]:
    """Return what the agent did last, in order: what it said, else what it called, and each result in a line."""
    found: list[str] = []
    for row in reversed(turns[-LOOK:]):
        message = row.message
        text = line(redact(said(message)[:READ]), ITEM) if message.role != "user" else ""
        if message.role == "tool" and not text.startswith("["):
            text = line(f"[{message.name or 'tool'}] {text}", ITEM)
        elif message.role == "assistant" and not text and message.calls:
            text = line(speech.called.format(names=", ".join(dict.fromkeys(call.name for call in message.calls))), ITEM)
        if text:
            found.append(text)
        if len(found) == ACTED:
            break
    return found[::-1]


def _blocked(turns: Sequence[Row], redact: Redact) -> list[str]:
    """Return the failures that tools told of last, in order; without any, what the agent said of some."""
    for role in ("tool", "assistant"):
        told = (said(row.message)[:READ] for row in reversed(turns[-LOOK:]) if row.message.role == role)
        lines = (line(redact(failure[:READ]), ITEM) for text in told for failure in marks.failures(text)[:BLOCKS])
        if found := list(islice(lines, BLOCKS)):
            return list(dict.fromkeys(found))[::-1]
    return []


def _paths(turns: Sequence[Row], redact: Redact) -> list[str]:
    found: dict[str, None] = {}
    for row in reversed(turns[-LOOK:]):
        called = [path for call in row.message.calls for path in marks.called_paths(call.arguments)]
        told = marks.paths(said(row.message)[:READ]) if row.message.role != "tool" else []
        found |= dict.fromkeys(line(redact(path), ITEM) for path in (*called, *told)[:PATHS])
        if len(found) >= PATHS:
            break
    return list(found)[:PATHS][::-1]


def _merged(old: dict[str, str], heading: str, new: Sequence[str], most: int) -> list[str]:
    """Go on with a list of the fallback before."""
    before = (text.partition(" ") for text in old.get(heading, "").split("\n"))
    items = [text for mark, _, text in before if text and (mark == "-" or mark.rstrip(".").isdigit())]
    return list(dict.fromkeys([*items, *new]))[-most:]


def _listed(heading: str, items: Sequence[str], share: int, speech: Words) -> str:
    """Write a list, each thing in at most `share` characters; of a path the end says more than the beginning."""
    most = max(2, share - 4)
    if heading == FILES:
        texts = [text if len(text) <= most else f"…{text[1 - most :]}" for text in items]
    else:
        texts = [line(text, most) for text in items]
    bullets = (f"{number}." if heading == ACTIONS else "-" for number in range(1, len(texts) + 1))
    return "\n".join(f"{mark} {text}" for mark, text in zip(bullets, texts, strict=True)) or speech.none


def _skills(turns: Iterable[Row], before: Earlier) -> str:
    names = [*before.skills, *(name for row in turns for name in skills_in(row.message.content))]
    marked = skills_text(list(dict.fromkeys(names))).split("\n")
    return "\n".join(reversed(_first(reversed(marked), MARKS)))


def _flat(body: str) -> str:
    """Return a summary without headings that could be taken for ours, each part cut as short as the room needs."""
    parts = [part for part in split(body) if part.heading != SKILLS]
    heads = [f"{part.heading}:\n" if part.heading else "" for part in parts]
    share = spread([len(part.text) for part in parts], BEFORE - sum(map(len, heads)) - len(parts))
    flat = "\n".join(f"{head}{clip(part.text, share)}" for head, part in zip(heads, parts, strict=True))
    return clip(_MARK.sub(r"\1", flat), BEFORE)


_MARK = re.compile(r"^(?:#{1,6} +|(?:`{3,}|~{3,}).*$|\*\*(.*?)\*\*$)", re.MULTILINE)
"""What would open a section or a fence of the whole."""


def _dropped(turns: Sequence[Row], redact: Redact, room: int) -> str:
    """Return the last messages, newest last, as many as there is room for."""
    kept: list[str] = []
    for row in reversed(turns[-TURNS:]):
        message = row.message
        called = ", ".join(call.name for call in message.calls)
        text = line(redact(said(message)[: 2 * READ]), TURN) or called
        shown = f"{message.role.upper()}: {text}"
        room -= len(shown) + 1
        if room < 0:
            break
        kept.append(shown)
    return "\n".join(reversed(kept))


def _shortened(newest_first: Sequence[str], redact: Redact) -> list[str]:
    """Return what people wrote, each once, all together `ASKED` characters with the fences around them."""
    frame = len(quoted(["", ""])) // 2 + 3
    texts = list(dict.fromkeys(newest_first))
    most = ASKED // (LEAST + frame)
    if len(texts) > most:
        texts = [*texts[: most - 1], texts[-1]]
    texts = list(dict.fromkeys(redact(text[: 2 * READ]) for text in texts))
    room = ASKED - len(texts) * frame
    newest = [_cut(text, NEWEST) for text in texts[:1]]
    share = spread([len(text) for text in texts[1:]], room - sum(map(len, newest)))
    kept = [*newest, *(_cut(text, share) for text in texts[1:])]
    while len(kept) > 1 and len(quoted(kept)) > ASKED:  # a text of fences wants longer ones around it
        del kept[max(1, len(kept) - 2)]
    return kept


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(1, most - 1)]}…"
