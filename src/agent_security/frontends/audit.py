"""`agent-security audit`: read a session's log, and prove that nobody changed it.

Exit codes (CONTRACTS §3): 0 done · 1 the log was changed · 2 wrong use · 3 could not tell.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from agent_security.errors import AuditError
from agent_security.frontends.audit_timeline import Paint, timeline_line
from agent_security.settings import no_color, state_dir
from agent_security.text import break_ci_commands, for_terminal
from agent_security.tools.audit.verify import Verification, read_log, verify_log

_BROKEN, _WRONG_USE, _COULD_NOT_TELL = 1, 2, 3
_LATER = {
    "replay": "Judge every recorded call again under today's policy.",
    "export": "Convert a log to other formats.",
    "report": "Draw a log as one page.",
    "summary": "Add up many logs.",
}


@click.group(name="audit")
def command() -> None:
    """Read, prove and convert the record of a session."""


def log_path(session: str) -> Path:
    """A log's file: a path as it stands, or the log of a session id under the state directory."""
    given = Path(session)
    if given.is_dir():
        given = given / "audit.jsonl"
    if given.exists():
        return given
    if os.sep not in session and session not in ("", ".", ".."):
        stored = state_dir() / "sessions" / session / "audit.jsonl"
        if stored.exists():
            return stored
    raise click.UsageError(f"no log and no session called {for_terminal(session)}")


@command.command()
@click.argument("session")
@click.option("--event", "events", multiple=True, help="Show these events only; may be repeated.")
@click.option("--tool", "tools", multiple=True, help="Show what these tools did only; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, as recorded.")
def show(session: str, events: tuple[str, ...], tools: tuple[str, ...], as_json: bool) -> None:
    """Print a session's timeline. SESSION is a log file, its folder, or a session id."""
    terminal = sys.stdout.isatty()
    paint = Paint(on=terminal and not no_color())
    try:
        for record in read_log(log_path(session)):
            if events and record.get("event") not in events:
                continue
            if tools and record.get("tool") not in tools:
                continue
            if as_json:
                click.echo(_json_line(record))
            else:
                line = timeline_line(record, paint)
                click.echo(line if terminal else break_ci_commands(line))
    except AuditError as error:
        click.echo(for_terminal(str(error)), err=True)
        sys.exit(_COULD_NOT_TELL)


def _json_line(record: Mapping[str, Any]) -> str:
    """ASCII, the same value, and no `##vso[` for a CI system to obey (CONTRACTS §2)."""
    return json.dumps(record).replace("##", "#\\u0023")


@command.command()
@click.argument("session")
@click.option("--json", "as_json", is_flag=True, help="Print the finding as one JSON object.")
def verify(session: str, as_json: bool) -> None:
    """Prove that no line of a log was changed, added, moved or lost."""
    path = log_path(session)
    try:
        found = verify_log(path)
    except AuditError as error:
        click.echo(for_terminal(str(error)), err=True)
        sys.exit(_COULD_NOT_TELL)
    click.echo(_as_json(found) if as_json else f"{for_terminal(str(path))}: {verdict_text(found)}")
    sys.exit({"ok": 0, "broken": _BROKEN}.get(found.status, _COULD_NOT_TELL))


def verdict_text(found: Verification) -> str:
    """One finding as a sentence."""
    if found.status == "ok":
        return f"consistent, origin unproven ({found.events} events, head {found.head})"
    if found.status == "broken":
        return f"broken: line {found.line} {found.problem} ({found.events} lines before it hold)"
    return f"unclosed: {found.problem} ({found.events} events hold, head {found.head})"


def _as_json(found: Verification) -> str:
    return json.dumps({**found._asdict(), "origin": "unproven"})


def _add_later(name: str, does: str) -> None:
    """A subcommand that refuses rather than pretend."""

    @command.command(name, help=f"{does} (Not built yet.)", context_settings={"ignore_unknown_options": True})
    @click.argument("args", nargs=-1, type=click.UNPROCESSED)
    def later(args: tuple[str, ...]) -> None:
        click.echo(f"agent-security audit {name}: not built yet", err=True)
        sys.exit(_WRONG_USE)


for _name, _does in _LATER.items():
    _add_later(_name, _does)
