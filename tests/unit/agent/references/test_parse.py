from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.references.parse import Kind, Reference, references

FILE = Kind.FILE


def spelled(text: str) -> list[str]:
    return [str(reference) for reference in references(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see @file:notes.txt", "@file:notes.txt"),
        ("@file:a/b c.txt", "@file:a/b"),
        ('@file:"a/b c.txt" please', "@file:a/b c.txt"),
        ("@file:'b c.txt'", "@file:b c.txt"),
        ("@file:`b c.txt`", "@file:b c.txt"),
        ("@file:“b c.txt”", "@file:b c.txt"),
        ("@file:main.py:10-20", "@file:main.py:10-20"),
        ("@file:main.py:7, and then?", "@file:main.py:7"),
        ('@file:"my main.py":10-20.', "@file:my main.py:10-20"),
        ("what is in @file:main.py?", "@file:main.py"),
        ("(see @file:main.py)", "@file:main.py"),
        ("(see @file:main(1).py)", "@file:main(1).py"),
        ("**@file:main.py**", "@file:main.py"),
        ("@file:notes.txt: what does it say", "@file:notes.txt"),
        ("@file:Übersicht.md", "@file:Übersicht.md"),
        ("请看@file:笔记.txt，谢谢", "@file:笔记.txt"),
        ("@folder:src/", "@folder:src/"),
        ("@folder:.", "@folder:."),
        ("@folder:../..", "@folder:../.."),
        ("@folder:../...", "@folder:../.."),
        ("@folder:a/..).", "@folder:a/.."),
        ("@folder:a../b..", "@folder:a../b"),
        ("@folder:/.:", "@folder:/."),
        ("(@folder:..)", "@folder:.."),
        ("([@file:a(1)[2]])", "@file:a(1)[2]"),
        ("@file:a(b))).", "@file:a(b)"),
        ("look at @diff.", "@diff"),
        ("@diff: is it right?", "@diff"),
        ("看@diff吧", "@diff"),
        ("@staged", "@staged"),
        ("@git:3", "@git:3"),
        ("@url:https://example.org/a_(b)?c=d&e#f.", "@url:https://example.org/a_(b)?c=d&e#f"),
        ("[@url:https://example.org/]", "@url:https://example.org/"),
        ("@url:http://[2001:db8::1]:8080/x", "@url:http://[2001:db8::1]:8080/x"),
    ],
)
def test_what_a_person_writes_is_found_without_the_punctuation_around_it(text: str, found: str) -> None:
    assert spelled(text) == [found]


@pytest.mark.parametrize(
    "text",
    [
        "write to me@file:notes.txt",
        "müller@file:x",
        "ann@diff.example",
        "https://example.org/@file:x",
        "@file: notes.txt",
        "@file:",
        '@file:""',
        "@files:notes.txt",
        "@different @diffs @diff-bot @diff.example @diff_ @staged2 @git @url",
        "type `@file:notes.txt` to attach it",
        "``a ` @diff``",
        "```\n@file:notes.txt\n```",
        "~~~ sh\n@diff\n~~~",
        "````\n```\n@diff\n````",
        "```\n@diff",
        "@file:...",
        "@FILE:notes.txt",
    ],
)
def test_what_only_looks_like_a_reference_stays_words(text: str) -> None:
    assert spelled(text) == []


def test_references_come_in_their_order_and_each_once() -> None:
    text = "@diff @file:a @url:http://b/ @file:a\n```\n@staged\n```\n@file:a:1-2 `@git:1` @git:2"
    assert spelled(text) == ["@diff", "@file:a", "@url:http://b/", "@file:a:1-2", "@git:2"]
    assert references("@file:a:3") == (Reference(FILE, "a", 3, 3),)


@given(st.text(st.characters(exclude_characters='"\n', exclude_categories=["Cs"]), min_size=1, max_size=60))
def test_any_name_can_be_quoted(name: str) -> None:
    wanted = (Reference(FILE, name.strip(), 2, 5),) if name.strip() else ()
    assert references(f'and @file:"{name}":2-5 then') == wanted


@given(st.text("@filedrgtu:`'\"~ \n./,)(0-9ab，é\\", max_size=300))
def test_any_text_is_read_and_what_is_found_can_be_written_again(text: str) -> None:
    for found in references(text):
        quote = next((mark for mark in "\"'`" if mark not in found.value), "")
        if found.value and quote and found.kind is FILE:
            lines = f":{found.first}-{found.last}" if found.first or found.last else ""
            assert references(f"@file:{quote}{found.value}{quote}{lines}") == (found,)


def test_a_long_text_of_nothing_but_beginnings_is_read() -> None:
    for text in ("`" * 200_000, "` `` ``` " * 20_000, "@file:" + ")" * 200_000, "@file:" * 30_000, "@" * 200_000):
        assert len(references(text)) <= 100


@pytest.mark.parametrize("ending", [")]}>" * 1_020, ")" * 4_090, "a/" + "." * 4_000, "(" * 2_000 + ")" * 2_096])
def test_what_closes_nothing_is_taken_off_without_looking_at_all_of_it_again(ending: str) -> None:
    text = f"@file:{ending} " * 20
    looked_at = 0

    def watch(frame: object, event: str, arg: object) -> None:
        nonlocal looked_at
        value = getattr(arg, "__self__", None) if event == "c_call" else None
        if isinstance(value, str) and getattr(arg, "__name__", "") in {"count", "rpartition", "strip", "rstrip"}:
            looked_at += len(value)

    sys.setprofile(watch)
    try:
        references(text)
    finally:
        sys.setprofile(None)
    assert looked_at < 20 * len(text)


def test_no_more_is_read_than_is_wanted() -> None:
    assert [str(found) for found in references("@file:a @file:a @file:b @file:c", 2)] == ["@file:a", "@file:b"]


def test_lines_that_cannot_be_are_still_what_was_meant() -> None:
    assert references("@file:a:20-10 @file:b:0") == (Reference(FILE, "a", 20, 10), Reference(FILE, "b", 0, 0))
