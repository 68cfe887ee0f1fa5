"""Run one command that the person typed behind the wall: no gate, the same wall, the same record."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping

import click

from agent_security.calls import Permit, Status, ToolCall, ToolOutput
from agent_security.errors import SandboxTimeout
from agent_security.frontends.ask import NobodyApprover, TerminalApprover
from agent_security.frontends.exits import Exit
from agent_security.frontends.interrupts import stop_on_signals
from agent_security.frontends.screen import Screen
from agent_security.pipeline import permit_for_person
from agent_security.session import Session
from agent_security.steps import apply_changes, judge_changes
from agent_security.text import for_terminal
from agent_security.wiring import build_session, close_session, settings_for, workspace_at

_EXIT_LINE = re.compile(r"\n?\[exit code \d+[^\]\n]*\]\n?\Z")
"""What the wall tells a model at the end of a failed command; a person has the exit code itself."""


def run_behind_wall(flags: Mapping[str, object], command: str) -> int:
    """The command's own exit code; 3 past its time, 1 where the wall broke."""
    workspace = workspace_at(str(flags["working_dir"]))
    settings = settings_for(workspace, flags)
    screen = Screen.on_stderr()
    approver = TerminalApprover(screen) if settings.apply == "ask" else NobodyApprover()
    session, _ = build_session(settings, working_dir=workspace, approver=approver, needs_model=False)
    if isinstance(approver, TerminalApprover):
        approver.session = session
    try:
        stop_on_signals(session)
        return _run(session, command)
    finally:
        close_session(session)


def _run(session: Session, command: str) -> int:
    call = ToolCall("person-1", "run_bash", json.dumps({"command": command}))
    permit = permit_for_person(call, session)
    try:
        output = session.sandbox.run_command(permit, timeout_s=session.tool_timeout_s)
    except SandboxTimeout as error:
        return _said(str(error), Exit.LIMIT)
    _print(_EXIT_LINE.sub("", output.text) if output.exit_code else output.text)
    _settle(permit, output, session)
    if output.status in (Status.BROKEN, Status.ABORTED) or output.exit_code is None:
        return Exit.INTERNAL
    return output.exit_code


def _settle(permit: Permit, output: ToolOutput, session: Session) -> None:
    """Steps 6 and 7 of the road, as for any command."""
    held = judge_changes(permit.call, permit.decision, output.changes, session)
    applied, _ = apply_changes(permit.call, output, held, session)
    for verb, paths in (
        ("changed", applied.changed),
        ("not applied", applied.held),
        ("conflict", applied.conflicts),
    ):
        for path, why in sorted(paths.items()):
            _said(f"{verb}: {path}" if verb == "changed" else f"{verb}: {path} ({why})", Exit.DONE)
    if applied.changed:
        _said(f"to undo: agent-security rollback {session.session_id}", Exit.DONE)


def _print(text: str) -> None:
    """To a terminal made safe, elsewhere to the byte."""
    shown = for_terminal(text) if sys.stdout.isatty() else text
    click.echo(shown, nl=not shown.endswith("\n") and bool(shown))


def _said(line: str, code: int) -> int:
    click.echo(for_terminal(line), err=True)
    return code
