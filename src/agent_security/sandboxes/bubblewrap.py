"""The wall made with bubblewrap: `ports.Sandbox` over a file worker and a fresh sandbox a command."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from agent_security.calls import Origin, Permit, Status, ToolOutput
from agent_security.changes import read_upper, stage_file
from agent_security.changeset import ChangeSet
from agent_security.errors import ChangeError, DockerSandboxError, SandboxError
from agent_security.ports import Guarantees, Repository
from agent_security.sandboxes import lines, process
from agent_security.sandboxes.etc import HOME
from agent_security.sandboxes.output import Finished
from agent_security.sandboxes.parts import Parts
from agent_security.sandboxes.place import ensure_mount_points
from agent_security.sandboxes.process import Stop
from agent_security.sandboxes.repository import at_start
from agent_security.sandboxes.running import Running
from agent_security.sandboxes.view import CallView, new_view
from agent_security.sandboxes.worker import Reply, Worker

LEAST_FREE_BYTES = 256 * 1024 * 1024
"""A command that leaves the disk with less than this is ended."""
LEAST_FREE_FILES = 20_000
"""And one that leaves it with fewer names than this, where the file system counts them."""
GROWTH_BYTES = 64 * 1024 * 1024
"""The private folders are measured when the disk has lost this much since they last were."""
FILE_TOOLS = frozenset({"read_file", "glob_files", "grep", "write_file", "edit_file"})


class BubblewrapSandbox:
    """One session's wall. Made by `open_sandbox`, which has proven the guarantees it carries.

    Calls come one at a time; `kill` may come from another thread or a signal handler meanwhile.
    """

    backend = "bubblewrap"

    def __init__(self, parts: Parts, guarantees: Guarantees) -> None:
        self._parts = parts
        self._guarantees = guarantees
        self._stop = Stop()
        self._busy = threading.Lock()
        self._calling = False
        self._worker = Worker(self._start_worker, self._stop)
        self._views: list[CallView] = []
        self._free_bytes = self._free()
        self._closed = False
        self._repository = at_start(parts)

    @property
    def repository(self) -> Repository | None:
        return self._repository

    @property
    def guarantees(self) -> Guarantees:
        return self._guarantees

    @property
    def tracked_secrets(self) -> tuple[str, ...]:
        return self._parts.tracked

    @property
    def masked(self) -> tuple[str, ...]:
        """The secret files that read empty now, relative to the workspace."""
        return self._parts.mask.secrets

    def run_file_tool(self, permit: Permit, *, timeout_s: float) -> ToolOutput:
        """One request to the file worker; a write comes back as a change set of one file."""
        name = permit.call.name
        if name not in FILE_TOOLS:
            raise SandboxError(f"{name} is no file tool")
        with self._one_call(permit):
            mask = self._parts.mask
            mask.refresh()
            reply = self._worker.ask(name, permit.call.args, mask.contents, mask.version, timeout_s)
        source = str(permit.call.args.get("path") or "")
        status = Status.OK if reply.ok else Status.ERROR
        return ToolOutput(reply.text, status, Origin.WORKSPACE, self._staged(reply), source=source)

    def run_command(self, permit: Permit, *, timeout_s: float) -> ToolOutput:
        """`bash --noprofile --norc -c COMMAND` on a fresh view; its change set is read, not applied."""
        command = str(permit.call.args["command"])
        with self._one_call(permit):
            self._parts.mask.refresh()
            self._forget_views()
            view = new_view(self._parts.place, self._parts.workspace) if self._guarantees.view else None
            try:
                finished = self._run_in(view, command, timeout_s)
                changes = self._changes_of(view)
            except BaseException:
                if view is not None:
                    view.remove()
                raise
            note = self._check_private_folders()
        text = _with_exit_code(finished)
        text += "".join(f"\n[harness] {one}" for one in (*self._mask_notes(command, finished, text), *note))
        status = Status.OK if finished.exit_code == 0 else Status.ERROR
        return ToolOutput(text, status, Origin.WORKSPACE, changes, finished.exit_code)

    def html_to_text(self, permit: Permit, html: bytes, *, timeout_s: float) -> str:
        """Foreign markup to text, in a sandbox of its own without workspace, home or network."""
        with self._one_call(permit), lines.for_html(self._parts) as line:
            command = lines.html_command(self._parts)
            running = Running(line, self._parts.bwrap, command, lines.bare_env(), piped_stdin=True)
            finished = process.run(running, timeout_s=timeout_s, stop=self._stop, stdin=html)
        if finished.exit_code != 0:
            raise SandboxError("the page could not be turned into text")
        return finished.output.text()

    def kill(self) -> None:
        """End every process of the call under way, if there is one."""
        if self._calling:
            self._stop.set()

    def close(self) -> None:
        """End the worker and remove the private folders. A second time does nothing."""
        if self._closed:
            return
        self._closed = True
        self._stop.set()
        with self._busy:
            self._worker.close()
            self._parts.close()
            self._stop.close()

    # --- a call ------------------------------------------------------------------------------

    @contextmanager
    def _one_call(self, permit: Permit) -> Iterator[None]:
        if not isinstance(permit, Permit):
            raise SandboxError("nothing runs without a permit")
        with self._busy:
            if self._closed:
                raise SandboxError("the sandbox is closed")
            self._stop.clear()
            self._calling = True
            try:
                yield
            except (OSError, ValueError, ChangeError) as error:
                # a full disk, or what a command left: the call's bad news, never the session's end
                raise DockerSandboxError(f"the call broke, nothing of it was kept: {error}") from error
            finally:
                self._calling = False

    def _run_in(self, view: CallView | None, command: str, timeout_s: float) -> Finished:
        self._keep_mount_points()
        with lines.for_command(self._parts, view) as line:
            words = ["/bin/bash", "--noprofile", "--norc", "-c", command]
            running = Running(line, self._parts.bwrap, words, lines.command_env(self._parts), bash=True)
            return process.run(running, timeout_s=timeout_s, stop=self._stop, watch=self._watch)

    def _changes_of(self, view: CallView | None) -> ChangeSet:
        if view is None:
            return ChangeSet()
        if view.untouched:
            view.remove()
            return ChangeSet(since_ns=view.since_ns)
        self._views.append(view)
        masked = tuple(self._parts.mask.contents)
        return read_upper(view.upper, self._parts.workspace_fd, since_ns=view.since_ns, masked=masked)

    def _staged(self, reply: Reply) -> ChangeSet:
        write = reply.write
        if write is None or not reply.ok:
            return ChangeSet()
        folder = self._parts.place.staged
        changes = stage_file(
            folder, write.path, write.data, mode=write.mode, before=write.before, existed=write.existed
        )
        for change in changes.changes:
            if change.staged is not None:
                self._parts.identity.own(change.staged)
        return changes

    def _start_worker(self) -> Running:
        with lines.for_worker(self._parts) as line:
            command = lines.worker_command(self._parts)
            return Running(line, self._parts.bwrap, command, lines.bare_env(), piped_stdin=True)

    def _mask_notes(self, command: str, finished: Finished, text: str) -> tuple[str, ...]:
        """One line where a failed command speaks of a file that reads empty: what it is, how to grant it."""
        if finished.exit_code == 0:
            return self._dropped_writes()
        for path in self.masked:
            if os.path.basename(path) in command or os.path.basename(path) in text:
                return (f"{path} is a secret file and reads empty here; allow Read(./{path}) to show it",)
        return ()

    def _dropped_writes(self) -> tuple[str, ...]:
        """A command that wrote to a masked file is told that this was for nothing."""
        written = [path for view in self._views for path in self.masked if view.holds(path)]
        return tuple(f"{path} is masked: what was written to it is dropped" for path in written[:3])

    # --- upkeep ------------------------------------------------------------------------------

    def _keep_mount_points(self) -> None:
        """Mounts below the private folders must meet plain folders, never a link a command left there."""
        place, targets = self._parts.place, lines.mount_targets(self._parts)
        for private, inside in ((place.tmp, "/tmp"), (place.tmp, "/var/tmp"), (place.home, HOME)):
            if not ensure_mount_points(private, inside, targets):
                place.empty_private()
                lines.fill_home(self._parts)
                ensure_mount_points(private, inside, targets)

    def _forget_views(self) -> None:
        """The folders of earlier calls go once their change sets were applied or refused."""
        while self._views:
            self._views.pop().remove()

    def _free(self) -> int:
        found = os.statvfs(self._parts.place.root)
        return found.f_bavail * found.f_frsize

    def _watch(self) -> str:
        found = os.statvfs(self._parts.place.root)
        if found.f_bavail * found.f_frsize < LEAST_FREE_BYTES:
            return "the disk is nearly full"
        few = found.f_files and found.f_favail < LEAST_FREE_FILES
        return "the disk has hardly a file left to give" if few else ""

    def _check_private_folders(self) -> tuple[str, ...]:
        free = self._free()
        grown = self._free_bytes - free > GROWTH_BYTES
        self._free_bytes = max(free, self._free_bytes) if not grown else free
        if not grown or not self._parts.place.too_full():
            return ()
        self._parts.place.empty_private()
        lines.fill_home(self._parts)
        return ("HOME and /tmp of this session held too much and were emptied",)


def _with_exit_code(finished: Finished) -> str:
    text = finished.output.text()
    if finished.exit_code == 0:
        return text
    signal = f": ended by signal {finished.signal}" if finished.signal else ""
    gap = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{gap}[exit code {finished.exit_code}{signal}]"
