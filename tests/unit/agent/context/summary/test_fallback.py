"""What stands for messages where no model could sum them up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.context.frame import framed
from gateway.agent.context.summary.fallback import MOST, fallback
from gateway.agent.context.summary.finish import NOBODY, finish
from gateway.agent.context.summary.sections import (
    ACTIONS,
    BLOCKED,
    CRITICAL,
    DROPPED,
    FILES,
    GOAL,
    HEADINGS,
    SKILLS,
    SNAPSHOT,
    TASK,
    earlier,
    skills_text,
    split,
)
from gateway.messages import Message, ToolCall
from tests.unit.agent.context.summary.talk import COUNT, REDACT, SECRET, agent, call, job, long_talk, rows, user

SHIP = rows(
    user("Build the ship in src/ship/hull.py."),
    *call("c1", "write_file", "[write_file] wrote to src/ship/hull.py (1 lines)", path="src/ship/hull.py"),
    *call("c2", "shell", '{"exit_code": 1}\nError: no oak left', command="make hull"),
    agent("The hull is built, the mast is not."),
    user("Then build the mast."),
)


def parts(text: str) -> dict[str, str]:
    return {part.heading: part.text for part in split(text)}


def test_it_says_what_was_asked_done_and_in_the_way() -> None:
    text = fallback(job(SHIP), "the endpoint was silent", REDACT)
    said = parts(text)
    assert list(said)[:10] == [name for name in HEADINGS if name != SKILLS]
    assert "'Then build the mast.'" in said[TASK]
    assert "Summary generation was unavailable (the endpoint was silent)" in said[GOAL]
    assert "'Build the ship in src/ship/hull.py.'" in said[GOAL]
    assert said[ACTIONS].split("\n") == [
        "1. Called tool(s): write_file",
        "2. [write_file] wrote to src/ship/hull.py (1 lines)",
        "3. Called tool(s): shell",
        '4. [shell] {"exit_code": 1} Error: no oak left',
        "5. The hull is built, the mast is not.",
    ]
    assert said[BLOCKED] == "- Error: no oak left"
    assert said[FILES] == "- src/ship/hull.py"
    assert "7 messages" in said[CRITICAL]
    assert said[DROPPED].endswith("USER: Then build the mast.")
    assert earlier(text).asks == ("Then build the mast.", "Build the ship in src/ship/hull.py.")


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        ("请帮我修改登录页面的标题", "摘要生成不可用"),
        ("ログイン画面を直してください", "要約を生成できませんでした"),
        ("로그인 페이지를 고쳐 주세요", "요약을 생성할 수 없었습니다"),
        ("Исправь страницу входа", "Создать сводку не удалось"),
        ("Por favor, arregla la página de inicio", "No se pudo generar el resumen"),
        ("Bitte repariere die Anmeldeseite", "Eine Zusammenfassung war nicht möglich"),
        ("Please fix the login page", "Summary generation was unavailable"),
    ],
)
def test_it_speaks_the_persons_language(ask: str, sentence: str) -> None:
    assert sentence in fallback(job(rows(user(ask), agent("…"))), "x", REDACT)


@pytest.mark.parametrize(
    "line", ["错误：磁盘已满", "エラー：接続失敗", "오류: 연결 실패", "Ошибка: нет диска", "Fehler: kein Platz"]
)
def test_failures_are_found_in_every_language(line: str) -> None:
    text = fallback(job(rows(user("x"), *call("c", "shell", f"ok\n{line}\nok"))), "x", REDACT)
    assert parts(text)[BLOCKED] == f"- {line}"


def test_no_error_is_none() -> None:
    text = fallback(job(rows(user("x"), *call("c", "shell", "0 errors, no failures"))), "x", REDACT)
    assert parts(text)[BLOCKED] == "None recorded."


def test_the_summary_before_it_is_carried_on() -> None:
    before = framed("## Goal\nA fleet.\n\n## Key Decisions\nOak, because it floats.")
    snapshot = parts(fallback(job(SHIP, previous=before), "x", REDACT))[SNAPSHOT]
    assert snapshot == "Goal:\nA fleet.\nKey Decisions:\nOak, because it floats."


def test_a_long_summary_before_it_keeps_something_of_every_part() -> None:
    before = "\n\n".join(f"## {name}\n{name.upper()} {'word ' * 1_000}end of {name}" for name in HEADINGS[:-1])
    snapshot = parts(fallback(job(SHIP, previous=before), "x", REDACT))[SNAPSHOT]
    assert len(snapshot) <= 3_000
    assert all(f"{name}:\n{name.upper()} word" in snapshot and f"end of {name}" in snapshot for name in HEADINGS[:-1])


def test_over_several_fallbacks_no_request_and_nothing_of_the_last_summary_is_lost() -> None:
    text = framed("## Goal\nA fleet of oak.\n\n## Key Decisions\nOak, because it floats.")
    wanted: list[str] = []
    for n in range(12):
        said = rows(
            user(f"Request number {n}."), *call(f"c{n}", "write_file", "ok", path=f"a/{n}.py"), agent(f"Did {n}.")
        )
        text = framed(fallback(job(said, previous=text), "still silent", REDACT))
        wanted.insert(0, f"Request number {n}.")
        assert earlier(text).asks == tuple(wanted)
        assert "Oak, because it floats." in parts(earlier(text).body)[SNAPSHOT]
    said_last = parts(earlier(text).body)
    assert "- a/11.py" in said_last[FILES]
    assert "- a/0.py" in said_last[FILES]
    assert "Did 11." in said_last[ACTIONS]


def test_the_summary_after_a_fallback_still_has_every_request() -> None:
    first = framed(fallback(job(rows(*(user(f"Request {n}.") for n in range(8)))), "x", REDACT))
    finished = finish("## Goal\nA fleet.", job(long_talk(2), previous=first), COUNT, REDACT)
    assert finished is not None
    assert {f"Request {n}." for n in range(8)} <= set(earlier(finished.text).asks)


def test_of_very_many_requests_the_first_and_the_newest_are_kept() -> None:
    said = rows(*(user(f"Request {n} is about ship number {n} and more.") for n in range(500)))
    asks = earlier(fallback(job(said), "x", REDACT)).asks
    assert asks[0].startswith("Request 499")
    assert asks[-1].startswith("Request 0 ")
    assert len(asks) >= 50


def test_pruned_skills_and_anchors_are_carried_on() -> None:
    mark = "[SKILL_PRUNED: content lost in compression; reload with skill_view(name='baking')]"
    before = f"## Goal\nx\n\n## {SKILLS}\n{mark}\n\n## Anchor Index\n- [number] port 8443"
    read = earlier(fallback(job(SHIP, previous=before), "x", REDACT))
    assert (read.skills, read.anchors) == (("baking",), ("[number] port 8443",))


def test_where_nobody_asked_no_request_is_made_up() -> None:
    said = rows(agent("I looked."), *call("c", "shell", "ok"))
    text = fallback(job(said, asked=False), "x", REDACT)
    assert parts(text)[TASK] == NOBODY
    assert parts(fallback(job(said), "x", REDACT))[TASK] != NOBODY, "the request stands before what is summed up"


def test_it_holds_no_secret() -> None:
    said = rows(
        user(f"use {SECRET}"),
        *call("c", "shell", f"error: {SECRET}", command=SECRET, path=f"/x/{SECRET}"),
        agent(SECRET),
    )
    assert SECRET not in fallback(job(said, previous=f"## Goal\n{SECRET}"), "x", REDACT)


@given(
    st.lists(
        st.tuples(st.sampled_from(["user", "assistant", "tool"]), st.text(max_size=3_000), st.text(max_size=40)),
        max_size=80,
    ),
    st.text(max_size=6_000),
    st.text(max_size=400),
    st.integers(0, 3),
)
def test_whatever_was_said_it_is_bounded_deterministic_and_keeps_the_newest_request(
    said: list[tuple[str, str, str]], before: str, reason: str, times: int
) -> None:
    messages = []
    for role, text, name in said:
        if role == "assistant":
            messages.append(Message("assistant", text, (ToolCall(name, name, text),)))
        else:
            messages.append(Message("user" if role == "user" else "tool", text, call_id=name, name=name))
    one = job(rows(*messages), previous=before)
    text = fallback(one, reason, REDACT)
    assert len(text) <= MOST
    assert text == fallback(one, reason, REDACT)
    asks = [row.message.text for row in one.rows if row.asks]
    if asks:
        assert asks[-1][:20].strip("… ") in earlier(text).asks[0] or "***" in earlier(text).asks[0]
    for _ in range(times):
        text = fallback(job(one.rows, previous=framed(text)), reason, REDACT)
        assert len(text) <= MOST


@pytest.mark.parametrize("word", ["word ", "слово ", "Wort ", "palabra ", "测试内容", "`" * 40 + "\n", "\x01\x02 "])
def test_with_everything_at_its_largest_it_is_bounded_and_every_part_has_its_share(word: str) -> None:
    skills = skills_text([f"skill{n}" + "x" * 150 for n in range(20)])
    anchors = "\n".join(f"- [number] {word[:20].strip() * 20} {n}" for n in range(60))
    before = "\n\n".join(
        [
            *(f"## {name}\n{word * 400}" for name in HEADINGS[:-1]),
            f"## {SKILLS}\n{skills}",
            f"## Anchor Index\n{anchors}",
        ]
    )
    said = rows(
        *(
            message
            for n in range(80)
            for message in (
                user(f"new {n} {word * 100}"),
                *call(
                    f"c{n}", "shell", f"error: {word * 40}{n}", command=word * 50, path="/srv/" + "d/" * 60 + f"{n}.py"
                ),
                agent(f"done {n} {word * 100}"),
            )
        )
    )
    text = before
    for _ in range(3):
        text = framed(fallback(job(said, previous=text), "because " * 60, REDACT))
        read = earlier(text)
        assert len(text) - len(framed("")) <= MOST
        assert read.asks[0].startswith("new 79")
        assert read.skills
        assert SNAPSHOT in parts(read.body)
        assert "79.py" in parts(read.body)[FILES]
        assert "done 79" in parts(read.body)[ACTIONS]
