"""Ctrl-C in the terminal session: the first stops the step, the second ends the session (D13).

A step is stopped through the session's own abort flag, which is taken back once the turn has
ended: no exception is thrown into whatever runs, so an apply that is under way is never torn.
Only while a person is being asked does Ctrl-C interrupt the read itself, and that is a no.
"""

from __future__ import annotations

import signal
from types import FrameType

from agent_security.session import Session

STEP = "the person stopped this step (Ctrl-C)"


class Interrupts:
    """Handles SIGINT for one session, over the handlers of its AbortController, which keep SIGTERM."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.asking = False
        """A question is on the screen: set by the approver around its read."""

    def install(self) -> None:
        self._session.abort.install_signal_handlers()
        signal.signal(signal.SIGINT, self._on_sigint)

    def _on_sigint(self, signum: int, frame: FrameType | None) -> None:
        abort = self._session.abort
        if abort.triggered and abort.reason == STEP:
            abort.reset()
            abort.trigger("SIGINT")
        elif not abort.triggered:
            abort.trigger(STEP)
        self._session.sandbox.kill()
        if self.asking:
            raise KeyboardInterrupt

    def take_back(self) -> bool:
        """After a turn: forget a stopped step. False where the session itself is to end."""
        abort = self._session.abort
        if abort.triggered and abort.reason != STEP:
            return False
        abort.reset()
        return True
