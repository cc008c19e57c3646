"""One call as it came off the wire: an ASGI scope and a body in, headers, payload, event and delivery id out."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Any, Final
from urllib.parse import parse_qs

from adapters.webhook.signature import Proof

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]

FORM: Final = "application/x-www-form-urlencoded"
FORM_FIELDS: Final = 1000
DEPTH: Final = 100
HOST: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]+))(?::\d{1,5})?")
PROXY_HEADERS: Final = frozenset({"forwarded", "via", "x-real-ip"})
PLAIN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
ID_HEADERS: Final = ("x-github-delivery", "idempotency-key", "x-gitlab-event-uuid", "x-request-id")
EVENT_HEADERS: Final = ("x-github-event", "x-gitlab-event", "x-event-type")
EVENT_KEYS: Final = ("type", "event_type", "event")
NAME_CHARS: Final = 200


class TooLarge(Exception):
    """The body is larger than is read."""


class Gone(Exception):
    """The caller hung up before the end of its body."""


class NotData(Exception):
    """The body is no payload; the text says why."""


def headers_of(scope: Scope) -> dict[str, str]:
    """Return the headers by lower-case name; of several with one name, all of them, which no check takes for one."""
    found: dict[str, str] = {}
    for name, value in scope.get("headers", ()):
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


async def read_body(receive: Receive, headers: Mapping[str, str], limit: int) -> bytes:
    """Read up to `limit` bytes; whatever the caller announces or streams beyond raises at once."""
    announced = headers.get("content-length", "0")
    if announced.isascii() and announced.isdigit() and int(announced[:19]) > limit:
        raise TooLarge
    chunks, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Gone
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise TooLarge
        chunks.append(chunk)
        if not message.get("more_body"):
            return b"".join(chunks)


def is_from_here(scope: Scope, headers: Mapping[str, str]) -> bool:
    """Say whether a program of this machine called, and no browser or proxy did on behalf of somebody else."""
    peer, host = scope.get("client"), HOST.fullmatch(headers.get("host", ""))
    if not peer or not host or not _is_loopback(peer[0]) or not _is_loopback(host[1] or host[2]):
        return False
    if any(name in PROXY_HEADERS or name.startswith("x-forwarded") for name in headers):
        return False
    return "origin" not in headers and headers.get("sec-fetch-site", "none") == "none"


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def payload_of(body: bytes, content_type: str) -> Any:
    """Read JSON, which curl calls a form unless told otherwise, or a form, whose only field may be JSON again."""
    try:
        is_form = content_type.partition(";")[0].strip().lower() == FORM and not body.lstrip().startswith((b"{", b"["))
        payload = _form(body) if is_form else json.loads(body)
    except (ValueError, RecursionError):
        raise NotData("The body is neither JSON nor a form.") from None
    if _depth(payload) > DEPTH:
        raise NotData("The body is nested too deeply.")
    return payload


def _form(body: bytes) -> Any:
    fields = parse_qs(body.decode(), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=FORM_FIELDS)
    if fields.keys() == {"payload"}:
        return json.loads(fields["payload"][0])
    return {name: values[0] if len(values) == 1 else values for name, values in fields.items()}


def _depth(payload: Any) -> int:
    """Return how deeply lists and objects lie in each other, up to one more than is taken."""
    level, depth = [payload], 0
    while depth <= DEPTH and (level := [each for each in level if isinstance(each, (dict, list))]):
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
        depth += 1
    return depth


def event_of(headers: Mapping[str, str], payload: Any) -> str:
    """Return the name of the event, such as issues or issues.opened; empty where nothing says it."""
    for header in EVENT_HEADERS:
        if name := headers.get(header, "")[:NAME_CHARS]:
            action = payload.get("action") if isinstance(payload, dict) else None
            return f"{name}.{action[:NAME_CHARS]}" if isinstance(action, str) and action else name
    if not isinstance(payload, dict):
        return ""
    inner = payload.get("event")  # Slack wraps the event in an envelope
    names = [where.get(key) for where in (inner, payload) if isinstance(where, dict) for key in EVENT_KEYS]
    return next((name[:NAME_CHARS] for name in names if isinstance(name, str) and name), "")


def is_wanted(event: str, wanted: tuple[str, ...]) -> bool:
    """Say whether a filter takes an event: by its name, or by that without the action."""
    return not wanted or event in wanted or event.partition(".")[0] in wanted


@dataclass(frozen=True, slots=True)
class Delivery:
    """What the call is called: `id` tells it from every other, `label` is the caller's own name for it."""

    id: str
    label: str


def delivery_of(scheme: str, headers: Mapping[str, str], body: bytes, payload: Any, proof: Proof) -> Delivery:
    """
    Name the call so that the same is named the same again.

    An id counts only where it cannot be changed on a captured call: signed itself, or part of the signed body. Where
    only the body is signed, the body is the name. Who sends a shared secret along could say anything, so that its id is
    as good as its word.
    """
    label = next((headers[name] for name in ID_HEADERS if PLAIN_ID.fullmatch(headers.get(name, ""))), "")
    if proof.id:
        id = proof.id if PLAIN_ID.fullmatch(proof.id) else _hash(proof.id.encode())
    elif inner := _inner_id(scheme, payload):
        id = inner
    elif proof.replayable:
        id = _hash(body)
    elif proof.time:
        id = _hash(proof.time.encode(), body)
    else:
        id = label or secrets.token_hex(16)
    return Delivery(id, label or id)


def _inner_id(scheme: str, payload: Any) -> str:
    key = {"stripe": "id", "slack": "event_id"}.get(scheme)
    id = payload.get(key) if key and isinstance(payload, dict) else None
    return id if isinstance(id, str) and PLAIN_ID.fullmatch(id) else ""


def _hash(*parts: bytes) -> str:
    return hashlib.sha256(b"\n".join(parts)).hexdigest()[:32]
