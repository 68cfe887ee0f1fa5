"""The end of a session, on every way out, always in this order (DESIGN §6, the specification's `finally`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from agent_security.errors import AgentSecurityError
from agent_security.session import Session
from agent_security.session_control import FileRollback


def close_session(
    session: Session, *, offer_rollback: bool = False, tell: Callable[[str], None] = lambda line: None
) -> None:
    """Rollback offered, credentials revoked, handlers removed, sandbox closed, log sealed.

    `tell` gets what came of the offer. Safe to call twice. A step that fails does not keep the later
    ones from happening; the first failure is raised at the end.
    """
    finishers, session.finishers = session.finishers, []
    steps: list[Callable[[], object]] = [
        lambda: _offer(session, tell) if offer_rollback else None,
        session.credentials.revoke,
        session.abort.remove_signal_handlers,
        session.sandbox.close,
        *finishers,
        session.audit.close,
    ]
    failures: list[BaseException] = []
    for step in steps:
        try:
            step()
        except (AgentSecurityError, OSError, KeyboardInterrupt) as failure:
            failures.append(failure)
    if failures:
        raise failures[0]


def _offer(session: Session, tell: Callable[[str], None]) -> None:
    """Only where there is something to put back; Enter, end of input and nobody are no (D22)."""
    if not session.tally.files_changed:
        return
    with contextlib.suppress(EOFError):
        rollback = FileRollback(session.working_dir, session.changes, tell=tell)
        restored = rollback.offer_rollback(session.approver)
        if restored:
            tell(f"put back: {restored} {'path' if restored == 1 else 'paths'}")
            left = session.tally.files_changed.keys() & rollback.conflicts.keys()
            session.tally.files_changed = {path: session.tally.files_changed[path] for path in left}
