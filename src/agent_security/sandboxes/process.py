"""Start one sandbox, read what it says as it comes, and end every process of it (DESIGN §3.1, D9).

A sandbox is one process namespace; its first process is bubblewrap's own. The kernel lets a
descriptor of that process become readable only after every other process of the namespace is dead,
so waiting for it is the proof that nothing is left, whatever session or group it moved to.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from agent_security.errors import Aborted, DockerSandboxError, SandboxError, SandboxTimeout
from agent_security.sandboxes.binary import Bwrap
from agent_security.sandboxes.line import Line

HEAD_BYTES = TAIL_BYTES = 256 * 1024
"""Kept of an output: its beginning and its end. Well above what the model is shown, so that
redaction sees every byte around the later cut."""
LOOK_EVERY_S = 0.25
DEATH_S = 10.0
"""How long the dead may take: the kernel unmounts and frees a sandbox's memory meanwhile."""
_READ_BYTES = 1 << 20


@dataclass
class Kept:
    """The head and tail of a stream of any length, in bounded memory."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    total: int = 0

    def add(self, chunk: bytes) -> None:
        self.total += len(chunk)
        room = HEAD_BYTES - len(self.head)
        if room > 0:
            self.head += chunk[:room]
            chunk = chunk[room:]
        self.tail += chunk
        if len(self.tail) > 2 * TAIL_BYTES:
            del self.tail[:-TAIL_BYTES]

    def text(self) -> str:
        """Bytes that are not UTF-8 become U+FFFD; what was left out is said."""
        tail = self.tail[-TAIL_BYTES:]
        left_out = self.total - len(self.head) - len(tail)
        if left_out <= 0:
            return (self.head + tail).decode("utf-8", "replace")
        middle = f"\n[… {left_out} bytes left out …]\n"
        return self.head.decode("utf-8", "replace") + middle + tail.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Finished:
    """How a sandbox ended. `exit_code` is the shell's: 128 and the signal for one that was killed."""

    exit_code: int
    output: Kept

    @property
    def signal(self) -> int:
        return self.exit_code - 128 if 128 < self.exit_code < 193 else 0


class Running:
    """One sandbox under way. The caller reads `stdout` (merged where asked) and calls `finish`."""

    def __init__(
        self,
        line: Line,
        bwrap: Bwrap,
        command: list[str],
        env: Mapping[str, str],
        *,
        piped_stdin: bool = False,
        pass_fds: tuple[int, ...] = (),
    ) -> None:
        self._status, status_write = os.pipe2(os.O_CLOEXEC)
        self._init = -1
        self._said = b""
        try:
            argv = line.argv(bwrap, command, status_write)
            self.process = subprocess.Popen(
                argv,
                env=dict(env),
                cwd="/",
                stdin=subprocess.PIPE if piped_stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                pass_fds=(*line.fds, status_write, *pass_fds),
                start_new_session=True,
                **line.identity.popen_options(),
            )
        except (OSError, subprocess.SubprocessError) as error:
            os.close(self._status)
            raise SandboxError(f"the sandbox could not be started: {error}") from error
        finally:
            os.close(status_write)
        os.set_blocking(self._status, False)
        self.outer = os.pidfd_open(self.process.pid)
        if self.process.stdout is None:
            raise SandboxError("the sandbox has no output")
        self.stdout = self.process.stdout.fileno()
        os.set_blocking(self.stdout, False)

    @property
    def status_fd(self) -> int:
        return self._status

    def read_status(self) -> bool:
        """Take in what bwrap reports; its first line names the first process. False at its end."""
        try:
            chunk = os.read(self._status, 4096)
        except BlockingIOError:
            return True
        self._said += chunk
        if self._init < 0 and b"\n" in self._said:
            with contextlib.suppress(ProcessLookupError):  # dead and gone already
                self._init = os.pidfd_open(json.loads(self._said.split(b"\n")[0])["child-pid"])
        return bool(chunk)

    @property
    def started(self) -> bool:
        """Whether the command itself was reached, and ended."""
        return b'"exit-code"' in self._said

    def kill(self) -> None:
        """End the namespace. Its first process is waited for first, so that none is missed."""
        if self._init < 0 and self.process.poll() is None:
            select.select([self._status], [], [], 1.0)
            self.read_status()
        for fd in (self._init, self.outer):
            if fd >= 0:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(fd, signal.SIGKILL)

    def finish(self) -> int:
        """Wait until every process is dead, close everything. Returns the exit code.

        Raises SandboxError where one survives: then no result may be accepted.
        """
        dead = _gone(self.outer)
        while self.read_status() and select.select([self._status], [], [], 0)[0]:
            pass
        dead = dead and (self._init < 0 or _gone(self._init))
        if not dead:
            self.kill()
            raise SandboxError("a process of the sandbox outlived it")
        code = self.process.wait()
        return code if code >= 0 else 128 - code

    def close(self) -> None:
        for fd in (self._status, self._init, self.outer):
            if fd >= 0:
                os.close(fd)
        self._status = self._init = self.outer = -1
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


def _gone(pidfd: int) -> bool:
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(DEATH_S * 1000))


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
