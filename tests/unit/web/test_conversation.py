"""How the rows of both sides become the conversation of a page, and what a page is told when they change."""

from __future__ import annotations

from gateway.bus.reports import Spoken
from gateway.delivery.outbox import Shown
from gateway.sessions.compressions import Divider
from gateway.web.chat.conversation import LONGEST, WEIGHT, Conversation, Entry, changes, merge, whole


def spoken(id: int, at: float, state: str = "done", text: str = "") -> Spoken:
    return Spoken(id, text or f"question {id}", at, state)


def shown(id: int, at: float, text: str = "", turn: str = "") -> Shown:
    return Shown(id, text or f"answer {id}", at, "sent", turn)


def ids(conversation: Conversation) -> list[str]:
    return [entry.id for entry in conversation.entries]


def test_both_sides_are_merged_by_time_and_the_person_is_first_at_the_same_moment() -> None:
    found = merge([spoken(1, 10.0), spoken(2, 20.0)], [shown(1, 10.0), shown(2, 15.0), shown(3, 20.0)], None, 200)
    assert ids(found) == ["in-1", "out-1", "out-2", "in-2", "out-3"]
    assert not found.working
    assert not found.earlier


def test_parts_of_one_answer_stay_in_their_order() -> None:
    found = merge([], [shown(7, 5.0), shown(8, 5.0), shown(9, 5.0)], None, 200)
    assert ids(found) == ["out-7", "out-8", "out-9"]


def test_what_became_of_a_message_is_shown() -> None:
    rows = [spoken(1, 1, "discarded"), spoken(2, 2, "dead"), spoken(3, 3, "claimed"), spoken(4, 4, "waiting")]
    found = merge(rows, [], "so far", 200)
    assert [entry.state for entry in found.entries] == ["dropped", "failed", "", "queued"]
    assert found.working
    assert found.live == "so far"


def test_a_message_that_waits_for_nobody_is_not_called_queued() -> None:
    found = merge([spoken(1, 1, "waiting")], [], None, 200)
    assert found.entries[0].state == ""
    assert found.working


def test_a_page_gets_no_more_than_it_can_bear_but_at_least_the_newest() -> None:
    found = merge([], [shown(n, n, "x" * WEIGHT) for n in range(10)], None, 4)
    assert ids(found) == ["out-6", "out-7", "out-8", "out-9"]
    assert found.earlier
    huge = merge([], [shown(1, 1, "x"), shown(2, 2, "x" * WEIGHT * 4)], None, 2)
    assert ids(huge) == ["out-2"]
    assert huge.earlier


def test_a_very_long_message_is_shown_shortened() -> None:
    found = merge([spoken(1, 1, text="y" * (LONGEST + 1_234))], [], None, 200)
    assert found.entries[0].text.startswith("y" * LONGEST + "…")
    assert "1,234 more characters" in found.entries[0].text


def test_a_divider_stands_behind_the_last_answer_of_the_turn_that_it_follows() -> None:
    both = [shown(1, 2.0, turn="t1"), shown(2, 2.1, turn="t1"), shown(3, 6.0, turn="t2")]
    divider = Divider(7, 1.9, "t1", "summary", (84_000, 31_400))
    found = merge([spoken(1, 1.0), spoken(2, 5.0)], both, None, 200, [divider])
    assert ids(found) == ["in-1", "out-1", "out-2", "sum-7", "in-2", "out-3"]
    assert found.entries[3].text == "Earlier messages were summed up – 84k → 31k tokens"


def test_a_divider_in_the_middle_of_a_turn_stands_before_its_answer() -> None:
    divider = Divider(7, 1.5, "", "fallback", (8_000, 950))
    found = merge([spoken(1, 1.0)], [shown(1, 9.0, turn="t1")], None, 200, [divider])
    assert ids(found) == ["in-1", "sum-7", "out-1"]
    assert found.entries[1].text == "Earlier messages were cut to an extract – 8k → 950 tokens"


def test_a_divider_alone_is_no_conversation_and_one_beyond_the_window_is_not_shown() -> None:
    divider = Divider(7, 1.0, "", "summary", (2, 1))
    assert ids(merge([], [], None, 200, [divider])) == []
    assert ids(merge([], [shown(n, n + 5.0) for n in range(4)], None, 3, [divider])) == ["out-1", "out-2", "out-3"]


async def test_a_divider_that_was_undone_goes_and_a_new_one_comes() -> None:
    rows = [spoken(1, 1.0), spoken(2, 9.0)]
    before = merge(rows, [], None, 200, [Divider(7, 2.0, "", "summary", (9_000, 2_000))])
    now = merge(rows, [], None, 200, [Divider(8, 3.0, "", "summary", (9_000, 3_000))])
    update = await changes(before, now)
    assert update.gone == ["sum-7"]
    assert [(bubble.id, bubble.who, bubble.html) for bubble in update.bubbles or []] == [("sum-8", "divider", "")]


async def test_a_page_is_told_only_what_is_new() -> None:
    before = merge([spoken(1, 1, "claimed")], [], None, 200)
    now = merge([spoken(1, 1), spoken(2, 3, "claimed")], [shown(1, 2)], None, 200)
    update = await changes(before, now)
    assert [bubble.id for bubble in update.bubbles or []] == ["out-1", "in-2"]
    assert update.gone is None
    assert update.working is None  # as before: an answer is awaited
    assert not update.whole


async def test_nothing_new_is_nothing_to_tell() -> None:
    same = merge([spoken(1, 1)], [shown(1, 2)], None, 200)
    assert (await changes(same, same)).dump() == '{"whole":false}'


async def test_what_was_erased_goes_and_what_only_grew_old_stays() -> None:
    before = Conversation(tuple(Entry(f"out-{n}", "agent", float(n), "x") for n in range(1, 5)))
    window = Conversation(tuple(Entry(f"out-{n}", "agent", float(n), "x") for n in (2, 4, 5)))
    update = await changes(before, window)
    assert update.gone == ["out-3"]
    emptied = await changes(before, Conversation())
    assert emptied.gone == ["out-1", "out-2", "out-3", "out-4"]


async def test_what_grew_old_stays_also_where_everything_was_said_at_the_same_moment() -> None:
    before = merge([], [shown(n, 5.0) for n in (8, 9, 10, 11)], None, 4)
    now = merge([], [shown(n, 5.0) for n in (9, 11, 12)], None, 4)
    assert (await changes(before, now)).gone == ["out-10"]


async def test_the_whole_names_the_model_and_renders_what_is_being_written() -> None:
    update = await whole(merge([spoken(1, 1, "claimed")], [], "*so far*", 200), ("tiny", True))
    assert update.whole
    assert (update.model, update.demo, update.working) == ("tiny", True, True)
    assert update.live == '<p dir="auto"><em>so far</em></p>\n'
