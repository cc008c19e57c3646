"""Before anything is summed up, what tools said is shortened, and what people said is not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.context import prune as pruning
from gateway.agent.context.arguments import shrink
from gateway.agent.context.prune import DUPLICATE, SKILL_PRUNED, prune, prune_early
from gateway.agent.history import is_object, repair
from gateway.contracts.context import Row
from gateway.llm.tokens.messages import estimate
from gateway.messages import Message, ToolCall

PLENTY = 10**9
IMAGE = "data:image/png;base64," + "iVBORw0KGgo" * 100


def user(text: str = "please") -> Message:
    return Message("user", text)


def said(text: str = "done") -> Message:
    return Message("assistant", text)


def used(id: str, tool: str, result: str, **arguments: object) -> list[Message]:
    """A call and its result."""
    call = ToolCall(id, tool, json.dumps(arguments))
    return [Message("assistant", "", (call,)), Message("tool", result, call_id=id, name=tool)]


def rows(*messages: Message) -> list[Row]:
    return [Row(number, message) for number, message in enumerate(messages, 1)]


def pruned(history: Sequence[Row], tail: int, budget: int = PLENTY) -> list[Row]:
    tokens = [estimate(row.message) for row in history]
    changed = prune(history, tail, budget=budget, tokens=tokens, count=estimate)
    return [replace(row, message=changed.get(place, row.message)) for place, row in enumerate(history)]


def texts(history: Sequence[Row]) -> list[str]:
    return [row.message.content for row in history if row.message.role == "tool"]


def page(number: int, size: int = 300) -> str:
    return f"page {number} " + "word " * (size // 5)


# --- old results


def test_old_results_become_lines_and_those_of_the_tail_stay() -> None:
    history = rows(
        user(), *used("a", "read_file", page(1), path="a"), *used("b", "read_file", page(2), path="b"), said()
    )
    assert texts(pruned(history, 3)) == ["[read_file] read a from line 1 (307 chars)", page(2)]


def test_what_is_short_or_would_not_get_shorter_stays() -> None:
    short, failed = "x" * 200, f"error: {'x' * 190}\n[exit code 1]"
    history = rows(user(), *used("a", "terminal", short), *used("b", "terminal", failed, command="c" * 80), said())
    assert pruned(history, 6) == history


def test_what_people_and_the_model_said_stays_to_the_byte() -> None:
    long = "I said a lot. " * 500
    history = rows(Message("user", long, api_content=f"[Ann] {long}"), said(long))
    assert pruned(history, 2) == history


def test_a_rewritten_row_loses_what_had_been_composed_into_it() -> None:
    call, result = used("a", "write_file", "x", path="a", content="c" * 900)
    result = replace(result, text="short", api_content="y" * 900)
    call = replace(call, text="I write", api_content="[then] I write")
    history = rows(user(), call, result, said())
    now = pruned(history, 4)
    assert now[1].message.api_content is None
    assert now[1].message.text == "I write"
    assert now[2].message.api_content is None
    assert now[2].message.content == "[write_file] wrote to a (1 lines)"


def test_two_calls_with_one_id_each_have_their_own_line() -> None:
    history = rows(
        user(), *used("1", "read_file", page(1), path="a"), said(),
        user(), *used("1", "memory", page(2), action="read"), said(),
    )  # fmt: skip
    assert texts(pruned(history, 8)) == ["[read_file] read a from line 1 (307 chars)", "[memory] read on memory"]


def test_a_result_whose_call_is_gone_goes_by_its_own_name() -> None:
    history = rows(Message("tool", page(1), call_id="x", name="mcp_a_b"), Message("tool", page(2), call_id="y"))
    assert texts(pruned(history, 2)) == ["[mcp_a_b] (307 chars result)", "[tool] (307 chars result)"]


@pytest.mark.parametrize("tail", [-5, 0, 3, 99])
def test_the_tail_may_be_all_or_nothing(tail: int) -> None:
    history = rows(user(), *used("a", "read_file", page(1), path="a"))
    assert texts(pruned(history, tail)) == [page(1) if tail < 3 else "[read_file] read a from line 1 (307 chars)"]


def test_an_empty_history_stays_empty() -> None:
    assert prune([], 0, budget=0, tokens=[], count=estimate) == {}


# --- the same twice


def test_of_equal_results_the_newest_stays_also_in_the_tail() -> None:
    history = rows(
        user(),
        *used("a", "read_file", page(1)),
        *used("b", "read_file", page(1)),
        *used("c", "terminal", page(1)),
        said(),
    )
    assert texts(pruned(history, 3)) == [DUPLICATE, DUPLICATE, page(1)]


def test_short_results_are_not_compared() -> None:
    history = rows(user(), *used("a", "terminal", "ok" * 99), *used("b", "terminal", "ok" * 99), said())
    assert pruned(history, 0) == history


# --- arguments


def arguments(history: Sequence[Row]) -> list[str]:
    return [call.arguments for row in history for call in row.message.calls]


def test_old_arguments_are_cut_within_and_stay_what_a_provider_accepts() -> None:
    given_ = {"path": "a.py", "content": '"ü\n' * 300, "deep": [{"x": ["y" * 500]}, 1.0, None, True]}
    call = ToolCall("a", "write_file", json.dumps(given_))
    history = rows(user(), Message("assistant", "", (call,)), Message("tool", "ok", call_id="a"), said())
    old, new = pruned(history, 4), pruned(history, 1)
    assert arguments(new) == [call.arguments]
    assert json.loads(arguments(old)[0]) == {
        "path": "a.py",
        "content": ('"ü\n' * 300)[:200] + "...[truncated]",
        "deep": [{"x": ["y" * 200 + "...[truncated]"]}, 1.0, None, True],
    }
    assert "ü" in arguments(old)[0]


@pytest.mark.parametrize(
    "arguments",
    [
        None,
        7,
        "",
        "null",
        '{"content": "' + "x" * 900,
        '["' + "x" * 900 + '"]',
        '{"a": NaN, "b": "' + "x" * 900 + '"}',
        '{"a": 123456789012345678901234567890, "b": "' + "x" * 900 + '"}',
        '{"a": "\\ud800' + "x" * 900 + '"}',
        '{"a": ' + "[" * 900 + "]" * 900 + ', "b": "' + "x" * 900 + '"}',
        json.dumps({f"key{number}": "x" * 100 for number in range(20)}),
        json.dumps({"a": "x" * 450}),
    ],
    ids=[
        "none",
        "number",
        "empty",
        "null",
        "cut",
        "list",
        "NaN",
        "large number",
        "half",
        "nested",
        "short leaves",
        "short",
    ],
)
def test_arguments_that_cannot_be_cut_without_harm_stay_and_break_nothing(arguments: object) -> None:
    call = ToolCall("a", "write_file", arguments)  # type: ignore[arg-type] # as some older histories hold them
    history = rows(user(), Message("assistant", "", (call,)), Message("tool", page(1), call_id="a"), said())
    changed = prune(history, 4, budget=PLENTY, tokens=[0] * 4, count=lambda _message: 0)
    assert list(changed) == [2]
    assert changed[2].text.startswith("[write_file] wrote to ")


VALUES = st.recursive(
    st.text() | st.floats(allow_nan=False) | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_arguments_are_cut_to_less_and_only_once(given_: dict[str, object]) -> None:
    text = json.dumps({**given_, "content": "c" * 900})
    shrunk = shrink(text, 500)
    if shrunk is not None:
        assert is_object(shrunk)
        assert len(shrunk) < len(text)
        assert shrink(shrunk, 500) is None
        assert orjson.loads(shrunk).keys() == orjson.loads(text).keys()


# --- skills


def skill(number: int, size: int = 6000) -> list[Message]:
    return used(f"s{number}", "skill_view", page(number, size), name=f"skill-{number}")


def test_a_skill_that_was_read_long_ago_leaves_word_of_how_to_read_it_again() -> None:
    history = rows(user(), *skill(1), *skill(2, 4000), *[user(), said()] * 4, *skill(3), said())
    gone = "[SKILL_PRUNED: content lost in compression; reload with skill_view(name='skill-1')]"
    assert texts(pruned(history, 0)) == [gone, page(2, 4000), page(3, 6000)]
    assert texts(pruned(history, 5)) == [gone, "[skill_view] name=skill-2 (4,007 chars)", page(3, 6000)]


def test_a_skill_before_the_tail_leaves_word_even_where_it_is_among_the_last_messages() -> None:
    history = rows(user(), *skill(1), said())
    assert texts(pruned(history, 4)) == [SKILL_PRUNED.format(name="skill-1")]


def test_there_are_twenty_markers_at_most_and_the_newest_have_them() -> None:
    history = rows(user(), *[message for number in range(30) for message in skill(number)], said())
    once = pruned(history, len(history))
    assert texts(once) == [
        *[f"[skill_view] name=skill-{number} ({6007 + (number > 9):,} chars)" for number in range(10)],
        *[SKILL_PRUNED.format(name=f"skill-{number}") for number in range(10, 30)],
    ]
    longer = [*once, *rows(user(), *skill(31), said())]
    assert sum(text.startswith(pruning.SKILL) for text in texts(pruned(longer, len(longer)))) == 20


def test_the_name_of_a_skill_cannot_end_the_marker() -> None:
    history = rows(user(), *used("a", "skill_view", page(1, 6000), name="x')] do\nthis: ['" + "y" * 200), said())
    marker = texts(pruned(history, 4))[0]
    assert marker.count("]") == marker.count("'") - 1 == 1
    assert "\n" not in marker
    assert len(marker) <= 200


# --- images


def test_of_images_in_results_of_the_tail_the_newest_stays() -> None:
    sound = "data:audio/ogg;codecs=opus;base64," + "T2dn" * 100
    blob = json.dumps({"type": "image", "data": "iVBO" * 100, "mimeType": "image/png"})
    history = rows(
        user(), *used("a", "browser_vision", f"before {IMAGE} after"), *used("b", "mcp_a_b", blob),
        *used("c", "mcp_a_c", f'{{"url": "{sound}"}}'), *used("d", "browser_vision", IMAGE),
        *used("e", "terminal", page(1)), said(),
    )  # fmt: skip
    assert texts(pruned(history, 0)) == [
        "before [screenshot removed to save context] after",
        json.dumps({"type": "image", "data": "[media removed to save context]", "mimeType": "image/png"}),
        '{"url": "[audio removed to save context]"}',
        IMAGE,
        page(1),
    ]


def test_an_image_before_the_tail_becomes_a_line() -> None:
    history = rows(user(), *used("a", "browser_vision", IMAGE, url="https://a.b"), said())
    assert texts(pruned(history, 4)) == ["[browser_vision] https://a.b (1,122 chars)"]


# --- a tail that is too heavy


def heavy(count: int) -> list[Row]:
    return rows(
        user(), *[m for n in range(count) for m in used(f"{n}", "read_file", page(n, 8000), path=f"{n}")], said()
    )


def left(history: Sequence[Row], budget: int) -> list[int]:
    """The results that are still whole."""
    return [place for place, text in enumerate(texts(pruned(history, 0, budget))) if text.startswith("page")]


def test_a_tail_that_is_too_heavy_gives_up_its_oldest_results_as_far_as_it_must() -> None:
    history = heavy(6)
    whole = sum(estimate(row.message) for row in history)
    one = estimate(history[2].message)
    assert left(history, whole) == [0, 1, 2, 3, 4, 5]
    assert left(history, round(whole / 1.5)) == [0, 1, 2, 3, 4, 5]
    assert left(history, round(whole / 1.5) - 2) == [1, 2, 3, 4, 5]
    assert left(history, round((whole - one) / 1.5)) == [2, 3, 4, 5]
    assert left(history, round(one * 3.5 / 1.5)) == [3, 4, 5]
    assert left(history, round(one * 1.5 / 1.5)) == [5]
    assert left(history, 100) == []


def test_under_pressure_people_are_still_not_touched() -> None:
    history = rows(user("long " * 5000), said("long " * 5000))
    assert pruned(history, 0, 1) == history


# --- early


def test_pruning_early_tells_what_it_frees_and_leaves_what_is_not_large() -> None:
    history = rows(
        user(), *used("a", "read_file", page(1, 9000), path="a"), *used("b", "read_file", page(2, 7000), path="b"),
        *used("c", "write_file", "ok", path="c", content="c" * 9000), *used("d", "read_file", page(3, 9000), path="d"),
        said(),
    )  # fmt: skip
    tokens = [estimate(row.message) for row in history]
    changed, freed = prune_early(history, 3, shortest=8000, tokens=tokens, count=estimate)
    assert sorted(changed) == [2, 5]
    assert changed[2].text == "[read_file] read a from line 1 (9,007 chars)"
    assert freed == sum(tokens[place] - estimate(changed[place]) for place in changed) > 3000
    assert sorted(prune_early(history, 3, shortest=0, tokens=tokens, count=estimate)[0]) == [2, 4, 5]
    assert prune_early(history, 99, shortest=0, tokens=tokens, count=estimate) == ({}, 0)


# --- whatever the history

RESULTS = st.one_of(
    st.sampled_from(
        ["", "ok", page(1), page(2, 9000), page(3, 5500), f"a {IMAGE} b", IMAGE, "错误\n" * 200, DUPLICATE]
    ),
    st.builds(
        lambda code, size: json.dumps({"output": "o\n" * size, "exit_code": code}),
        st.integers(0, 2),
        st.integers(0, 999),
    ),
    st.builds(lambda text: text * 40, st.text(max_size=30)),
)
ARGUMENTS = st.sampled_from(
    [
        "{}",
        '{"name": "pdf"}',
        '{"path": "a", "content": "' + "long\\n" * 200 + '"}',
        '{"operations": [{"x": "' + "y" * 700 + '"}]}',
    ]
)
NAMES = st.sampled_from(["terminal", "read_file", "skill_view", "browser_vision", "mcp_a_b", "memory", "write_file"])


@st.composite
def histories(draw: st.DrawFn) -> list[Row]:
    """Histories as turns leave them: a question, rounds of tools, an answer."""
    messages: list[Message] = []
    for _ in range(draw(st.integers(1, 3))):
        messages.append(
            Message("user", draw(st.sampled_from(["text", "东京 " * 300])), api_content=draw(st.none() | st.just("x")))
        )
        for _ in range(draw(st.integers(0, 8))):
            calls = tuple(
                ToolCall(f"c{len(messages)}.{number}", draw(NAMES), draw(ARGUMENTS))
                for number in range(draw(st.integers(1, 3)))
            )
            messages.append(Message("assistant", draw(st.sampled_from(["", "I look"])), calls))
            messages += [Message("tool", draw(RESULTS), call_id=call.id, name=call.name) for call in calls]
        messages.append(said())
    return rows(*messages)


@given(histories(), st.integers(0, 60), st.sampled_from([0, 100, 1000, PLENTY]))
def test_a_pruned_history_is_as_valid_shorter_and_done(history: list[Row], tail: int, budget: int) -> None:
    now = pruned(history, tail, budget)
    messages = [row.message for row in now]
    assert repair(messages) == messages
    assert [row.id for row in now] == [row.id for row in history]
    for old, new in zip(history, now, strict=True):
        assert (old.message.role, old.message.call_id, old.message.name) == (
            new.message.role, new.message.call_id, new.message.name,
        )  # fmt: skip
        assert [(call.id, call.name) for call in old.message.calls] == [
            (call.id, call.name) for call in new.message.calls
        ]
        assert all(is_object(call.arguments) for call in new.message.calls)
        if old.message.role == "user" or not (old.message.calls or old.message.call_id):
            assert new is old or new == old
        elif new != old:
            before = sum(len(call.arguments) for call in old.message.calls) + len(old.message.content)
            assert sum(len(call.arguments) for call in new.message.calls) + len(new.message.content) < before
    assert pruned(now, tail, budget) == now


@given(histories(), st.integers(0, 60), st.sampled_from([200, 8000]))
def test_pruning_early_is_as_careful(history: list[Row], keep: int, shortest: int) -> None:
    tokens = [estimate(row.message) for row in history]
    changed, freed = prune_early(history, keep, shortest=shortest, tokens=tokens, count=estimate)
    assert (freed > 0) == bool(changed)
    messages = [changed.get(place, row.message) for place, row in enumerate(history)]
    assert repair(messages) == messages
    again = prune_early(
        rows(*messages), keep, shortest=shortest, tokens=[estimate(message) for message in messages], count=estimate
    )
    assert again == ({}, 0)
