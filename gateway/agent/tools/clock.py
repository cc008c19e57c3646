"""current_time.

In: the name of a time zone. Out: the time there, to the second, as ISO 8601 with the weekday and the zone.
"""

from __future__ import annotations

from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Annotated
from zoneinfo import ZoneInfo, available_timezones

from pydantic import Field

from gateway.errors import ToolError
from gateway.toolkit.function import Tool, tool
from gateway.toolkit.limits import brief


def clock_tool(home_zone: str = "UTC") -> Tool:
    """Return current_time; `home_zone` answers where no zone is named."""

    @tool(parallel=True, repeatable=True)
    def current_time(zone: Annotated[str, Field(max_length=100)] = "") -> str:
        """
        Tell the date, the weekday and the time.

        Args:
            zone: An IANA time zone such as Europe/Berlin; empty for the user's own.
        """
        name = zone.strip() or home_zone
        now = datetime.now(UTC).astimezone(_zone(name))
        return f"{now.isoformat(timespec='seconds')} {now:%A} {name}"

    return current_time


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, LookupError, OSError):  # badly formed, unknown, or a folder of the database
        near = _near(name)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; IANA names look like Europe/Berlin"
    raise ToolError(f"there is no time zone {brief(name)}{hint}")


def _near(name: str) -> list[str]:
    """Find zones with a name, or a city, like this one."""
    spelled: dict[str, str] = {}
    for zone in sorted(available_timezones()):
        spelled[zone.lower()] = zone
        spelled.setdefault(zone.rpartition("/")[2].lower(), zone)
    near = get_close_matches(name.lower().replace(" ", "_"), spelled, n=5, cutoff=0.7)
    return list(dict.fromkeys(spelled[spelling] for spelling in near))[:3]
