"""One value at one sink: may it leave? The roles a tool declares in the registry (D5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from agent_security.decision import Check
from agent_security.net import host_of
from agent_security.provenance.addresses import data_in_url, hosts_in, urls_in
from agent_security.provenance.private import PrivateValues

if TYPE_CHECKING:
    from agent_security.provenance.trace import Provenance

ADDRESS_ROLES = frozenset({"url", "host", "remote"})
TEXT_ROLES = frozenset({"command", "text", "content"})
"""Roles whose value is prose or a line: the addresses in it are judged, the words are not."""


class Knowledge(NamedTuple):
    """What a check may know."""

    provenance: Provenance
    private: PrivateValues
    open_hosts: tuple[str, ...]


def check_value(value: str, role: str, known: Knowledge) -> Iterator[Check]:
    """Objections to one value in one role. An unknown role is judged like a recipient."""
    if known.private.stands_in(value):
        yield Check(False, "private_value: a value that was kept private stands in what would be sent")
    if role in TEXT_ROLES:
        for url in urls_in(value):
            yield from _check_address(url, known)
        for host in set(hosts_in(value)) if role == "command" else ():
            yield from _check_host(host, host, known)
    elif role in ADDRESS_ROLES:
        yield from _check_address(value, known)
    elif value.strip() and not known.provenance.trusted_value(value):
        where = known.provenance.where_from(value.strip())
        yield Check(False, f"unnamed_value: {role} {value[:120]!r} was not named by you: {where}")


def _check_address(url: str, known: Knowledge) -> Iterator[Check]:
    host = host_of(url) or next(hosts_in(url), "") or url.strip().lower()
    yield from _check_host(host, url, known)
    if known.provenance.trusted_value(url) or known.provenance.was_read(url):
        return  # written by somebody else, whole, before: nothing of ours can ride in it
    for data in data_in_url(url):
        if not known.provenance.trusted_value(data.part):
            yield Check(False, f"data_in_url: the address for {host} holds {data.why}: {data.part[:60]!r}")
            return


def _check_host(host: str, value: str, known: Knowledge) -> Iterator[Check]:
    provenance = known.provenance
    if provenance.trusted_host(host):
        return
    leak = provenance.tainted and provenance.private_read
    if _opened(host, known.open_hosts):
        if leak:
            yield Check(
                False, f"leak_possible: foreign text and a secret were read, and now {host} would be reached"
            )
        return
    where = provenance.where_from(host)
    if leak:
        yield Check(
            False,
            f"leak_sequence: foreign text and a secret were read, and {host} was not named by you: {where}",
        )
    yield Check(False, f"unnamed_host: {host} was not named by you: {where}")


def _opened(host: str, open_hosts: tuple[str, ...]) -> bool:
    """`*.x` opens the names below x; every other entry opens exactly itself."""
    return any(
        host.endswith(opened[1:]) if opened.startswith("*.") else host == opened for opened in open_hosts
    )


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """(name of the argument, text) for every text in a value, however deep."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, name or str(key))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from leaves(inner, name)
    elif value is not None and not isinstance(value, bool):
        yield name, str(value)
