"""Write the audit log: make the file, append a line, or stop the session.

Invariants, each held by a test:
- a method returns only once its line is written; a line that cannot be written raises AuditError,
  and so does every later call: nothing runs unrecorded (CONTRACTS §5);
- every text in every field is redacted before it is measured, hashed or written;
- the file is made anew (0600, O_EXCL), appended to and never rewritten; a line a full disk cut
  short is taken back, so that the log ends with a whole line.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Self

from agent_security import __version__
from agent_security.errors import AuditError
from agent_security.tools.audit.line import (
    FIRST_PREV,
    MAX_LINE_BYTES,
    Redact,
    body_of,
    bounded_args,
    bounded_calls,
    clean,
    clean_text,
    seal,
    timestamp,
    to_json,
)

_OPEN = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OWN = frozenset({"seq", "ts", "session_id", "event", "prev", "hash"})


def _as_is(text: str) -> str:
    return text


class _End(NamedTuple):
    """Where the log ends: lines written, their bytes, the last one's hash. Replaced as one value."""

    seq: int = 0
    size_bytes: int = 0
    head: str = FIRST_PREV


class AuditWriter:
    """The writing half of `AuditLog`: one file, one chain of lines.

    `redact` is applied to every text; `clock` gives seconds since the epoch. Opening writes
    `session_start`, `close` writes `session_end`. Safe to use from several threads. Raises
    AuditError where the file exists already or cannot be made.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        session_id: str,
        *,
        redact: Redact | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self.session_id = session_id
        self._redact = redact or _as_is
        self._clock = clock or time.time
        self._id_json = to_json(clean_text(session_id, _as_is))
        self._lock = threading.Lock()
        self._problem = ""
        self._end = self._next = _End()
        self._fd = self._create()
        try:
            self.log("session_start", log_file=self.path, version=__version__)
        except BaseException:
            os.close(self._fd)
            raise

    def _create(self) -> int:
        try:
            os.makedirs(os.path.dirname(os.path.abspath(self.path)), mode=0o700, exist_ok=True)
            fd = os.open(self.path, _OPEN, 0o600)
            os.fchmod(fd, 0o600)
        except OSError as error:
            raise AuditError(f"cannot make the audit log {self.path}: {error.strerror or error}") from error
        return fd

    @property
    def head(self) -> str:
        """The last line's hash: the one value to keep elsewhere."""
        return self._end.head

    @property
    def events(self) -> int:
        """How many lines are written."""
        return self._end.seq

    # --- writing ------------------------------------------------------------------------------

    def log(self, event: str, **fields: Any) -> None:
        """Write one event. Raises AuditError unless its line is written whole."""
        self._put(event, fields, {})

    def _put(self, event: str, fields: Mapping[str, Any], redacted: Mapping[str, Any]) -> None:
        """`redacted` fields follow as they are: what was hashed must be what is shown."""
        if taken := _OWN & fields.keys():
            raise ValueError(f"the log writes these fields itself: {', '.join(sorted(taken))}")
        with self._or_stop():
            told = {name: self._field(name, value) for name, value in fields.items()}
            body = body_of(clean_text(event, self._redact), {**told, **redacted})
        with self._lock:
            self._append(body)

    def _redacted(self, text: str) -> str:
        with self._or_stop():
            return clean_text(text, self._redact)

    @contextmanager
    def _or_stop(self) -> Iterator[None]:
        """What cannot be put on record, a redactor that raises included, stops the session."""
        try:
            yield
        except Exception as error:
            self._problem = self._problem or f"an event could not be encoded ({type(error).__name__})"
            raise AuditError(f"{self.path}: {self._problem}") from error

    def _field(self, name: str, value: Any) -> Any:
        if name == "args":
            return bounded_args(value, self._redact)
        if name == "tool_calls" and isinstance(value, (list, tuple)):
            return bounded_calls(value, self._redact)
        return clean(value, self._redact)

    def _append(self, body: str) -> None:
        if self._problem:
            raise AuditError(f"{self.path}: {self._problem}")
        try:
            self._settle()
            end = self._end
            line, digest = seal(end.seq + 1, timestamp(self._clock()), self._id_json, body, end.head)
            self._next = _End(end.seq + 1, end.size_bytes + len(line), digest)
            self._write(line)
            self._end = self._next
        except OSError as error:
            self._problem = f"cannot be written: {error.strerror or error}"
            with suppress(OSError):
                self._take_back()
            raise AuditError(f"{self.path}: {self._problem}") from error

    def _settle(self) -> None:
        """A Ctrl-C may have struck between the write and the note of it: ask the file which it was."""
        if self._next is self._end:
            return
        if os.fstat(self._fd).st_size == self._next.size_bytes:
            self._end = self._next
        else:
            self._take_back()

    def _write(self, line: bytes) -> None:
        if len(line) > MAX_LINE_BYTES:
            raise OSError("an event is too large for the log")
        left = memoryview(line)
        while left:
            left = left[os.write(self._fd, left) :]

    def _take_back(self) -> None:
        """Remove the part of a line that got through; a log ends with a whole line."""
        os.ftruncate(self._fd, self._end.size_bytes)
        self._next = self._end

    def close(self, **more: Any) -> None:
        """Write `session_end` and close. Safe to call twice; a log that failed closes silently."""
        if self._fd < 0:
            return
        try:
            if not self._problem:
                self.log("session_end", **more)
        finally:
            with self._lock:
                os.close(self._fd)
                self._fd, self._problem = -1, self._problem or "is closed"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
