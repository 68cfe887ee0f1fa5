"""Drive the interactive session in a real terminal: tmux on a private socket, a scripted model.

    python tests/terminal/drive.py [--keep] [--program "agent-security"]

Prints one line a check and ends with 0 only if all hold. It starts its own tmux server on a socket
of its own in a temporary folder and ends that server alone. Needs tmux and a working sandbox.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCRIPT = """
turns:
  - say: "Let me look. \\u001b]0;owned\\u0007[bold]plain[/bold]"
    call: {read_file: {path: README.md}}
  - call: {write_file: {path: notes.txt, content: "first\\n"}}
  - say: "You said no to notes.txt."
  - call: {edit_file: {path: README.md, old_string: "Title", new_string: "Better title"}}
  - say: "The title is better now."
  - call: {run_bash: {command: "touch made.txt && echo ran"}}
  - say: "The command was answered."
  - call: {run_bash: {command: "sleep 60"}}
  - say: "Still here after Ctrl-C."
  - call: {write_file: {path: kept.txt, content: "kept\\n"}}
  - say: "It is written."
"""

WAIT_S = 30.0


class Terminal:
    """One tmux window on a socket of its own."""

    def __init__(self, folder: Path, command: str, env: dict[str, str]) -> None:
        self._socket = str(folder / "tmux.sock")
        settings = [part for name, value in env.items() for part in ("-e", f"{name}={value}")]
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", "110", "-y", "50", *settings, command)

    def _tmux(self, *args: str) -> str:
        ran = subprocess.run(["tmux", "-S", self._socket, *args], capture_output=True, text=True, check=False)
        if ran.returncode:
            raise RuntimeError(ran.stderr.strip())
        return ran.stdout

    def type(self, text: str, *, enter: bool = True) -> None:
        if text:
            self._tmux("send-keys", "-l", text)
        if enter:
            self._tmux("send-keys", "Enter")

    def press(self, key: str) -> None:
        self._tmux("send-keys", key)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-J", "-S", "-500")

    def title(self) -> str:
        return self._tmux("display-message", "-p", "#{pane_title}").strip()

    def wait_for(self, text: str, *, count: int = 1) -> str:
        """The screen once `text` stands on it `count` times. Raises TimeoutError with the screen."""
        ends_at = time.monotonic() + WAIT_S
        while time.monotonic() < ends_at:
            shown = self.screen()
            if shown.count(text) >= count:
                return shown
            time.sleep(0.05)
        raise TimeoutError(f"waited for {text!r}:\n{self.screen()}")

    def close(self) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], capture_output=True, check=False)


class Checks:
    """Counts what held."""

    def __init__(self) -> None:
        self.failed = 0

    def that(self, promise: str, holds: bool) -> None:
        print(f"{'ok ' if holds else 'NO '} {promise}", flush=True)
        self.failed += not holds


def drive(terminal: Terminal, project: Path, check: Checks) -> None:
    shown = terminal.wait_for("audit log")
    check.that(
        "the banner tells mode, sandbox, undo and limits",
        all(w in shown for w in ("mode", "sandbox", "undo", "limits")),
    )

    terminal.wait_for("\n>")
    terminal.type("look at the readme, then write notes")
    shown = terminal.wait_for("[n]")
    check.that("a read is one line", "● read_file README.md" in shown)
    check.that("the model's escape sequence did not set the title", "owned" not in terminal.title())
    check.that("the model's markup is shown as it stands", "[bold]plain[/bold]" in shown)
    check.that("a write shows a diff", "+first" in shown)
    terminal.type("")
    terminal.wait_for("You said no to notes.txt.")
    check.that("Enter alone is no", not (project / "notes.txt").exists())

    terminal.type("better title please")
    shown = terminal.wait_for("[n]", count=2)
    check.that("an edit shows its diff", "-# Title" in shown and "+# Better title" in shown)
    terminal.type("e")
    terminal.wait_for("[n]", count=3)
    terminal.type("y")
    terminal.wait_for("The title is better now.")
    check.that("yes applies it", "Better title" in (project / "README.md").read_text())

    terminal.type("/undo")
    terminal.wait_for("put back: README.md")
    check.that("/undo puts it back", (project / "README.md").read_text() == "# Title\n")

    terminal.type("run something")
    shown = terminal.wait_for("[n]", count=4)
    check.that("a command is shown to the byte", "touch made.txt && echo ran" in shown)
    check.that("what the wall confines is offered", "/ s /" in shown)
    terminal.type("s")
    terminal.wait_for("The command was answered.")

    terminal.type("now something long")
    terminal.wait_for("sleep 60")
    time.sleep(0.5)
    terminal.press("C-c")
    shown = terminal.wait_for("aborted")
    check.that("Ctrl-C stops the step and no further request is sent", "Still here" not in shown)
    terminal.type("are you there?")
    terminal.wait_for("Still here after Ctrl-C.")
    check.that("the session goes on after a stopped step", True)

    terminal.type("write something that stays")
    terminal.wait_for("[n]", count=5)
    terminal.type("y")
    terminal.wait_for("It is written.")
    terminal.type("/quit")
    terminal.wait_for("[y/N]")
    terminal.type("")
    shown = terminal.wait_for("exit code:")
    check.that("a rollback is offered, and Enter keeps the changes", (project / "kept.txt").exists())
    check.that("the summary tells the cost", "tokens_in=" in shown)
    check.that("the program ends with 0", "exit code: 0" in shown)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", default=f"{shlex.quote(sys.executable)} -P -m agent_security")
    parser.add_argument("--keep", action="store_true", help="print the whole screen at the end")
    options = parser.parse_args()
    check = Checks()
    with tempfile.TemporaryDirectory(prefix="agent-security-drive-") as name:
        folder = Path(name)
        project = folder / "home" / "project"
        project.mkdir(parents=True)
        (project / "README.md").write_text("# Title\n")
        (folder / "script.yaml").write_text(SCRIPT)
        python_path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        env = {
            "HOME": str(folder / "home"),
            "AGENT_SECURITY_STATE": str(folder / "state"),
            "PYTHONPATH": os.pathsep.join(map(os.path.abspath, filter(None, python_path))),
            "LANG": "C.UTF-8",
        }
        program = f"{options.program} --model script:{folder}/script.yaml"
        line = f"cd {shlex.quote(str(project))} && {program}; echo exit code: $?; sleep 60"
        terminal = Terminal(folder, f"bash --noprofile --norc -c {shlex.quote(line)}", env)
        try:
            drive(terminal, project, check)
        except (TimeoutError, RuntimeError) as error:
            check.that(str(error), False)
        finally:
            if options.keep:
                print(terminal.screen())
            terminal.close()
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
