"""From what a model answered to the summary that is kept: cleaned, checked, and with what must not be lost. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from gateway.agent.context.frame import END_BEGINS, framed
from gateway.agent.context.summary.check import Anchors, Item, missing
from gateway.agent.context.summary.clip import Count, clip, fit
from gateway.agent.context.summary.job import Job
from gateway.agent.context.summary.sections import (
    ANCHORS,
    HEADINGS,
    MESSAGES,
    RECOVERY,
    SKILLS,
    TASK,
    Earlier,
    Section,
    earlier,
    folded,
    joined,
    quoted,
    skills_in,
    skills_text,
    split,
    unmarked,
)
from gateway.agent.context.summary.serialise import Redact
from gateway.agent.context.summary.spoken import asked, unthought
from gateway.agent.context.summary.words import Words, words

MESSAGE, ALL_MESSAGES = 4_000, 24_000
"""Characters of a person's message that are quoted, and of all of them together; the reference's."""
ALL_ANCHORS = 7_000
"""Characters of anchors; the reference's."""
ANCHOR_SHARE = 0.25
"""Of the room, that anchors may take."""
FRAME = 12
"""Tokens of the fence around a message."""
NOBODY = "None. This session contains no user-authored turns."
"""The active task where nobody ever asked for anything; the reference's, to the letter."""

_WRAPPED = re.compile(r"\s*(`{3,})(?:markdown|md|text)?[ \t]*\n(.*)\n\1\s*", re.DOTALL)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Finished:
    """A summary as it is kept: its text without the marks of a message, its tokens, and what the check found."""

    text: str
    tokens: int
    anchors: Anchors


def cleaned(text: str, redact: Redact) -> str:
    """
    Return a model's answer without its thoughts, an echoed header, a fence around the whole, and secrets.

    Parts that are not the model's to write are taken out too; "" where nothing remains.
    """
    text = unthought(text).strip()
    _, end, behind = text.partition(END_BEGINS)
    if end and any(part.heading in HEADINGS for part in split(behind)):  # what stands before it repeats an older one
        text = behind.partition("\n")[2]
    text = unmarked(text)
    if wrapped := _WRAPPED.fullmatch(text):
        text = wrapped[2]
    sections = split(redact(_closed(text)))
    kept = [part for part in sections if part.heading not in {ANCHORS, MESSAGES, RECOVERY}]
    if not any(part.text.strip() for part in kept):
        return ""
    return joined(folded(kept)) if any(part.heading for part in kept) else joined(kept).strip()


def _closed(text: str) -> str:
    """Close a fence that was left open: it would take in all that follows."""
    fence = ""
    for found in _FENCE.finditer(text):
        if not fence:
            fence = found[1]
        elif found[1].startswith(fence) and not found[2].strip():
            fence = ""
    return f"{text}\n{fence}" if fence else text


def finish(text: str, job: Job, count: Count, redact: Redact) -> Finished | None:
    """
    Return the summary that a model's answer makes; None where it is empty, or the message that would hold it (`framed`)
    is not shorter than what it stands for.

    A text without headings is taken as it is. Behind it come, within `job.room` tokens and as long as the whole stays
    shorter than what it replaces: pruned skills, what the check missed, what people wrote (newest first, also what the
    previous summary quotes), and where the rest can be found.
    """
    before = earlier(job.previous)
    body = cleaned(text, redact)
    if body and not job.asked:
        body = _nobody_asked(body)
    size, most = count(body), _replaced(job, count) - count(framed("")) - 1
    if not body or size > most:
        return None
    speech = words(chain(job.asked_newest, before.asks))
    room = min(job.room, most - size)
    skills = _skills(job, before, body)
    footer = _footer(speech, job, room, count)
    body = _with_skills(body, skills)
    room -= count(footer) + count(skills)
    anchors = missing(body, job.rows, redact, later=job.later, before=before)
    record = messages(chain(asked(job.rows), before.asks), speech, redact, int(room * (1 - ANCHOR_SHARE)), count)
    index = _index(anchors.items, record, speech, room - count(record), count)
    whole = "\n\n".join(filter(None, (body, index, record, footer)))
    total = count(whole)
    if total > most:
        whole, total = body, count(body)
    return Finished(whole, total, anchors) if total <= most else None


def _replaced(job: Job, count: Count) -> int:
    """Return the tokens of what a summary would stand for, the summary before it included."""
    summaries = (
        tokens for row, tokens in zip(job.rows, job.tokens, strict=True) if row.message.role != "tool" and row.summary
    )
    return sum(job.tokens) - sum(summaries) + count(job.previous)


def messages(newest_first: Iterable[str], speech: Words, redact: Redact, room: int, count: Count) -> str:
    """Write the section of what people wrote, to the letter, within the figures and `room` tokens; "" for none."""
    head = f"## {MESSAGES}\n{speech.messages}"
    room -= count(head) + 2
    left, kept = ALL_MESSAGES, list[str]()
    for text in newest_first:
        shown = clip(redact(text), MESSAGE)
        if shown in kept:
            continue
        size = count(quoted([shown])) + 1
        if size > room and not kept:
            shown = fit(shown, room - FRAME, count)
            size = count(quoted([shown])) + 1
        if not shown or len(shown) > left or size > room:
            break
        kept.append(shown)
        left -= len(shown)
        room -= size
    return f"{head}\n\n{quoted(kept)}" if kept else ""


def _nobody_asked(body: str) -> str:
    """Say under the active task that nobody asked, whatever the model made of it."""
    rest = [part for part in split(body) if part.heading != TASK]
    return joined(folded([Section(TASK, NOBODY), *rest]))


def _skills(job: Job, before: Earlier, body: str) -> str:
    results = (row.message.content for row in job.rows if row.message.role == "tool")
    names = [*before.skills, *(name for text in results for name in skills_in(text)), *skills_in(body)]
    return skills_text(list(dict.fromkeys(names)))


def _with_skills(body: str, skills: str) -> str:
    """Put the marks of pruned skills where the model should have put them."""
    rest = [part for part in split(body) if part.heading != SKILLS]
    if not skills:
        return body
    return joined(folded([*rest, Section(SKILLS, skills)]))


def _footer(speech: Words, job: Job, room: int, count: Count) -> str:
    text = f"## {RECOVERY}\n{speech.recovery if job.search else speech.recovery_bare}"
    return text if count(text) <= room else ""


def _index(items: Iterable[Item], record: str, speech: Words, room: int, count: Count) -> str:
    """Write what the check missed and nothing else quotes, as long as there is room; a shorter one may fit yet."""
    head = f"## {ANCHORS}\n{speech.anchors}"
    room -= count(head)
    left, kept = ALL_ANCHORS, list[str]()
    for item in items:
        shown = f"- {item}"
        size = count(shown) + 1
        if size > room or len(shown) > left or item.within(record) or any(map(item.within, kept)):
            continue
        kept.append(shown)
        left -= len(shown)
        room -= size
    return "\n".join([head, *kept]) if kept else ""
