"""Every error the gateway raises on purpose. A class is a reaction; the text is one sentence for a person.

GatewayError
├── ConfigError          name the place in the file, and stop (exit code 4)
├── AdapterError
│   ├── Throttled        close the target (or the whole account) for `retry_after` seconds
│   ├── Unreachable      nothing was accepted; try again later
│   ├── Ambiguous        it may have been accepted: sent again by the rule of the outbox
│   ├── TargetGone       the chat is gone or forbids us; never try again
│   ├── TargetMoved      the chat has a new address; send there
│   ├── TokenRefused     stop this account and tell the operator; the others go on
│   └── Unacceptable     too long or bad markup; send it plainer once
├── ModelError
│   ├── ContextOverflow  compress, then ask again
│   ├── ModelBusy        wait, then ask again or fall back
│   ├── ModelRefused     asking again will not help
│   ├── AuthFailed       the key is wrong: fall back at once, tell the operator
│   └── BadResponse      cut off or malformed: the deltas are void, ask again
├── ToolError            becomes the tool's answer to the model
│   └── NotApproved
├── StorageError         the database, or a file of notes, refuses: keep what we have, try later
│   └── Fenced           somebody else may write for this lane: drop the turn
└── TurnStopped          the person asked for silence
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.types import Address


class GatewayError(Exception):
    """Base of every error the gateway raises on purpose."""


class ConfigError(GatewayError):
    """
    A setting is wrong. `line` and `column` count from 1; 0 where there is no file.

    `what` is the place and the text, without the hint that says what to do.
    """

    def __init__(self, text: str, *, file: str = "", line: int = 0, column: int = 0, hint: str = "") -> None:
        place = f"{file}:{line}:{column}: " if line else f"{file}: " if file else ""
        self.what = f"{place}{text}"
        super().__init__(self.what + (f"; {hint}" if hint else ""))
        self.text, self.file, self.line, self.column, self.hint = text, file, line, column, hint


class AdapterError(GatewayError): ...


class Throttled(AdapterError):
    """`everywhere` closes the whole account, else only the target that was written to."""

    def __init__(self, retry_after: float, *, everywhere: bool = False) -> None:
        super().__init__(f"the platform asks to wait {retry_after:g} s")
        self.retry_after, self.everywhere = retry_after, everywhere


class Unreachable(AdapterError): ...


class Ambiguous(AdapterError): ...


class TargetGone(AdapterError): ...


class TargetMoved(AdapterError):
    def __init__(self, new: Address) -> None:
        super().__init__(f"the chat has moved to {new}")
        self.new = new


class TokenRefused(AdapterError): ...


class Unacceptable(AdapterError): ...


class ModelError(GatewayError): ...


class ContextOverflow(ModelError):
    """`limit` is the size of the window in tokens; None where the endpoint named none."""

    def __init__(self, text: str, *, limit: int | None = None) -> None:
        super().__init__(text)
        self.limit = limit


class ModelBusy(ModelError):
    """`retry_after` in seconds; None where the endpoint named no time."""

    def __init__(self, text: str, *, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class ModelRefused(ModelError): ...


class AuthFailed(ModelError): ...


class BadResponse(ModelError): ...


class ToolError(GatewayError): ...


class NotApproved(ToolError): ...


class StorageError(GatewayError):
    """`lasting`: trying again does not help; somebody has to mend the file or the setting."""

    def __init__(self, text: str, *, lasting: bool = False) -> None:
        super().__init__(text)
        self.lasting = lasting


class Fenced(StorageError): ...


class TurnStopped(GatewayError): ...
