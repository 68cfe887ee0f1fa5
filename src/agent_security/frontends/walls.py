"""What the wall of this machine proves; shared by `sandbox test` and `doctor`."""

from __future__ import annotations

import os
import tempfile
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from agent_security.errors import SandboxError, SandboxUnavailable
from agent_security.ports import Guarantees

MEANINGS = {
    "fs": "nothing outside the workspace is read or changed",
    "net": "no network but what was opened",
    "env": "none of the host's variables",
    "kill": "no process is left behind",
    "limits": "memory, processes and time are bounded",
    "view": "commands work on a copy: what they change is judged first and can be undone",
}


@dataclass(frozen=True, slots=True)
class WallsLook:
    """What was found. `backend` is "" where there is no wall; then `problem` and `remedy` say why."""

    backend: str = ""
    guarantees: Guarantees = field(default_factory=Guarantees)
    problem: str = ""
    remedy: str = ""

    def as_object(self) -> dict[str, Any]:
        return asdict(self)


def look_at_walls(working_dir: str | None, backend: str) -> WallsLook:
    """Open a wall, which proves itself by its effects, on a throwaway workspace where none is named.

    A wall that cannot be had is an answer here, not an error.
    """
    from agent_security.sandboxes import SandboxRequest, open_sandbox
    from agent_security.settings import home_dir
    from agent_security.wiring.workspace import refuse_own_code_under, workspace_at

    with tempfile.TemporaryDirectory(prefix="agent-security-") as folder:
        own, empty = os.path.join(folder, "session"), os.path.join(folder, "workspace")
        os.mkdir(own, 0o700)
        os.mkdir(empty)
        workspace = os.path.realpath(empty) if working_dir is None else workspace_at(working_dir)
        if working_dir is not None:
            refuse_own_code_under(workspace)  # as a session there would be
        request = SandboxRequest(workspace, own, backend=backend, home=str(home_dir()))
        try:
            with closing(open_sandbox(request)) as wall:
                return WallsLook(wall.backend, wall.guarantees)
        except SandboxUnavailable as error:
            return WallsLook(problem=str(error), remedy=error.remedy)
        except SandboxError as error:
            return WallsLook(problem=str(error))


def wall_lines(look: WallsLook) -> list[str]:
    """One line a guarantee, for a person."""
    if not look.backend:
        return [f"no sandbox: {look.problem}", *([f"  to get one: {look.remedy}"] if look.remedy else [])]
    rows = [(item.name, getattr(look.guarantees, item.name)) for item in fields(Guarantees)]
    return [
        f"sandbox: {look.backend}",
        *(f"  {'yes' if held else 'NO ':<4}{name:<7} {MEANINGS[name]}" for name, held in rows),
    ]
