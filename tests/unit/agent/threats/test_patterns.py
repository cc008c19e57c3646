"""Each pattern finds what it is for, and lets an ordinary text of much the same words pass."""

from __future__ import annotations

from types import ModuleType

import pytest

from gateway.agent.threats import scan
from gateway.agent.threats.classes import CLASSES
from gateway.agent.threats.fold import fold
from gateway.agent.threats.match import matching
from gateway.agent.threats.patterns import MODULES, chinese, japanese, korean, patterns
from gateway.agent.threats.rules import HEAD, Rule, book
from gateway.agent.threats.variants import VARIANTS
from tests.unit.agent.threats.samples import samples

NAMES = {module: module.__name__.rpartition(".")[2] for module in MODULES}
LANGUAGES = [name for name in NAMES.values() if name not in {"names", "shell", "markup"}]
EVERY = [(name, sample) for name in NAMES.values() for sample in samples(name)]
DECOYS = (*chinese.DECOYS, *japanese.DECOYS, *korean.DECOYS)


@pytest.mark.parametrize("module", MODULES, ids=NAMES.values())
def test_each_pattern_has_its_sample_in_the_same_order(module: ModuleType) -> None:
    assert [sample.name for sample in samples(NAMES[module])] == [name for name, _ in module.PATTERNS]


@pytest.mark.parametrize("module", MODULES, ids=NAMES.values())
def test_a_pattern_by_itself_finds_its_sample_and_lets_the_other_pass(module: ModuleType) -> None:
    for (name, pattern), sample in zip(module.PATTERNS, samples(NAMES[module]), strict=True):
        alone = book([Rule(name, pattern, MODULES[module])], DECOYS)
        assert matching(alone, fold(sample.finds), {name}) == {name}, sample.finds
        assert matching(alone, fold(sample.passes), {name}) == set(), sample.passes


@pytest.mark.parametrize(("module", "sample"), EVERY)
def test_among_all_patterns_too(module: str, sample: tuple[str, str, str]) -> None:
    name, finds, passes = sample
    assert name in scan(finds, "strict")
    assert scan(passes, "strict") == ()


@pytest.mark.parametrize("sample", samples("chinese"), ids=lambda sample: sample.finds)
def test_chinese_is_found_in_traditional_characters(sample: tuple[str, str, str]) -> None:
    simplified = set("。，：")
    traditional = {ord(plain): chr(form) for form, plain in VARIANTS.items() if plain not in simplified}
    assert sample[0] in scan(sample[1].translate(traditional), "strict")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_class_that_is_said_in_words_is_known_in_each_language(language: str) -> None:
    everywhere = {name for module in ("names", "shell", "markup") for name, _, _ in samples(module)}
    here = {name for name, _, _ in samples(language)}
    assert set(CLASSES) - everywhere <= here
    assert {"read_secrets", "ssh_access", "hermes_env", "agent_config_mod"} <= here


def test_every_class_has_a_pattern_and_every_pattern_a_class() -> None:
    assert {name for module in MODULES for name, _ in module.PATTERNS} == set(CLASSES)


def test_each_word_of_a_pattern_is_one_that_a_text_is_cut_into() -> None:
    made = patterns()
    words = [word for word in (*made.words, *made.stems) if word not in {"$secret", "#name", "#opaque"}]
    assert [word for word in words if made.lexer.findall(word) != [word]] == []
    assert [stem for stem in made.stems if len(stem) < HEAD] == []


def test_no_form_of_a_character_is_listed_in_vain() -> None:
    written = fold("".join(pattern for module in MODULES for _, pattern in module.PATTERNS) + "".join(DECOYS))
    assert [
        form + plain for form, plain in ((chr(key), value) for key, value in VARIANTS.items()) if plain not in written
    ] == []
