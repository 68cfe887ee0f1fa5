"""Runs the program as a person would, and reads what it said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_security import __version__
from agent_security.settings import state_dir
from agent_security.tools.audit import read_log

SOURCE = Path(__file__).parents[2] / "src"
LINE = [sys.executable, "-P", "-m", "agent_security"]
_PROGRESS = ("● ", "  ", "session ", "the model's endpoint failed, next try in ")
_BANNER = f"agent-security {__version__}"


@dataclass(frozen=True)
class Ran:
    """How one run ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def clear_line(self) -> str:
        """The one line of stderr that is neither banner, progress nor summary."""
        assert "Traceback" not in self.err + self.out
        lines = [line for line in self.err.splitlines() if line and line != _BANNER]
        (line,) = [line for line in lines if not line.startswith(_PROGRESS)]
        return line


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE)}


def program(*args: str, stdin: bytes = b"", timeout_s: float = 60) -> Ran:
    """The program in a process of its own, in this process's working directory."""
    ran = subprocess.run(
        [*LINE, *args], input=stdin, capture_output=True, env=environment(), timeout=timeout_s, check=False
    )
    return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def started(*args: str) -> subprocess.Popen[bytes]:
    """The program under way, in a session of its own, so that a signal meets it alone."""
    return subprocess.Popen(
        [*LINE, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(), start_new_session=True,
    )  # fmt: skip


def script(*turns: Any) -> str:
    """A scripted model, in the home of this test."""
    path = Path(os.environ["HOME"]) / "script.json"
    path.write_text(json.dumps({"turns": list(turns)}))
    return f"script:{path}"


def the_log() -> Path:
    (path,) = (state_dir() / "sessions").glob("*/audit.jsonl")
    return path


def events(name: str = "") -> list[dict[str, Any]]:
    """What the only session so far put on record."""
    return [record for record in read_log(str(the_log())) if name in ("", record["event"])]


def wait_until(holds: Callable[[], object], what: str, within_s: float = 30) -> None:
    """Raises TimeoutError where it never holds."""
    ends_at = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > ends_at:
            raise TimeoutError(what)
        time.sleep(0.02)


def alive_with(marker: str) -> list[str]:
    """Processes of this machine whose command line holds the marker."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if marker.encode() in Path(f"/proc/{name}/cmdline").read_bytes():
                found.append(name)
        except OSError:
            continue
    return found
