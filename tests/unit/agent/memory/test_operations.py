"""Changes to notes: which entry is meant, what fits, all or nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.memory.backing.form import settled
from gateway.agent.memory.notes import DELIMITER, Target, block, divides, drift, join, parse, whole
from gateway.agent.memory.operations import LONGEST, MOST, Changed, Operation, Refusal, change, handle, objection


def clean(text: str) -> Sequence[str]:
    return ()


def suspicious(text: str) -> Sequence[str]:
    return ("prompt_injection",) if "evil" in text else ()


def changed(entries: Sequence[str], *operations: Operation, limit: int = 1000) -> list[str]:
    assert objection(operations, clean) is None
    result = change(entries, operations, limit)
    assert isinstance(result, Changed), result
    return list(result.entries)


def refused(entries: Sequence[str], *operations: Operation, limit: int = 1000) -> Refusal:
    result = objection(operations, suspicious) or change(entries, operations, limit)
    assert isinstance(result, Refusal), result
    return result


def add(content: str) -> Operation:
    return Operation("add", content)


def replace(old: str, content: str) -> Operation:
    return Operation("replace", content, old)


def remove(old: str) -> Operation:
    return Operation("remove", old_text=old)


def test_an_entry_is_added_at_the_end_and_only_once() -> None:
    assert changed(["a"], add(" b ")) == ["a", "b"]
    assert changed(["a", "b"], add("a")) == ["a", "b"]


def test_an_entry_is_meant_by_a_part_of_it() -> None:
    assert changed(["likes tea", "likes jazz"], replace("tea", "likes coffee")) == ["likes coffee", "likes jazz"]
    assert changed(["likes tea", "likes jazz"], remove("jazz")) == ["likes tea"]


def test_an_entry_is_meant_by_all_of_it_though_another_begins_with_it() -> None:
    assert changed(["likes tea", "likes tea and jazz"], remove("likes tea")) == ["likes tea and jazz"]


def test_an_entry_is_meant_by_its_handle() -> None:
    assert changed(["likes tea", "likes jazz"], remove(handle("likes jazz"))) == ["likes tea"]


def test_a_part_of_several_entries_means_none_of_them() -> None:
    refusal = refused(["likes tea", "likes jazz"], remove("likes"))
    assert refusal.matches == ("likes tea", "likes jazz")


def test_of_identical_entries_the_first_is_meant() -> None:
    assert changed(["x", "same", "same"], remove("same")) == ["x", "same"]


def test_what_no_entry_holds_is_refused_with_the_entries() -> None:
    assert refused(["a"], remove("b")).entries == ("a",)
    assert "old_text is missing" in refused(["a"], remove("  ")).error


@pytest.mark.parametrize("content", ["", "  \n ", "one\n§\ntwo", "§", "one\n § \ntwo", "one\r\n§\r\ntwo", "one\n§"])
def test_content_that_is_empty_or_would_come_back_as_several_is_refused(content: str) -> None:
    assert refused(["a"], add(content)).error
    assert refused(["a"], replace("a", content)).error


@pytest.mark.parametrize("content", ["§\0", "one\n§\0\ntwo", "\ufeff§\nfact", " \ufeff \ufeff§", "\0", "\ufeff"])
def test_a_delimiter_does_not_hide_behind_what_no_store_keeps(content: str) -> None:
    assert refused([], add(content)).error


@pytest.mark.parametrize("content", ["tea\0", "\ufefftea", " \ufeff tea\r\n"])
def test_an_entry_is_compared_as_it_is_kept(content: str) -> None:
    assert changed([], add(content)) == ["tea"]
    assert changed(["tea"], add(content)) == ["tea"]
    assert changed(["tea"], remove(content)) == []


def test_too_much_at_once_is_refused_before_it_is_looked_at() -> None:
    assert "at most 200" in refused([], *(add(f"fact {number}") for number in range(MOST + 1))).error
    assert "65,536" in refused([], add("a" * (LONGEST + 1))).error


def test_a_section_sign_inside_a_line_is_an_ordinary_character() -> None:
    assert changed([], add("see § 4 of the contract")) == ["see § 4 of the contract"]


def test_a_batch_is_all_or_nothing_and_says_which_operation_failed() -> None:
    refusal = refused(["a"], add("b"), remove("nothing like it"))
    assert refusal.error.startswith("Operation 2: ")
    assert refused(["a"], add("b"), add("evil")).error.startswith("Operation 2: ")


def test_what_looks_like_an_attack_is_refused_without_repeating_it() -> None:
    assert "evil" not in refused([], add("something evil")).error


def test_only_the_final_size_of_a_batch_counts() -> None:
    full = ["x" * 50, "y" * 40]
    assert changed(full, add("z" * 45), remove("xx"), limit=95) == ["y" * 40, "z" * 45]
    refusal = refused(full, add("z" * 45), limit=95)
    assert refusal.overflow
    assert refusal.entries == tuple(full)
    assert "141 of 95 characters" in refusal.error


@pytest.mark.parametrize("letter", ["a", "語", "😀"])
def test_room_is_counted_in_characters_in_every_script(letter: str) -> None:
    assert changed([letter * 50], add(letter * 47), limit=100) == [letter * 50, letter * 47]
    assert refused([letter * 50], add(letter * 48), limit=100).overflow


def test_notes_that_are_too_long_already_may_shrink_a_little() -> None:
    assert changed(["x" * 80, "y" * 80], remove("yy"), limit=50) == ["x" * 80]


texts = st.text(st.characters(codec="utf-8"), max_size=30)
operations = st.builds(Operation, st.sampled_from(["add", "replace", "remove"]), texts, texts)


@given(st.lists(texts, max_size=6), st.lists(operations, max_size=6), st.integers(1, 120))
def test_whatever_is_asked_what_is_kept_comes_back_as_it_is(
    start: list[str], asked: list[Operation], limit: int
) -> None:
    before = parse(join([entry for text in start if (entry := whole(text)) and not divides(entry)]))
    result = objection(asked, clean) or change(before, asked, limit)
    if isinstance(result, Changed):
        assert parse(settled(join(result.entries))) == list(result.entries)
        assert len(join(result.entries)) <= max(limit, len(join(before)))
        assert drift(join(result.entries), max(limit, *map(len, result.entries), 1)) == ""


@given(texts)
def test_reading_and_writing_a_text_again_changes_nothing_more(text: str) -> None:
    once = join(parse(text))
    assert join(parse(once)) == once


def test_the_section_has_the_header_and_figures_of_the_reference() -> None:
    rule = "═" * 46
    header = "USER PROFILE (who the user is) [92% — 1,268/1,375 chars]"
    entries = ["a" * 1000, "b" * 265]
    assert block(Target.USER, entries, 1375) == f"{rule}\n{header}\n{rule}\n{join(entries)}"
    assert block(Target.MEMORY, [], 2200) == ""


def test_the_figures_say_by_how_much_a_text_is_too_long() -> None:
    assert "[136% — 3,000/2,200 chars]" in block(Target.MEMORY, ["x" * 3000], 2200)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a" + DELIMITER + "b", ""),
        ("a\n", ""),
        ("", ""),
        ("# Heading\n\n- point\n- point\n", ""),
        (f"a{DELIMITER}{DELIMITER}b", "holds more"),
        (f"a {DELIMITER}b", "holds more"),
        ("x" * 300, "longer than the whole limit"),
    ],
)
def test_a_text_that_was_edited_by_hand_is_noticed(text: str, why: str) -> None:
    assert why in drift(text, 200)
    assert bool(drift(text, 200)) == bool(why)
