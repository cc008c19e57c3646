from __future__ import annotations

import asyncio
import os
import shutil
import socket
import stat
from pathlib import Path

import pytest

from gateway.agent.tools.files import file_tools
from gateway.errors import ToolError
from gateway.toolkit.toolset import FunctionTools
from gateway.types import Role
from tests.unit.toolkit.turns import a_call, a_turn

TOOLS = FunctionTools(file_tools())


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "secret").write_text("the secret")
    return folder


async def read(work: Path, path: str, **more: object) -> str:
    return await TOOLS.call(a_call("read_file", path=path, **more), a_turn(workspace=work))


async def write(work: Path, path: str, content: str) -> str:
    return await TOOLS.call(a_call("write_file", path=path, content=content), a_turn(workspace=work))


async def refusal(work: Path, path: str, **more: object) -> str:
    with pytest.raises(ToolError) as failed:
        await read(work, path, **more)
    return str(failed.value)


async def test_what_is_written_is_read_as_numbered_lines(work: Path) -> None:
    content = "one\n\nשלום 漢字 😀\r\nlast"
    assert await write(work, "a/b/c.txt", content) == "wrote 'a/b/c.txt': 4 lines, 31 bytes"
    assert (work / "a/b/c.txt").read_bytes() == content.encode()
    assert await read(work, "a/b/c.txt") == "1|one\n2|\n3|שלום 漢字 😀\n4|last\n[end of the file, 4 lines]"


@pytest.mark.parametrize(
    "path",
    ["./a.txt", "x/../a.txt", "~/a.txt", "{work}/a.txt", "//{work}/./a.txt", "x/./../a.txt/", "/workspace/a.txt"],
)
async def test_one_file_has_many_spellings(work: Path, path: str) -> None:
    (work / "x").mkdir()
    (work / "a.txt").write_text("here")
    path = path.replace("/{work}", str(work)).replace("{work}", str(work))
    assert await read(work, path) == "1|here\n[end of the file, 1 lines]"


async def test_a_long_file_comes_in_pages_that_join_to_the_whole(work: Path) -> None:
    (work / "long").write_text("".join(f"line {n}\n" for n in range(1, 5_001)))
    lines: list[str] = []
    offset = 1
    while True:
        *page, end = (await read(work, "long", offset=offset)).split("\n")
        assert len(page) <= 2_000
        lines += page
        if end == "[end of the file, 5000 lines]":
            break
        offset = len(lines) + 1
        assert end == f"[more follows: read on with offset={offset}]"
    assert lines == [f"{n}|line {n}" for n in range(1, 5_001)]


async def test_a_page_holds_no_more_bytes_than_the_limit(work: Path) -> None:
    (work / "wide").write_text("漢" * 1_000 + "\n" + "\n".join("字" * 1_000 for _ in range(99)))
    page = await read(work, "wide")
    assert len(page.encode()) < 50_100
    assert page.endswith("[more follows: read on with offset=17]")
    assert (await read(work, "wide", offset=17, limit=1)).startswith("17|字")


async def test_a_very_long_line_is_cut_inside_no_character(work: Path) -> None:
    (work / "line").write_text("a" + "😀" * 100_000 + "\nnext\n" + "b" * 8_000 + "\n" + "c" * 2_000)
    page = await read(work, "line")
    cut = "[cut: a line of more than 2,000 characters]"
    assert page.split("\n") == [
        f"1|a{'😀' * 1_999} {cut}",
        "2|next",
        f"3|{'b' * 2_000} {cut}",
        f"4|{'c' * 2_000}",
        "[end of the file, 4 lines]",
    ]


async def test_a_line_of_just_the_length_that_is_read_at_once_is_one_line(work: Path) -> None:
    (work / "line").write_text("😀" * 2_000 + "\n" + "😀" * 2_000 + "\r\n" + "😀" * 2_000)
    whole = "😀" * 2_000
    assert await read(work, "line") == f"1|{whole}\n2|{whole}\n3|{whole}\n[end of the file, 3 lines]"


async def test_an_empty_file_and_an_offset_behind_the_end_are_said(work: Path) -> None:
    (work / "empty").touch()
    (work / "short").write_text("a\nb\n")
    assert await read(work, "empty") == "[the file is empty]"
    assert await refusal(work, "short", offset=3) == "'short': the file ends with line 2"
    assert "'offset'" in await refusal(work, "short", offset=0)
    assert "'limit'" in await refusal(work, "short", limit=2_001)


async def test_binary_and_foreign_encodings_are_said_in_a_sentence(work: Path) -> None:
    (work / "binary").write_bytes(b"\x7fELF\x02\0\0")
    (work / "latin").write_bytes("naïve\ncafé\n".encode("latin-1"))
    (work / "utf16").write_bytes("text".encode("utf-16"))
    (work / "halved").write_bytes("é".encode()[:1])
    (work / "marked").write_bytes("\ufefftext".encode())
    assert await refusal(work, "binary") == "'binary': a binary file: there is a NUL byte in line 1"
    assert await refusal(work, "latin") == "'latin': not UTF-8 text: byte 0xef in line 1 does not belong there"
    assert "binary" in await refusal(work, "utf16")
    assert "0xc3" in await refusal(work, "halved")
    assert (await read(work, "marked")).startswith("1|text\n")


async def test_an_endless_file_without_lines_is_refused(work: Path) -> None:
    with (work / "sparse").open("wb") as file:
        file.truncate(300 * 1024 * 1024)
    assert "too large to page" in await refusal(work, "sparse")


@pytest.mark.parametrize(
    "path",
    ["../secret", "x/../../secret", "/etc/passwd", "{work}/../secret", "{work}x/secret", "..", "/", "~root/x/../.."],
)
async def test_a_path_that_leads_outside_is_refused(work: Path, path: str) -> None:
    for name in ("x", "~root"):
        (work / name).mkdir()
        (work / name / "x").mkdir()
    path = path.replace("{work}", str(work))
    told = await refusal(work, path)
    assert "the secret" not in told
    assert "workspace" in told or "folder" in told
    with pytest.raises(ToolError):
        await write(work, path, "overwritten")
    assert (work.parent / "secret").read_text() == "the secret"


async def test_links_that_stay_inside_are_followed(work: Path) -> None:
    (work / "real").mkdir()
    (work / "real" / "a.txt").write_text("linked")
    (work / "relative").symlink_to("real")
    (work / "absolute").symlink_to(work / "real")
    (work / "inside").symlink_to("/workspace/real")  # as a command makes it, which knows the folder by that name
    (work / "real" / "up").symlink_to("../absolute/a.txt")
    (work / "real" / "new").symlink_to("../made.txt")
    for path in ("relative/a.txt", "absolute/a.txt", "inside/a.txt", "real/up", "relative/up"):
        assert (await read(work, path)).startswith("1|linked")
    await write(work, "relative/up", "through")
    assert (work / "real" / "a.txt").read_text() == "through"
    assert (work / "real" / "up").is_symlink()
    await write(work, "real/new", "made")
    assert (work / "made.txt").read_text() == "made"


@pytest.mark.parametrize(
    "target", ["../secret", "/etc/passwd", "{outside}", "x/../../secret", "{work}/../secret", "/workspace/../secret"]
)
async def test_links_that_lead_outside_are_refused(work: Path, target: str) -> None:
    (work / "x").mkdir()
    (work / "link").symlink_to(target.replace("{outside}", str(work.parent / "secret")).replace("{work}", str(work)))
    (work / "up").symlink_to("..")
    (work / "out").symlink_to(work.parent)
    for path in ("link", "up/secret", "out/secret", "x/../link"):
        assert "out of the workspace" in await refusal(work, path)
        with pytest.raises(ToolError, match="out of the workspace"):
            await write(work, path, "overwritten")
    assert (work.parent / "secret").read_text() == "the secret"


async def test_links_in_a_circle_end(work: Path) -> None:
    (work / "a").symlink_to("b")
    (work / "b").symlink_to("a")
    (work / "grow").symlink_to("x/grow")
    (work / "x").symlink_to(".")
    assert "too many links" in await refusal(work, "a")
    assert "too many links" in await refusal(work, "grow")


async def test_a_folder_that_is_exchanged_for_a_link_all_the_time_never_leads_outside(work: Path) -> None:
    outside = work.parent / "outside"
    outside.mkdir()
    (outside / "file").write_text("the secret")
    (work / "real").mkdir()
    (work / "real" / "file").write_text("mine")
    (work / "link").symlink_to(outside)
    done = False

    def exchange() -> None:
        while not done:
            for name in ("real", "link"):
                try:
                    os.replace(work / name, work / "spot")
                    os.replace(work / "spot", work / name)
                except OSError:  # a write made a folder of this name
                    shutil.rmtree(work / "spot", ignore_errors=True)

    exchanging = asyncio.get_running_loop().run_in_executor(None, exchange)
    try:
        for _ in range(500):
            try:
                told = await read(work, "spot/file")
                await write(work, "spot/file", "mine")
            except ToolError as error:
                told = str(error)
            assert "the secret" not in told
    finally:
        done = True
        await exchanging
    assert (outside / "file").read_text() == "the secret"
    assert sorted(path.name for path in outside.iterdir()) == ["file"]


async def test_only_regular_files_are_opened(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(work / "fifo")
    (work / "folder").mkdir()
    monkeypatch.chdir(work)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for path, why in {
            "fifo": "not a regular file",
            "folder": "a folder",
            "socket": "not a regular file",
            ".": "a folder",
        }.items():
            assert why in await refusal(work, path)
            with pytest.raises(ToolError, match=why):
                await write(work, path, "x")
    assert stat.S_ISFIFO((work / "fifo").stat().st_mode)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "the path is empty"),
        (" ", "the path is empty"),
        ("missing", "there is no such file"),
        ("missing/file", "there is no such file"),
        ("file/below", "a part of the path is not a folder"),
        ("a\0b", "no NUL among them"),
        ("x" * 300, "the name is too long"),
        ("x/" * 3_000, "at most 4096 characters"),
        ("\u202e漢字", "there is no such file"),
    ],
)
async def test_a_path_that_cannot_be_is_answered_in_one_printable_sentence(work: Path, path: str, why: str) -> None:
    (work / "file").touch()
    told = await refusal(work, path)
    assert why in told
    assert told.isprintable()
    assert len(told) < 300


async def test_too_many_folders_are_refused(work: Path) -> None:
    with pytest.raises(ToolError, match="deeper than 64 folders"):
        await write(work, "x/" * 100 + "file", "")


async def test_a_file_is_replaced_whole_and_keeps_its_permissions(work: Path) -> None:
    script = work / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o750)
    before = script.stat().st_ino
    with script.open() as reader:
        assert await write(work, "run.sh", "") == "replaced 'run.sh': 0 lines, 0 bytes"
        assert reader.read() == "#!/bin/sh\n"
    assert script.read_text() == ""
    assert script.stat().st_ino != before
    assert stat.S_IMODE(script.stat().st_mode) == 0o750
    assert os.listdir(work) == ["run.sh"]


async def test_a_write_that_fails_leaves_the_file_and_nothing_else(work: Path) -> None:
    long_name = "x" * 255
    (work / long_name).write_text("kept")
    with pytest.raises(ToolError, match="the name is too long"):
        await write(work, long_name + "y", "new")
    await write(work, long_name, "new")  # the longest name there is needs no longer one beside it
    assert [(path.name, path.read_text()) for path in work.iterdir()] == [(long_name, "new")]


async def test_a_full_disk_is_said_and_leaves_the_file_as_it_was(work: Path) -> None:
    import resource
    import signal

    (work / "a").write_text("kept")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(ToolError, match=r"^'a': File too large$"):
            await write(work, "a", "x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert [(path.name, path.read_text()) for path in work.iterdir()] == [("a", "kept")]


async def test_a_conversation_without_a_workspace_has_no_files() -> None:
    with pytest.raises(ToolError, match="has no workspace folder"):
        await TOOLS.call(a_call("read_file", path="a"), a_turn())
    with pytest.raises(ToolError, match="has no workspace folder"):
        await TOOLS.call(a_call("write_file", path="a", content=""), a_turn())


async def test_a_workspace_that_is_gone_is_said(work: Path) -> None:
    assert await refusal(work / "gone", "a") == "'a': there is no such file"


async def test_guests_have_no_files(work: Path) -> None:
    with pytest.raises(ToolError, match="needs the role member"):
        await TOOLS.call(a_call("read_file", path="a"), a_turn(Role.GUEST, work))


async def test_added_folders_can_be_read_and_not_written(work: Path) -> None:
    docs = work.parent / "docs"
    docs.mkdir()
    (docs / "a.txt").write_text("added")
    (docs / "out").symlink_to("../secret")
    tools = FunctionTools(file_tools([docs]))
    turn = a_turn(workspace=work)
    assert "1|added" in await tools.call(a_call("read_file", path=str(docs / "a.txt")), turn)
    for path in (docs / "out", docs / "../secret"):
        with pytest.raises(ToolError, match="out of the"):
            await tools.call(a_call("read_file", path=str(path)), turn)
    with pytest.raises(ToolError, match="is not in the workspace"):
        await tools.call(a_call("write_file", path=str(docs / "a.txt"), content="x"), turn)
    assert (docs / "a.txt").read_text() == "added"


async def test_no_descriptor_stays_open(work: Path) -> None:
    (work / "real").mkdir()
    (work / "out").symlink_to("..")
    await write(work, "real/a", "a")
    before = len(os.listdir("/dev/fd"))
    for path in ("real/a", "real/../real/a", "real/b", "real", "out/secret", "../secret", "real/a/b"):
        try:
            await read(work, path)
            await write(work, path, "a")
        except ToolError:
            pass
    assert len(os.listdir("/dev/fd")) == before


@pytest.mark.parametrize("path", ["a/.env", "a/scripts/id_rsa", ".hub/lock.json", "a/notes.txt"])
async def test_in_folders_with_a_name_what_often_holds_secrets_stays_closed(work: Path, path: str) -> None:
    skills = work.parent / "skills"
    for name in ("a/.env", "a/scripts/id_rsa", ".hub/lock.json", "a/SKILL.md"):
        (skills / name).parent.mkdir(parents=True, exist_ok=True)
        (skills / name).write_text("hush")
    (skills / "a/notes.txt").symlink_to(".env")
    tools = FunctionTools(file_tools(named={"/skills": skills}))
    turn = a_turn(workspace=work)
    with pytest.raises(ToolError, match="secrets"):
        await tools.call(a_call("read_file", path=f"/skills/{path}"), turn)
    assert "hush" in await tools.call(a_call("read_file", path="/skills/a/SKILL.md"), turn)
