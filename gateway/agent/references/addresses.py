"""Which addresses belong to the public internet. Pure.

In: an address as it is about to be connected to. Out: whether a stranger may send us there. Ranges by the IANA
registries of special-purpose addresses, and the metadata services of clouds that have a public one; Python's own
`is_global` differs between versions.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

CLOSED = tuple(
    map(
        IPv4Network,
        """
        0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
        192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
        168.63.129.16/32
        """.split(),  # noqa: SIM905 (a table, to be read)
    )
)
OPEN_6 = IPv6Network("2000::/3")
"""Nothing else is handed out to the public."""
CLOSED_6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
"""Tunnels, protocols and examples."""
EMBEDDING = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
"""The last four bytes are the address of version 4 that is really reached (mapped, NAT64)."""


def public(address: Address) -> bool:
    """Say whether an address is one of the public internet."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in CLOSED)
    if address.scope_id is not None:
        return False
    if any(address in network for network in EMBEDDING):
        return public(IPv4Address(int(address) & 0xFFFFFFFF))
    return address in OPEN_6 and not any(address in network for network in CLOSED_6)
