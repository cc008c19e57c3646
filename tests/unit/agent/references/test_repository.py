from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gateway.agent.references.denied import is_denied
from gateway.agent.references.parse import Kind, Reference
from gateway.agent.references.repository import Repository
from gateway.errors import ToolError

ME = {"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org", "GIT_COMMITTER_NAME": "Ann"}
ENVIRONMENT = ME | {"GIT_COMMITTER_EMAIL": "ann@example.org", "GIT_CONFIG_GLOBAL": "/dev/null", "PATH": "/usr/bin:/bin"}


class Work:
    """A workspace with a repository in it, as a person makes one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)

    def git(self, *words: str) -> str:
        command = ["git", "-c", "init.defaultBranch=main", *words]
        return subprocess.run(
            command, cwd=self.path, env=ENVIRONMENT, check=True, capture_output=True, text=True
        ).stdout

    def write(self, name: str, text: str) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def commit(self, name: str, text: str, message: str) -> None:
        self.write(name, text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", message)


@pytest.fixture
def work(tmp_path: Path) -> Work:
    made = Work(tmp_path / "work space 漢")
    made.git("init", "--quiet")
    made.commit("notes.txt", "one\n", "The first")
    made.commit("übersicht.txt", "two\n", "The second")
    return made


async def ask(work: Work, kind: Kind, value: str = "") -> str:
    return (await Repository().read(Reference(kind, value), work.path)).text


async def refusal(work: Work, kind: Kind, value: str = "") -> str:
    with pytest.raises(ToolError) as failed:
        await ask(work, kind, value)
    return str(failed.value)


async def test_a_diff_shows_what_is_not_staged_and_the_other_what_is(work: Work) -> None:
    assert await ask(work, Kind.DIFF) == "[no changes]"
    work.write("notes.txt", "one\nstaged\n")
    work.git("add", "notes.txt")
    work.write("notes.txt", "one\nstaged\nloose\n")
    diff, staged = await ask(work, Kind.DIFF), await ask(work, Kind.STAGED)
    assert "+loose" in diff
    assert "+staged" not in diff
    assert "+staged" in staged
    assert "loose" not in staged


async def test_the_newest_commits_come_with_their_patches(work: Work) -> None:
    one, both = await ask(work, Kind.GIT, "1"), await ask(work, Kind.GIT, "2")
    assert "The second" in one
    assert "+two" in one
    assert "übersicht.txt" in one
    assert "The first" not in one
    assert "The first" in both
    assert "Ann <ann@example.org>" in both


@pytest.mark.parametrize("value", ["0", "11", "x", "-1", "1;id", "٣", "00001"])
async def test_a_number_of_commits_that_is_none_is_explained(work: Work, value: str) -> None:
    assert await refusal(work, Kind.GIT, value) == "write how many commits, from 1 to 10, such as @git:3"


async def test_a_workspace_without_a_repository_and_one_without_commits(tmp_path: Path) -> None:
    empty = Work(tmp_path / "empty")
    assert await refusal(empty, Kind.DIFF) == "there is no git repository in the workspace"
    empty.git("init", "--quiet")
    assert "does not have any commits yet" in await refusal(empty, Kind.GIT, "1")
    empty.write("a.txt", "new\n")
    empty.git("add", "a.txt")
    assert "+new" in await ask(empty, Kind.STAGED)


async def test_a_repository_with_longer_hashes_and_packed_objects(tmp_path: Path) -> None:
    work = Work(tmp_path / "work")
    work.git("init", "--quiet", "--object-format=sha256")
    work.commit("a.txt", "one\n", "The first")
    work.git("gc", "--quiet")
    work.git("checkout", "--quiet", "-b", "a/branch")
    work.write("a.txt", "two\n")
    assert "+two" in await ask(work, Kind.DIFF)
    assert "The first" in await ask(work, Kind.GIT, "1")


SECRETS = (
    *(".env", "a/.ENV", ".env.production", ".env.examples", ".env.dis", ".ENV.e", "key.pem", ".ssh/config"),
    *(".config/gh/hosts.yml", "a/.Config/gcloud/x/y", "skills/.hub/t", "mcp-tokens"),
)
SHOWN = ("shown.txt", ".env.example", "a/.env.DIST", ".config/git/ignore", "hub/t", ".environment")


async def test_secrets_that_are_tracked_are_left_out(work: Work) -> None:
    for name in SECRETS:
        work.write(name, "TOKEN=1\n")
    for name in SHOWN:
        work.write(name, f"first of {name}\n")
    work.commit("more.txt", "more\n", "Everything")
    for name in SECRETS:
        work.write(name, "TOKEN=2\n")
    for name in SHOWN:
        work.write(name, f"second of {name}\n")
    log, diff = await ask(work, Kind.GIT, "1"), await ask(work, Kind.DIFF)
    work.git("add", "--all")
    staged = await ask(work, Kind.STAGED)
    for name in SHOWN:
        assert f"+first of {name}" in log
        assert f"+second of {name}" in diff
        assert f"+second of {name}" in staged
    assert "TOKEN" not in log + diff + staged


@pytest.mark.parametrize("name", [*SECRETS, *SHOWN])
def test_git_leaves_out_what_may_not_be_attached_as_a_file(name: str) -> None:
    assert is_denied(Path(name)) == (name in SECRETS)


HOSTILE = {
    "core.fsmonitor": "{run}",
    "core.pager": "{run}",
    "pager.diff": "{run}",
    "pager.log": "{run}",
    "core.sshCommand": "{run}",
    "core.alternateRefsCommand": "{run}",
    "core.hooksPath": "{hooks}",
    "core.attributesFile": "{attributes}",
    "diff.external": "{run}",
    "diff.mine.textconv": "{run}",
    "diff.mine.command": "{run}",
    "filter.mine.clean": "{run}",
    "filter.mine.smudge": "{run}",
    "filter.mine.process": "{run}",
    "filter.mine.required": "true",
    "interactive.diffFilter": "{run}",
    "log.showSignature": "true",
    "gpg.program": "{run}",
    "alias.diff": "!{run}",
    "alias.log": "!{run}",
    "credential.helper": "!{run}",
    "extensions.partialClone": "origin",
    "remote.origin.url": "ext::{run}",
    "remote.origin.promisor": "true",
    "protocol.ext.allow": "always",
}


def poison(work: Work, repository: str = ".git") -> None:
    """Let every setting that names a program name one that leaves a mark, here and in the output, and ends git."""
    run, hooks = work.path / "run", work.path / "hooks"
    hooks.mkdir(exist_ok=True)
    for script in (run, *(hooks / name for name in ("fsmonitor-watchman", "post-index-change", "pre-commit"))):
        script.write_text(f"#!/bin/sh\necho RAN | tee -a '{work.path}/ran'\nkill -9 $PPID\n")
        script.chmod(0o755)
    work.write("attributes", "* diff=mine filter=mine\n")
    places = {"run": str(run), "hooks": str(hooks), "attributes": str(work.path / "attributes")}
    config = work.path / repository / "config"
    for name, value in HOSTILE.items():
        work.git("config", "--file", str(config), name, value.format(**places))
    work.write("included", f'[core]\nfsmonitor = "{run}"\n')
    with config.open("a") as file:
        file.write(f'[include]\npath = "{work.path}/included"\n[core]\nworktree = /\n')
    work.write(".gitattributes", "* diff=mine filter=mine\n")
    work.write(f"{repository}/info/attributes", "* diff=mine filter=mine\n")


async def test_nothing_that_a_repository_names_is_run(work: Work) -> None:
    work.write("notes.txt", "changed\n")
    work.git("add", "notes.txt")
    work.write("notes.txt", "changed again\n")
    poison(work)
    shown = [await ask(work, kind, value) for kind, value in ((Kind.DIFF, ""), (Kind.STAGED, ""), (Kind.GIT, "2"))]
    assert "+changed again" in shown[0]
    assert "+changed" in shown[1]
    assert "The first" in shown[2]
    assert not any("RAN" in text for text in shown)
    assert not (work.path / "ran").exists()


async def test_nothing_that_a_repository_in_the_repository_names_is_run(work: Work) -> None:
    inner = Work(work.path / "inner")
    inner.git("init", "--quiet")
    inner.commit("a.txt", "one\n", "Inside")
    work.git("add", "inner")
    work.git("commit", "--quiet", "-m", "With another inside")
    inner.commit("a.txt", "two\n", "Inside again")
    work.write("inner/a.txt", "three\n")
    poison(inner)
    work.write("notes.txt", "changed\n")
    assert "+changed" in await ask(work, Kind.DIFF)
    assert not (inner.path / "ran").exists()


async def test_git_changes_nothing(work: Work) -> None:
    work.write("notes.txt", "changed\n")
    (work.path / "übersicht.txt").touch()  # a reason to refresh the index

    def state() -> dict[str, tuple[int, bytes]]:
        files = [path for path in work.path.rglob("*") if path.is_file()]
        return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}

    before = state()
    assert "+changed" in await ask(work, Kind.DIFF)
    assert "The second" in await ask(work, Kind.GIT, "1")
    assert state() == before


async def test_links_out_of_the_workspace_lead_nowhere(work: Work, tmp_path: Path) -> None:
    other = Work(tmp_path / "other")
    other.git("init", "--quiet")
    other.commit("a.txt", "the secret\n", "The secret")
    (work.path / "out").symlink_to(other.path / "a.txt")
    outside = Work(tmp_path / "outside")
    (outside.path / ".git").symlink_to(other.path / ".git")
    borrowing = Work(tmp_path / "borrowing")
    borrowing.git("init", "--quiet")
    borrowing.write(".git/objects/info/alternates", f"{other.path}/.git/objects\n")
    borrowing.write(".git/HEAD", other.git("rev-parse", "HEAD"))
    linked = Work(tmp_path / "linked")
    linked.write(".git", f"gitdir: {other.path}/.git\n")
    assert "secret" not in await refusal(outside, Kind.GIT, "1")
    assert "secret" not in (await refusal(borrowing, Kind.GIT, "1")).lower()
    assert await refusal(linked, Kind.GIT, "1") == "there is no git repository in the workspace"
    work.git("add", "out")
    assert "the secret" not in await ask(work, Kind.STAGED)


async def test_a_large_diff_is_cut_in_the_middle(work: Work) -> None:
    work.write("notes.txt", "".join(f"line {number}\n" for number in range(100_000)))
    text = await ask(work, Kind.DIFF)
    assert len(text) < 60_000
    assert "[cut: " in text


async def test_a_damaged_repository_is_an_error_and_no_crash(work: Work) -> None:
    work.write(".git/HEAD", "ref: refs/heads/\0\n")
    assert await refusal(work, Kind.GIT, "1")
    work.write(".git/HEAD", "x" * 100_000)
    assert await refusal(work, Kind.GIT, "1")
    work.write(".git/index", "x" * 100)
    assert await refusal(work, Kind.DIFF)
