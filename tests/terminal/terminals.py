"""A program in a real terminal: tmux on a private socket, in a temporary folder that also holds a home."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

WAIT_S = 10.0
PROGRAM = f"{shlex.quote(sys.executable)} -P -m agent_security"


class Terminal:
    """One tmux window on a socket of its own; what runs in it, and the project it runs in."""

    def __init__(self, folder: Path, command: str, env: dict[str, str], width: int) -> None:
        self.folder, self.project = folder, folder / "home" / "project"
        self._socket = str(folder / "tmux.sock")
        settings = [part for name, value in env.items() for part in ("-e", f"{name}={value}")]
        size = ("-x", str(width), "-y", "50")
        self._tmux("-u", "-f", "/dev/null", "new-session", "-d", *size, *settings, command)

    def _tmux(self, *args: str) -> str:
        # tmux runs its command by $SHELL, and else by the account's shell, which may let nobody in
        env = os.environ | {"SHELL": "/bin/sh"}
        ran = subprocess.run(
            ["tmux", "-S", self._socket, *args], capture_output=True, text=True, check=False, env=env
        )
        if ran.returncode:
            raise RuntimeError(ran.stderr.strip())
        return ran.stdout

    def type(self, text: str) -> None:
        if text:
            self._tmux("send-keys", "-l", text)
        self._tmux("send-keys", "Enter")

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def screen(self, *more: str) -> str:
        return self._tmux("capture-pane", "-p", "-S", "-500", *more)

    def title(self) -> str:
        return self._tmux("display-message", "-p", "#{pane_title}").strip()

    def pid(self) -> int:
        """The program's own process: what the window's shell started."""
        shell = self._tmux("display-message", "-p", "#{pane_pid}").strip()
        return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])

    def wait_for(self, text: str, *, count: int = 1) -> str:
        """The screen once `text` stands on it `count` times. Raises TimeoutError with the screen."""
        ends_at = time.monotonic() + WAIT_S
        while time.monotonic() < ends_at:
            shown = self.screen()
            if shown.count(text) >= count:
                return shown
            time.sleep(0.02)
        raise TimeoutError(f"waited for {text!r} x {count}:\n{self.screen()}")

    def hang_up(self) -> None:
        """Close the window, as a person closes a terminal, and wait until all that ran in it is gone."""
        with contextlib.suppress(RuntimeError):
            family = below(int(self._tmux("display-message", "-p", "#{pane_pid}")))
            self._end()
            ends_at = time.monotonic() + WAIT_S
            while any(map(alive, family)) and time.monotonic() < ends_at:
                time.sleep(0.02)

    def _end(self) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], capture_output=True, check=False)

    def events(self) -> list[str]:
        """The audit log's events so far."""
        logs = list((self.folder / "state" / "sessions").glob("*/audit.jsonl"))
        return [json.loads(line)["event"] for log in logs for line in log.read_text().splitlines()]


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def below(pid: int) -> list[int]:
    """All processes under one, the sandbox's included."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [found for child in map(int, children) for found in (child, *below(child))]


@contextlib.contextmanager
def terminal(
    turns: Sequence[dict[str, Any]] = (),
    *,
    args: str = "",
    model: str = "",
    width: int = 100,
    then: str = "",
    **more_env: str,
) -> Iterator[Terminal]:
    """A session with a script, or with `model`; `then` is a shell line for after it."""
    with tempfile.TemporaryDirectory(prefix="agent-security-drive-") as name:
        folder = Path(name)
        project = folder / "home" / "project"
        project.mkdir(parents=True)
        (project / "README.md").write_text("# Title\n")
        (folder / "script.json").write_text(json.dumps({"turns": list(turns)}))
        python_path = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        env = {
            "HOME": str(folder / "home"),
            "AGENT_SECURITY_STATE": str(folder / "state"),
            "PYTHONPATH": os.pathsep.join(map(os.path.abspath, python_path)),
            "LANG": "C.UTF-8",
        }
        told = model or f"script:{folder}/script.json"
        line = f"export TERM={more_env.get('TERM', 'screen')}; cd {shlex.quote(str(project))} && "
        line += f"{PROGRAM} --model {told} {args}; echo exit code: $?; "
        line += f'as() {{ {PROGRAM} "$@"; }}; {then} echo all done; read -r _'
        command = f"exec bash --noprofile --norc -c {shlex.quote(line)}"
        opened = Terminal(folder, command, env | more_env, width)
        try:
            yield opened
        finally:
            opened.hang_up()


def missing() -> str:
    """Why no terminal can be driven here, or ""."""
    return "" if shutil.which("tmux") else "tmux is not installed"
