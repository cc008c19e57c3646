"""From a reply in Markdown to the parts a platform takes: cut, rendered, ready to be stored. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gateway.contracts.adapter import Adapter
from gateway.delivery.outbox import Outgoing
from gateway.delivery.split import fit, split
from gateway.types import Address, Part, Rendered, Reply, clean

AGAIN = "↻\n\n"
"""Marks a second copy that may be one too many, where the platform cannot tell us."""
CURSOR = " ▌"
"""Ends a message that is still being written."""
STOPPED = "[stopped]"
"""Ends what a stopped turn had said so far."""
PAUSED = "[interrupted; goes on when the gateway runs again]"
"""Ends what a turn had said so far that could not end before the gateway did."""
ROOM = 16
"""Units kept free in every message for the mark, the cursor or the word that it was stopped."""

LONG = 4000
"""Characters beyond which a text is cut and rendered in a thread: what makes several messages may take long."""


class Prepare:
    """Knows the adapters of this process by name."""

    def __init__(self, adapters: Mapping[str, Adapter]) -> None:
        self._adapters = adapters

    def adapter(self, address: Address) -> Adapter | None:
        """Return the adapter that serves a place, if it is configured."""
        return self._adapters.get(address.adapter)

    def parts(self, reply: Reply, address: Address, *, edits: str = "", reply_to: str = "") -> list[Outgoing]:
        """
        Cut and render a reply for a place; the first part edits the message `edits`, if given.

        A place whose adapter is not configured gets one unrendered part, which waits in the outbox and says so there.
        """
        adapter = self.adapter(address)
        text = clean(reply.text)
        if adapter is None:
            return [Outgoing(address, Part(Rendered(text, len(text)), text))]
        pieces = split(text, adapter.limits.text - ROOM, adapter.render)
        out = [Outgoing(address, Part(body, source)) for source, body in pieces]
        if out:
            first = replace(out[0].part, reply_to="" if edits else reply_to)
            out[0] = Outgoing(address, first, edits)
            out[-1] = replace(out[-1], part=replace(out[-1].part, buttons=reply.buttons))
        return out

    def to_all(self, reply: Reply, targets: Sequence[Address]) -> list[Outgoing]:
        """Prepare a reply for several places."""
        return [item for target in targets for item in self.parts(reply, target)]

    def paused(self, text: str, address: Address, message_id: str) -> list[Outgoing]:
        """Prepare the edit that ends a live message until its turn goes on; nothing where no message stands."""
        adapter = self.adapter(address)
        if adapter is None or adapter.shows_rows or not message_id:
            return []
        room = adapter.limits.text - adapter.limits.measure(f"\n\n{PAUSED}")
        markdown = f"{fit(text, max(room, 1), adapter.render)[0]}\n\n{PAUSED}".strip()
        return [Outgoing(address, Part(adapter.render(markdown), markdown), message_id)]

    def marked(self, part: Part, address: Address) -> Part:
        """Return the part with the mark of a possible second copy."""
        adapter = self.adapter(address)
        source = AGAIN + part.markdown
        body = adapter.render(source) if adapter else Rendered(source, len(source))
        return replace(part, body=body, markdown=source)

    def plain(self, part: Part, address: Address) -> Part:
        """Return the part as bare text, without whatever the platform may have refused."""
        adapter = self.adapter(address)
        text = part.body.text
        length = adapter.limits.measure(text) if adapter else len(text)
        return replace(part, body=Rendered(text, length), reply_to="", attachment=None, buttons=())
