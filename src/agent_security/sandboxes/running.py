"""Start one sandbox, and end every process of it (DESIGN §3.1, D9).

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
from collections.abc import Mapping

from agent_security.errors import SandboxError
from agent_security.sandboxes.binary import Bwrap
from agent_security.sandboxes.line import Line

DEATH_S = 10.0
"""How long the dead may take: the kernel unmounts and frees a sandbox's memory meanwhile."""
FIRST_WORD_S = 5.0
"""How long bwrap may take to name the namespace's first process, before a kill gives up on it."""
START = "/run/start"
START_SCRIPT = r"""
while :; do
  mapfile -t REPLY < /proc/1/status
  [[ ${{REPLY[*]}} == *Seccomp:$'\t'2* ]] && break
done
read -t 0 -u {fd} && exit 125
exec {fd}<&-
unset REPLY BASH_ENV
"""
"""Run by every bash of ours before its command. bwrap ties its processes to their parents only after
they have started, so a harness that is killed in that moment would leave a command running. The
script waits until the tie is there, then looks whether the harness still holds its end of a pipe.
(A bwrap that lost its parent even earlier stays, waiting for ever, and runs nothing.)"""


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
        bash: bool = False,
    ) -> None:
        """`bash` says that the command is one; every other command ends with its standard input."""
        self._status, status_write = os.pipe2(os.O_CLOEXEC)
        self._init = -1
        self._said = b""
        self._killed = False
        self._lifeline = -1
        if bash:
            env = {**env, "BASH_ENV": START}
            self._hold_lifeline(line)
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
            for fd in (self._status, self._lifeline):
                if fd >= 0:
                    os.close(fd)
            raise SandboxError(f"the sandbox could not be started: {error}") from error
        finally:
            os.close(status_write)
        os.set_blocking(self._status, False)
        self.outer = os.pidfd_open(self.process.pid)
        if self.process.stdout is None:
            raise SandboxError("the sandbox has no output")
        self.stdout = self.process.stdout.fileno()
        os.set_blocking(self.stdout, False)

    def _hold_lifeline(self, line: Line) -> None:
        inside, self._lifeline = os.pipe2(os.O_CLOEXEC)
        line.fds.append(inside)
        line.add("--ro-bind-data", line.data(START_SCRIPT.format(fd=inside).encode()), START)

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
        if self._init < 0 and self._named:
            with contextlib.suppress(ProcessLookupError):  # dead and gone already
                self._init = os.pidfd_open(json.loads(self._said.split(b"\n")[0])["child-pid"])
        return bool(chunk)

    @property
    def _named(self) -> bool:
        """Whether bwrap's first line is here: it comes in pieces."""
        return b"\n" in self._said

    @property
    def started(self) -> bool:
        """Whether the command itself was reached, and ended."""
        return b'"exit-code"' in self._said

    def kill(self) -> None:
        """End the namespace. Its first process is waited for first, so that none is missed."""
        self._killed = True
        deadline = time.monotonic() + FIRST_WORD_S
        while not self._named and self.process.poll() is None and time.monotonic() < deadline:
            select.select([self._status, self.outer], [], [], 0.1)
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
        if self._killed and not self._named and self._said:
            dead = False
        dead = dead and (self._init < 0 or _gone(self._init))
        if not dead:
            self.kill()
            raise SandboxError("a process of the sandbox outlived it")
        code = self.process.wait()
        return code if code >= 0 else 128 - code

    def close(self) -> None:
        for fd in (self._status, self._init, self.outer, self._lifeline):
            if fd >= 0:
                os.close(fd)
        self._status = self._init = self.outer = self._lifeline = -1
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


def _gone(pidfd: int) -> bool:
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(DEATH_S * 1000))
