"""Signals (D13): headless the first one ends the run; in the terminal the first Ctrl-C stops the step.

A step is stopped through the session's own abort flag, and the command under way is killed: no
exception is thrown into whatever runs, so an apply that is under way is never torn. In the
terminal the flag is taken back once the turn has ended. Only while a person is being asked does
Ctrl-C interrupt the read itself, and that is a no.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

from agent_security.errors import SandboxError
from agent_security.session import Session

STEP = "the person stopped this step (Ctrl-C)"
_AGAIN_S, _TRIES = 0.2, 50


def stop_on_signals(session: Session, also: Callable[[], None] = lambda: None) -> None:
    """SIGINT, SIGTERM and a closed terminal trigger the AbortController and end the command under way.

    `also` runs in the handler, last; what it raises is raised in the interrupted code. A program that
    was started to outlive its terminal (nohup) does.
    """
    session.abort.install_signal_handlers()

    def stop(signum: int, frame: FrameType | None) -> None:
        session.abort.trigger(signal.Signals(signum).name)
        kill_step(session)
        also()

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, stop)


def kill_step(session: Session) -> None:
    """End the command under way, and one that was just about to start, in a thread of its own.

    A signal handler must not wait for a lock that the interrupted code may hold.
    """

    def kill() -> None:
        for _ in range(_TRIES):
            if not session.abort.triggered:
                return
            with contextlib.suppress(SandboxError, OSError):
                session.sandbox.kill()
            time.sleep(_AGAIN_S)

    threading.Thread(target=kill, name="kill-step", daemon=True).start()


class Interrupts:
    """SIGINT in the terminal session: the first stops the step, the second ends the session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.asking = False
        """A question is on the screen: set by the approver around its read."""

    def install(self) -> None:
        stop_on_signals(self._session, self._end_question)
        signal.signal(signal.SIGINT, self._on_sigint)

    def _on_sigint(self, signum: int, frame: FrameType | None) -> None:
        abort = self._session.abort
        if abort.triggered and abort.reason == STEP:
            self.end_session()
        elif not abort.triggered:
            abort.trigger(STEP)
        kill_step(self._session)
        self._end_question()

    def _end_question(self) -> None:
        """A signal ends the read of an answer, which is a no."""
        if self.asking:
            raise KeyboardInterrupt

    def end_session(self) -> None:
        """The second Ctrl-C, in a step or at the prompt."""
        self._session.abort.reset()
        self._session.abort.trigger("SIGINT")

    def take_back(self) -> bool:
        """Before and after a turn: forget a stopped step. False where the session itself is to end."""
        abort = self._session.abort
        if abort.triggered and abort.reason != STEP:
            return False
        abort.reset()
        return True
