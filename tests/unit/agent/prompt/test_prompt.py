"""The prompt as a value: what it is made of comes back from what is stored of it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.prompt.prompt import Prompt, Section, Tier, assemble
from gateway.types import Role

TEXTS = st.text(max_size=60)
SECTIONS = st.lists(
    st.builds(Section, st.sampled_from("abcdef"), TEXTS, TEXTS, st.sampled_from(list(Tier)), st.integers(0, 80)),
    max_size=6,
)


def section(name: str, text: str, tier: Tier = Tier.STABLE, budget: int = 0) -> Section:
    return Section(name, f"the origin of {name}", text, tier, budget)


def test_sections_stand_by_tier_and_in_the_order_in_which_they_came() -> None:
    made = assemble(
        [section("c", "C", Tier.VOLATILE), section("a", "A"), section("f", "F", Tier.CONTEXT), section("b", "B")]
    )
    assert made.text == "A\n\nB\n\nF\n\nC"
    assert [part.name for part in made.parts] == ["a", "b", "f", "c"]


def test_a_section_that_holds_nothing_leaves_no_gap() -> None:
    made = assemble([section("a", " \n"), section("b", "\n B \n"), section("c", "")])
    assert made.text == "B"
    assert [part.name for part in made.parts] == ["b"]


def test_a_section_over_its_budget_is_cut_and_says_so() -> None:
    made = assemble([section("hint", "x" * 10_000, budget=200)])
    assert len(made.text) == 200
    assert made.text.endswith("[cut: hint has 10,000 characters, of which the prompt shows 200]")


@given(SECTIONS)
def test_every_section_is_found_again_in_what_is_stored(sections: list[Section]) -> None:
    made = assemble(sections, model="m", level=Role.MEMBER)
    assert Prompt.stored(made.text, made.outline()) == (made if made.parts else Prompt(made.text))
    assert "\n\n".join(found.text for found in made.sections()) == made.text
    assert [(found.name, found.tier) for found in made.sections()] == [(part.name, part.tier) for part in made.parts]


@pytest.mark.parametrize(
    "outline",
    ["", "no JSON", "[]", "{}", '{"form": 2}', '{"form": 1, "model": "m", "level": "king", "parts": []}']
    + [orjson.dumps({"form": 1, "model": "m", "level": "owner", "parts": parts}).decode() for parts in ([1], ["abcd"])],
)
def test_an_outline_that_nobody_can_read_is_as_none(outline: str) -> None:
    stored = Prompt.stored("You are Ann.", outline)
    assert stored == Prompt("You are Ann.")
    assert [section.text for section in stored.sections()] == ["You are Ann."]
    assert stored.suits("any model", Role.GUEST), "what an earlier version has stored stays as it is"


def test_an_outline_of_another_text_divides_nothing() -> None:
    made = assemble([section("a", "A"), section("b", "B")])
    other = Prompt.stored(made.text + "!", made.outline())
    assert [found.name for found in other.sections()] == ["prompt"]
    assert other.part("a") == ""


def test_a_prompt_suits_its_model_and_whoever_has_the_role_it_was_made_for() -> None:
    made = assemble([section("a", "A")], model="m", level=Role.MEMBER)
    assert made.suits("m", Role.MEMBER)
    assert made.suits("m", Role.OWNER)
    assert not made.suits("m", Role.GUEST), "it may name tools that a guest has not"
    assert not made.suits("another", Role.OWNER)


def test_sections_are_replaced_where_they_stand_and_the_rest_stays_to_the_byte() -> None:
    made = assemble([section("a", "A"), section("notes", "old"), section("b", "B")], model="m", level=Role.OWNER)
    renewed = made.with_sections(["notes"], [section("notes", "new and longer")])
    assert renewed.text == "A\n\nnew and longer\n\nB"
    assert (renewed.model, renewed.level) == ("m", Role.OWNER)
    assert made.with_sections(["notes"], []).text == "A\n\nB"
    assert made.with_sections(["notes"], [section("notes", "old")]) == made
    assert made.with_sections(["more"], [section("more", "M", Tier.VOLATILE)]).text == "A\n\nold\n\nB\n\nM"


def test_nothing_is_replaced_in_a_prompt_without_an_outline() -> None:
    stored = Prompt("You are Ann.")
    assert stored.with_sections(["notes"], [section("notes", "N")]) is stored


def test_what_no_store_keeps_is_not_in_it() -> None:
    made = assemble([section("a", "A\0B\ud800")])
    assert made.text == "AB\ufffd"
    parts: Any = orjson.loads(made.outline())
    assert parts["parts"][0][3] == 3
