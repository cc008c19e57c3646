from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.agent.references.attach import Attached, References
from gateway.agent.references.piece import Page
from gateway.agent.tools.files import file_tools
from gateway.errors import ToolError
from gateway.messages import Message
from gateway.toolkit.toolset import FunctionTools, Narrowed
from gateway.types import ChatType, Role
from tests.unit.toolkit.turns import a_turn

HANDS = FunctionTools(file_tools())


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "notes.txt").write_text("buy milk\n")
    return folder


async def page(url: str) -> Page:
    if "gone" in url:
        raise ToolError("the server answers HTTP 404")
    return Page(f"the page at {url}")


async def attach(
    work: Path, text: str, *, role: Role = Role.MEMBER, kind: ChatType = ChatType.DM, window: int = 100_000
) -> Attached:
    turn = a_turn(role, work)
    turn = replace(turn, events=(replace(turn.events[0], text=text, chat_type=kind),))
    said = Message("user", text, api_content=f"[Ann] {text}")
    return await References(fetch=page).attach(turn, window, Narrowed(HANDS, role).specs(), said)


async def test_everything_a_message_refers_to_stands_behind_it_in_its_order(work: Path) -> None:
    text = "@url:http://a.example/ against @file:notes.txt and @folder:. please"
    attached = await attach(work, text)
    said = attached.said
    assert said.text == text
    assert said.content.startswith(f"[Ann] {text}\n\n--- Attached Context ---\n\n")
    places = [said.content.index(part) for part in ("the page at http://a.example/", "buy milk", "notes.txt (9 bytes)")]
    assert places == sorted(places)
    assert attached.notices == ()


async def test_what_cannot_be_read_is_told_to_the_person_in_one_line(work: Path) -> None:
    attached = await attach(work, "@file:nothing.txt @url:http://gone.example/ @diff @file:notes.txt")
    assert attached.notices == (
        "'@file:nothing.txt' was not attached: there is no such file."
        " '@url:http://gone.example/' was not attached: the server answers HTTP 404."
        " '@diff' was not attached: there is no git repository in the workspace.",
    )
    assert "- '@diff' was not attached" in attached.said.content
    assert "buy milk" in attached.said.content


async def test_who_may_not_use_the_file_tools_has_nothing_read(work: Path) -> None:
    attached = await attach(work, "@file:notes.txt", role=Role.GUEST)
    assert attached == Attached(Message("user", "@file:notes.txt", api_content="[Ann] @file:notes.txt"))


async def test_words_that_a_webhook_brought_refer_to_nothing(work: Path) -> None:
    attached = await attach(work, "@file:notes.txt", role=Role.OWNER, kind=ChatType.WEBHOOK)
    assert "buy milk" not in attached.said.content


async def test_the_name_of_an_attachment_refers_to_nothing(work: Path) -> None:
    turn = a_turn(Role.OWNER, work)
    turn = replace(turn, events=(replace(turn.events[0], text=""),))
    said = Message("user", "[sent without text: file @file:notes.txt]")
    assert await References().attach(turn, 100_000, HANDS.specs(), said) == Attached(said)


async def test_a_message_without_references_stays_the_same(work: Path) -> None:
    attached = await attach(work, "write to ann@example.org")
    assert attached.said.content == "[Ann] write to ann@example.org"


async def test_many_references_are_read_up_to_a_number(work: Path) -> None:
    for number in range(20):
        (work / f"{number}.txt").write_text(f"number {number}.")
    attached = await attach(work, " ".join(f"@file:{number}.txt" for number in range(20)))
    assert attached.notices == ("Only the first 16 references were looked at.",)
    assert "number 15." in attached.said.content
    assert "number 16." not in attached.said.content


async def test_a_file_of_a_megabyte_leaves_the_question_and_its_beginning(work: Path) -> None:
    (work / "big.txt").write_text("word word\n" * 100_000)
    attached = await attach(work, "what is in @file:big.txt?", window=8_000)
    assert "more than half of the model's window of 8,000" in attached.notices[0]
    assert attached.said.content.startswith("[Ann] what is in @file:big.txt?")
    assert "word word" in attached.said.content
    assert len(attached.said.content) < 3_000


async def test_many_files_that_are_too_much_only_together_are_not_all_read(work: Path) -> None:
    for number in range(8):
        (work / f"{number}.txt").write_text("        \n" * 2_000)
    attached = await attach(work, " ".join(f"@file:{number}.txt" for number in range(8)), window=8_000)
    assert "more than half" in attached.notices[0]
    assert len(attached.said.content) < 15_000


FIRST_PAGE = """
import asyncio, sys, threading
from pathlib import Path
from gateway.agent.references.attach import References
from gateway.agent.tools.files import file_tools
from gateway.messages import Message
from gateway.toolkit.toolset import FunctionTools
from gateway.types import Role
from tests.unit.toolkit.turns import a_turn

class Loads:
    def find_spec(self, name, path, target=None):
        if name == "gateway.agent.references.web":
            print("the event loop" if threading.current_thread() is threading.main_thread() else "a thread")

sys.meta_path.insert(0, Loads())
said = Message("user", "@url:ftp://a.example/")
tools = FunctionTools(file_tools()).specs()
attached = asyncio.run(References().attach(a_turn(Role.OWNER, Path(sys.argv[1])), 100_000, tools, said))
print(attached.notices[0])
"""


def test_the_first_page_loads_its_libraries_while_others_are_served(work: Path) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", FIRST_PAGE, str(work)],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ).stdout.splitlines()
    assert shown[0] == "a thread"
    assert "only http:// and https:// are fetched" in shown[1]
