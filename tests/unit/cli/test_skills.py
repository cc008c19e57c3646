"""``skills``: what the agent has learned to do, as an operator sees and corrects it."""

from __future__ import annotations

import json

import pytest

from gateway.agent.skills import approvals
from gateway.agent.skills.change import Change
from gateway.storage.database import Connection
from tests.console import Console
from tests.unit.agent.skills.folders import put_skill

GREET = "---\nname: greet\ndescription: Greets\n---\n\nSay hello.\n"


@pytest.fixture
def console(console: Console) -> Console:
    """A home with two skills, one of them the agent's own and long unused, and no database."""
    put_skill(console.home / "skills", "code/review", "Looks at \x1b[31mcode")
    put_skill(console.home / "skills", "ops/deploy-web")
    usage = {"deploy-web": {"created_by": "agent", "created_at": "2020-01-01T00:00:00+00:00"}}
    (console.home / "skills/.usage.json").write_text(json.dumps(usage))
    return console


def states(console: Console) -> dict[str, str]:
    return {one["name"]: one["state"] for one in console.run("--json", "skills", "list").json["skills"]}


def test_skills_are_listed_with_how_they_stand_also_before_the_gateway_ever_ran(console: Console) -> None:
    ran = console.run("skills", "list")
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert states(console) == {"review": "active", "deploy-web": "stale"}
    assert [one["name"] for one in console.run("--json", "skills", "list", "--category", "ops").json["skills"]] == [
        "deploy-web"
    ]
    assert console.run("skills", "list", "--category", "x").out.strip() == "there is no skill in x"


def test_a_skill_is_shown(console: Console) -> None:
    ran = console.run("skills", "show", "review")
    assert "1. Look." in ran.out
    assert "\x1b" not in ran.out
    assert console.run("skills", "show", "nothing").code == 3
    assert console.run("skills", "show", "../x").code == 3


def test_a_skill_is_put_away_and_brought_back(console: Console) -> None:
    assert console.run("skills", "archive", "review").code == 0
    assert states(console) == {"deploy-web": "stale"}
    assert console.run("--json", "skills", "list", "--archived").json == {"archived": ["review"]}
    assert console.run("skills", "restore", "nothing").code == 3
    assert "code/review" in console.run("skills", "restore", "review").out
    assert states(console) == {"review": "active", "deploy-web": "stale"}


def test_a_pinned_skill_stays_until_it_is_unpinned(console: Console) -> None:
    assert console.run("skills", "pin", "deploy_web").code == 0
    assert states(console)["deploy-web"] == "pinned"
    ran = console.run("skills", "archive", "deploy-web")
    assert ran.code == 1
    assert "pinned" in ran.err
    assert console.run("skills", "unpin", "deploy-web").code == 0
    assert console.run("skills", "archive", "deploy-web").code == 0


def staged(connection: Connection) -> str:
    change = Change("create", "greet", content=GREET)
    return approvals.stage(connection, change, person="somebody", origin="background_review")


def test_changes_that_wait_are_decided(console: Console) -> None:
    assert console.run("skills", "pending").code == 3  # there is no database yet
    first, second = console.write(staged), console.write(staged)
    assert [one["id"] for one in console.run("--json", "skills", "pending").json["pending"]] == [first, second]
    assert "+Say hello." in console.run("-v", "skills", "pending").out
    assert console.run("skills", "approve", first).code == 0
    assert (console.home / "skills/greet/SKILL.md").read_text() == GREET
    assert "rejected" in console.run("skills", "reject", second).out
    assert console.run("skills", "approve", first).code == 3
    assert console.run("skills", "pending").out.strip() == "nothing waits"


def test_each_profile_has_skills_of_its_own(console: Console) -> None:
    coder = console.home / "profiles/coder"
    put_skill(coder / "skills", "lint")
    (coder / "config.yaml").write_text("model: {default: local}")
    (console.home / "config.yaml").write_text("profiles:\n- home: profiles/coder\n  match: {chat: c}\n")
    assert "lint" in console.run("skills", "list", "--profile", "coder").out
    assert "lint" not in console.run("skills", "list").out
    assert console.run("skills", "list", "--profile", "nobody").code == 3
    id = console.write(staged)
    (one,) = console.run("--json", "skills", "pending", "--profile", "main").json["pending"]
    assert (one["id"], one["profile"]) == (id, "main")
    assert console.run("skills", "pending", "--profile", "coder").out.strip() == "nothing waits"
    ran = console.run("skills", "pending", "--profile", "nobody")
    assert (ran.code, "there is no profile nobody" in ran.err) == (3, True)


def test_a_folder_of_somebody_who_is_not_here_has_no_skills(console: Console) -> None:
    (console.home / "config.yaml").write_text("skills: {external_dirs: ['~nobody-here/skills']}\n")
    assert console.run("skills", "list").code == 0
