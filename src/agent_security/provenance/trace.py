"""`Provenance`: one session's memory of who said what, and the check at the sinks (D5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agent_security.calls import Origin, ToolCall
from agent_security.decision import Check
from agent_security.protected_paths import is_secret_file
from agent_security.provenance.addresses import hosts_in, urls_in
from agent_security.provenance.memory import PERSON_LIMIT, UNTRUSTED_LIMIT, Texts
from agent_security.provenance.private import PrivateValues
from agent_security.provenance.sinks import Knowledge, check_value, leaves

_OUTSIDE = frozenset({Origin.WEB, Origin.FILE, Origin.MCP})
_HOST_LIMIT = 20_000


class Provenance:
    """What the person said, what was read, and what of it is private. Memory is bounded.

    `tainted` and `private_read` outlive trimming: a resumed session starts with the old ones (D23).
    """

    def __init__(self, *, tainted: bool = False, private_read: bool = False) -> None:
        self._person = Texts(PERSON_LIMIT)
        self._read = Texts(UNTRUSTED_LIMIT)
        self._outside = Texts(UNTRUSTED_LIMIT)
        self._private = PrivateValues()
        self._hosts: dict[str, None] = {}
        self._tainted, self._private_read = tainted, private_read

    # --- noting ---------------------------------------------------------------------------------

    def note_person(self, text: str) -> None:
        """A message of the person: the PROMPT argument or what was typed. Nothing else is theirs."""
        self.note_trusted(text, "your message")

    def note_trusted(self, text: str, source: str) -> None:
        """A source the person or a managed file declared trusted, manifests at session start included."""
        self._person.add(text, source)
        for host in hosts_in(text):
            if len(self._hosts) < _HOST_LIMIT:
                self._hosts[host] = None

    def note_result(self, call: ToolCall, text: str, origin: Origin) -> None:
        """What a tool gave back. Everything that is not the harness's or the person's own taints."""
        args = _args_of(call)
        if is_secret_file(str(args.get("path", ""))) and origin is not Origin.HARNESS:
            self._private_read = True
        if origin in (Origin.HARNESS, Origin.USER) or not text:
            return
        self._tainted = True
        store = self._outside if origin in _OUTSIDE else self._read
        offset = args.get("offset", 1)
        store.add(text, _source_of(call.name, args), offset if isinstance(offset, int) else 1)

    def note_document(self, text: str, source: str) -> None:
        """Stdin, --context, AGENTS.md: part of the task, without authority."""
        self._tainted = self._tainted or bool(text)
        self._outside.add(text, source)

    def note_private(self, values: Iterable[str]) -> None:
        """Values that were redacted: from now on they are recognised wherever they would leave."""
        before = len(self._private)
        self._private.add(values)
        self._private_read = self._private_read or len(self._private) > before

    # --- asking ---------------------------------------------------------------------------------

    @property
    def tainted(self) -> bool:
        """Whether anything was read that the person did not write."""
        return self._tainted

    @property
    def private_read(self) -> bool:
        """Whether a secret was read in this session, redacted or not."""
        return self._private_read

    def trusted_value(self, value: str) -> bool:
        """Whether the person, or a source declared trusted, named exactly this value."""
        stripped = value.strip()
        return stripped.lower() in self._hosts or self._person.find(stripped) is not None

    def trusted_host(self, host: str) -> bool:
        """Whether the person named exactly this host; a parent domain is another host."""
        return host.lower().rstrip(".") in self._hosts

    def was_read(self, value: str) -> bool:
        """Whether a value stands whole in something that was read."""
        return any(store.find(value) is not None for store in (self._outside, self._read))

    def where_from(self, value: str) -> str:
        """A sentence for the question: where a value stands, or that it was found nowhere."""
        if self.trusted_value(value):
            named = self._person.find(value, part=True)
            return f"{named[0].source if named else 'your message'} names it"
        for store in (self._outside, self._read):
            if found := store.find(value, part=True):
                return f"it stands in {found[0].source}, line {found[1]}; you did not mention it"
        return "it was found in nothing that was read; you did not mention it"

    def asked_by_text(self, args: Mapping[str, Any]) -> bool:
        """Whether what is asked for came from untrusted text: an address read anywhere, or a whole
        line of a command or value from outside the workspace, that the person did not name."""
        for name, value in leaves(args):
            named = [found for found in (*urls_in(value), *hosts_in(value)) if not self.trusted_value(found)]
            if any(self.was_read(found) for found in named):
                return True
            whole = name not in ("path", "pattern", "glob") and len(value.strip()) >= 12
            if whole and self._outside.find(value.strip()) and not self.trusted_value(value):
                return True
        return False

    def check_sinks(
        self,
        tool_name: str,
        args: Mapping[str, Any],
        sinks: Sequence[tuple[str, str]],
        open_hosts: Iterable[str] = (),
    ) -> Check:
        """May these values leave? The first objection, the gravest first; see sinks.py."""
        knowledge = Knowledge(self, self._private, tuple(open_hosts))
        objections = [
            check
            for name, role in sinks
            for value in _values(args.get(name))
            for check in check_value(value, role, knowledge)
        ]
        return min(objections, key=lambda check: _GRAVITY.index(check.code), default=Check(True))


_GRAVITY = ("leak_sequence", "private_value", "unnamed_host", "unnamed_value", "leak_possible", "data_in_url")


def _values(value: Any) -> Iterator[str]:
    yield from (found for _, found in leaves({"": value}))


def _args_of(call: ToolCall) -> dict[str, Any]:
    try:
        return call.args
    except ValueError:
        return {}


def _source_of(name: str, args: Mapping[str, Any]) -> str:
    for key in ("url", "path"):
        if args.get(key):
            return str(args[key])[:200]
    if command := args.get("command"):
        return f"the output of `{str(command)[:80]}`"
    return f"a result of {name}"
