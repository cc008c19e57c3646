"""What a summary must say of what it replaces, and what happens to what it does not say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.context.summary.check import KINDS, Anchors, missing
from gateway.agent.context.summary.sections import Earlier, earlier
from gateway.contracts.context import Row
from gateway.messages import Message
from tests.unit.agent.context.summary.talk import REDACT, SECRET, agent, call, rows, user

SHIP = rows(
    user("Build the ship for Ann Meier by 2026-12-24. Never use port 8443. The budget is 4711 euros."),
    *call("c1", "write_file", "ok", path="src/ship/hull.py", content="x"),
    *call("c2", "shell", '{"exit_code": 0}', command="make hull --fast"),
    agent("The hull is done. We decided to use oak instead of steel because it floats. Next I will paint it."),
    user("Good. Is the mast in stock?"),
)
WHOLE = """\
## Goal
Build the ship for Ann Meier by 2026-12-24
## Constraints
Never use port 8443; the budget is 4711 euros
## Key Decisions
Decided to use oak instead of steel, because it floats
## Completed Actions
1. WRITE src/ship/hull.py [tool: write_file]; ran make hull --fast
## Active Task
Good. Not done: paint it next, and tell whether the mast is in stock"""


def quoted(found: Anchors) -> list[str]:
    return [str(item) for item in found.items]


def test_a_summary_that_says_everything_lacks_nothing() -> None:
    found = missing(WHOLE, SHIP, REDACT)
    assert quoted(found) == []
    assert found.score == 1


def test_what_it_does_not_say_is_quoted_to_the_letter() -> None:
    found = missing("They talked about a boat.", SHIP, REDACT)
    assert found.score == 0
    assert quoted(found)[:6] == [
        "[next step] Next I will paint it.",
        "[question] Is the mast in stock?",
        "[goal] Build the ship for Ann Meier by 2026-12-24.",
        "[request] Is the mast in stock?",
        "[constraint] Never use port 8443.",
        "[constraint] The budget is 4711 euros.",
    ]
    assert "[decision] We decided to use oak instead of steel because it floats." in quoted(found)
    assert "[path] src/ship/hull.py" in quoted(found)
    assert "[progress] shell: make hull --fast" in quoted(found)
    numbers = {item.needle for item in found.items if item.kind == "number"}
    assert numbers == {"2026-12-24", "8443", "4711"}
    assert set(found.shares) == set(KINDS) - {"name"}


@pytest.mark.parametrize(
    ("left_out", "kind"),
    [
        ("Never use port 8443; the budget is 4711 euros", "constraint"),
        ("Decided to use oak instead of steel, because it floats", "decision"),
        ("src/ship/hull.py", "path"),
        ("paint it next", "next step"),
        ("whether the mast is in stock", "question"),
    ],
)
def test_each_thing_that_is_left_out_lowers_the_score(left_out: str, kind: str) -> None:
    found = missing(WHOLE.replace(left_out, ""), SHIP, REDACT)
    assert kind in {item.kind for item in found.items}
    assert 0.5 < found.score < 1


def test_a_number_is_not_said_by_a_longer_one() -> None:
    assert "number" in {item.kind for item in missing(WHOLE.replace("4711", "147112"), SHIP, REDACT).items}


def test_names_count_where_later_messages_use_them() -> None:
    said = rows(
        user("The Falcon runs on host bay-7."), agent("Noted: `falcon_key` opens it."), user("And Osprey is old.")
    )
    later = rows(user("restart it: use falcon_key on Falcon"))
    found = missing("nothing", said, REDACT, later=later)
    assert {item.needle: item.text for item in found.items if item.kind == "name"} == {
        "falcon_key": "Noted: `falcon_key` opens it.",
        "Falcon": "The Falcon runs on host bay-7.",
    }


def test_a_name_counts_by_whichever_side_marks_it_as_one() -> None:
    said = rows(user("张伟的报表库「天枢」也要同步。"), agent("好的。"))
    found = missing("x", said, REDACT, later=rows(user("天枢的账号配好了吗")))
    assert [item.needle for item in found.items if item.kind == "name"] == ["天枢"]


def test_a_question_that_was_answered_is_not_open() -> None:
    said = rows(user("Is the mast in stock?"), agent("Yes, it is."))
    assert "question" not in {item.kind for item in missing("x", said, REDACT).items}
    asked = rows(user("Order the mast."), agent("Which colour should it have?"))
    assert "[question] Which colour should it have?" in quoted(missing("x", asked, REDACT))
    assert "question" not in {item.kind for item in missing("x", asked, REDACT, later=rows(user("red"))).items}


@pytest.mark.parametrize(
    "said",
    [
        "绝对不要修改 config.yaml，必须使用 9090 端口。",
        "千万别忘了备份 config.yaml。",
        "config.yaml は絶対に変更しないでください。",
        "config.yaml 파일은 절대 수정하지 마세요.",
        "Никогда не меняй config.yaml.",
        "Nunca cambies config.yaml.",
        "Ändere niemals config.yaml.",
        "Don't ever change config.yaml.",
    ],
)
def test_demands_are_found_in_every_language(said: str) -> None:
    found = missing("x", rows(user(said)), REDACT)
    assert [item.text for item in found.items if item.kind == "constraint"]
    assert "config.yaml" in {item.needle for item in found.items if item.kind == "path"}
    assert missing(said, rows(user(said)), REDACT).score == 1


def test_what_an_older_summary_quoted_is_quoted_on_until_a_summary_says_it() -> None:
    carried = Earlier(anchors=("[constraint] Never use port 8443.", "[path] a/b.py"))
    assert tuple(quoted(missing("x", rows(), REDACT, before=carried))) == carried.anchors
    assert quoted(missing("Never use port 8443, see a/b.py", rows(), REDACT, before=carried)) == []


def test_the_first_request_is_the_goal_until_a_summary_names_one() -> None:
    said = rows(user("Build a ship."), agent("ok"), user("Paint it green."))
    assert quoted(missing("x", said, REDACT))[:2] == ["[goal] Build a ship.", "[request] Paint it green."]
    again = missing("x", said, REDACT, before=earlier("## Goal\nA fleet of oak."))
    assert quoted(again)[:2] == ["[goal] A fleet of oak.", "[request] Paint it green."]


def test_the_demands_and_decisions_of_the_summary_before_are_looked_for_too() -> None:
    before = earlier(
        "## Constraints & Preferences\n- Nothing on Sundays\n\n## Key Decisions\n* Oak: it floats\n\n## Goal\nNone."
    )
    assert quoted(missing("x", rows(), REDACT, before=before)) == [
        "[constraint] Nothing on Sundays",
        "[decision] Oak: it floats",
    ]
    assert missing("Nothing on Sundays. Oak, because it floats.", rows(), REDACT, before=before).score == 1


def test_nothing_that_is_quoted_is_secret() -> None:
    said = rows(user(f"You must use the key {SECRET}."), *call("c", "shell", "", command=f"login {SECRET}"))
    found = missing("x", said, REDACT)
    assert found.items
    assert SECRET not in str(found)


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=600)), max_size=30),
    st.text(max_size=400),
)
def test_whatever_was_said_the_check_is_bounded_and_to_the_letter(said: list[tuple[str, str]], summary: str) -> None:
    talk = [Row(n, Message("user" if role == "user" else "assistant", text)) for n, (role, text) in enumerate(said)]
    found = missing(summary, talk, str, later=talk[-3:])
    assert 0 <= found.score <= 1
    assert len(found.items) <= 12 * len(KINDS)
    whole = "\n".join(row.message.text for row in talk)
    assert all(item.text.removesuffix("…").strip() in whole and len(item.text) <= 400 for item in found.items)
    assert found == missing(summary, talk, str, later=talk[-3:])
