"""A sandbox of bubblewrap.

In: a workspace and a shell command. Out: the command line that runs it with nothing in sight but the system's
programs, read only, and the workspace as `INSIDE`: own processes, own /tmp, no capabilities, no environment,
no network unless it is asked for. Or the reason why this machine cannot do that, found by doing it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from gateway.agent.tools.process import run
from gateway.agent.tools.workspace import INSIDE

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TMP_BYTES = 256 * 1024 * 1024  # it lies in memory
SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
ETC = ("alternatives", "ca-certificates", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "pki", "ssl/certs")
ETC_NETWORK = ("hosts", "nsswitch.conf", "resolv.conf")
TEST_SECONDS = 10
INSTALL = "install it (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap)"
ALLOW = (
    "the kernel must allow user namespaces (sysctl kernel.unprivileged_userns_clone=1; Ubuntu 24.04 and later: an"
    " AppArmor profile for bwrap), and so must a container (docker run --security-opt seccomp=unconfined"
    " --security-opt apparmor=unconfined --security-opt systempaths=unconfined)"
)


class Bubblewrap:
    """Runs shell commands in sandboxes of one kind; folders with a name can be read in all of them."""

    def __init__(self, *, network: bool, named: Mapping[str, Path] | None = None) -> None:
        self._network = network
        self._named = dict(named or {})
        self._works = False

    async def problem(self) -> str:
        """Say why it does not work here and what to do, or ""; tried until it has worked once."""
        if self._works:
            return ""
        if sys.platform != "linux":
            return "bubblewrap runs on Linux only"
        if shutil.which("bwrap") is None:
            return f"bubblewrap is not installed (there is no bwrap in the PATH): {INSTALL}"
        try:
            ended = await run([*self._sandbox(), "--", shell(), "-c", "exit 0"], seconds=TEST_SECONDS)
        except OSError as error:
            return f"bwrap cannot be started: {error.strerror}"
        if ended.code or ended.stopped:
            said = ended.output.strip().partition("\n")[0] or f"exit code {ended.code}"
            return f"bubblewrap does not work here ({ended.stopped or said}): {ALLOW}"
        self._works = True
        return ""

    def command(self, workspace: Path, script: str, *, writable: bool = True) -> list[str]:
        """Return what runs the script in the workspace."""
        bind = "--bind" if writable else "--ro-bind"
        inside = [bind, str(workspace), INSIDE, "--chdir", INSIDE, "--setenv", "HOME", INSIDE]
        for name, folder in self._named.items():
            inside += ["--ro-bind-try", str(folder), name]
        return [*self._sandbox(), *inside, "--", shell(), "-c", script]

    def _sandbox(self) -> Iterator[str]:
        yield shutil.which("bwrap") or "bwrap"
        yield from ("--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--cap-drop", "ALL")
        yield from ("--hostname", "sandbox", "--clearenv")
        for name, value in {"PATH": PATH, "LANG": "C.UTF-8", "TERM": "dumb", "TMPDIR": "/tmp"}.items():
            yield from ("--setenv", name, value)
        yield from ("--ro-bind", "/usr", "/usr")
        for name in SYSTEM:
            if os.path.islink(name):  # into /usr, on all but old systems
                yield from ("--symlink", os.readlink(name), name)
            else:
                yield from ("--ro-bind-try", name, name)
        for name in (*ETC, *(ETC_NETWORK if self._network else ())):
            yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
        yield from ("--proc", "/proc", "--dev", "/dev", "--size", str(TMP_BYTES), "--tmpfs", "/tmp")
        if self._network:
            yield "--share-net"


def shell() -> str:
    return "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"
