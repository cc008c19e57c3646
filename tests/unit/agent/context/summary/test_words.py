"""In which language the gateway's own sentences stand."""

from __future__ import annotations

from dataclasses import fields
from string import Formatter

import pytest

from gateway.agent.context.summary import words as all_words
from gateway.agent.context.summary.words import Words, words

SAID = [
    (all_words.ENGLISH, ["Please fix the login page.", "and add a test for it"]),
    (all_words.CHINESE, ["请帮我修改登录页面", "再加一个测试"]),
    (all_words.CHINESE, ["把 config.yaml 里的 timeout 改成 30 秒，然后 restart 服务"]),
    (all_words.JAPANESE, ["ログイン画面を直してください", "テストも追加して"]),
    (all_words.KOREAN, ["로그인 페이지를 고쳐 주세요"]),
    (all_words.RUSSIAN, ["Исправь страницу входа, пожалуйста"]),
    (all_words.SPANISH, ["Por favor, arregla la página de inicio de sesión", "¿y el test?"]),
    (all_words.GERMAN, ["Bitte repariere die Anmeldeseite und mach einen Test"]),
    (all_words.ENGLISH, ["xyzzy"]),
    (all_words.ENGLISH, []),
]


@pytest.mark.parametrize(("expected", "said"), SAID, ids=lambda value: str(value)[:40])
def test_they_stand_in_the_language_that_the_person_writes(expected: Words, said: list[str]) -> None:
    assert words(reversed(said)) is expected


def test_who_changes_the_language_is_followed() -> None:
    said = ["Please fix the login page."] * 20 + ["请帮我修改登录页面"] * 10
    assert words(reversed(said)) is all_words.CHINESE


def test_every_language_fills_in_the_same_fields() -> None:
    def asked(speech: Words) -> dict[str, set[str | None]]:
        return {
            name.name: {field for _, field, _, _ in Formatter().parse(getattr(speech, name.name)) if field}
            for name in fields(Words)
        }

    languages = {id(speech): speech for speech, _ in SAID}
    assert len(languages) == 7
    assert all(asked(speech) == asked(all_words.ENGLISH) for speech in languages.values())
