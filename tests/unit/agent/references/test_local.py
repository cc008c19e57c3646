from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.agent.references.local import MOST_ENTRIES, read
from gateway.agent.references.parse import Kind, Reference
from gateway.agent.references.piece import Piece
from gateway.errors import ToolError

MOST = 100_000


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work space 漢"
    folder.mkdir()
    (tmp_path / "secret").write_text("the secret")
    return folder


def file(work: Path, path: str, *, first: int = 0, last: int = 0, most: int = MOST, also: Path | None = None) -> Piece:
    roots = (work, also) if also else (work,)
    return read(Reference(Kind.FILE, path, first, last), roots, most)


def folder(work: Path, path: str = ".") -> str:
    return read(Reference(Kind.FOLDER, path), (work,), MOST).text


def refusal(work: Path, path: str, kind: Kind = Kind.FILE, **lines: int) -> str:
    with pytest.raises(ToolError) as failed:
        read(Reference(kind, path, **lines), (work,), MOST)
    return str(failed.value)


def test_a_file_is_read_as_it_is_in_its_language(work: Path) -> None:
    (work / "a.py").write_text("print('שלום 漢字 😀')\n")
    piece = file(work, "a.py")
    assert (piece.text, piece.language, piece.whole) == ("print('שלום 漢字 😀')\n", "python", True)
    (work / "empty").touch()
    assert file(work, "empty").text == "[the file is empty]"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize("lines", [100, 100_000])
def test_some_lines_are_read_and_no_others_from_a_file_of_any_size(work: Path, lines: int, encoding: str) -> None:
    (work / "a.txt").write_text("".join(f"line {n} ü\n" for n in range(1, lines + 1)), encoding)
    some = file(work, "a.txt", first=lines - 90, last=lines - 89)
    assert (some.text, some.whole) == (f"line {lines - 90} ü\nline {lines - 89} ü", True)
    assert some.remark == file(work, "a.txt", most=10_000_000).remark
    assert file(work, "a.txt", first=1, last=1).text == "line 1 ü"
    assert file(work, "a.txt", first=lines, last=999_999).text == f"line {lines} ü"
    beyond = refusal(work, "a.txt", first=lines + 1, last=lines + 2)
    assert beyond == f"'a.txt': the file ends with line {lines}"


def test_lines_that_cannot_be_are_explained(work: Path) -> None:
    (work / "a.txt").write_text("one\n\nthree")
    (work / "empty").touch()
    assert "counted from 1" in refusal(work, "a.txt", first=5, last=2)
    assert "counted from 1" in refusal(work, "a.txt", first=0, last=2)
    assert refusal(work, "a.txt", first=4, last=4) == "'a.txt': the file ends with line 3"
    assert refusal(work, "empty", first=1, last=1) == "'empty': the file ends with line 0"
    assert file(work, "a.txt", first=2, last=2).text == "[the line is empty]"
    assert file(work, "a.txt", first=2, last=3).text == "\nthree"


def test_of_a_file_that_is_too_large_the_beginning_is_read(work: Path) -> None:
    (work / "big.txt").write_text("".join(f"line {n}\n" for n in range(1, 100_001)))
    piece = file(work, "big.txt")
    assert not piece.whole
    assert piece.size == 1_088_895
    assert len(piece.text) <= 4096


def test_of_lines_that_are_too_much_the_beginning_is_read_and_their_own_size_is_said(work: Path) -> None:
    (work / "big.txt").write_text("".join(f"line {n:05}\n" for n in range(100_000)))
    piece = file(work, "big.txt", first=20_001, last=50_000)
    assert (piece.whole, piece.size) == (False, 30_000 * 11)
    assert piece.text.startswith("line 20000\n")
    assert len(piece.text) <= 4096


def test_a_file_with_holes_as_large_as_a_disk_is_not_read(work: Path) -> None:
    with (work / "holes").open("wb") as made:
        made.truncate(1 << 40)
    assert "a binary file of 1,099,511,627,776 bytes" in file(work, "holes").text


@pytest.mark.parametrize(
    ("raw", "text", "remark"),
    [
        ("\ufeffmark".encode(), "mark", ""),
        ("Grüße 漢".encode("utf-16"), "Grüße 漢", "UTF-16"),
        ("plain words".encode("utf-16-le"), "plain words", "UTF-16"),
        ("plain words".encode("utf-16-be"), "plain words", "UTF-16"),
        ("Grüße, Jürgen".encode("cp1252"), "Grüße, Jürgen", "not UTF-8, read as Windows-1252"),
        (b"a\x1b[31mred\n", "a\x1b[31mred\n", ""),
    ],
)
def test_text_of_many_encodings_is_read(work: Path, raw: bytes, text: str, remark: str) -> None:
    (work / "a").write_bytes(raw)
    piece = file(work, "a")
    assert (piece.text, piece.remark) == (text, remark)


@pytest.mark.parametrize(
    "raw", [b"a\0b", b"\x89PNG\r\n\x1a\n\0\0", "漢字".encode("shift_jis") * 9, bytes(range(1, 32))]
)
def test_what_is_no_text_is_described(work: Path, raw: bytes) -> None:
    (work / "a").write_bytes(raw)
    assert file(work, "a").text == f"[a binary file of {len(raw)} bytes; it is not shown, use tools to look into it]"


def test_a_file_whose_last_character_is_cut_by_the_limit_is_still_text(work: Path) -> None:
    (work / "a").write_text("漢" * 50_000)
    assert set(file(work, "a").text) == {"漢"}


@pytest.mark.parametrize(
    "path",
    [
        *(
            "../secret",
            "/etc/passwd",
            "a/../../secret",
            "out",
            "out-folder/secret",
            "/proc/self/environ",
            "~/../secret",
        ),
        *("{work}/../secret", "dangling", "loop", "", " ", "a\0b", "x" * 5000),
    ],
)
def test_nothing_outside_is_read(work: Path, path: str) -> None:
    (work / "out").symlink_to(work.parent / "secret")
    (work / "out-folder").symlink_to(work.parent)
    (work / "dangling").symlink_to("nowhere")
    (work / "loop").symlink_to("loop")
    assert refusal(work, path.format(work=work))
    assert refusal(work, path.format(work=work), Kind.FOLDER)


def test_links_that_stay_inside_are_followed(work: Path) -> None:
    (work / "deep").mkdir()
    (work / "deep" / "a.txt").write_text("here")
    (work / "link").symlink_to("deep/a.txt")
    (work / "absolute").symlink_to(work / "deep")
    assert file(work, "link").text == "here"
    assert file(work, "absolute/a.txt").text == "here"
    assert file(work, f"{work}/deep/../link").text == "here"


def test_a_folder_of_the_settings_is_read_by_its_absolute_path(work: Path) -> None:
    more = work.parent / "more"
    more.mkdir()
    (more / "a.txt").write_text("here")
    assert file(work, f"{more}/a.txt", also=more).text == "here"


@pytest.mark.parametrize(
    "path",
    [
        *(".env", ".env.local", ".ENV", "a/.env", ".ssh/config", ".aws/credentials", ".config/gh/hosts.yml", ".netrc"),
        *(".git/config", ".kube/config", "id_rsa", "server.pem", "tls.KEY", ".bash_history", ".npmrc", "auth.json"),
    ],
)
def test_secrets_are_not_read_under_any_name(work: Path, path: str) -> None:
    secret = work / path
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.write_text("TOKEN=1")
    (work / "harmless.txt").symlink_to(path)
    (work / "folder").symlink_to(Path(path).parent)
    assert "often hold secrets" in refusal(work, path)
    assert "often hold secrets" in refusal(work, "harmless.txt")
    assert "often hold secrets" in refusal(work, f"folder/{secret.name}")


def test_examples_of_secrets_and_public_keys_are_read(work: Path) -> None:
    for name in (".env.example", "id_rsa.pub", "environment", "key.txt"):
        (work / name).write_text("here")
        assert file(work, name).text == "here"


def test_what_is_no_regular_file_is_not_opened(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(work / "pipe")
    monkeypatch.chdir(work)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        assert "not a regular file" in refusal(work, "pipe")
        assert "not a regular file" in refusal(work, "socket")
    assert refusal(work, "pipe", Kind.FOLDER)
    assert "it is a folder" in refusal(work, ".")


def test_a_folder_is_listed_with_sizes_and_links_are_named_only(work: Path) -> None:
    (work / "a").mkdir()
    (work / "a" / "b.txt").write_text("12345")
    (work / "a" / "new\nline").touch()
    (work / "out").symlink_to(work.parent)
    (work / ".git").mkdir()
    (work / ".git" / "HEAD").touch()
    (work / ".ssh").mkdir()
    (work / ".ssh" / "id_rsa").touch()
    os.mkfifo(work / "pipe")
    assert folder(work).split("\n") == [
        *(".git/", ".ssh/", "a/", "  b.txt (5 bytes)", "  'new\\nline' (0 bytes)", "out (a link)"),
        "pipe (no regular file)",
    ]
    assert folder(work, "a").split("\n")[0] == "b.txt (5 bytes)"
    assert "often hold secrets" in refusal(work, ".ssh", Kind.FOLDER)


def test_a_listing_is_bounded(work: Path) -> None:
    assert folder(work) == "[the folder is empty]"
    for number in range(MOST_ENTRIES + 50):
        (work / f"{number:04}").touch()
    rows = folder(work).split("\n")
    assert len(rows) == MOST_ENTRIES + 1
    assert rows[-1] == "[more than 200 entries; the rest is left out]"
    deep = work / "0"
    for _ in range(30):
        deep /= "d"
    deep.mkdir(parents=True)
    assert folder(work, "0").count("d/") == 8


@given(st.lists(st.sampled_from(["..", ".", "", "a", "out", "up", "secret", "~", "/", "%2e", "\\", "‥", "work"])))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
def test_no_path_leads_to_the_secret(work: Path, parts: list[str]) -> None:
    (work / "a").mkdir(exist_ok=True)
    for name, target in (("out", "/"), ("up", "..")):
        if not (work / name).is_symlink():
            (work / name).symlink_to(target)
    for spelling in ("/".join(parts), f"{work}/{'/'.join(parts)}", f"{work.parent}/{'/'.join(parts)}"):
        for kind in (Kind.FILE, Kind.FOLDER):
            try:
                shown = read(Reference(kind, spelling), (work,), MOST).text
            except ToolError:
                continue
            assert "secret" not in shown
