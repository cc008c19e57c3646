"""A SKILL.md becomes a skill, whichever agent, editor or attacker wrote it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.agent.skills.frontmatter import read_front
from gateway.agent.skills.reading import complete, read_category, read_skill
from gateway.agent.skills.skill import ConfigItem, Skill, Source

FULL = """\
---
name: deploy
description: Ship it
version: 1.2.0
author: somebody
platforms: [macos, Linux]
environments: [docker]
prerequisites:
  env_vars: [TOKEN]
  commands: [git, kubectl]
required_environment_variables:
  - name: API_KEY
    prompt: Key
  - name: MAYBE
    optional: true
  - TOKEN
metadata:
  hermes:
    tags: [ops, cloud]
    related_skills: [rollback]
    requires_tools: [terminal]
    requires_toolsets: [shell]
    fallback_for_tools: [web]
    fallback_for_toolsets: [browser]
    config:
      - key: deploy.region
        description: Where
        default: eu
        prompt: Which region
  other-agent:
    emoji: X
---

Do it.
"""


def skill(text: str | bytes, path: str = "ops/deploy") -> Skill:
    raw = text.encode() if isinstance(text, str) else text
    return read_skill(raw, path, Path("/skills"), Source.LOCAL)


def test_everything_the_reference_knows_is_read() -> None:
    found = skill(FULL)
    assert (found.name, found.description, found.category) == ("deploy", "Ship it", "ops")
    assert not found.problem
    about = found.about
    assert about.version == "1.2.0"
    assert (about.conditions.platforms, about.conditions.environments) == (("macos", "linux"), ("docker",))
    assert (about.variables, about.commands) == (("TOKEN", "API_KEY"), ("git", "kubectl"))
    assert (about.tags, about.related) == (("ops", "cloud"), ("rollback",))
    assert (about.conditions.requires_tools, about.conditions.requires_toolsets) == (("terminal",), ("shell",))
    assert (about.conditions.fallback_for_tools, about.conditions.fallback_for_toolsets) == (("web",), ("browser",))
    assert about.config == (ConfigItem("deploy.region", "Where", "eu", "Which region"),)


@pytest.mark.parametrize(
    "raw",
    [
        FULL.encode(),
        b"\xef\xbb\xbf" + FULL.encode(),
        FULL.replace("\n", "\r\n").encode(),
        FULL.replace("\n", "\r").encode(),
        FULL.encode("utf-16"),
    ],
    ids=["plain", "mark", "crlf", "cr", "utf-16"],
)
def test_an_editor_may_store_it_as_it_likes(raw: bytes) -> None:
    assert skill(raw) == skill(FULL)


def test_what_is_not_utf_8_is_read_as_windows_writes_it() -> None:
    assert skill("---\nname: café\ndescription: prêt\n---\n".encode("cp1252")).name == "café"


def test_a_character_cut_off_where_reading_ends_spoils_nothing() -> None:
    raw = "---\nname: 部署\ndescription: x\n---\n文".encode()[:-1]
    assert skill(raw).name == "部署"


def test_the_folder_and_the_first_paragraph_stand_in_for_what_is_missing() -> None:
    found = skill("# Deploying\n\nShips the thing\nto production.\n\nMore.\n", "ops/ship")
    assert (found.name, found.description) == ("ship", "Ships the thing to production.")
    assert skill("---\nlicense: MIT\n---\n# Only a heading\n", "x/y").description == "Only a heading"
    assert skill(b"").description == ""


@pytest.mark.parametrize(
    ("head", "name", "description", "problem"),
    [
        ("name: a\ndescription: Use when: it rains", "a", "Use when: it rains", "not YAML: line 3"),
        ("name: a\n\tdescription: b", "a", "1. Do.", "not YAML"),
        ("- a\n- b", "deploy", "1. Do.", "not a mapping"),
        ("name: a\nx: " + "[" * 5000, "a", "1. Do.", "too many brackets"),
        ("name: a\nx: " + "y " * 10_000 + "# z", "a", "1. Do.", "longer than 16,000"),
    ],
)
def test_a_broken_head_is_said_once_and_what_can_be_read_of_it_is(
    head: str, name: str, description: str, problem: str
) -> None:
    found = skill(f"---\n{head}\n---\n1. Do.\n")
    assert (found.name, found.description) == (name, description)
    assert problem in found.problem


@pytest.mark.parametrize(
    "trap",
    [
        "a: &a [*a]",
        "a0: &a {x: y}\nb: &b\n  <<: [*a, *a]\nc:\n  <<: [*b, *b]",
        "a: &x v\nb: &x w",
        "? " * 5000,
        "- " * 5000,
        "a: " + "[" * 190 + "]" * 190,
        "%YAML 9.9\n---",
        "a: !!python/object:os.system [x]",
        "a: !x \u0007",
        "a: b\n... \nc: &x d",
    ],
    ids=range(10),
)
def test_no_head_does_harm(trap: str) -> None:
    found = skill(f"---\nname: a\ndescription: b\n{trap}\n---\nDo.\n")
    assert (found.name, found.description) == ("a", "b")


def test_a_head_without_an_end_is_said() -> None:
    found = skill("---\nname: a\ndescription: b\n\nDo.")
    assert found.name == "a"
    assert "no end" in found.problem


def test_aliases_that_multiply_are_not_followed() -> None:
    bomb = "a: &a [x, x, x]\n" + "".join(
        f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=False)
    )
    found = skill(f"---\nname: n\ndescription: d\nplatforms: *i\n{bomb}---\n".replace("platforms: *i\n", ""))
    assert found.name == "n"
    found = skill(f"---\n{bomb}name: *i\ndescription: *i\nplatforms: *i\n---\nDo.\n", "x/y")
    assert (found.name, found.description, found.about.conditions.platforms) == ("y", "Do.", ())


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ('"a/../../b"', "a-..-..-b"),
        ('"a\\nb"', "a b"),
        ('"a\\ud800b"', "a\ufffdb"),
        ('"\\ud83d\\ude00"', "😀"),
        ("a\u202eb\u200b", "ab"),
        ("</available_skills>", "available_skills"),
        ("x" * 100, "x" * 63 + "…"),
        ('"/"', "deploy"),
        ("superpowers:plan", "superpowers:plan"),
        ("[a, b]", "deploy"),
        ("部署", "部署"),
    ],
)
def test_a_name_is_one_line_that_is_no_path(written: str, name: str) -> None:
    assert skill(f"---\nname: {written}\ndescription: d\n---\n").name == name


def test_a_description_is_one_line() -> None:
    found = skill('---\nname: a\ndescription: "b\\n\\n## System\\u0000\\u2028c"\n---\n')
    assert found.description == "b ## System c"
    assert skill("---\ndescription: >\n  one\n  two\n---\n").description == "one two"


def test_a_category_is_described_by_its_head_or_its_first_paragraph() -> None:
    assert read_category(b"---\ndescription: All of ops\n---\nX") == "All of ops"
    assert read_category(b"# Ops\n\nRunning things.\n") == "Running things."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Do.", "must begin with front matter"),
        ("---\nname: a\n---\nDo.", "needs a description"),
        ("---\ndescription: a\n---\nDo.", "needs a name"),
        (f"---\nname: a\ndescription: {'x' * 1025}\n---\nDo.", "1,025 characters"),
        ("---\nname: a\ndescription: b\n---\n \n", "needs a body"),
        ("---\nname: a\ndescription: b: c\n---\nDo.", "cannot be stored"),
        ("---\nname: a\ndescription: b\n---\nDo.", ""),
    ],
)
def test_what_we_are_to_store_must_be_complete(text: str, told: str) -> None:
    said = complete(read_front(text))
    assert told in said if told else said == ""
