"""The scan of what comes to the model from files and notes: for what tries to command it, or to hide from people."""

from __future__ import annotations

from gateway.agent.threats.classes import CLASSES, Scope, wanted

__all__ = ["Scope", "scan"]


def scan(text: str, scope: Scope) -> tuple[str, ...]:
    """
    Return the ids of what was found, each once, always in the same order; () where nothing was.

    `classes.CLASSES` says what each scope looks for; characters nobody sees are looked for in every scope. All of the
    text is read, in time linear in its length whatever it holds: 64 KB take up to 30 ms, for a thread to spend.
    """
    # All languages together take a while to load and to build, which a start need not wait for.
    from gateway.agent.threats.fold import fold
    from gateway.agent.threats.invisible import invisible
    from gateway.agent.threats.match import matching
    from gateway.agent.threats.patterns import patterns

    found = matching(patterns(), fold(text), wanted(scope))
    return (*(name for name in CLASSES if name in found), *invisible(text))
