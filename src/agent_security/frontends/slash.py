"""Slash commands of the terminal session: one table, one function each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

from agent_security.calls import Mode
from agent_security.errors import ChangeError
from agent_security.frontends.ask import TerminalApprover
from agent_security.frontends.lines import held_lines
from agent_security.frontends.putting_back import undone_lines
from agent_security.frontends.screen import Screen
from agent_security.frontends.slash_permissions import permissions
from agent_security.session import Session


@dataclass(slots=True)
class Desk:
    """What a slash command may use."""

    session: Session
    screen: Screen
    approver: TerminalApprover
    audit_log: str
    leaving: bool = False


Run = Callable[[Desk, str], None]


@dataclass(frozen=True, slots=True)
class Slash:
    """One row: `/name`, its argument as the help shows it, one line of help."""

    name: str
    argument: str
    help: str
    run: Run


def is_slash(line: str) -> bool:
    """`/word …`; a path such as `/usr/lib/x` is a message."""
    first = line.split(maxsplit=1)[0] if line.strip() else ""
    return first.startswith("/") and "/" not in first[1:]


def run_slash(line: str, desk: Desk) -> None:
    """Run one `/name argument` line; an unknown name is told, and nothing of it reaches the model."""
    name, _, argument = line.strip().partition(" ")
    row = BY_NAME.get(name)
    if row is None:
        near = get_close_matches(name, BY_NAME, n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        desk.screen.note(f"no such command: {name} ({meant}/help lists them)")
        return
    try:
        row.run(desk, argument.strip())
    except ChangeError as error:
        desk.screen.note(str(error))


def _help(desk: Desk, argument: str) -> None:
    desk.screen.lines(f"  {f'{row.name} {row.argument}':<24} {row.help}" for row in SLASHES)
    desk.screen.lines(
        ["  Ctrl-C stops the step under way, twice ends the session, as Ctrl-D does; Esc Enter: a new line"]
    )


def _mode(desk: Desk, argument: str) -> None:
    """A wider mode needs a yes; each change is on record."""
    session, words = desk.session, [str(mode) for mode in Mode]
    if not argument:
        desk.screen.lines(
            [f"  mode {session.mode}; others: {', '.join(w for w in words if w != session.mode)}"]
        )
        return
    if argument not in words:
        desk.screen.note(f"no such mode: {argument} (one of {', '.join(words)})")
        return
    wider = words.index(argument) > words.index(str(session.mode))
    if wider and not desk.approver.confirm(f"switch to {argument}?", _gives_up(Mode(argument))):
        return
    session.audit.log("settings_changed", key="mode", value=argument, by="person")
    session.mode = Mode(argument)
    desk.screen.lines([f"  mode {argument}"])


def _gives_up(mode: Mode) -> str:
    if mode is Mode.SKIP:
        return "commands and edits run unasked; what needs a person's yes is refused"
    return "edits in the project are made unasked"


def _tools(desk: Desk, argument: str) -> None:
    desk.screen.lines(f"  {tool.name:<18} {tool.effect}" for tool in desk.session.tools.values())


def _cost(desk: Desk, argument: str) -> None:
    session = desk.session
    desk.screen.lines([f"  {session.cost.summary()}"])
    desk.screen.lines([f"  tool calls {session.caps.tool_calls} of {session.caps.max_tool_calls}"])


def _undo(desk: Desk, argument: str) -> None:
    undone = desk.session.changes.undo()
    desk.session.audit.log("undo", restored=sorted(undone.restored), conflicts=dict(undone.conflicts))
    _forget_undone(desk.session)
    desk.screen.lines(f"  {line}" for line in undone_lines(undone))


def _forget_undone(session: Session) -> None:
    """What no standing call changed is no change of this session any more."""
    standing = {path for past in session.changes.history() if not past.undone for path in past.paths}
    for path in session.tally.files_changed.keys() - standing:
        del session.tally.files_changed[path]


def _diff(desk: Desk, argument: str) -> None:
    """What stands of this session's changes, call by call."""
    standing = [past for past in desk.session.changes.history() if not past.undone]
    desk.screen.lines(
        [f"  {past.call_id}: {', '.join(past.paths)}" for past in standing] or ["  nothing changed"]
    )


def _held(desk: Desk, argument: str) -> None:
    """Show what was held back; `/held apply` asks about it."""
    session = desk.session
    held = session.tally.held_back
    desk.screen.lines([f"  {line}" for line in held_lines(held)] or ["  nothing is held back"])
    if argument != "apply" or not held:
        return
    shown = session.changes.diff(session.changes.held_changes(), max_bytes=None)
    if not desk.approver.confirm("apply what was held back?", shown):
        return
    session.audit.log("held_applied", paths=sorted(held), by="person")
    applied = session.changes.apply_held(sorted(held))
    session.tally.files_changed |= applied.changed
    for path in applied.changed:
        held.pop(path, None)
    desk.screen.lines([f"  applied: {path}" for path in sorted(applied.changed)])
    desk.screen.lines([f"  left alone: {path} ({why})" for path, why in sorted(applied.conflicts.items())])


def _log(desk: Desk, argument: str) -> None:
    desk.screen.lines([f"  {desk.audit_log}"])


def _quit(desk: Desk, argument: str) -> None:
    desk.leaving = True


SLASHES: tuple[Slash, ...] = (
    Slash("/help", "", "this list", _help),
    Slash("/mode", "[MODE]", "show or change the permission mode", _mode),
    Slash("/permissions", "[revoke N]", "what is allowed, asked and denied; take a grant back", permissions),
    Slash("/tools", "", "the tools the model may use", _tools),
    Slash("/cost", "", "what the session has cost so far", _cost),
    Slash("/undo", "", "put back what the last changing call did", _undo),
    Slash("/diff", "", "what this session has changed", _diff),
    Slash("/held", "[apply]", "what was held back, and apply it", _held),
    Slash("/log", "", "where the audit log is", _log),
    Slash("/quit", "", "end the session", _quit),
)

BY_NAME: dict[str, Slash] = {row.name: row for row in SLASHES}
