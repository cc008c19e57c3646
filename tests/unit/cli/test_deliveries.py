"""``deliveries``: what did not arrive, and what an operator can do about it."""

from __future__ import annotations

from functools import partial

import pytest

from gateway.bus import lanes, letters
from gateway.delivery import outbox
from gateway.delivery.outbox import Outgoing
from gateway.sessions.keys import private_key
from gateway.storage.database import Connection
from gateway.types import Address, Event, Part, Rendered, Role, Sender
from tests.console import Console

CHAT = Address(platform="telegram", chat="42")


def answer(connection: Connection, text: str) -> None:
    outbox.add(connection, [Outgoing(CHAT, Part(Rendered(text, len(text)), text))])


def three_answers(connection: Connection) -> None:
    """One that waits, one that was refused, one that was sent: 1, 2, 3."""
    for text in ("waits", "was refused", "was sent"):
        answer(connection, text)
    outbox.refuse(connection, 2, "bot was blocked by the user")
    outbox.sent(connection, 3, "m3")


def message(connection: Connection, text: str) -> int:
    event = Event(id=text, origin=CHAT, sender=Sender("42"), text=text)
    id = lanes.put(connection, private_key(CHAT), text, event, Role.MEMBER, command=False, limit=9).id
    assert id is not None
    return id


def dead_letter(connection: Connection) -> None:
    """A message that waits and one that was given up: 1, 2."""
    message(connection, "waits")
    letters.bury(connection, [message(connection, "three times in vain")], "RuntimeError: no")


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ([], ["was refused", "waits"]),
        (["--dead"], ["was refused"]),
        (["--all"], ["was sent", "was refused", "waits"]),
        (["--all", "--limit", "1"], ["was sent"]),
    ],
)
def test_the_list_shows_what_was_asked_for_the_newest_first(
    console: Console, options: list[str], texts: list[str]
) -> None:
    console.write(three_answers)
    ran = console.run("deliveries", "list", *options)
    assert ran.code == 0
    rows = ran.out.splitlines()[1:]
    assert [next(text for text in ("waits", "was refused", "was sent") if text in row) for row in rows] == texts
    document = console.run("deliveries", "list", *options, "--json").json
    assert [row["text"] for row in document["deliveries"]] == texts
    assert document["hasMore"] == ("--limit" in options)


def test_a_refused_part_is_listed_with_its_chat_and_reason(console: Console) -> None:
    console.write(three_answers)
    row = console.run("deliveries", "list", "--dead", "--json").json["deliveries"][0]
    assert (row["id"], row["state"], row["address"]) == (2, "refused", "telegram:42")
    assert row["reason"] == "bot was blocked by the user"
    assert row["created"].endswith("+00:00")


@pytest.mark.parametrize(("options", "ids"), [([], [2, 1]), (["--dead"], [2]), (["--all"], [2, 1])])
def test_messages_to_the_gateway_have_a_list_of_their_own(console: Console, options: list[str], ids: list[int]) -> None:
    console.write(dead_letter)
    document = console.run("deliveries", "list", "--in", *options, "--json").json
    assert [row["id"] for row in document["deliveries"]] == ids
    assert document["deliveries"][0]["reason"] == "RuntimeError: no"
    assert document["deliveries"][0]["lane"] == "agent:main:telegram:dm:42"


def test_nothing_to_list_is_said(console: Console) -> None:
    console.write(lambda connection: None)
    assert console.run("deliveries", "list").out == "there are none\n"


def test_dead_and_all_contradict_each_other(console: Console) -> None:
    assert console.run("deliveries", "list", "--dead", "--all").code == 2


def test_a_refused_part_is_tried_again_as_if_new(console: Console) -> None:
    console.write(three_answers)
    ran = console.run("deliveries", "retry", "2")
    assert (ran.code, ran.out) == (0, "retried: 2\n")
    row = console.run("deliveries", "list", "--json").json["deliveries"][0]
    assert (row["id"], row["state"], row["attempts"]) == (2, "waiting", 0)
    taken = console.write(lambda connection: outbox.take(connection, CHAT.queue))
    assert isinstance(taken, outbox.Taken)


def test_a_dead_letter_waits_again_for_its_turn(console: Console) -> None:
    console.write(dead_letter)
    assert console.run("deliveries", "retry", "--in", "2").code == 0
    assert console.run("deliveries", "list", "--in", "--dead").out == "there are none\n"


@pytest.mark.parametrize("command", ["retry", "discard"])
def test_only_what_was_given_up_can_be_dealt_with(console: Console, command: str) -> None:
    console.write(three_answers)
    ran = console.run("deliveries", command, "1", "3", "99")
    assert (ran.code, ran.out) == (3, "")
    assert "1, 3, 99" in ran.err
    assert [row["id"] for row in console.run("deliveries", "list", "--json").json["deliveries"]] == [2, 1]


def test_of_several_the_missing_are_named(console: Console) -> None:
    console.write(three_answers)
    ran = console.run("deliveries", "discard", "2", "99", "2", "--json")
    assert ran.code == 3
    assert ran.json == {"ok": False, "discarded": [2], "notFound": [99]}


def test_what_is_discarded_is_not_delivered_any_more(console: Console) -> None:
    console.write(three_answers)
    assert console.run("deliveries", "discard", "2").code == 0
    assert console.run("deliveries", "retry", "2").code == 3
    states = {
        row["id"]: row["state"] for row in console.run("deliveries", "list", "--all", "--json").json["deliveries"]
    }
    assert states == {1: "waiting", 2: "discarded", 3: "sent"}


def test_a_discarded_message_gets_no_turn(console: Console) -> None:
    console.write(dead_letter)
    assert console.run("deliveries", "discard", "--in", "1", "2").code == 0
    key = private_key(CHAT)
    assert console.write(lambda connection: lanes.claim(connection, key, "s1", "/home")) is None
    rows = console.run("deliveries", "list", "--in", "--all", "--json").json["deliveries"]
    assert {row["reason"] for row in rows} == {"discarded by the operator"}


@pytest.mark.parametrize("id", ["0", "-1", "two", "99999999999999999999"])
def test_an_id_that_cannot_be_is_a_mistake_of_the_command_line(console: Console, id: str) -> None:
    console.write(lambda connection: None)
    assert console.run("deliveries", "retry", "--", id).code == 2


def test_a_text_of_any_kind_and_size_is_one_line_of_the_list(console: Console) -> None:
    for text in ("\x1b[31mred", "a\nb", "שלום", "界" * 300_000, ""):
        console.write(partial(answer, text=text))
    ran = console.run("deliveries", "list")
    assert len(ran.out.splitlines()) == 6
    assert "\x1b" not in ran.out
    assert len(ran.out) < 2_000


def test_our_own_secrets_are_not_listed(console: Console) -> None:
    console.configure("model: {api_key: hush-hush-4711, base_url: 'http://127.0.0.1:9/v1'}\n")
    console.write(lambda connection: answer(connection, "the key is hush-hush-4711"))
    assert "hush-hush" not in console.run("deliveries", "list").out
    assert "hush-hush" not in console.run("deliveries", "list", "--json").out
