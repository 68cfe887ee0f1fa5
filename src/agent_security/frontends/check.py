"""`agent-security check`: judge tool calls without running them, as JSON lines (CONTRACTS §4).

Never uses the network: names resolve only through a line's own `resolve`. A line that cannot be
read is answered with an error, the rest go on, and the exit code is 2.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import click

from agent_security.calls import ToolCall
from agent_security.decision import Decision
from agent_security.errors import AgentSecurityError, UsageError
from agent_security.gates import judge_call
from agent_security.judging import judge_context_for
from agent_security.net import host_of
from agent_security.permissions import Rules
from agent_security.ports import Resolver

__all__ = ["LineError", "Output", "answer_line", "as_json", "command", "run"]

_MAX_LINE_CHARS = 32 * 1024 * 1024
_FIELDS: dict[str, type] = {
    "tool": str,
    "mode": str,
    "cwd": str,
    "home": str,
    "user_goal": str,
    "scratchpad": str,
    "resolve": dict,
}


class Output(Protocol):
    """What an answer is written to."""

    def write(self, text: str, /) -> object: ...
    def flush(self) -> object: ...


class LineError(UsageError):
    """Why one line cannot be judged. `line_id` is its id, where it could be read."""

    def __init__(self, message: str, line_id: Any = None) -> None:
        super().__init__(message)
        self.line_id = line_id


def run(
    stdin: Iterable[bytes] | Iterable[str],
    stdout: Output,
    *,
    offline: bool = False,
    rules: Rules | None = None,
    cwd: str = "",
) -> int:
    """Answer every line, in order, each as soon as it is judged. Returns the exit code: 0, or 2.

    `cwd` is the workspace of lines that name none; "" is the current directory.
    """
    code = 0
    for line in stdin:
        if not line.strip():
            continue
        try:
            answer = answer_line(line, offline=offline, rules=rules, cwd=cwd or os.getcwd())
        except LineError as error:
            answer, code = {"id": error.line_id, "error": str(error)}, 2
        stdout.write(json.dumps(answer) + "\n")
        stdout.flush()
    return code


def answer_line(
    line: bytes | str, *, offline: bool = False, rules: Rules | None = None, cwd: str
) -> dict[str, Any]:
    """One answer. Raises LineError where the line cannot be judged at all."""
    fields = _read(line)
    call = ToolCall(_call_id(fields), fields["tool"], _args_json(fields))
    if call.name == "change_set":
        raise LineError("change_set: judging change sets dry is not built yet", fields.get("id"))
    try:
        context = judge_context_for(
            fields.get("cwd") or cwd,
            fields.get("home") or "",
            fields.get("mode") or "default",
            goals=(fields["user_goal"],) if fields.get("user_goal") else (),
            scratchpad=fields.get("scratchpad") or "",
            rules=rules,
            resolver=_resolver(fields, offline=offline),
        )
        return {"id": fields.get("id"), **as_json(judge_call(call, context))}
    except (AgentSecurityError, OSError, ValueError) as error:
        raise LineError(str(error), fields.get("id")) from error


def as_json(decision: Decision) -> dict[str, Any]:
    """A decision as CONTRACTS §4 writes it."""
    answer = _one(decision)
    return {
        "decision": answer["decision"],
        "kind": answer["kind"],
        "gate": decision.gate,
        "code": decision.code,
        "reason": decision.reason,
        "trail": [{"gate": step.gate, **_one(step)} for step in decision.trail],
    }


def _one(decision: Decision) -> dict[str, str]:
    return {
        "decision": decision.word,
        "kind": str(decision.kind),
        "code": decision.code,
        "reason": decision.reason,
    }


# --- one line -------------------------------------------------------------------------------------


def _read(line: bytes | str) -> dict[str, Any]:
    if len(line) > _MAX_LINE_CHARS:
        raise LineError("the line is too long")
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LineError(f"the line is not JSON ({type(error).__name__})") from error
    if not isinstance(fields, dict):
        raise LineError("the line is not a JSON object")
    _check_fields(fields)
    return fields


def _check_fields(fields: Mapping[str, Any]) -> None:
    line_id = fields.get("id")
    if "tool" not in fields:
        raise LineError("tool: is missing", line_id)
    for name, kind in _FIELDS.items():
        if fields.get(name) is not None and not isinstance(fields[name], kind):
            raise LineError(f"{name}: must be {'an object' if kind is dict else 'a string'}", line_id)
    if not isinstance(fields["tool"], str):
        raise LineError("tool: must be a string", line_id)
    for host, answers in (fields.get("resolve") or {}).items():
        if not isinstance(answers, list) or not all(isinstance(address, str) for address in answers):
            raise LineError(f"resolve: {host!r} must map to a list of addresses", line_id)


def _call_id(fields: Mapping[str, Any]) -> str:
    return str(fields.get("id") if fields.get("id") is not None else "check")


def _args_json(fields: Mapping[str, Any]) -> str:
    try:
        return json.dumps(fields.get("args", {}))
    except RecursionError as error:
        raise LineError("args: nested too deeply", fields.get("id")) from error


def _resolver(fields: Mapping[str, Any], *, offline: bool) -> Resolver | None:
    """The line's own answers. A host that is not among them is judged by its letters, or, offline, fails."""
    known = {
        host_of(f"http://{host}/") or host.lower(): tuple(found)
        for host, found in (fields.get("resolve") or {}).items()
    }
    args = fields.get("args")
    host = host_of(str(args.get("url", ""))) if isinstance(args, dict) else ""
    if not offline and host not in known:
        return None

    def answer(name: str, port: int) -> Sequence[str]:
        if name not in known:
            raise OSError(f"{name} is not among the answers")
        return known[name]

    return answer


@click.command(name="check")
@click.option("--offline", is_flag=True, help="A name without an answer in `resolve` is a failure, so deny.")
def command(offline: bool) -> None:
    """Judge tool calls without running them: JSON lines in, JSON lines out."""
    raise SystemExit(run(sys.stdin.buffer, sys.stdout, offline=offline))
