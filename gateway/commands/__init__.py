"""Slash commands: their names, and what they do."""
