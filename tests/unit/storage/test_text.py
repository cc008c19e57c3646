"""The terms of a text, in any script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.storage.text import ARGUMENT_CHARS, RESULT_HEAD, RESULT_TAIL, findable, fold, terms_of


@pytest.mark.parametrize(
    ("text", "words", "letters"),
    [
        ("Hello, World", "hello world", ""),
        ("lib/app.py_x", "lib app py x", ""),
        ("备份失败", "备份 份失 失败", "份备失败"),
        ("用Docker部署", "用 docker 部署", "用署部"),
        ("猫", "猫", "猫"),
        ("서울에서", "서울 울에 에서", "서에울"),
        ("Ёж Café", "еж cafe", ""),
        ("v2.0 тест123", "v2 0 тест123", ""),
        ("🎉🎂!", "🎉 🎂", ""),
        ("क्या है", "क्या है", ""),
        ("x" * 100, "x" * 64, ""),
        ("!?… — «»", "", ""),
    ],
)
def test_words_of_one_script_are_terms_and_letters_without_spaces_are_pairs(
    text: str, words: str, letters: str
) -> None:
    terms = terms_of(text)
    assert " ".join(terms.words) == words
    assert "".join(terms.letters) == "".join(sorted(letters))


@given(st.text())
def test_terms_hold_letters_and_digits_only_whatever_the_text(text: str) -> None:
    terms = terms_of(text)
    for term in (*terms.words, *terms.letters):
        assert term
        assert not set(term) & set(" \t\n\"'\\*():&|!<>@/=^{}-+;,.?#$%[]_`~\0")


@given(st.text())
def test_a_folded_text_folds_to_itself(text: str) -> None:
    assert terms_of(fold(text)).words == terms_of(text).words


@given(st.text(alphabet=st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1))
def test_every_stretch_of_a_run_is_made_of_its_pairs(run: str) -> None:
    whole = " ".join(terms_of(run).words)
    for start in range(min(len(run), 5)):
        part = run[start : start + 4]
        if len(part) > 1:
            assert " ".join(terms_of(part).words) in whole


def test_of_the_machines_part_a_bounded_piece_is_indexed() -> None:
    result = findable("tool", "a" * 10_000 + "z", [])
    assert len(result) == RESULT_HEAD + RESULT_TAIL + 1
    assert result.endswith("z")
    call = findable("assistant", "looking", [("read", "x" * 5000)])
    assert call == f"looking\nread {'x' * ARGUMENT_CHARS}"
    assert findable("user", "b" * 10_000, []) == "b" * 10_000


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"path": "a\\nb", "deep": {"é": [1, null]}}', 'path: a\nb, deep: {"é":[1,null]}'),
        ('{"path": "\\u0434"}', "path: д"),
        ("{}", ""),
        ("[1, 2]", "[1, 2]"),
        ('{"cut": ', '{"cut": '),
        (f'{{"deep": {"[" * 500}{"]" * 500}}}', f'{{"deep": {"[" * 500}{"]" * 500}}}'),
    ],
)
def test_the_arguments_of_a_call_are_indexed_as_one_reads_them(arguments: str, shown: str) -> None:
    assert findable("assistant", "", [("read", arguments)]) == f"\nread {shown[:ARGUMENT_CHARS]}"


def test_a_secret_is_taken_out_before_anything_is_cut() -> None:
    before = "a" * (RESULT_HEAD - 3)
    text = findable("tool", f"{before}secret{'b' * 1000}", [], lambda text: text.replace("secret", "…"))
    assert text.startswith(f"{before}…bb")
