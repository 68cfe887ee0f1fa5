"""One run of a sandbox: read what it says as it comes, to its end, a deadline or a stop (§4.3, D9)."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Callable

from agent_security.errors import Aborted, DockerSandboxError, SandboxError, SandboxTimeout
from agent_security.sandboxes.output import Finished, Kept
from agent_security.sandboxes.running import Running

LOOK_EVERY_S = 0.25
_READ_BYTES = 1 << 20


class Stop:
    """Tells a run under way to end. Safe from another thread and from a signal handler."""

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def fileno(self) -> int:
        return self._fd

    def set(self) -> None:
        os.eventfd_write(self._fd, 1)

    def clear(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._fd)

    def close(self) -> None:
        os.close(self._fd)


def run(
    running: Running,
    *,
    timeout_s: float,
    stop: Stop,
    stdin: bytes = b"",
    watch: Callable[[], str] | None = None,
) -> Finished:
    """Read to the end of the foreground process, or to the deadline, or to `stop`.

    Raises SandboxTimeout, Aborted, DockerSandboxError (the wall could not be built) or SandboxError.
    Whatever happens, every process of the sandbox is dead on return.
    """
    kept = Kept()
    try:
        why = _pump(running, kept, time.monotonic() + timeout_s, stop, stdin, watch)
        if why:
            running.kill()
        code = running.finish()
        _drain(running.stdout, kept)
    except BaseException:
        running.kill()
        with contextlib.suppress(SandboxError):  # an interrupt waits for the dead too
            running.finish()
        raise
    finally:
        running.close()
    if why:
        raise _ended(why, timeout_s)
    if not running.started:
        raise DockerSandboxError(f"the sandbox could not be built: {kept.text().strip()[:500]}")
    return Finished(code, kept)


def _ended(why: str, timeout_s: float) -> SandboxError | Aborted:
    if why == "deadline":
        return SandboxTimeout(
            f"timed out after {timeout_s:g}s; every process of the call was ended and nothing of it "
            "was kept. A server has to be started, used and stopped within one command"
        )
    if why == "stop":
        return Aborted("the call was stopped; every process of it was ended and nothing of it was kept")
    return DockerSandboxError(f"the call was ended: {why}")


def _pump(
    running: Running,
    kept: Kept,
    deadline: float,
    stop: Stop,
    stdin: bytes,
    watch: Callable[[], str] | None,
) -> str:
    """Move bytes until the outer process ends. Returns why it has to be ended, or ""."""
    poller = select.poll()
    for fd in (running.outer, running.stdout, running.status_fd, stop.fileno()):
        poller.register(fd, select.POLLIN)
    feed = running.process.stdin.fileno() if running.process.stdin is not None else -1
    left = memoryview(stdin)
    if feed >= 0:
        os.set_blocking(feed, False)
        poller.register(feed, select.POLLOUT)
    while True:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            return "deadline"
        ready = dict(poller.poll(max(1, min(remaining, LOOK_EVERY_S) * 1000)))
        if stop.fileno() in ready:
            return "stop"
        if running.status_fd in ready and not running.read_status():
            poller.unregister(running.status_fd)
        if running.stdout in ready and not _read_once(running.stdout, kept):
            poller.unregister(running.stdout)
        if feed in ready:
            left = _write_once(feed, left)
            if not left:
                poller.unregister(feed)
                if running.process.stdin is not None:
                    running.process.stdin.close()
                feed = -1
        if running.outer in ready:
            return ""
        if watch is not None and (problem := watch()):
            return problem


def _read_once(fd: int, kept: Kept) -> bool:
    try:
        chunk = os.read(fd, _READ_BYTES)
    except BlockingIOError:
        return True
    kept.add(chunk)
    return bool(chunk)


def _write_once(fd: int, left: memoryview) -> memoryview:
    try:
        return left[os.write(fd, left[:65536]) :]
    except BlockingIOError:
        return left
    except BrokenPipeError:
        return left[:0]


def _drain(fd: int, kept: Kept) -> None:
    """What was still in the pipe. Everybody is dead, so it ends: EOF, or nothing to read."""
    for _ in range(1024):
        try:
            chunk = os.read(fd, _READ_BYTES)
        except BlockingIOError:
            return
        if not chunk:
            return
        kept.add(chunk)
