"""
What an index tells where not everything fits. Pure.

In: the skills, and how many bytes there is room for. Out: what to tell. Skills that are used come first and keep
their descriptions, in half of the room; the others are named, a skill of every category before the second of any; of
what is left, categories say how many more they have. Room that remains goes to more descriptions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence

from gateway.agent.skills.page import NAMES, Listed, Page, Told, tail

SEPARATOR = 2


def in_order(listed: Iterable[Listed]) -> list[Listed]:
    """Return those first that are used most; of the others, one of each category after the other."""
    places: defaultdict[str, int] = defaultdict(int)
    keyed: list[tuple[tuple[int, int, str, str], Listed]] = []
    for one in sorted(listed, key=lambda one: one.label):
        category, place = one.category, 0
        if not one.rank:
            place = places[category]
            places[category] += 1
        keyed.append(((-one.rank, place, category if not one.rank else "", one.label), one))
    return [one for _, one in sorted(keyed, key=lambda entry: entry[0])]


def fit(order: Sequence[Listed], page: Page, brief: Collection[str], room: int) -> Told:
    """Choose what is told in so many bytes; of the categories in `brief` names only."""
    counts = Counter(one.category for one in order)
    tails = _within(
        [(category, size(tail(category, count)) + SEPARATOR) for category, count in counts.items()], room // 4
    )
    purse = _Purse(page, room - sum(size(tail(category, counts[category])) + SEPARATOR for category in tails))

    used = [one for one in order if one.rank and one.category not in brief]
    described = purse.take(used, purse.item, keep=purse.left // 2)
    rest = _without(order, described)
    named = purse.take(rest, purse.name)
    missing = _without(rest, named)
    if not missing:
        purse.left += room - purse.room
        more = purse.take([one for one in named if one.category not in brief], purse.item)
        return Told([*described, *more], _without(named, more))
    left_out = Counter(one.category for one in missing)
    told = {category: count for category, count in left_out.items() if category in tails}
    return Told(described, named, told, len(left_out) - len(told))


class _Purse:
    """Bytes that can be spent; the first skill of a category also pays the category's line."""

    def __init__(self, page: Page, room: int) -> None:
        self.room = self.left = room
        self._page = page
        self._headed: set[str] = set()

    def take(self, candidates: Iterable[Listed], cost: Callable[[Listed], int], *, keep: int = 0) -> list[Listed]:
        """Return the first candidates, as many as there is room for."""
        taken = []
        for one in candidates:
            category = one.category
            price = cost(one) + (0 if category in self._headed else self._header(category))
            if self.left - price < keep:
                break
            self._headed.add(category)
            self.left -= price
            taken.append(one)
        return taken

    def item(self, one: Listed) -> int:
        return size(self._page.item(one)) + 1

    def name(self, one: Listed) -> int:
        return size(one.label) + SEPARATOR

    def _header(self, category: str) -> int:
        return size(self._page.header(category)) + len(NAMES) + 6


def _within(costs: Sequence[tuple[str, int]], room: int) -> set[str]:
    """Return the first of them, as many as there is room for."""
    taken = set()
    for name, cost in costs:
        room -= cost
        if room < 0:
            break
        taken.add(name)
    return taken


def _without(listed: Iterable[Listed], taken: Iterable[Listed]) -> list[Listed]:
    gone = {one.label for one in taken}
    return [one for one in listed if one.label not in gone]


def size(text: str) -> int:
    """Return the bytes of a text, which are closer to tokens than characters where scripts are mixed."""
    return len(text) if text.isascii() else len(text.encode())
