"""Stopping and putting back (§6.3): the abort flag, ending what runs, and the offer to roll back.

`FileRollback` is a face over the change store, which it is given: controls import no other control.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Collection, Mapping
from types import FrameType
from typing import Any, Protocol

DOCKER_PATHS = ("/usr/bin/docker", "/usr/local/bin/docker", "/bin/docker", "/snap/bin/docker")
"""Where the engine's client may stand. A name is never looked up: the workspace could be on the path."""

_CONTAINER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_KILL_DEADLINE_S = 5.0


class AbortController:
    """A flag that every thread may set and read; the loop looks at it between steps.

    `on_trigger` is called once a stop, with the reason, in the thread that triggered it (for a
    signal: the main thread). It must be short; what it raises is dropped.
    """

    def __init__(self, on_trigger: Callable[[str], None] | None = None) -> None:
        self._lock = threading.RLock()  # a signal may arrive while this very thread holds it
        self._reason = ""
        self._triggered = False
        self._callbacks: list[Callable[[str], None]] = [on_trigger] if on_trigger else []
        self._former: dict[int, Any] = {}
        self._interactive = False
        self._interrupts = 0
        self.on_interrupt: Callable[[], None] | None = None
        """What the first Ctrl-C of an interactive session does instead: stop the step (D13)."""

    @property
    def triggered(self) -> bool:
        with self._lock:
            return self._triggered

    @property
    def reason(self) -> str:
        with self._lock:
            return self._reason

    def on_trigger(self, callback: Callable[[str], None]) -> None:
        """Call this at the next trigger too; at once where it is triggered already."""
        with self._lock:
            self._callbacks.append(callback)
            due = self._triggered
        if due:
            _call(callback, self.reason)

    def trigger(self, reason: str = "aborted") -> None:
        """Stop the session. The first reason stays."""
        with self._lock:
            if self._triggered:
                return
            self._triggered, self._reason = True, reason
            callbacks = list(self._callbacks)
        for callback in callbacks:
            _call(callback, reason)

    def reset(self) -> None:
        """Lower the flag, for the next turn."""
        with self._lock:
            self._triggered, self._reason, self._interrupts = False, "", 0

    def step_done(self) -> None:
        """A step ended or began: the next Ctrl-C of an interactive session is a first one again."""
        with self._lock:
            self._interrupts = 0

    def install_signal_handlers(self, interactive: bool = False) -> bool:
        """Trigger on SIGINT and SIGTERM; `interactive`: the first SIGINT only stops the step (D13).

        False where this is not the main thread, which alone may install handlers.
        """
        if threading.current_thread() is not threading.main_thread():
            return False
        self._interactive = interactive
        for number in (signal.SIGINT, signal.SIGTERM):
            former = signal.signal(number, self._on_signal)
            self._former.setdefault(number, former)
        return True

    def remove_signal_handlers(self) -> None:
        """Put the former handlers back. Does nothing off the main thread or where none are installed."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number, former in self._former.items():
            signal.signal(number, former if former is not None else signal.SIG_DFL)
        self._former = {}

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGINT and self._interactive:
            self._interrupts += 1
            if self._interrupts == 1:
                if self.on_interrupt is not None:
                    _call(lambda _: self.on_interrupt() if self.on_interrupt else None, "")
                return
        self.trigger(f"signal {signal.Signals(number).name}")


def _call(callback: Callable[[str], None], reason: str) -> None:
    try:
        callback(reason)
    except Exception:  # a screen that broke must not keep the session from stopping
        return


# --- what is in flight ----------------------------------------------------------------------------


class Killable(Protocol):
    """A `ports.Sandbox`, as far as this module cares."""

    def kill(self) -> None: ...


def kill_in_flight(container: Killable | str, *, docker: str = "") -> bool:
    """End what a call has running (§6.3). A sandbox ends every process of the call (D9).

    For a container's name: `docker exec NAME pkill -INT python`, as the specification says, best
    effort. False where nothing could be ended; raises nothing.
    """
    if not isinstance(container, str):
        try:
            container.kill()
        except Exception:  # best effort: the call's own time-out ends it
            return False
        return True
    client = docker or next((path for path in DOCKER_PATHS if os.access(path, os.X_OK)), "")
    if not os.path.isabs(client) or not _CONTAINER_NAME.fullmatch(container):
        return False
    return _run_quietly([client, "exec", container, "pkill", "-INT", "python"])


def _run_quietly(argv: list[str]) -> bool:
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_KILL_DEADLINE_S,
            env={"PATH": "/usr/bin:/bin"},
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


# --- rollback -------------------------------------------------------------------------------------


class Undone(Protocol):
    """What a rollback answers, as far as this module cares."""

    @property
    def restored(self) -> Mapping[str, str]: ...
    @property
    def conflicts(self) -> Mapping[str, str]: ...


class Undoable(Protocol):
    """A `changes.ChangeStore`, as far as this module cares."""

    def snapshot(self, path: str) -> bool: ...
    def rollback(self, *, force: Collection[str] = ()) -> Undone: ...
    def cleanup(self) -> bool: ...
    def history(self) -> Collection[object]: ...


class Asker(Protocol):
    """A `ports.Approver`, as far as this module cares."""

    def confirm(self, prompt: str, detail: str = "") -> bool: ...


class FileRollback:
    """§6.3's rollback over the session's change store.

    `command` is the line that undoes the session later; `tell` gets a line for the person where
    the work is kept, and one for each path that was left alone.
    """

    def __init__(
        self,
        working_dir: str,
        store: Undoable,
        *,
        command: str = "",
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._root = os.path.realpath(working_dir)
        self._store, self._command = store, command
        self._tell = tell or (lambda _: None)
        self._snapshots = 0
        self.conflicts: Mapping[str, str] = {}
        """Path -> why the last rollback left it alone."""

    def snapshot(self, path: str) -> bool:
        """Keep a file's bytes before it is written. False for what lies outside the working directory.

        `path` is absolute or relative to it; a link is followed first, so that the file that
        would be written is the one that is kept. Raises ChangeError for what is no file.
        """
        real = os.path.realpath(os.path.join(self._root, path))
        if os.path.commonpath([self._root, real]) != self._root or real == self._root:
            return False
        taken = self._store.snapshot(os.path.relpath(real, self._root))
        self._snapshots += taken
        return taken

    def offer_rollback(self, approver: Asker | None = None) -> int:
        """Ask whether to revert everything; the number of paths restored. Nobody to ask = kept (D22)."""
        if not self._store.history() and not self._snapshots:
            return 0
        if approver is None or not self._asked(approver):
            self._tell(f"changes kept; to undo them: {self._command}" if self._command else "changes kept")
            return 0
        undone = self._store.rollback()
        self.conflicts = undone.conflicts
        for path, why in sorted(undone.conflicts.items()):
            self._tell(f"left alone: {path} ({why})")
        return len(undone.restored)

    def _asked(self, approver: Asker) -> bool:
        try:
            return approver.confirm("Revert all changes?") is True
        except (EOFError, KeyboardInterrupt):
            return False

    def cleanup(self) -> bool:
        """Remove the kept bytes, after a rollback or an explicit keep only (D15)."""
        return self._store.cleanup()
