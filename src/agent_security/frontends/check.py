"""`agent-security check`: judge tool calls without running them, as JSON lines (CONTRACTS §4).

Never uses the network: names resolve only through a line's own `resolve`. A line that cannot be
read is answered with an error, the rest go on, and the exit code is 2.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import click

from agent_security.calls import Mode, ToolCall
from agent_security.decision import Decision, deny, strictest
from agent_security.errors import AgentSecurityError, UsageError
from agent_security.frontends.change_lines import TOOL as CHANGE_SET
from agent_security.frontends.change_lines import judge_dry
from agent_security.gates import judge_call
from agent_security.gates.arguments import read_arguments
from agent_security.judging import judge_context_for
from agent_security.net import host_of
from agent_security.permissions import Rules
from agent_security.ports import Resolver
from agent_security.session import JudgeContext
from agent_security.settings import Settings
from agent_security.wiring.choices import settings_for
from agent_security.wiring.dry import context_from

__all__ = ["Judging", "LineError", "Output", "answer_line", "as_json", "command", "judge_one", "run"]

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


@dataclass
class Judging:
    """How the lines of one run are judged. Settings are read once for each workspace and mode."""

    offline: bool
    rules: Rules | None
    cwd: str
    own_settings: bool = False
    walled: bool = False
    _read: dict[tuple[str, str], Settings] = field(default_factory=dict)

    def settings(self, cwd: str, mode: str) -> Settings:
        """As a session in `cwd` would be given them. Raises SettingsError, for a mode above a ceiling too."""
        if (cwd, mode) not in self._read:
            self._read[cwd, mode] = settings_for(cwd, {"mode": mode or None})
        return self._read[cwd, mode]


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
    own_settings: bool = False,
    walled: bool = False,
) -> int:
    """Answer every line, in order, each as soon as it is judged. Returns the exit code: 0, or 2.

    `cwd` is the workspace of lines that name none; "" is the current directory. `own_settings`: under
    the person's settings and the project's, as a session there; else under `rules` alone.
    """
    how = Judging(offline, rules, cwd or os.getcwd(), own_settings, walled)
    code = 0
    for line in stdin:
        if not line.strip():
            continue
        try:
            answer = answer_line(line, how)
        except LineError as error:
            answer, code = {"id": error.line_id, "error": str(error)}, 2
        stdout.write(json.dumps(answer) + "\n")
        stdout.flush()
    return code


def answer_line(line: bytes | str, how: Judging) -> dict[str, Any]:
    """One answer. Raises LineError where the line cannot be judged at all."""
    fields = _read(line)
    call = ToolCall(_call_id(fields), fields["tool"], _args_json(fields))
    try:
        context, apply = _context(fields, how)
        decision = judge_one(call, context, apply)
        return {"id": fields.get("id"), **as_json(decision)}
    except (AgentSecurityError, OSError, ValueError) as error:
        raise LineError(str(error), fields.get("id")) from error


def judge_one(call: ToolCall, context: JudgeContext, apply: str = "auto") -> Decision:
    """A tool call by the gates, a change set by its effects."""
    if call.name != CHANGE_SET:
        return judge_call(call, context)
    args, problem = read_arguments(call.args_json)
    if problem:
        return strictest([deny("validation", "bad_arguments", problem)])
    return judge_dry(args, context, apply)


def _context(fields: Mapping[str, Any], how: Judging) -> tuple[JudgeContext, str]:
    """What the gates may know of one line, and `--apply`."""
    cwd, home, mode = fields.get("cwd") or how.cwd, fields.get("home") or "", fields.get("mode") or ""
    resolver = _resolver(fields, offline=how.offline)
    goals = (fields["user_goal"],) if fields.get("user_goal") else ()
    scratchpad = fields.get("scratchpad") or ""
    if not how.own_settings:
        context = judge_context_for(
            cwd,
            home,
            mode or Mode.DEFAULT,
            goals=goals,
            scratchpad=scratchpad,
            rules=how.rules,
            resolver=resolver,
            wall_proven=how.walled,
        )
        return context, "auto"
    settings = how.settings(cwd, mode)
    context = context_from(
        settings,
        cwd,
        home=home,
        goals=goals,
        scratchpad=scratchpad,
        resolver=resolver,
        walled=how.walled,
    )
    return context, settings.apply


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
@click.option("--no-settings", is_flag=True, help="Shipped defaults, without your settings and rules.")
@click.option("--walled", is_flag=True, help="Judge as behind a proven wall.")
def command(offline: bool, no_settings: bool, walled: bool) -> None:
    """Judge tool calls and change sets without running them: JSON lines in, JSON lines out."""
    raise SystemExit(
        run(sys.stdin.buffer, sys.stdout, offline=offline, own_settings=not no_settings, walled=walled)
    )
