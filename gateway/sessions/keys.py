"""
From an event to the session it belongs to. The only maker of session keys.

The written form is the reference's, ``agent:<ns>:<platform>:<type>:<chat>[:<thread>][:<user>]``, with every part
percent-encoded and account and team beside the platform as in an address. The type says how many parts follow, so that
distinct tuples have distinct keys: ``dm`` chat and perhaps a topic, ``group`` and ``channel`` chat and perhaps a user,
``forum`` and ``thread`` chat, thread and perhaps a user, ``webhook`` route and delivery.
"""

from __future__ import annotations

import secrets
from datetime import datetime

from gateway.sessions.settings import SharingSettings
from gateway.types import Address, ChatType, Event, SessionKey, escape, unescape

NAMESPACE = "main"


def session_key(event: Event, sharing: SharingSettings, namespace: str = NAMESPACE) -> SessionKey:
    """Return the key of the event's conversation; `ValueError` for an event that does not say whose it is."""
    origin, kind = event.origin, _kind(event)
    if not origin.platform or not origin.chat.strip():
        raise ValueError("the event names no chat")
    parts = [origin.chat]
    if origin.thread:
        parts.append(origin.thread)
    if _per_user(kind, sharing):
        if not event.sender.id.strip():
            raise ValueError("the event names no sender, and each member of this chat has a session of their own")
        parts.append(event.sender.id)
    return _key(origin, kind, parts, namespace)


def of_one(event: Event, sharing: SharingSettings) -> bool:
    """Say whether nobody but the sender speaks in the event's conversation."""
    kind = _kind(event)
    return kind is ChatType.DM or _per_user(kind, sharing)


def is_of_one(key: str) -> bool:
    """Say the same of a key: a private chat's, or one that ends in a user."""
    _, _, _, kind, *parts = key.split(":")
    longest = {ChatType.GROUP: 2, ChatType.CHANNEL: 2, ChatType.FORUM: 3, ChatType.THREAD: 3}
    return kind == ChatType.DM or len(parts) == longest.get(ChatType(kind))


def private_key(origin: Address, namespace: str = NAMESPACE) -> SessionKey:
    """Return the key of a private chat."""
    return _key(origin, ChatType.DM, [origin.chat, *([origin.thread] if origin.thread else [])], namespace)


def namespace_of(key: SessionKey | str) -> str:
    """Return the namespace of a key: the name of the profile whose conversation it is. What is no key is ours."""
    parts = str(key).split(":", 2)
    return unescape(parts[1]) if parts[0] == "agent" and len(parts) == 3 else NAMESPACE


def agent_of(key: str) -> str:
    """Return how the keys of all conversations of the same profile begin."""
    return ":".join([*key.split(":", 2)[:2], ""])


def place_of(key: str) -> str:
    """Return a key from the platform on; what is no key, such as an address, as it is."""
    return key.split(":", 2)[2] if key.startswith("agent:") else key


def new_session_id(at: datetime) -> str:
    """Return an id in the reference's form, ``YYYYMMDD_HHMMSS_<8 hex>``, of a local time."""
    return f"{at:%Y%m%d_%H%M%S}_{secrets.token_hex(4)}"


def _kind(event: Event) -> ChatType:
    """Return the type that tells the number of parts: a threaded place is a thread, an unthreaded one is not."""
    kind = event.chat_type
    if kind in {ChatType.DM, ChatType.WEBHOOK}:
        return kind
    if event.origin.thread:
        return ChatType.FORUM if kind is ChatType.FORUM else ChatType.THREAD
    return ChatType.CHANNEL if kind is ChatType.CHANNEL else ChatType.GROUP


def _per_user(kind: ChatType, sharing: SharingSettings) -> bool:
    match kind:
        case ChatType.GROUP:
            return sharing.group_sessions_per_user
        case ChatType.FORUM | ChatType.THREAD:
            return sharing.thread_sessions_per_user
        case _:
            return False


def _key(origin: Address, kind: ChatType, parts: list[str], namespace: str) -> SessionKey:
    account = f"@{escape(origin.account)}" if origin.account else ""
    team = f"/{escape(origin.team)}" if origin.team else ""
    place = f"{escape(origin.platform)}{account}{team}"
    return SessionKey(":".join(["agent", escape(namespace), place, str(kind), *(escape(part) for part in parts)]))
