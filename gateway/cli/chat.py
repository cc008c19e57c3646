"""``chat``: a conversation with the agent in the terminal, as the owner. In: lines or one text. Out: the answers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TextIO

import click

from gateway.cli import exits
from gateway.cli.command import command
from gateway.cli.listing import visible
from gateway.cli.opened import load_config
from gateway.cli.output import Failure, Output, fail
from gateway.errors import ConfigError, GatewayError

if TYPE_CHECKING:
    from gateway.app.talk import Said, Talk
    from gateway.config import Config
    from gateway.types import Address

CODES = {signal.SIGINT: exits.INTERRUPTED, signal.SIGTERM: exits.TERMINATED}
LEAVE = {"/exit", "/quit"}
PROMPT = "> "


@command("chat")
@click.option("-m", "--message", metavar="TEXT", help="Say this, print the answer and leave; - reads it from stdin.")
@click.option("--session", metavar="ID", default="", help="Continue this session.")
def chat(output: Output, *, message: str | None, session: str) -> int:
    """
    Talk with the agent in this terminal, as the owner.

    Without -m each line is a message, until Ctrl-D; Ctrl-C stops the answer under way, /help lists commands. A gateway
    that runs on this home answers; where none does, this command answers by itself.
    """
    if message is None and output.options.json:
        raise Failure("--json prints one document, which is the answer to -m TEXT", code=exits.USAGE)
    text = _read_all() if message == "-" else message
    if text is not None and not text.strip():
        raise Failure("the message is empty", code=exits.USAGE)
    config = load_config(output)
    config.home.create()
    with _logged(config, output), asyncio.Runner() as runner:
        screen = Screen(sys.stdout, streams=sys.stdout.isatty() and not output.options.json)
        talk = runner.run(_open(config, session, screen))
        try:
            conversation = Conversation(output, runner, talk, screen)
            return conversation.say_once(text) if text is not None else conversation.hold()
        finally:
            runner.run(talk.__aexit__(None, None, None))


async def _open(config: Config, session: str, screen: Screen) -> Talk:
    from gateway.app.talk import Talk

    return Talk(config, await _address(config, session), screen.show)


async def _address(config: Config, session: str) -> Address:
    """Return the place of the conversation: a new one, or where a session is continued."""
    from gateway.app.plan import plan_of
    from gateway.app.terminal import conversation_of, new_conversation
    from gateway.rooms import NoDatabase, open_rooms

    if not session:
        return new_conversation()
    try:
        async with open_rooms(config) as rooms:
            take = partial(conversation_of, session_id=session, routes=plan_of(config).routes)
            return await rooms.database.write(take)
    except (LookupError, NoDatabase):
        hint = "see hermes-gateway sessions list"
        raise Failure(f"there is no session {session}", code=exits.NOT_FOUND, hint=hint) from None


@contextlib.contextmanager
def _logged(config: Config, output: Output) -> Iterator[None]:
    """Write the log of the home; on the terminal it would stand between the lines, and is shown when asked for."""
    from gateway.log.setup import configure

    asked = output.options
    color = asked.color if asked.color is not None else config.color
    with contextlib.ExitStack() as held:
        stream = sys.stderr if asked.verbose else held.enter_context(open(os.devnull, "w", encoding="utf-8"))
        held.enter_context(configure(config.settings.log, config.home, config.secrets, color=color, stream=stream))
        yield


def _read_all() -> str:
    return sys.stdin.buffer.read().decode("utf-8", "replace")


class Screen:
    """Shows an answer: as it grows where somebody looks on, else when it is whole."""

    def __init__(self, stream: TextIO, *, streams: bool) -> None:
        self._stream = stream
        self._streams = streams
        self._shown = ""

    def show(self, text: str) -> None:
        """Show what there is so far. What was taken back stays above, since paper cannot be wiped."""
        if self._streams:
            self._grow(_unfinished(text))

    def finish(self, texts: Sequence[str]) -> None:
        """Show the whole answer, or what is missing of it."""
        for text in texts or [self._shown]:
            self._grow(text)
            self._write("\n" if self._shown else "")
            self._shown = ""

    def _grow(self, text: str) -> None:
        if not text.startswith(self._shown):
            self._write("\n")
            self._shown = ""
        self._write(visible(text[len(self._shown) :]))
        self._shown = text

    def _write(self, text: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        self._stream.flush()


def _unfinished(text: str) -> str:
    """Return a growing text without the fence that closes its last code block for the time being."""
    head, _, last = text.rpartition("\n")
    marks = last.strip()
    return head if len(marks) >= 3 and set(marks) in ({"`"}, {"~"}) else text


class Conversation:
    """Says what a person types and shows what is answered, one message after the other."""

    def __init__(self, output: Output, runner: asyncio.Runner, talk: Talk, screen: Screen) -> None:
        self._output = output
        self._runner = runner
        self._talk = talk
        self._screen = screen
        self._session = ""
        self._ended_by: int = exits.OK

    def say_once(self, text: str) -> int:
        """Say one thing and print the answer; an answer that is none is a failure."""
        said = self._say(text)
        if said.stopped or said.problem:
            self._screen.finish(())
            code = exits.BY_ERROR.get(said.fault, exits.FAILURE)
            hint = "see hermes-gateway doctor" if code in {exits.UNREACHABLE, exits.AUTH} else ""
            raise Failure(said.problem or "interrupted", code=self._ended_by or code, hint=hint)
        answer = "\n\n".join(said.texts)
        if self._output.options.json:
            document = {"ok": True, "session": said.session, "answer": answer, "messages": list(said.texts)}
            self._output.answer(document, [])
        else:
            self._screen.finish(said.texts)
        return exits.OK

    def hold(self) -> int:
        """Say line after line, until there are no more or the person leaves."""
        on_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        if on_terminal:
            self._output.note("Each line is a message; Ctrl-D ends, Ctrl-C stops an answer, /help lists commands.")
        for line in _typed() if on_terminal else _piped():
            if line.strip() in LEAVE:
                break
            if line.strip():
                self._answer(line.rstrip("\r\n"))
            if self._ended_by == exits.TERMINATED:
                return exits.TERMINATED
        if self._session:
            self._output.note(f"Continue with: hermes-gateway chat --session {self._session}")
        return exits.OK

    def _answer(self, line: str) -> None:
        """Say a line; what goes wrong with it does not end the conversation, unless nothing can go right."""
        try:
            said = self._say(line)
        except ConfigError:
            raise
        except GatewayError as error:
            fail(error, self._output.options)
            return
        self._screen.finish(said.texts)
        if said.problem and not said.texts:
            self._output.note(said.problem)

    def _say(self, text: str) -> Said:
        said = self._runner.run(self._until_stopped(text))
        self._session = said.session or self._session
        return said

    async def _until_stopped(self, text: str) -> Said:
        """Say it; the first Ctrl-C or SIGTERM stops the turn in order, the second one ends the command."""
        stop, loop = asyncio.Event(), asyncio.get_running_loop()

        def hear(by: signal.Signals) -> None:
            self._ended_by = CODES[by]
            stop.set()
            loop.remove_signal_handler(by)

        for name in CODES:
            loop.add_signal_handler(name, hear, name)
        try:
            return await self._talk.say(text, stop)
        finally:
            for name in CODES:
                loop.remove_signal_handler(name)


def _piped() -> Iterator[str]:
    for line in sys.stdin.buffer:
        yield line.decode("utf-8", "replace")


def _typed() -> Iterator[str]:
    """Yield what is typed at the prompt, with the line editing there is."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - to be imported is all it takes
    while True:
        try:
            yield input(PROMPT)
        except EOFError:
            return
        except UnicodeDecodeError:
            yield ""
