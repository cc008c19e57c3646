"""A conversation as a compression works on it."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.messages import Message

SUMMARY = "[CONTEXT COMPACTION — REFERENCE ONLY]"
"""How the message begins that stands for what was compressed; the reference's, to the letter."""
OLD_SUMMARY = "[CONTEXT SUMMARY]:"
"""How it began in older versions of the reference."""


@dataclass(frozen=True, slots=True)
class Row:
    """
    A message in view and the id of its row, 0 for what no row holds: a summary, or what is not stored yet.

    `message` is what the model is shown, which may be shorter than what the row holds.
    """

    id: int
    message: Message

    @property
    def summary(self) -> bool:
        """Say whether this stands for messages that were compressed, wholly or before its own text."""
        return self.message.text.startswith((SUMMARY, OLD_SUMMARY))

    @property
    def asks(self) -> bool:
        """Say whether a person wrote this: a summary in a user's role is nobody's words."""
        return self.message.role == "user" and not self.summary and bool(self.message.text.strip())

    @property
    def visible(self) -> bool:
        """Say whether this is an answer that a person has read."""
        return self.message.role == "assistant" and not self.summary and bool(self.message.text.strip())
