"""From a model's answer to the summary that is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.context.frame import framed
from gateway.agent.context.summary.finish import ALL_MESSAGES, MESSAGE, NOBODY, Finished, finish
from gateway.agent.context.summary.sections import ANCHORS, MESSAGES, RECOVERY, SKILLS, TASK, earlier, split
from gateway.messages import Message
from tests.unit.agent.context.summary.talk import COUNT, REDACT, SECRET, agent, call, job, long_talk, rows, user

ANSWER = "## Active Task\nNone.\n\n## Goal\nShip it."
MARK = "[SKILL_PRUNED: content lost in compression; reload with skill_view(name='{}')]"


def done(text: str, **other: object) -> Finished:
    finished = finish(text, job(**{"said": long_talk(), **other}), COUNT, REDACT)  # type: ignore[arg-type]
    assert finished is not None
    return finished


def section(text: str, heading: str) -> str:
    return next((part.text for part in split(text) if part.heading == heading), "")


def test_the_models_part_comes_first_and_what_was_written_behind_it_to_the_letter() -> None:
    said = [*long_talk(), *rows(user("```python\n## Goal\nx = 1\n```\nwhy?"), agent("Because."))]
    text = done(ANSWER, said=said).text
    assert text.startswith(ANSWER)
    assert earlier(text).asks[:2] == ("```python\n## Goal\nx = 1\n```\nwhy?", said[-4].message.text)
    assert len(earlier(text).asks) == 41
    assert text.index(f"## {MESSAGES}") < text.index(f"## {RECOVERY}")
    assert "session_search" in section(text, RECOVERY)


def test_without_a_search_nobody_is_sent_to_search() -> None:
    assert "session_search" not in done(ANSWER, search=False).text


@pytest.mark.parametrize(
    "answer",
    [
        f"<think>hm</think>\n{ANSWER}",
        framed(ANSWER),
        f"{framed('## Goal' + chr(10) + 'An older one.')}\n\n{ANSWER}",
        f"```markdown\n{ANSWER}\n```",
        f"{ANSWER}\n\n## {MESSAGES}\n```\nmade up\n```\n\n## {RECOVERY}\nmade up",
        ANSWER.replace("Active Task", "Historical Task Snapshot"),
    ],
)
def test_what_is_not_the_models_to_write_is_taken_out(answer: str) -> None:
    text = done(answer).text
    assert text.startswith(f"{ANSWER}\n\n##")
    assert "made up" not in text


def test_plain_text_without_headings_is_taken_as_it_is() -> None:
    assert done("They built a ship and it is green.").text.startswith("They built a ship and it is green.\n\n## ")


@pytest.mark.parametrize("answer", ["", "  \n ", "## Goal\n\n## Blocked\n", f"## {MESSAGES}\n```\nx\n```"])
def test_an_answer_that_says_nothing_is_no_summary(answer: str) -> None:
    assert finish(answer, job(long_talk()), COUNT, REDACT) is None


def test_an_answer_as_long_as_what_it_replaces_is_no_summary() -> None:
    said = long_talk(5)
    assert finish("\n".join(row.message.text for row in said), job(said), COUNT, REDACT) is None


def test_a_fence_that_the_model_left_open_does_not_take_in_what_follows() -> None:
    text = done(f"{ANSWER}\n```\ncode").text
    assert len(earlier(text).asks) == 40


def test_secrets_are_taken_out_wherever_they_come_from() -> None:
    said = [*long_talk(), *rows(user(f"Never tell {SECRET} to anybody."), agent("I will not."))]
    text = done(f"{ANSWER} {SECRET}", said=said).text
    assert SECRET not in text
    assert "Never tell *** to anybody." in text


def test_what_the_person_wrote_stays_within_the_figures_newest_first() -> None:
    said = rows(*(user(f"{n} " + "word " * 1_500) for n in range(30)), agent("well"))
    asks = earlier(done(ANSWER, said=said, room=100_000).text).asks
    assert [text.split(" ", 1)[0] for text in asks] == [str(n) for n in range(29, 23, -1)]
    assert all(len(text) <= MESSAGE for text in asks)
    assert sum(map(len, asks)) <= ALL_MESSAGES


def test_with_little_room_the_newest_message_is_shortened_rather_than_left_out() -> None:
    said = rows(user("old"), user("begin " + "word " * 3_000 + "end"), agent("well " * 500))
    ask, *_ = earlier(done(ANSWER, said=said, room=500).text).asks
    assert ask.startswith("begin word")
    assert ask.endswith("word end")


def test_what_was_written_is_carried_through_one_summary_after_the_other() -> None:
    text, wanted = "", list[str]()
    for n in range(5):
        said = [*rows(user(f"Round {n}: do the thing number {n}.")), *rows(agent("Something long. " * 100))]
        text = done(ANSWER, said=said, previous=framed(text) if text else "").text
        wanted.insert(0, f"Round {n}: do the thing number {n}.")
        assert earlier(text).asks == tuple(wanted)


def test_what_the_model_left_out_is_quoted_and_carried_on() -> None:
    said = [*long_talk(), *rows(*call("c", "write_file", "ok", path="src/hull.py"), agent("We decided to use oak."))]
    first = done(ANSWER, said=said)
    assert first.anchors.score < 1
    assert "- [decision] We decided to use oak." in section(first.text, ANCHORS)
    assert "- [path] src/hull.py" in section(first.text, ANCHORS)
    again = done(ANSWER, previous=framed(first.text))
    assert "- [decision] We decided to use oak." in section(again.text, ANCHORS)
    told = done(f"{ANSWER}\n\n## Key Decisions\nDecided to use oak. See src/hull.py.", previous=framed(first.text))
    assert "oak" not in section(told.text, ANCHORS)


def test_nothing_is_quoted_twice() -> None:
    text = done(ANSWER, said=[*long_talk(), *rows(user("You must never use port 8443."), agent("ok"))]).text
    assert text.count("You must never use port 8443.") == 1


def test_where_nobody_ever_asked_no_request_is_made_up() -> None:
    said = [row for row in long_talk() if row.message.role == "assistant"]
    text = done("## Active Task\nUser asked: 'ship it'\n\n## Goal\nShip it.", said=said, asked=False).text
    assert section(text, TASK) == NOBODY
    assert "User asked" not in text
    assert MESSAGES not in text


def test_a_request_that_is_done_is_not_made_open_again() -> None:
    assert section(done(ANSWER).text, TASK) == "None."


def test_pruned_skills_are_kept_through_later_summaries() -> None:
    said = [*long_talk(), *rows(*call("c", "skill_view", MARK.format("baking")), agent("ok"))]
    first = done(ANSWER, said=said)
    assert section(first.text, SKILLS) == MARK.format("baking")
    again = done(f"{ANSWER}\n\n## Pruned Skills\nNone.", previous=framed(first.text))
    assert section(again.text, SKILLS) == MARK.format("baking")


def test_the_gateways_own_sentences_follow_the_person() -> None:
    said = rows(*(user(f"请修改第 {n} 个文件，并且告诉我结果") for n in range(60)), agent("好的。" * 500))
    text = done(ANSWER, said=said).text
    assert "以下为用户原话的记录" in text
    assert "请用 session_search 查找" in text


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=900)), max_size=20),
    st.text(max_size=900),
    st.integers(0, 3_000),
    st.text(max_size=900),
    st.booleans(),
)
def test_whatever_was_said_and_answered_a_summary_is_shorter_than_what_it_replaces(
    said: list[tuple[str, str]], answer: str, room: int, before: str, asked: bool
) -> None:
    talk = rows(*(Message("user" if role == "user" else "assistant", text) for role, text in said))
    one = job(talk, room=room, previous=before, asked=asked)
    finished = finish(answer, one, COUNT, REDACT)
    if finished is not None:
        assert COUNT(finished.text) == finished.tokens
        assert COUNT(framed(finished.text)) < sum(one.tokens) + COUNT(before)
        assert finished == finish(answer, one, COUNT, REDACT)
