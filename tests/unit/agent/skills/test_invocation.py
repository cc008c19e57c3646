"""Skills that a person calls by name at the beginning of a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.agent.skills.invocation import Called, called, invocation
from gateway.agent.skills.library import Library
from gateway.agent.skills.view import Setup
from tests.unit.agent.skills.folders import put_skill


@pytest.fixture
def library(tmp_path: Path) -> Library:
    for path in ("ops/deploy-web", "ops/same", "home/same", "review", "c", "d", "e", "f", "部署", "u\u0308berblick"):
        put_skill(tmp_path / "skills", path)
    return Library(tmp_path)


@pytest.mark.parametrize(
    ("message", "names", "arguments"),
    [
        ("/review", ["review"], ""),
        ("/review this file", ["review"], "this file"),
        ("/deploy_web now", ["deploy-web"], "now"),
        ("/Review@my_bot now", ["review"], "now"),
        ("/review /deploy-web both\nof it", ["review", "deploy-web"], "both\nof it"),
        ("/review /review again", ["review"], "again"),
        ("/review /nothing x", ["review"], "/nothing x"),
        ("/review look at /etc/passwd", ["review"], "look at /etc/passwd"),
        ("/review /etc/passwd", ["review"], "/etc/passwd"),
        ("/c /d /e /f /review /部署 x", ["c", "d", "e", "f", "review"], "/部署 x"),
        ("/部署 现在", ["部署"], "现在"),
        ("/ops/same now", ["same"], "now"),
        ("/\u00fcberblick x", ["u\u0308berblick"], "x"),
    ],
)
def test_a_message_calls_the_skills_it_begins_with(
    library: Library, message: str, names: list[str], arguments: str
) -> None:
    found = called(message, library.find)
    assert found is not None
    assert [skill.name for skill in found.skills] == names
    assert found.arguments == arguments


@pytest.mark.parametrize("message", ["", "review", "/", "/nothing", "look /review", "// review", "/ review"])
def test_any_other_message_calls_none(library: Library, message: str) -> None:
    assert called(message, library.find) is None


def test_the_model_reads_the_skill_its_place_its_files_and_what_was_asked(tmp_path: Path) -> None:
    needs = "prerequisites:\n  env_vars: [TOKEN]\n"
    more = f"{needs}metadata:\n  hermes:\n    config:\n      - key: a.b\n        default: eu\n"
    folder = put_skill(tmp_path / "skills", "review", more=more)
    (folder / "references").mkdir()
    (folder / "references/x.md").write_text("x")
    skill = Library(tmp_path).find("review")
    assert skill is not None
    text = invocation(Called((skill,), "this file"), Setup(place=lambda skill: f"/skills/{skill.path}"), "s")
    assert text.startswith('[IMPORTANT: The user has invoked the "review" skill, ')
    assert "The full skill content is loaded below.]\n\n---\nname: review" in text
    assert "[Skill directory: /skills/review]" in text
    assert "references/x.md" in text
    assert "a.b = eu" in text
    assert "TOKEN" in text
    assert text.endswith("The user has provided the following instruction alongside the skill invocation: this file")


def test_several_are_loaded_one_after_the_other(library: Library) -> None:
    found = called("/review /c x", library.find)
    assert found is not None
    text = invocation(found, Setup(), "s")
    assert text.count("[IMPORTANT: The user has invoked the") == 2
    assert 'invoked the "review" skill, together with "c"' in text
    assert text.count("alongside the skill invocation: x") == 1
