"""Which names and addresses are this machine's own. Without any import of weight: the settings need it too."""

from __future__ import annotations

import ipaddress


def loopback(host: str) -> bool:
    """Say whether an address or a name is this machine's own."""
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
