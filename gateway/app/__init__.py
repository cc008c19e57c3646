"""The composition root: two URLs and a role decide what a process is."""

from gateway.app.main import main

__all__ = ["main"]
