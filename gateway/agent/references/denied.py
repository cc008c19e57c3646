"""Names behind which secrets lie: never attached, whatever folder they are in.

In: a path whose links were followed. Out: whether it is one of these; for git, the same as pathspecs. The list is the
reference's, with the key files and histories that belong to it. It guards against a careless reference, not against
somebody who renames files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from gateway.errors import ToolError

FOLDERS = (".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".password-store", "mcp-tokens")
INSIDE = ((".config", "gh"), (".config", "gcloud"), ("skills", ".hub"), (".git", "config"))
FILES = (
    *(".env", ".env.*", ".envrc", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".npmrc", ".pypirc", ".htpasswd"),
    *(".git-credentials", ".vault-token", "auth.json"),
    *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "*.pem", "*.key", "*.p12", "*.pfx", "*.ppk", "*.kdbx", "*.jks"),
    *(".profile", ".bashrc", ".bash_profile", ".bash_login", ".zshrc", ".zshenv", ".zprofile", ".*_history"),
)
OPEN = (".env.example", ".env.sample", ".env.template", ".env.dist")
"""Made to be shown."""


def is_denied(path: Path) -> bool:
    """Say whether a path leads to, or through, what is never attached."""
    names = [name.casefold() for name in path.parts]
    if any(name in FOLDERS for name in names) or any(pair in INSIDE for pair in zip(names, names[1:], strict=False)):
        return True
    last = names[-1] if names else ""
    return last not in OPEN and any(fnmatchcase(last, pattern) for pattern in FILES)


def pathspecs() -> tuple[str, ...]:
    """Return git's pathspecs (gitglossary) that leave out what `is_denied` denies."""
    folders = [*FOLDERS, *("/".join(pair) for pair in INSIDE)]
    names = [glob for pattern in FILES for glob in _but_open(pattern)]
    globs = [*names, *folders, *(f"{folder}/**" for folder in folders)]
    return tuple(f":(exclude,icase,glob)**/{glob}" for glob in globs)


def _but_open(pattern: str) -> Iterator[str]:
    """Spell a pattern out in globs that match the same without what is open: no pathspec takes back an exclusion."""
    shown = [name for name in OPEN if fnmatchcase(name, pattern)]
    if not shown:
        yield pattern
        return
    stem = len(pattern.removesuffix("*"))
    for begin in dict.fromkeys(name[:end] for name in shown for end in range(stem, len(name) + 1)):
        onward = {name[len(begin)] for name in shown if name.startswith(begin) and name != begin}
        yield f"{begin}[!{''.join(sorted(onward))}]*" if onward else f"{begin}?*"
        if begin not in shown:
            yield begin


def check(path: Path, descriptor: int) -> None:
    """
    Raise `ToolError` where what is open is denied by the name that it has once links are followed.

    The name is looked up after the opening and must lead to what is open, so that no link can change in between.
    """
    try:
        real = path.resolve(strict=True)
        same = os.path.samestat(os.stat(real, follow_symlinks=False), os.fstat(descriptor))
    except (OSError, RuntimeError):
        same = False
    if not same:
        raise ToolError("it changed while it was being opened; try again")
    if is_denied(real):
        raise ToolError("files of this name often hold secrets and are never attached")
