"""
Which agent an event is for. Decided once, at intake, and from then on said by the namespace of the lane's key. Pure.

In: an event, and the rules in their order. Out: the name of a profile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.sessions.keys import NAMESPACE, private_key
from gateway.types import Address, ChatType, Event, Sender, SessionKey


@dataclass(frozen=True, slots=True)
class Route:
    """
    What an event has to be for a profile. What is empty matches anything, the rest as it is written in an address.

    `person` is an account, ``platform:user``; `route` that of a webhook; `key` the name of an API key.
    """

    profile: str
    platform: str = ""
    account: str = ""
    chat: str = ""
    thread: str = ""
    person: str = ""
    route: str = ""
    key: str = ""

    def fits(self, event: Event) -> bool:
        """Say whether an event is all that the rule names."""
        origin = event.origin
        route = origin.chat if event.chat_type is ChatType.WEBHOOK else ""
        wanted = (self.platform, self.account, self.chat, self.thread, self.person, self.route, self.key)
        found = (origin.platform, origin.account, origin.chat, origin.thread, event.account, route, "")
        return all(one in {"", other} for one, other in zip(wanted, found, strict=True))


def profile_of(event: Event, routes: Sequence[Route]) -> str:
    """Return the profile of the first rule that fits; the gateway's own where none does."""
    return next((route.profile for route in routes if route.fits(event)), NAMESPACE)


def private_lane(origin: Address, user: str, routes: Sequence[Route]) -> SessionKey:
    """Return the key of the private chat that a user has at a place."""
    said = Event(id="", origin=origin, sender=Sender(user))
    return private_key(origin, profile_of(said, routes))
