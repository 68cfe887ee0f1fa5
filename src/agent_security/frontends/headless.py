"""`-p`: one prompt, nobody to ask, the chosen format on stdout and everything else on stderr."""

from __future__ import annotations

import sys
import time

from agent_security.errors import ProviderError, SandboxUnavailable, UsageError
from agent_security.frontends.ask import NobodyApprover
from agent_security.frontends.banner import banner, summary
from agent_security.frontends.exits import Exit
from agent_security.frontends.interrupts import stop_on_signals
from agent_security.frontends.material import context_documents, stdin_document
from agent_security.frontends.printer import Printer, printer_for
from agent_security.frontends.result import exit_code, failed_start, result_object, subtype_of
from agent_security.frontends.turns import Turns
from agent_security.loop.turn import TurnOutcome
from agent_security.ports import Provider
from agent_security.session import Session
from agent_security.settings import Settings
from agent_security.wiring import build_session, close_session


def run_headless(settings: Settings, workspace: str, prompt: str | None) -> int:
    """Run one prompt to its end and return the exit code."""
    if not (prompt and prompt.strip()):
        raise UsageError("-p needs a PROMPT: stdin and --context are material, not instructions")
    printer = printer_for(settings.output_format)
    documents = context_documents(settings.context, workspace)
    if (piped := stdin_document(printer.progress)) is not None:
        documents.append(piped)
    session, provider = _built(settings, workspace, printer)
    try:
        stop_on_signals(session)
        printer.begin(session, provider.model)
        printer.progress_lines(banner(session, model=provider.model, audit_log=printer.audit_log))
        return _run(
            session, Turns(session, provider, documents, deadline_s=settings.deadline), prompt, printer
        )
    finally:
        close_session(session)


def _built(settings: Settings, workspace: str, printer: Printer) -> tuple[Session, Provider]:
    """A start that fails is told in the chosen format too; the line on stderr follows from `main`."""
    try:
        session, provider = build_session(
            settings, working_dir=workspace, approver=NobodyApprover(), listener=printer
        )
    except SandboxUnavailable as error:
        printer.result(failed_start("error_sandbox", Exit.SANDBOX, str(error)))
        raise
    except ProviderError as error:
        printer.result(failed_start("error_provider", Exit.PROVIDER, str(error), retryable=error.retryable))
        raise
    if provider is None:
        raise UsageError("no model")
    return session, provider


def _run(session: Session, turns: Turns, prompt: str, printer: Printer) -> int:
    """One turn. Whatever ends it, the result is printed."""
    began = time.monotonic()
    failure: Exception | None = None
    try:
        outcome = turns.say(prompt)
    except Exception as error:  # told on stderr by `main`; a script gets its object all the same
        failure, outcome = error, TurnOutcome("error_during_execution", str(error), str(error))
    duration_ms = int((time.monotonic() - began) * 1000)
    for notice in outcome.notices:
        printer.progress(notice)
    code = exit_code(outcome, session)
    if code is not Exit.DONE and failure is None:
        printer.progress(f"{subtype_of(outcome, code)}: {outcome.reason or _unapproved(session)}")
    printer.progress_lines(summary(session, audit_log=printer.audit_log))
    printer.result(result_object(outcome, session, duration_ms=duration_ms, audit_log=printer.audit_log))
    sys.stdout.flush()
    if failure is not None:
        raise failure
    return code


def _unapproved(session: Session) -> str:
    """What a person would have been asked, for a run that needed one."""
    needed = (
        f"{call.name} {why.reason}" for call, why in session.tally.denials if why.code == "nobody_to_ask"
    )
    return next(needed, "what was held back needs approval and nobody is here to give it")
