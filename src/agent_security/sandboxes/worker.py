"""The host's side of the file worker (DESIGN §3.1).

One request is outstanding at a time and one line answers it. A line nobody asked for, a reply that
is too large or no reply at all ends the worker; the next call starts another. What the reply may say
is its text and, for a write, the bytes: id, origin and status are the host's.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import select
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agent_security.descriptors import parts_of
from agent_security.errors import Aborted, DockerSandboxError, SandboxTimeout
from agent_security.sandboxes.process import Stop
from agent_security.sandboxes.running import Running

MOST_REPLY_BYTES = 24 * 1024 * 1024
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Write:
    """A write the worker worked out, checked for shape. `before` is the digest of the file replaced."""

    path: str
    data: bytes
    before: str | None
    mode: int | None
    existed: bool


@dataclass(frozen=True, slots=True)
class Reply:
    ok: bool
    text: str
    write: Write | None = None


class Worker:
    """Keeps one worker process. `start` makes a new one; it is called when one is needed."""

    def __init__(self, start: Callable[[], Running], stop: Stop) -> None:
        self._start = start
        self._stop = stop
        self._running: Running | None = None
        self._masks_sent = -1

    def ask(
        self,
        tool: str,
        args: Mapping[str, Any],
        masks: Mapping[str, bytes],
        masks_version: int,
        timeout_s: float,
    ) -> Reply:
        """One request. Raises SandboxTimeout, Aborted, or DockerSandboxError; the worker is then gone."""
        deadline = time.monotonic() + timeout_s
        try:
            running = self._ready()
            request: dict[str, Any] = {"tool": tool, "args": dict(args)}
            if masks_version != self._masks_sent:
                request["masks"] = {path: base64.b64encode(data).decode() for path, data in masks.items()}
            self._send(running, json.dumps(request).encode("ascii") + b"\n", deadline, timeout_s)
            self._masks_sent = masks_version
            line = self._line(running, deadline, timeout_s)
            return parse_reply(line)
        except BaseException:
            self.close()
            raise

    def _ready(self) -> Running:
        """The worker, started if there is none. One that has said something unasked is ended first."""
        if (
            self._running is not None
            and select.select([self._running.stdout, self._running.outer], [], [], 0)[0]
        ):
            self.close()
        if self._running is None:
            self._running = self._start()
            self._masks_sent = -1
        return self._running

    def _send(self, running: Running, data: bytes, deadline: float, timeout_s: float) -> None:
        if running.process.stdin is None:
            raise DockerSandboxError("the file worker has no input")
        fd = running.process.stdin.fileno()
        os.set_blocking(fd, False)
        left = memoryview(data)
        while left:
            self._wait(running, deadline, timeout_s, writing=fd)
            try:
                left = left[os.write(fd, left[:65536]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise DockerSandboxError(f"the file worker has ended{_last_words(running)}") from None

    def _line(self, running: Running, deadline: float, timeout_s: float) -> bytes:
        """One whole line and nothing after it."""
        got = bytearray()
        while b"\n" not in got:
            self._wait(running, deadline, timeout_s)
            try:
                chunk = os.read(running.stdout, _READ_BYTES)
            except BlockingIOError:
                continue
            got += chunk
            if not chunk:
                words = bytes(got[:500]).decode("utf-8", "replace").strip()
                raise DockerSandboxError(f"the file worker ended without a reply{words and ': ' + words}")
            if len(got) > MOST_REPLY_BYTES:
                raise DockerSandboxError("the file worker's reply is too large")
        line, _, more = bytes(got).partition(b"\n")
        if more:
            raise DockerSandboxError("the file worker said more than it was asked")
        return line

    def _wait(self, running: Running, deadline: float, timeout_s: float, *, writing: int = -1) -> None:
        """Until there is something to read, or room to write. The deadline and a stop end it."""
        left = deadline - time.monotonic()
        reading = [running.stdout, self._stop.fileno()] if writing < 0 else [self._stop.fileno()]
        ready, room, _ = select.select(reading, [writing] if writing >= 0 else [], [], max(0.0, left))
        if self._stop.fileno() in ready:
            raise Aborted("the call was stopped")
        if not ready and not room:
            raise SandboxTimeout(f"timed out after {timeout_s:g}s; the file tool was ended")

    def close(self) -> None:
        """End the worker, if there is one, and wait until it is dead."""
        running, self._running = self._running, None
        if running is not None:
            running.kill()
            try:
                running.finish()
            finally:
                running.close()


def _last_words(running: Running) -> str:
    try:
        words = os.read(running.stdout, 500).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    return f": {words}" if words else ""


def parse_reply(line: bytes) -> Reply:
    """The reply's shape, believed in nothing else. Raises DockerSandboxError where it is another."""
    try:
        raw = json.loads(line)
        write = raw.get("write")
        if not isinstance(raw["ok"], bool) or not isinstance(raw["text"], str):
            raise TypeError("ok or text")
        return Reply(raw["ok"], raw["text"], _parsed_write(write) if write is not None else None)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DockerSandboxError(f"the file worker's reply is malformed: {type(error).__name__}") from error


def _parsed_write(raw: dict[str, Any]) -> Write:
    before, mode = raw["before"], raw["mode"]
    if before is not None and not (isinstance(before, str) and len(before) == 64):
        raise ValueError("before")
    if mode is not None and not (type(mode) is int and 0 <= mode <= 0o7777):
        raise ValueError("mode")
    parts_of(raw["path"])
    try:
        data = base64.b64decode(raw["data"], validate=True)
    except binascii.Error as error:
        raise ValueError("data") from error
    return Write(raw["path"], data, before, mode, before is not None)
