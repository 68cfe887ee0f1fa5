"""Every `code` a decision can carry, with the kind of question it is and what it means.

One row a code; the documents print this table, and a test holds that no module uses a word
that is not in it. Codes are stable: scripts rely on them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What sort of question an ASK is."""

    NONE = ""
    QUESTION = "question"
    """A person would be asked; rules, modes and "always" may answer it."""
    CONFIRM = "confirm"
    """A person must say yes; nothing else answers it, and no mode skips it."""


class Code(NamedTuple):
    kind: Kind
    meaning: str


_N, _Q, _C = Kind.NONE, Kind.QUESTION, Kind.CONFIRM

CODES: dict[str, Code] = {
    # every gate
    "ok": Code(_N, "no objection"),
    "no_gate": Code(_N, "no gate answered, which is a refusal"),
    "gate_error": Code(_N, "a gate broke, which is a refusal"),
    # spine
    "aborted": Code(_N, "the session is being stopped"),
    "tool_call_cap": Code(_N, "the session's cap on tool calls is reached"),
    "refused_by_person": Code(_N, "a person said no"),
    "nobody_to_ask": Code(_N, "a question came up and nobody was there to answer it"),
    "approved": Code(_N, "a person said yes"),
    # validation, §3.1
    "unknown_tool": Code(_N, "no tool of that name is active in this session"),
    "bad_arguments": Code(_N, "the arguments do not fit the tool's schema"),
    # prompt injection, §1
    "intent_drift": Code(_Q, "a sensitive command, path or address that the request does not mention"),
    "intent_mention": Code(_N, "a sensitive word in content or prose, not in the request; recorded"),
    "unnamed_host": Code(_C, "a host that the person did not name and no setting opened"),
    "unnamed_value": Code(_C, "a recipient, package or other value for a sink that the person did not give"),
    "data_in_url": Code(_C, "a long or encoded part of an address, which could carry data out"),
    "private_value": Code(_C, "a value that was kept private stands in what would be sent"),
    "leak_possible": Code(_C, "foreign text and a secret were read; an opened host would be reached"),
    "leak_sequence": Code(_N, "foreign text and a secret were read; a host nobody named would be reached"),
    # secrets, §5
    "placeholder_written": Code(_N, "a placeholder for a secret would be written into a file"),
    # effects: what a change set would do (DESIGN §3.2, D11)
    "first_tier": Code(_C, "a file that runs on the person's machine by itself, or binds the next agent"),
    "secret_file": Code(_C, "a file that holds, by its name, credentials"),
    "second_tier": Code(_Q, "a file that runs when somebody builds, tests or pushes"),
    "many_deletions": Code(_Q, "many files, or a repository's history, are deleted at once"),
    "made_executable": Code(_Q, "an existing file becomes a program"),
    "link_out": Code(_N, "a link that leads out of the workspace"),
    "set_id": Code(_N, "a file that would run with another's rights"),
    "special_file": Code(_N, "a device, socket or pipe"),
    "too_large": Code(_N, "more changes or bytes than one call may make"),
    # plan, §6.2
    "plan_first": Code(_C, "--approve-plan is on and this turn's plan has no approval yet"),
}
