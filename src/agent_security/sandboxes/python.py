"""The interpreter and the source of what runs inside: both come from the harness, none from the workspace."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path

from agent_security.errors import SandboxUnavailable
from agent_security.sandboxes.identity import Identity
from agent_security.sandboxes.line import Line
from agent_security.sandboxes.toolchains import SYSTEM_PREFIXES

RUNNER = "/run/runner"
SYSTEM_PYTHON = "/usr/bin/python3"
_START = "import sys; sys.path.insert(0, '/run'); from runner.{module} import main; main({args})"


def interpreter(identity: Identity) -> tuple[str, str]:
    """(the interpreter's path, the folder to mount for it or "").

    The system's where the harness itself runs on one of the system's; else the harness's own
    installation, read-only; the system's again where the sandbox's user cannot reach that.
    """
    prefix = os.path.realpath(sys.base_prefix)
    own = os.path.join(prefix, "bin", f"python{sys.version_info[0]}.{sys.version_info[1]}")
    if any(prefix == system or prefix.startswith(system + "/") for system in SYSTEM_PREFIXES):
        return (own, "") if os.path.exists(own) else (SYSTEM_PYTHON, "")
    if os.path.exists(own) and identity.can_reach(prefix):
        return own, prefix
    if os.path.exists(SYSTEM_PYTHON):
        return SYSTEM_PYTHON, ""
    raise SandboxUnavailable(
        f"no Python that uid {identity.uid} can start for the file tools", "apt-get install python3-minimal"
    )


@functools.cache
def runner_source() -> tuple[tuple[str, bytes], ...]:
    """The files of `tools/runner/`, read once from the installed package."""
    folder = Path(__file__).resolve().parent.parent / "tools" / "runner"
    return tuple((path.name, path.read_bytes()) for path in sorted(folder.glob("*.py")))


def add_runner(line: Line, mount: str) -> None:
    """Show the interpreter's folder, where it needs one, and hand the source over as data."""
    if mount:
        line.read_only(mount)
    for name, source in runner_source():
        line.add("--ro-bind-data", line.data(source), f"{RUNNER}/{name}")


def start(python: str, module: str, *args: object) -> list[str]:
    """The command that runs one module's `main`, cut off from every site and user setting."""
    given = ", ".join(repr(one) for one in args)
    return [python, "-I", "-S", "-B", "-c", _START.format(module=module, args=given)]
