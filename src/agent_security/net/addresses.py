"""Which addresses are the public internet, and which are somebody's inside (§2.3 layer 3, D10).

`ipaddress.is_global` calls 64:ff9b::7f00:1 (NAT64 of loopback), 2002:7f00:1:: (6to4 of it),
::7f00:1 and fec0::1 global, and knows no cloud's metadata address, so the tables stand here.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from agent_security.decision import Check

__all__ = ["address_problem", "is_numeric_host", "judge_addresses", "strict_ipv4"]

_V4 = ipaddress.IPv4Address
_V6 = ipaddress.IPv6Address

_CLOSED_V4 = tuple(
    (ipaddress.IPv4Network(net), why)
    for net, why in (
        ("169.254.0.0/16", "link-local, where clouds serve their metadata"),
        ("168.63.129.16/32", "Azure's wire server"),
        ("100.100.100.200/32", "Alibaba Cloud's metadata"),
        ("192.0.0.192/32", "Oracle Cloud's metadata"),
        ("0.0.0.0/8", "this host"),
        ("10.0.0.0/8", "a private network"),
        ("100.64.0.0/10", "carrier-grade NAT"),
        ("127.0.0.0/8", "loopback"),
        ("172.16.0.0/12", "a private network"),
        ("192.0.0.0/24", "IETF protocol assignments"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "the 6to4 relays"),
        ("192.168.0.0/16", "a private network"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved or broadcast"),
    )
)

_OPEN_V6 = ipaddress.IPv6Network("2000::/3")
"""All that is assigned as global unicast; outside it only mapped and NAT64 forms are looked into."""

_CLOSED_V6 = tuple(
    (ipaddress.IPv6Network(net), why)
    for net, why in (
        ("2001::/32", "Teredo, a tunnel to any IPv4 address"),
        ("2001::/23", "IETF protocol assignments"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4, a tunnel to any IPv4 address"),
        ("3fff::/20", "documentation"),
        ("::1/128", "loopback"),
        ("::/128", "this host"),
        ("64:ff9b:1::/48", "a local NAT64"),
        ("100::/64", "the discard prefix"),
        ("5f00::/16", "segment routing"),
        ("fc00::/7", "a private network, where clouds serve their metadata"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")
_ISATAP = (0x00005EFE, 0x02005EFE)


def address_problem(text: str) -> str:
    """Why an address is not the public internet; "" where it is. Anything but an address is a problem."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return "not an address"
    if isinstance(address, _V4):
        return _v4_problem(address)
    if address.scope_id is not None:
        return "an address with a zone"
    return _v6_problem(address)


def _v4_problem(address: ipaddress.IPv4Address) -> str:
    return next((why for net, why in _CLOSED_V4 if address in net), "")


def _v6_problem(address: ipaddress.IPv6Address) -> str:
    """Look into the forms that a network really turns into IPv4; refuse the tunnels outright."""
    value = int(address)
    if address in _NAT64 or address in _MAPPED:
        return _v4_problem(_V4(value & 0xFFFFFFFF))
    for net, why in _CLOSED_V6:
        if address in net:
            return why
    if address not in _OPEN_V6:
        return "not global unicast"
    if (value >> 32) & 0xFFFFFFFF in _ISATAP and (inner := _v4_problem(_V4(value & 0xFFFFFFFF))):
        return f"ISATAP, which leads to {inner}"
    return ""


def judge_addresses(addresses: Iterable[str]) -> Check:
    """Every answer of a name must be public; one that is not refuses all, and so does no answer (D10)."""
    answers = tuple(addresses)
    if not answers:
        return Check(False, "unresolved: the name has no address")
    for address in answers:
        if problem := address_problem(address):
            return Check(False, f"private_address: {address} is {problem}")
    return Check(True)


def is_numeric_host(host: str) -> bool:
    """Whether something on the road may read this host as an IPv4 address: its last label is a number."""
    last = host.rstrip(".").rpartition(".")[2]
    return last.isdecimal() or (
        last[:2] in ("0x", "0X") and all(c in "0123456789abcdefABCDEF" for c in last[2:])
    )


def strict_ipv4(host: str) -> str:
    """The address where the host is four plain decimal numbers, else "".

    Octal, hexadecimal, short, dotless and overflowing spellings are "": resolvers disagree about
    them, so none of them is ever connected to.
    """
    try:
        return str(_V4(host)) if host.isascii() else ""
    except ValueError:
        return ""
