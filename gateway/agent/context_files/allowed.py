"""
What the owner of a home lets pass in context files, whatever the scan finds there: functions of an open connection.

They lie with the notes that are let pass, under an owner that no note has (`gateway.agent.memory.scopes`).
"""

from __future__ import annotations

from gateway.agent.memory.backing import allowed
from gateway.storage.database import Connection

OWNER = "context-files"


def digests(connection: Connection) -> frozenset[str]:
    """Return the digests (`gateway.agent.threats.blocked.digest`) of what passes."""
    return allowed.handles(connection, OWNER)


def allow(connection: Connection, digest: str, by: str) -> None:
    """Let a part of a file pass, wherever it stands."""
    allowed.allow(connection, OWNER, digest, by)


def revoke(connection: Connection, digest: str) -> bool:
    """Let it pass no longer; return whether it did."""
    return allowed.revoke(connection, OWNER, digest)
