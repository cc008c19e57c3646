"""How the text of a summary is read again: also one of an older version, or one that a model wrote its own way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.context.beginnings import SUMMARY
from gateway.agent.context.frame import framed
from gateway.agent.context.summary.sections import (
    MESSAGES,
    RECOVERY,
    Section,
    earlier,
    folded,
    joined,
    quoted,
    quoted_in,
    skills_text,
    split,
    unmarked,
)


def test_headings_of_older_summaries_are_folded_into_todays() -> None:
    old = (
        "## Critical Context\nport 8443\n## Goal\nship it\n## Progress\n1. built\n## In Progress\ntests\n"
        "## Remaining Work\ndeploy\n## Historical Task Snapshot\nUser asked: 'ship'\n## Next Steps\ncall Ann"
    )
    assert earlier(old).body == (
        "## Active Task\ndeploy\nUser asked: 'ship'\ncall Ann\n\n## Goal\nship it\n\n## Completed Actions\n1. built\n\n"
        "## Active State\ntests\n\n## Critical Context\nport 8443"
    )


@pytest.mark.parametrize(
    "line",
    ["## Goal", "# Goal", "### goal:", "**Goal**", "**Goal:**", "## 2. Goal", "## **Goal**", "**Goal**:", "## Goal "],
)
def test_a_heading_is_known_in_whatever_way_a_model_writes_it(line: str) -> None:
    assert split(f"{line}\nship it") == [Section("Goal", "ship it")]


def test_what_is_no_heading_stays_text() -> None:
    text = "# a comment\n**bold**\n### Detail\n```\n## Goal\n```\nend"
    assert split(text) == [Section("", text)]
    assert split("## Of its own\ntext") == [Section("Of its own", "text")]


def test_what_has_no_heading_is_carried_on_as_it_is() -> None:
    assert earlier("They want a ship.\n\nIt is green.").body == "They want a ship.\n\nIt is green."


@given(st.lists(st.text(max_size=300), max_size=8))
def test_what_is_quoted_is_read_to_the_letter(texts: list[str]) -> None:
    assert quoted_in(quoted(texts)) == texts


@given(st.lists(st.text(alphabet="`~# Goal\n\r", max_size=80), max_size=8))
def test_no_message_climbs_out_of_its_fence(texts: list[str]) -> None:
    body = f"## Goal\nship\n\n## {MESSAGES}\nA record.\n\n{quoted(texts)}\n\n## {RECOVERY}\nLook it up."
    read = earlier(body)
    assert read.asks == tuple(texts)
    assert read.body == "## Goal\nship"


@pytest.mark.parametrize(
    "text",
    [
        framed("## Goal\nship"),
        framed("## Goal\nship", asked=False),
        f"{SUMMARY} Earlier turns were compacted.\n## Goal\nship",
        "[CONTEXT SUMMARY]: ## Goal\nship",
        "[PRIOR CONTEXT — for reference only; not a new message]\nold words\n\n"
        f"[END OF PRIOR CONTEXT — COMPACTION SUMMARY BELOW]\n\n{framed('## Goal' + chr(10) + 'ship')}",
        "## Goal\nship",
    ],
)
def test_the_marks_around_a_summary_are_not_part_of_it(text: str) -> None:
    assert unmarked(text) == "## Goal\nship"


def test_skills_that_were_pruned_are_listed_once_and_at_most_twenty() -> None:
    text = skills_text([f"skill-{number}" for number in range(30)])
    assert earlier(f"## Pruned Skills\n{text}\n{text}").skills == tuple(f"skill-{number}" for number in range(10, 30))


@given(st.lists(st.tuples(st.sampled_from(["", "Goal", "Pending", "Own"]), st.text(alphabet="abc", max_size=20))))
def test_folding_again_changes_nothing(parts: list[tuple[str, str]]) -> None:
    once = folded(split(joined(Section(*part) for part in parts)))
    assert folded(split(joined(once))) == [part for part in once if part.heading or part.text.strip()]
