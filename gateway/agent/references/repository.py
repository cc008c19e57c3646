"""What git tells of the workspace: a diff, or the newest commits.

In: the workspace of a turn. Out: what git printed. The repository may be a stranger's, so git runs in a sandbox without
network that may write nothing, and over a repository folder of ours, beside theirs, that takes over objects, refs and
index and none of their settings: no hook, filter, pager, monitor, alias or driver of theirs is ever known to git.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from gateway.agent.references.denied import pathspecs
from gateway.agent.references.parse import Kind, Reference
from gateway.agent.references.piece import Piece
from gateway.agent.tools.process import run
from gateway.agent.tools.sandbox import Bubblewrap
from gateway.errors import ToolError
from gateway.toolkit.limits import brief

SECONDS = 30
MOST_COMMITS = 10
OURS = r"""
cd /tmp
command -v git >/dev/null || { echo 'git is not installed'; exit 3; }
their="$HOME/.git" our=/tmp/repository.git
test -d "$their" && test -f "$their/HEAD" || { echo 'there is no git repository in the workspace'; exit 3; }
mkdir -p "$our" && cat "$their/HEAD" > "$our/HEAD"
for name in objects refs packed-refs reftable shallow; do
  test -e "$their/$name" && ln -s "$their/$name" "$our/$name"
done
mkdir -p "$our/objects" "$our/refs"
test -f "$their/index" && cat "$their/index" > "$our/index"
setting() { GIT_DIR="$our" git config --file "$their/config" --no-includes "$1" 2>/dev/null || echo "$2"; }
format="$(setting extensions.objectformat sha1)" refs="$(setting extensions.refstorage files)"
printf '[core]\nrepositoryformatversion = 1\nbare = false\nquotePath = false\n' > "$our/config"
case "$format" in sha256) printf '[extensions]\nobjectformat = sha256\n' >> "$our/config";; esac
case "$refs" in reftable) printf '[extensions]\nrefstorage = reftable\n' >> "$our/config";; esac
export GIT_DIR="$our" GIT_WORK_TREE="$HOME" GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1
export GIT_OPTIONAL_LOCKS=0 GIT_NO_LAZY_FETCH=1 GIT_TERMINAL_PROMPT=0 GIT_PAGER=cat
cd "$HOME"
"""
"""Runs in the sandbox, where HOME is the workspace."""
PLAIN = "--no-ext-diff --no-textconv --no-color --ignore-submodules=all --submodule=short"
PATHS = shlex.join(("--", ".", *pathspecs()))
COMMANDS = {
    Kind.DIFF: f"exec git --no-pager diff {PLAIN} {PATHS}",
    Kind.STAGED: f"exec git --no-pager diff --cached {PLAIN} {PATHS}",
    Kind.GIT: f"exec git --no-pager log --max-count=%d --patch --full-history {PLAIN} {PATHS}",
}


class Repository:
    """Asks git about workspaces."""

    def __init__(self) -> None:
        self._sandbox = Bubblewrap(network=False)

    async def read(self, reference: Reference, workspace: Path) -> Piece:
        """Return what git says; raise `ToolError` where it says nothing."""
        command = COMMANDS[reference.kind]
        if reference.kind is Kind.GIT:
            command %= _commits(reference.value)
        if problem := await self._sandbox.problem():
            raise ToolError(f"git needs a sandbox: {problem}")
        try:
            ended = await run(self._sandbox.command(workspace, OURS + command, writable=False), seconds=SECONDS)
        except OSError as error:
            raise ToolError(f"git cannot be started: {error.strerror}") from error
        if ended.stopped or ended.code:
            said = ended.output.strip().rpartition("\n")[2]
            raise ToolError(ended.stopped or (said if ended.code == 3 else f"git says {brief(said, 200)}"))
        text = ended.output.rstrip("\n")
        return Piece(reference, "🧾", text or "[no changes]", "diff" if text else None)


def _commits(value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) <= 4 and 1 <= int(value) <= MOST_COMMITS):
        raise ToolError(f"write how many commits, from 1 to {MOST_COMMITS}, such as @git:3")
    return int(value)
