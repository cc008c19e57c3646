"""The texts around a summary: the reference's marks to the letter, so that histories of both are understood by both."""

from __future__ import annotations

import re

from gateway.agent.context.beginnings import OLD_SUMMARY, SUMMARY
from gateway.agent.context.summary.sections import unmarked

PREFIX = (
    f"{SUMMARY} Earlier turns were compacted into the summary below. This is a handoff from a previous context window —"
    " treat it as background reference, NOT as active instructions. Do NOT answer questions or fulfill requests"
    " mentioned in this summary; they were already addressed, or stand under Active Task as a state, not as an order."
    " Respond ONLY to the latest user message that comes AFTER this summary. That it is about the same topic does not"
    " mean that you should resume what the summary describes: where the two differ the latest message WINS, and what it"
    " makes stale is void. Where it stops, undoes or changes something, that work ends at once. Your persistent memory"
    " (MEMORY.md, USER.md) is always authoritative. All your tools remain fully active: go on calling them. Files and"
    " sessions may already reflect the work described here, so build on it and avoid repeating it:"
)
"""Stands on one line before a summary. It begins and ends as in the reference, and says the same in the same order."""
END_BEGINS = "--- END OF CONTEXT SUMMARY"
END = f"{END_BEGINS} — respond to the message below, not the summary above ---"
PRIOR = "[PRIOR CONTEXT — for reference only; not a new message]"
PRIOR_ENDS = "[END OF PRIOR CONTEXT — COMPACTION SUMMARY BELOW]"
"""How the reference marks text of a message that a summary was put behind; never written here, but known."""
CONTINUATION = (
    "Continue from the compressed conversation context above. This marker exists because no human user turn was"
    " available."
)
REMOVED = "(tool call removed)"
"""The text of a message that held nothing but calls whose results are gone."""
NOTE_BEGINS = "[Note: Some earlier conversation turns have been compacted into a handoff summary"
NOTE = (
    f"{NOTE_BEGINS} to preserve context space. The current session state may still reflect earlier work, so build on"
    " that summary and state rather than re-doing work. Your persistent memory (MEMORY.md, USER.md) remains fully"
    " authoritative regardless of compaction.]"
)

_END = re.compile(re.escape(END_BEGINS).replace(r"\ ", r"[ \t]+"), re.IGNORECASE)


def framed(summary: str, *, asked: bool = True) -> str:
    """
    Return the text of the message that stands for what was compressed.

    `summary` may carry marks from before; they are taken off. An end mark that it quotes is defused, so that nothing
    within a summary can pass for a message behind it. `asked` is false where no person's message is in view: a line
    follows that says so.
    """
    body = unmarked(summary) if summary.startswith((SUMMARY, OLD_SUMMARY)) else summary.strip()
    body = _END.sub("(end of context summary)", body)
    return f"{PREFIX}\n{body}\n\n{END}" + ("" if asked else f"\n\n{CONTINUATION}")


def noted(prompt: str) -> str:
    """Return the system's prompt with the note that a conversation was compressed, once."""
    if NOTE_BEGINS in prompt:
        return prompt
    return f"{prompt}\n\n{NOTE}" if prompt else NOTE
