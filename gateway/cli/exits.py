"""The exit codes, and which error is which. Stable: scripts and service managers rely on them."""

from __future__ import annotations

OK = 0
FAILURE = 1
"""It did not work, or something was found."""
USAGE = 2
"""The command line was not understood."""
NOT_FOUND = 3
CONFIG = 4
"""The configuration or the home cannot be used; starting again does not help."""
UNREACHABLE = 5
"""The gateway, or a service it needs, does not answer."""
AUTH = 6
"""A token, key or password was refused."""
TEMPORARY = 75
"""Try again later."""
INTERRUPTED = 130
TERMINATED = 143

NAMES = {
    FAILURE: "failure",
    USAGE: "usage",
    NOT_FOUND: "not_found",
    CONFIG: "config",
    UNREACHABLE: "unreachable",
    AUTH: "auth",
    TEMPORARY: "temporary",
    INTERRUPTED: "interrupted",
    TERMINATED: "terminated",
}
"""What ``--json`` calls them."""

BY_ERROR = {
    "ConfigError": CONFIG,
    "HomeInUse": TEMPORARY,
    "AuthFailed": AUTH,
    "TokenRefused": AUTH,
    "Throttled": TEMPORARY,
    "ModelBusy": UNREACHABLE,
    "BadResponse": UNREACHABLE,
    "Unreachable": UNREACHABLE,
    "StorageError": TEMPORARY,
}
"""By name, so that no command has to import what another raises; an error not named here is a `FAILURE`."""


def code_of(error: BaseException) -> int:
    """Return the exit code of an error."""
    if getattr(error, "lasting", False):
        return CONFIG
    return next((BY_ERROR[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in BY_ERROR), FAILURE)
