"""Find what was changed in a log afterwards, in one pass and constant memory.

    1 every line whole, ended by one newline, no longer than MAX_LINE_BYTES
    2 its hash the one of its own bytes
    3 its `prev` the hash of the line before, its `seq` the line's number, its session the same
    4 `session_start` first, `session_end` last and once

A log that is right so far and does not end with `session_end` is "unclosed": the session still
runs, was killed, or lines were taken off the end; the chain alone cannot tell which.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import msgspec

from agent_security.errors import AuditError
from agent_security.tools.audit.line import FIRST_PREV, HASH_KEY, MAX_LINE_BYTES, PREV_KEY, TAIL_BYTES


class Verification(NamedTuple):
    """`status` is "ok", "broken" or "unclosed". `line` (from 1) and `problem` say where and what.

    `events` counts the lines that hold, `head` is the hash of the last of them.
    """

    status: str
    line: int = 0
    problem: str = ""
    events: int = 0
    head: str = ""
    session_id: str = ""


class _Header(msgspec.Struct):
    """The part of a line that is checked; the rest is parsed and dropped."""

    seq: int
    ts: str
    session_id: str
    event: str
    prev: str
    hash: str


_decode_header = msgspec.json.Decoder(_Header).decode
_decode_any = msgspec.json.Decoder().decode


def verify_log(path: str | os.PathLike[str]) -> Verification:
    """Check a whole log. Raises AuditError where it cannot be read."""
    try:
        with _open_regular(path) as file:
            return _verify(file)
    except OSError as error:
        raise AuditError(f"cannot read {os.fspath(path)}: {error.strerror or error}") from error


def _open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    # O_NONBLOCK: a FIFO in the log's place must not hang the reader
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError("not a regular file")
    return os.fdopen(fd, "rb", buffering=256 * 1024)


def _verify(file: BinaryIO) -> Verification:
    number, head, session_id, event = 0, FIRST_PREV, None, ""
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        problem, header = _check_line(line, number, head)
        if not problem and header is not None:
            problem = _check_place(header, session_id, event)
        if problem or header is None:
            return Verification("broken", number, problem, number - 1, head, session_id or "")
        head, session_id, event = header.hash, header.session_id, header.event
    if event != "session_end":
        problem = "does not end with session_end" if number else "is empty"
        return Verification("unclosed", number, problem, number, head, session_id or "")
    return Verification("ok", 0, "", number, head, session_id or "")


def _check_line(line: bytes, number: int, head: str) -> tuple[str, _Header | None]:
    """1 to 3, on the raw bytes first: a line's end has one form and one place."""
    if not line.endswith(b"\n"):
        return ("is too long" if len(line) > MAX_LINE_BYTES else "is cut off: no newline at its end"), None
    covered, tail = line[:-TAIL_BYTES], line[-TAIL_BYTES:]
    digest = hashlib.sha256(covered).hexdigest().encode("ascii")
    if tail[: len(HASH_KEY)] != HASH_KEY or tail[-3:] != b'"}\n':
        return "does not end with its hash", None
    if tail != HASH_KEY + digest + b'"}\n':
        return "was changed: its hash does not match", None
    if not covered.endswith(PREV_KEY + head.encode("ascii") + b'"'):
        return "does not follow the line before: a line is missing, added or moved", None
    if not covered.startswith(b'{"seq":%d,"ts":"' % number) or not covered.isascii():
        return f"does not carry seq {number}", None
    try:
        return "", _decode_header(line)
    except msgspec.MsgspecError:
        return "is not an event", None


def _check_place(header: _Header, session_id: str | None, before: str) -> str:
    """4, and one session a log."""
    if before == "session_end":
        return "follows session_end"
    if session_id is None:
        return "" if header.event == "session_start" else "is not session_start"
    if header.session_id != session_id:
        return "belongs to another session"
    return "is a second session_start" if header.event == "session_start" else ""


def read_log(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """Each line as a dict, for showing; what is no event comes as `{"event": "unreadable", …}`.

    Proves nothing: use verify_log. Raises AuditError where the file cannot be read.
    """
    try:
        with _open_regular(path) as file:
            number = 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                yield _tolerant(line, number)
    except OSError as error:
        raise AuditError(f"cannot read {os.fspath(path)}: {error.strerror or error}") from error


def _tolerant(line: bytes, number: int) -> dict[str, Any]:
    try:
        record = _decode_any(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        record = None
    if isinstance(record, dict) and isinstance(record.get("event"), str):
        return record
    return {"seq": number, "event": "unreadable", "text": line[:200].decode("utf-8", "backslashreplace")}
