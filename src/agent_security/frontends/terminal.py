"""The terminal session: read a line, work on it, until the person leaves."""

from __future__ import annotations

import contextlib
import time

from agent_security.errors import UsageError
from agent_security.frontends.ask import TerminalApprover
from agent_security.frontends.banner import Spent, banner, summary, turn_line
from agent_security.frontends.exits import Exit
from agent_security.frontends.interrupts import Interrupts
from agent_security.frontends.material import context_documents
from agent_security.frontends.reading import ReadLine, prompt_reader
from agent_security.frontends.screen import Screen
from agent_security.frontends.slash import Desk, is_slash, run_slash
from agent_security.frontends.turns import Turns
from agent_security.settings import Settings
from agent_security.wiring import build_session, close_session


def run_terminal(
    settings: Settings, workspace: str, prompt: str | None, read_line: ReadLine | None = None
) -> int:
    """Open the session and talk until the person leaves. Returns the exit code."""
    screen, documents = Screen(), context_documents(settings.context, workspace)
    approver = TerminalApprover(screen)
    with screen.waiting("starting the sandbox"):
        session, provider = build_session(settings, working_dir=workspace, approver=approver, listener=screen)
    if provider is None:
        raise UsageError("no model")
    interrupts = Interrupts(session)
    approver.session, approver.interrupts = session, interrupts
    audit_log = str(getattr(session.audit, "path", ""))
    desk = Desk(session, screen, approver, audit_log)
    try:
        interrupts.install()
        screen.lines(banner(session, model=provider.model, audit_log=audit_log), "dim", rest=" " * 13)
        screen.lines(["  /help lists the commands; Ctrl-C stops a step, Ctrl-D ends the session"], "dim")
        turns = Turns(session, provider, documents, deadline_s=settings.deadline, stream=True)
        return _talk(
            turns, desk, interrupts, prompt, read_line or prompt_reader(lambda: session.abort.triggered)
        )
    finally:
        try:
            with contextlib.suppress(OSError):  # the terminal may be gone; the session still ends in order
                screen.close()
                screen.lines(summary(session, audit_log=audit_log), "dim")
        finally:
            close_session(
                session,
                offer_rollback=not session.abort.triggered,
                tell=lambda line: screen.lines([f"  {line}"]),
            )


def _talk(turns: Turns, desk: Desk, interrupts: Interrupts, prompt: str | None, read_line: ReadLine) -> int:
    """Until /quit, the end of input, a second Ctrl-C, or the session's abort."""
    line, interrupted = prompt or "", False
    while not desk.leaving and interrupts.take_back():
        if is_slash(line):
            run_slash(line, desk)
        elif line.strip():
            _turn(turns, line, desk)
        if desk.leaving or not interrupts.take_back():
            break
        try:
            line, interrupted = read_line(), False
        except EOFError:
            break
        except KeyboardInterrupt:
            line = ""
            if interrupted:
                interrupts.end_session()
                break
            interrupted = True
            desk.screen.note("Ctrl-C once more ends the session")
    abort = desk.session.abort
    if not abort.triggered:
        return Exit.DONE
    return Exit.SIGINT if "INT" in abort.reason else Exit.SIGTERM


def _turn(turns: Turns, prompt: str, desk: Desk) -> None:
    """One message, and what it took. A log that cannot be written ends the session; other ends are told."""
    began, before = time.monotonic(), Spent.of(desk.session)
    outcome = turns.say(prompt)
    if outcome.is_error:
        desk.screen.note(f"{outcome.kind}: {outcome.reason}")
    for notice in outcome.notices:
        desk.screen.note(notice)
    desk.screen.lines([f"  {turn_line(desk.session, before, time.monotonic() - began)}"], "dim")
