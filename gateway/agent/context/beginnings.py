"""How the message begins that stands for what was compressed."""

from __future__ import annotations

SUMMARY = "[CONTEXT COMPACTION — REFERENCE ONLY]"
"""The reference's, to the letter."""
OLD_SUMMARY = "[CONTEXT SUMMARY]:"
"""In older versions of the reference."""
