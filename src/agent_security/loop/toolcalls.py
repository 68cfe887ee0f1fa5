"""Tool calls as real models make them, to exactly one answer each (D17, §3.1).

    server ──RawCall──> read_calls ──ReadCall──> answer_call ──> one tool message

A call that has one reading goes down the pipeline's road, whatever its name; one that has none is
refused here with the same record, and nothing of it is executed.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agent_security import pipeline, steps
from agent_security.calls import Status, ToolCall, ToolOutput, ToolResult
from agent_security.changes import Applied
from agent_security.decision import deny
from agent_security.loop.argument_json import read_arguments
from agent_security.ports import Message, RawCall
from agent_security.session import Session
from agent_security.tools.registry import ToolSpec

NO_TOOL = "no_tool"
"""The name that stands in the history for a call whose own name no server would take back."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ID = re.compile(r"[\x21-\x7e]{1,128}")
_MAX_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class ReadCall:
    """One call with an id of its own. `problem` is "" exactly where it may go down the road."""

    call: ToolCall
    problem: str = ""
    repairs: tuple[str, ...] = ()

    def as_message_part(self) -> dict[str, Any]:
        """As it stands in the assistant message: always valid, even where the model's own text was not."""
        arguments = "{}" if self.problem else self.call.args_json
        function = {"name": self.call.name, "arguments": arguments}
        return {"id": self.call.id, "type": "function", "function": function}


def read_calls(
    raw: Iterable[RawCall], tools: Mapping[str, ToolSpec], used_ids: Collection[str] = ()
) -> tuple[ReadCall, ...]:
    """The calls of one reply in model order, each with an id that no other call of the session has."""
    read: dict[str, ReadCall] = {}
    for entry in raw:
        call_id = _own_id(entry.id, used_ids, read)
        read[call_id] = _read_call(call_id, entry, tools)
    return tuple(read.values())


def _own_id(wanted: object, *taken: Collection[str]) -> str:
    """The server's id where it is one and still free, else a new one."""
    if isinstance(wanted, str) and _ID.fullmatch(wanted) and not any(wanted in ids for ids in taken):
        return wanted
    return f"call_{secrets.token_hex(12)}"


def _read_call(call_id: str, entry: RawCall, tools: Mapping[str, ToolSpec]) -> ReadCall:
    if not isinstance(entry.name, str) or not _NAME.fullmatch(entry.name):
        return _broken(call_id, NO_TOOL, entry.arguments, f"the call names no tool: {_shown(entry.name)}")
    tool = tools.get(entry.name)
    takes_none = tool is not None and not tool.parameters.get("properties")
    arguments = read_arguments(entry.arguments, takes_none=takes_none)
    if arguments.problem:
        problem = f"{arguments.problem}. You sent: {_shown(entry.arguments)}"
        return _broken(call_id, entry.name, entry.arguments, problem)
    return ReadCall(ToolCall(call_id, entry.name, arguments.text), repairs=arguments.repairs)


def _broken(call_id: str, name: str, arguments: object, problem: str) -> ReadCall:
    # a JSON string can never pass for an object, whatever the model wrote
    kept = json.dumps(_shown(arguments, 2_000))
    return ReadCall(ToolCall(call_id, name, kept), problem)


def _shown(value: object, limit: int = _MAX_SHOWN_CHARS) -> str:
    """Foreign text, bounded and in plain ASCII, so that nothing downstream can trip over it."""
    text = value if isinstance(value, str) else repr(value)[: limit + 1]
    cut = text[:limit] + ("…" if len(text) > limit else "")
    return cut.encode("ascii", "backslashreplace").decode("ascii")


# --- one answer each ------------------------------------------------------------------------------


def answer_call(read: ReadCall, session: Session) -> ToolResult:
    """The result of one call. Raises AuditError alone."""
    if read.problem:
        return _refuse(read, session)
    if read.repairs:
        session.audit.log(
            "validation_error",
            tool=read.call.name,
            args=steps.loose_args(read.call),
            errors=list(read.repairs),
            repaired=True,
        )
    return pipeline.run_tool_call(read.call, session)


def _refuse(read: ReadCall, session: Session) -> ToolResult:
    """The road's steps 4, 8 and 9 for a call that never was one: on record, answered, not run."""
    decision = deny("validation", "bad_arguments", read.problem)
    steps.record_decision(read.call, decision, session)
    output = ToolOutput(f"refused by validation: bad_arguments: {read.problem}", Status.REFUSED)
    content = steps.present(read.call, output, Applied(), session)
    return steps.record_result(read.call, decision, output, Applied(), content, session)


def tool_message(call_id: str, content: str) -> Message:
    """The one message that answers one call."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}
