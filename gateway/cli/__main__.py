"""``python -m gateway.cli``."""

from __future__ import annotations

from gateway.cli import main

main()
