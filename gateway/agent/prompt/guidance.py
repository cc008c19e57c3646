"""How to work: what is said to every model with tools, to those that only announce what they would do, to families.

Which families need what is the reference's knowledge; the words are ours. Each text goes only where its tool is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from gateway.agent.prompt.prompt import Section, Tier

Enforcement = Literal["auto", "on", "off"] | Sequence[str]
"""Whether models are told to act: by their family, always, never, or those whose name holds one of these parts."""

FINISHING = (
    "# Finishing\n"
    "A task is finished when what was asked for exists and you have seen that it works, not when you have said how it"
    " could be done. Leave no placeholder where the real thing was wanted. Report only what a tool has shown you: if a"
    " step failed or was not possible, say which and why."
)
TOGETHER = (
    "# Several calls at once\n"
    "Calls that do not need each other's results belong in one answer: they then run side by side. Call one after the"
    " other only where the next depends on what the one before returns."
)
MEMORY = (
    "You keep notes with the tool memory, and later conversations begin with them. When you learn something about the"
    " person or their world that will still matter in weeks - a preference, a correction, a lasting fact - note it at"
    " once and without being asked, as one short statement of fact. What you did in a task does not belong there."
)
SEARCH = (
    "Earlier conversations can be looked up with session_search. When somebody refers to what was said or done before,"
    " look it up first, and ask only if you do not find it."
)
SKILLS = (
    "Skills are instructions for tasks of a kind. When you have found out with some effort how something is done, or"
    " somebody has corrected how you did it, keep that with skill_manage; when a skill you followed was wrong or"
    " incomplete, mend it there at once."
)
ENFORCEMENT = (
    "# Act with your tools\n"
    "When you say that you will do something, do it in the same answer by calling the tool for it. Do not end a turn"
    " with an announcement, a plan or a promise of what comes next: go on until the task is done or you cannot go"
    " further without the person. An answer either calls tools or holds the result."
)
GOOGLE = (
    "# Working with files and commands\n"
    "- Look before you change: read a file before you edit it, and list a folder before you guess what is in it.\n"
    "- Do not assume that a library or program is there; check.\n"
    "- Choose options of commands that ask nothing back.\n"
    "- Explain little and do much; keep going until all of it is done."
)
EXECUTION = (
    "# How to carry out a task\n"
    "<tool_persistence>\n"
    "Go on with tools while they can make the answer better or surer. An empty or partial result is a reason to try"
    " another way, not to stop.\n"
    "</tool_persistence>\n"
    "<mandatory_tool_use>\n"
    "{mandatory}\n"
    "</mandatory_tool_use>\n"
    "<act_dont_ask>\n"
    "Where a request has one obvious reading, act on it; ask only where the readings lead to different work.\n"
    "</act_dont_ask>\n"
    "<prerequisite_checks>\n"
    "Before an action, see whether something has to be looked up or done first, and do that.\n"
    "</prerequisite_checks>\n"
    "<verification>\n"
    "Before you answer, check the result against what was asked: complete, grounded in what tools returned, in the"
    " form that was wanted.\n"
    "</verification>\n"
    "<missing_context>\n"
    "If something needed is missing, find it with a tool. If you cannot, say what you assumed.\n"
    "</missing_context>"
)
MANDATORY = {
    "current_time": "the date and the time (current_time)",
    "terminal": "arithmetic beyond the trivial, hashes, encodings and the state of the system (terminal)",
    "read_file": "what is in a file (read_file)",
    "web_search": "news and whatever changes (web_search)",
}
"""What is never to be answered from memory where there is a tool for it, in this order."""

ANNOUNCERS = ("gpt", "codex", "gemini", "gemma", "grok", "glm", "qwen", "deepseek")
"""Parts of the names of models that tend to announce instead of acting, as the reference has learned."""
FAMILIES: dict[str, tuple[str, ...]] = {"google": ("gemini", "gemma"), "execution": ("gpt", "codex", "grok")}
"""Which models get which block."""


def guidance(tools: Collection[str], model: str, enforcement: Enforcement) -> Iterator[Section]:
    """Yield what a model with these tools is told of how to work; nothing where it has none."""
    if not tools:
        return
    yield _section("finishing", FINISHING)
    yield _section("calls", TOGETHER)
    about = {"memory": MEMORY, "session_search": SEARCH, "skill_manage": SKILLS}
    for name, text in about.items():
        if name in tools:
            yield _section(f"{name} guidance", text)
    if _enforced(model, enforcement):
        why = f"the family of {model}" if enforcement == "auto" else "agent.tool_use_enforcement"
        yield _section("enforcement", ENFORCEMENT, why)
        yield from _family(tools, model)


def _family(tools: Collection[str], model: str) -> Iterator[Section]:
    if _is_of(model, FAMILIES["google"]):
        yield _section("google", GOOGLE, f"the family of {model}")
    must = [text for name, text in MANDATORY.items() if name in tools]
    if _is_of(model, FAMILIES["execution"]):
        text = "Never answer these from memory: " + "; ".join(must) + "." if must else "Use a tool where there is one."
        yield _section("execution", EXECUTION.format(mandatory=text), f"the family of {model}")


def _enforced(model: str, enforcement: Enforcement) -> bool:
    if isinstance(enforcement, str):
        return enforcement == "on" or (enforcement == "auto" and _is_of(model, ANNOUNCERS))
    return _is_of(model, [part.lower() for part in enforcement])


def _is_of(model: str, names: Collection[str]) -> bool:
    return any(name in model.lower() for name in names)


def _section(name: str, text: str, origin: str = "built in") -> Section:
    return Section(name, origin, text, Tier.STABLE)
