"""``sessions``: what an operator sees of conversations."""

from __future__ import annotations

from functools import partial

import pytest
from sqlalchemy import insert, update

from gateway.messages import Message, ToolCall
from gateway.sessions import store
from gateway.storage.database import Connection
from gateway.storage.tables import lanes, sessions
from gateway.types import clean
from tests.console import Console

LANE = "agent:main:telegram:dm:42"


def converse(
    connection: Connection, id: str, *said: Message, created: float = 1_700_000_000.0, title: str = ""
) -> None:
    connection.execute(insert(sessions).values(id=id, lane=LANE, title=title, created=created))
    store.append(connection, id, f"turn of {id}", said)


def test_the_newest_session_comes_first(console: Console) -> None:
    console.write(lambda connection: converse(connection, "old", Message("user", "hi"), created=1.0, title="Greetings"))
    console.write(lambda connection: converse(connection, "new", created=2.0))
    ran = console.run("sessions", "list")
    head, first, second = ran.out.splitlines()
    assert ran.code == 0
    assert head.split() == ["SESSION", "BEGUN", "MESSAGES", "TITLE", "CHAT"]
    assert first.startswith("new ")
    assert second.startswith("old ")
    assert second.split()[-3:] == ["1", "Greetings", LANE]


def test_a_list_that_ends_early_says_so(console: Console) -> None:
    for number in range(3):
        console.write(partial(converse, id=f"s{number}", created=float(number + 1)))
    document = console.run("sessions", "list", "--limit", "2", "--json").json
    assert [one["id"] for one in document["sessions"]] == ["s2", "s1"]
    assert document["hasMore"]
    assert document["sessions"][0]["created"] == "1970-01-01T00:00:03.000+00:00"
    assert not console.run("sessions", "list", "--limit", "3", "--json").json["hasMore"]


@pytest.mark.parametrize("command", [("sessions", "list"), ("sessions", "show", "x"), ("deliveries", "list")])
def test_a_home_without_a_database_is_told_in_a_sentence_and_stays_without(
    console: Console, command: tuple[str, ...]
) -> None:
    ran = console.run(*command)
    assert ran.code == 3
    assert ran.err.count("\n") == 1
    assert "there is no database" in ran.err
    assert not console.home.exists()
    assert console.run(*command, "--json").json["error"]["type"] == "not_found"


def test_nothing_said_yet_is_no_mistake(console: Console) -> None:
    console.write(lambda connection: None)
    assert console.run("sessions", "list").out == "there are no sessions yet\n"


def test_a_transcript_has_calls_results_and_what_is_out_of_view(console: Console) -> None:
    call = ToolCall("c1", "read_file", '{"path": "a.txt"}')
    said = [
        Message("user", "read it"),
        Message("assistant", "", (call,)),
        Message("tool", "contents", call_id="c1", name="read_file"),
    ]

    def talk(connection: Connection) -> None:
        converse(connection, "s1", *said)
        store.append(connection, "s1", "second", [Message("user", "again"), Message("assistant", "done")])
        store.hide_turn(connection, "s1", "second", "retry")

    console.write(talk)
    ran = console.run("sessions", "show", "s1")
    assert ran.code == 0
    assert '→ read_file {"path": "a.txt"}' in ran.out
    assert "tool read_file" in ran.out
    hidden = [line.split()[2] for line in ran.out.splitlines() if "[hidden: retry]" in line]
    assert hidden == ["user", "assistant"]
    document = console.run("sessions", "show", "s1", "--json").json
    assert [line["hidden"] for line in document["transcript"]] == [None, None, None, "retry", "retry"]
    assert document["transcript"][1]["calls"] == [{"id": "c1", "name": "read_file", "arguments": '{"path": "a.txt"}'}]


def test_the_newest_messages_are_shown_oldest_first(console: Console) -> None:
    console.write(lambda connection: converse(connection, "s1", *(Message("user", f"m{n}") for n in range(5))))
    ran = console.run("sessions", "show", "s1", "--limit", "2")
    assert [line.strip() for line in ran.out.splitlines() if line.startswith("  ")] == ["m3", "m4"]
    assert "3 earlier messages" in ran.err
    assert len(console.run("sessions", "show", "s1", "--limit", "0", "--json").json["transcript"]) == 5


def test_a_session_there_is_not_is_told(console: Console) -> None:
    console.write(lambda connection: None)
    ran = console.run("sessions", "show", "nope")
    assert (ran.code, ran.out) == (3, "")
    assert "there is no session nope" in ran.err


@pytest.mark.parametrize("text", ["\x1b]0;owned\x07", "\x1b[2J", "\u202eright to left", "half \ud83d a pair", "\0"])
def test_what_strangers_wrote_cannot_steer_the_terminal(console: Console, text: str) -> None:
    console.write(lambda connection: converse(connection, "s1", Message("user", text), title=text))
    for command in (["sessions", "list"], ["sessions", "show", "s1"]):
        shown = console.run(*command).out
        assert not set(shown) & {"\x1b", "\x07", "\u202e", "\0"}
    assert console.run("sessions", "show", "s1", "--json").json["transcript"][0]["text"] == clean(text)


def test_our_own_secrets_are_not_shown(console: Console) -> None:
    console.configure("model: {api_key: hush-hush-4711, base_url: 'http://127.0.0.1:9/v1'}\n")
    call = ToolCall("c1", "terminal", '{"command": "curl -H hush-hush-4711"}')
    console.write(lambda connection: converse(connection, "s1", Message("assistant", "it is hush-hush-4711", (call,))))
    for form in ([], ["--json"]):
        ran = console.run("sessions", "show", "s1", *form)
        assert "hush-hush" not in ran.out
        assert "***" in ran.out


# --- search


def test_what_was_said_is_found_in_every_session(console: Console) -> None:
    console.write(lambda connection: converse(connection, "s1", Message("user", "the blue whale"), title="Sea"))
    console.write(lambda connection: converse(connection, "s2", Message("assistant", "whale, 备份失败")))
    ran = console.run("sessions", "search", "whale")
    assert ran.code == 0
    assert {line.strip() for line in ran.out.splitlines() if line.startswith("  ")} == {
        "the blue >>>whale<<<",
        ">>>whale<<<, 备份失败",
    }
    (hit,) = console.run("sessions", "search", "备份 role:assistant", "--json").json["hits"]
    assert (hit["session"], hit["role"], hit["snippet"]) == ("s2", "assistant", "whale, >>>备份<<<失败")
    document = console.run("sessions", "search", "whale", "--limit", "1", "--sort", "newest", "--json").json
    assert (document["hits"][0]["session"], document["hasMore"], document["notIndexed"]) == ("s2", True, 0)


def test_a_search_with_more_than_it_looks_at_says_so_whatever_the_limit(console: Console) -> None:
    said = [Message("user", f"whale {number}") for number in range(1300)]
    console.write(lambda connection: converse(connection, "s1", *said))
    console.run("sessions", "search", "whale")  # indexes the first thousand
    document = console.run("sessions", "search", "whale", "--limit", "1000", "--json").json
    assert (len(document["hits"]), document["hasMore"], document["notIndexed"]) == (1000, True, 0)
    ran = console.run("sessions", "search", "whale", "--limit", "1000")
    assert "only the newest 1,000 messages that fit were looked at: add words or before:" in ran.err


def test_a_search_that_finds_nothing_or_says_nothing_is_told_apart(console: Console) -> None:
    console.write(lambda connection: converse(connection, "s1", Message("user", "the blue whale")))
    assert console.run("sessions", "search", "walrus").out == "nothing that was said fits\n"
    assert "holds no word to look for" in console.run("sessions", "search", "***").err
    ran = console.run("sessions", "search", "whale after:soon")
    assert (ran.code, ran.out) == (2, "")
    assert "after:soon is no date; write after:2026-11-30" in ran.err


@pytest.mark.parametrize("query", ["hush", "hush 4711", "it"])
def test_a_search_shows_none_of_our_own_secrets_not_even_in_pieces(console: Console, query: str) -> None:
    console.configure("model: {api_key: hush-hush-4711, base_url: 'http://127.0.0.1:9/v1'}\n")
    console.write(lambda connection: converse(connection, "s1", Message("assistant", "it is hush-hush-4711")))
    for form in ([], ["--json"]):
        out = console.run("sessions", "search", query, *form).out
        assert "4711" not in out
        assert "hush" not in out


def test_what_is_found_cannot_steer_the_terminal(console: Console) -> None:
    console.write(lambda connection: converse(connection, "s1", Message("user", "whale \x1b]0;owned\x07 \u202e")))
    assert not set(console.run("sessions", "search", "whale").out) & {"\x1b", "\x07", "\u202e"}


def test_the_binding_of_a_session_is_its_lane(console: Console) -> None:
    console.write(lambda connection: converse(connection, "s1"))
    console.write(lambda connection: connection.execute(insert(lanes).values(key=LANE, shard=1, session_id="s1")))
    console.write(lambda connection: connection.execute(update(sessions).values(ended=3.0)))
    document = console.run("sessions", "show", "s1", "--json").json
    assert (document["lane"], document["ended"]) == (LANE, "1970-01-01T00:00:03.000+00:00")


def test_many_warnings_about_the_settings_are_one_line_that_says_where_they_are(console: Console) -> None:
    console.write(lambda connection: None)
    few = "approvals:\n  timeout_seconds: 4\n  unattended: allow\n  mode: 'off'\n"
    console.configure(few)
    assert console.run("sessions", "list").err.count("warning: ") == 3
    console.configure(f"{few}  deny: [rm]\n")
    ran = console.run("sessions", "list")
    assert ran.err == "warning: 4 warnings about the settings: hermes-gateway config validate lists them\n"
    assert console.run("config", "validate").err.count("warning: ") == 4
