"""People in several chats who write numbered messages, and who remember what was answered and what a kill hit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, count, pairwise, takewhile
from random import Random
from typing import Any

from tests.crash.verdict import WORD, Asked, Ends, Shown, Verdict, Word, judge, judge_memory, lanes_of, words_of
from tests.fakes.telegram_server import TelegramServer

FIRST_USER = 1001
FIRST_GROUP = -2001
PLACES = 6
"""Conversations that go on at the same time."""
MESSAGES = 25
"""Messages after which a conversation ends and another begins, so that histories stay short."""
PASTE = 4000
"""UTF-16 units from which on a message counts as a part of a split paste."""
TOOL = 'tool:terminal:{{"command":"{command}"}}'
COMMAND = "sleep 0.{before}; echo {call} >> count; sleep 0.{after}"


@dataclass(slots=True)
class Place:
    """A person in a chat, and how many messages are left of the conversation."""

    chat: int
    user: int
    left: int = MESSAGES


class People:
    """Writes at random; knows who waits for an answer. `tools` says whether the agent has a terminal."""

    def __init__(self, telegram: TelegramServer, random: Random, *, tools: bool) -> None:
        self._telegram = telegram
        self._random = random
        self._tools = tools
        self._numbers = count(1)
        self._new = _places()
        self._places = [next(self._new) for _ in range(PLACES)]
        self._asked: dict[int, Asked] = {}
        self._waiting: set[int] = set()
        self._known: set[str] = {"…"}
        self.kills: list[float] = []

    @property
    def asked(self) -> list[Asked]:
        return list(self._asked.values())

    @property
    def waiting(self) -> int:
        """Messages whose answer does not stand on the screen yet."""
        return len(self._waiting)

    @property
    def forgotten(self) -> list[Asked]:
        """Those messages."""
        return [self._asked[number] for number in sorted(self._waiting)]

    @property
    def bearable(self) -> bool:
        """Say whether nobody waits whose message was hit twice already."""
        return all(self._asked[number].hits < 2 for number in self._waiting)

    def write(self, what: str = "") -> int:
        """
        Let somebody write something; return the chat.

        `what` is short, medium, long, paste or tool; any of them if it is not said.
        """
        kinds = {"short": 50, "medium": 20, "long": 5, "paste": 3, "tool": 22 if self._tools else 0}
        kind = what or self._random.choices(list(kinds), list(kinds.values()))[0]
        index = self._random.randrange(PLACES)
        place = self._places[index]
        ways: dict[str, Callable[[Place], None]] = {
            "short": partial(self._say, words=self._random.randint(1, 12)),
            "medium": partial(self._say, words=self._random.randint(40, 80)),
            "long": partial(self._fill, 3600),
            "paste": self._paste,
            "tool": self._use,
        }
        ways[kind if self._tools or kind != "tool" else "medium"](place)
        if place.left <= 0:
            self._places[index] = next(self._new)
        return place.chat

    def _say(self, place: Place, *, words: int, before: str = "", calls: tuple[str, ...] = (), number: int = 0) -> None:
        asked = Asked(number or next(self._numbers), place.chat, place.user, words, calls)
        text = f"{before}say:" + " ".join(f"m{number}-{word}" for number, word in asked.answer)
        # Written down first: an answer may come before the call returns.
        self._asked[asked.number] = asked
        self._waiting.add(asked.number)
        self._known |= {*WORD.sub(" ", text).split(), "[User", f"{place.user}]"}
        self._telegram.say(place.chat, text, user=place.user)
        place.left -= 1

    def _fill(self, units: int, place: Place) -> None:
        """Write a message of that length, or a word more."""
        number = next(self._numbers)
        lengths = accumulate(len(f" m{number}-{word}") for word in count(1))
        self._say(place, words=sum(1 for _ in takewhile(lambda length: length < units, lengths)) + 1, number=number)

    def _paste(self, place: Place) -> None:
        """Write two messages that a client would have made of one long text."""
        for _ in range(2):
            self._fill(PASTE, place)

    def _use(self, place: Place) -> None:
        """Ask for one call, for two at once, or for two one after the other."""
        number = next(self._numbers)
        calls = tuple(f"m{number}{letter}" for letter in "ab"[: self._random.randint(1, 2)])
        between = self._random.choice(["\n", "\nthen\n"])
        lines = [TOOL.format(command=self._command(call)) for call in calls]
        before = f"please\n{between.join(lines)}\n"
        self._say(place, words=self._random.randint(1, 12), before=before, calls=calls, number=number)

    def _command(self, call: str) -> str:
        return COMMAND.format(call=call, before=self._random.randint(0, 2), after=self._random.randint(0, 2))

    def farewell(self) -> None:
        """Let everybody write a last word, wherever they have written."""
        for lane in lanes_of(self.asked):
            self._say(Place(lane[0].chat, lane[0].user), words=1)

    def remembered(self, requests: Sequence[Mapping[str, Any]]) -> list[str]:
        """Judge what the model was shown with these last words; a review of a conversation has none."""
        last = [(words_of(request["messages"][-1]["content"]), request["messages"]) for request in requests]
        shown = {words[-1]: messages for words, messages in last if words}
        return [
            f"chat {lane[0].chat}: {fault}"
            for lane in lanes_of(self.asked)
            for fault in judge_memory(lane, shown[lane[-1].answer[-1]])
        ]

    def hit(self, at: float) -> None:
        """A process was killed: it hit whoever waits."""
        self.look()
        self.kills.append(at)
        for number in self._waiting:
            self._asked[number] = replace(self._asked[number], hits=self._asked[number].hits + 1)

    def look(self) -> None:
        """Look at the screens for what has been answered."""
        for chat in {self._asked[number].chat for number in self._waiting}:
            here = [number for number in self._waiting if self._asked[number].chat == chat]
            standing = self._standing(chat)
            self._waiting -= {number for number in here if standing.issuperset(self._asked[number].answer)}

    def _standing(self, chat: int) -> set[Word]:
        texts = self._telegram.texts(chat)
        return {word for text in texts if not Shown(text, 0, answered=True).unfinished for word in words_of(text)}

    def verdict(self, losses: Sequence[float] = ()) -> Verdict:
        """Judge every chat; `losses` are the times at which a living process found that it had lost shards."""
        chats = dict.fromkeys(asked.chat for asked in self.asked)
        return sum((self._judge(chat, Ends(tuple(self.kills), tuple(losses))) for chat in chats), Verdict())

    def _judge(self, chat: int, ends: Ends) -> Verdict:
        sent = self._telegram.history("sendMessage", chat)  # each made one message, in this order
        standing = [message for message in self._telegram.screen(chat) if message["by"] == "bot"]
        assert len(sent) == len(standing), "a message of the bot was taken away"
        shown = [
            Shown(message["text"], one["at"], one["answered"], message["edits"])
            for message, one in zip(standing, sent, strict=True)
        ]
        asked = [asked for asked in self.asked if asked.chat == chat]
        verdict = judge(asked, shown, ends, self._known)
        return replace(verdict, faults=[f"chat {chat}: {fault}" for fault in verdict.faults])


def _places() -> Iterator[Place]:
    """Yield people in private chats, and now and then two of them in a group."""
    users = pairwise(count(FIRST_USER))
    for turn, (one, other) in enumerate(users):
        if turn % 3 == 2:
            yield Place(FIRST_GROUP - turn, one)
            yield Place(FIRST_GROUP - turn, other)
        else:
            yield Place(one, one)


def users(messages: int) -> list[int]:
    """Return everybody who may write, if so many messages are written."""
    return list(range(FIRST_USER, FIRST_USER + 2 * PLACES + messages // MESSAGES + 2))
