"""A workspace full of traps: the whole program works in it, none fires on the host, nothing hangs.

Every trap only writes a file into a folder outside the workspace, which the sandbox cannot reach:
a file there means that something of the workspace ran on the host, or was believed.
"""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agent_security.tools.audit import verify_log

from .program import LINE, environment, events, program, script, the_log

SHADOWS = "click.py json.py openai.py sitecustomize.py usercustomize.py msgspec.py ssl.py".split()  # noqa: SIM905
PROGRAMS = "git bash sh rg bwrap python3 shfmt uname".split()  # noqa: SIM905
SECRET = "the-text-behind-the-link"


class Workspace:
    """`project` holds the traps, `fired` what they would leave behind."""

    def __init__(self, home: Path) -> None:
        self.home, self.project, self.fired = home, home / "project", home / "fired"
        self.fired.mkdir()

    def shell(self, name: str) -> str:
        return f"#!/bin/sh\necho x > {shlex.quote(str(self.fired / name))}\ncat\n"

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        target = self.project / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def code(self, path: str) -> None:
        self.write(path, f"open({str(self.fired / path.replace('/', '_'))!r}, 'w').write('x')\n")

    def program(self, path: str) -> None:
        self.write(path, self.shell(path.replace("/", "_")), 0o755)

    def modules(self) -> None:
        for name in SHADOWS:
            self.code(name)
        self.code("agent_security/__init__.py")
        self.code("agent_security/__main__.py")
        self.code("conftest.py")
        self.write("pth.pth", f"import os; os.mkdir({str(self.fired / 'pth')!r})\n")

    def programs(self) -> None:
        for name in PROGRAMS:
            self.program(name)
            self.program(f"bin/{name}")
        self.program(".venv/bin/python")
        self.program(".venv/bin/python3")
        self.write(".venv/pyvenv.cfg", f"home = {self.home}\nversion = 3.11.2\n")
        self.write("pyvenv.cfg", f"home = {self.home}\n")
        self.write(".envrc", self.shell("envrc"), 0o755)
        self.write(".gitattributes", "* filter=trap diff=trap merge=trap\n")

    def repository(self, at: str) -> None:
        """One commit, made before the traps are set; then hooks, filters and a monitor that would run."""
        where = self.project / at
        where.mkdir(exist_ok=True)
        (where / "kept.txt").write_text("kept\n")
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1"}
        who = ["-c", "user.name=n", "-c", "user.email=n@example.invalid"]
        for line in (["init", "-q"], ["add", "kept.txt"], [*who, "commit", "-qm", "one"]):
            subprocess.run(["git", *line], cwd=where, env=env, check=True, capture_output=True)
        name = at.replace("/", "_") or "top"
        trap = self.project / at / ".git" / "trap.sh"
        trap.write_text(self.shell(f"git_{name}"))
        trap.chmod(0o755)
        run = str(trap)
        (where / ".git" / "config").write_text(
            "[core]\n\trepositoryformatversion = 0\n"
            f'\tfsmonitor = "{run}"\n\thooksPath = "{self.project / "hooks"}"\n\tsshCommand = "{run}"\n'
            f'\tpager = "{run}"\n\teditor = "{run}"\n'
            f'[filter "trap"]\n\tclean = "{run}"\n\tsmudge = "{run}"\n'
            f'\tprocess = "{run}"\n\trequired = true\n'
            f'[diff]\n\texternal = "{run}"\n[alias]\n\tstatus = "!{run}"\n'
        )
        for hook in ("pre-commit", "post-checkout", "post-index-change", "reference-transaction"):
            self.program(f"hooks/{hook}")
            self.program(f"{at or '.'}/.git/hooks/{hook}")

    def what_fired(self) -> list[str]:
        return sorted(path.name for path in self.fired.iterdir())


@pytest.fixture
def workspace(home: Path) -> Workspace:
    made = Workspace(home)
    made.repository("")
    made.repository("vendor/nested" if (made.project / "vendor").mkdir() is None else "")
    made.modules()
    made.programs()
    return made


WORK = (
    {"call": {"glob_files": {"pattern": "**/*.txt"}}},
    {"call": {"grep": {"pattern": "kept"}}},
    {"call": {"read_file": {"path": "vendor/nested/kept.txt"}}},
    {"call": {"edit_file": {"path": "kept.txt", "old_string": "kept", "new_string": "still kept"}}},
    {"call": {"run_bash": {"command": "/usr/bin/git -C vendor/nested status --short; ls .venv"}}},
    {"call": {"run_bash": {"command": "./git; .venv/bin/python; python3 -c 'import click'; echo worked"}}},
    {"call": {"write_file": {"path": "new.txt", "content": "new\n"}}},
    {"say": "Done."},
)
SKIP = ("-p", "--mode", "dangerouslySkipPermissions")


def did_its_work(workspace: Workspace) -> None:
    assert workspace.what_fired() == []
    assert (workspace.project / "kept.txt").read_text() == "still kept\n"
    assert (workspace.project / "new.txt").read_text() == "new\n"
    assert verify_log(the_log()).status == "ok"


def test_the_whole_program_works_among_traps_and_none_fires(workspace: Workspace) -> None:
    ran = program(*SKIP, "--model", script(*WORK), "work here")
    assert (ran.code, ran.out) == (0, "Done.\n")
    assert [e["status"] for e in events("tool_result")] == ["ok"] * 7
    did_its_work(workspace)


def test_nor_with_a_path_that_leads_into_the_workspace(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`.` and the workspace's `bin` stand first, as direnv and careless shells have them."""
    first = [".", "bin", str(workspace.project / "bin"), str(workspace.project / ".venv/bin"), ""]
    monkeypatch.setenv("PATH", os.pathsep.join([*first, os.environ["PATH"]]))
    ran = program(*SKIP, "--model", script(*WORK), "work here")
    assert (ran.code, ran.out) == (0, "Done.\n")
    did_its_work(workspace)


@pytest.mark.parametrize("command", ["doctor", "check", "rules", "sessions", "explain", "secrets"])
def test_nor_do_the_other_commands_run_anything_of_it(workspace: Workspace, command: str) -> None:
    more = {
        "explain": ["run_bash", '{"command": "git status"}'],
        "secrets": ["scan", "."],
        "doctor": ["--json"],
    }
    line = b'{"id": 1, "tool": "run_bash", "args": {"command": "git status"}}\n'
    ran = program(command, *more.get(command, []), stdin=line if command == "check" else b"")
    assert "Traceback" not in ran.err
    assert workspace.what_fired() == []


def test_nor_without_p_as_the_documents_module(workspace: Workspace) -> None:
    """`python -m agent_security.agent` drops the working directory before any other import (D16)."""
    source = environment()["PYTHONPATH"]
    agent = Path(source) / "agent_security" / "agent.py"
    env = environment()
    ran = subprocess.run(
        [sys.executable, str(agent), "--help"], env=env, capture_output=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert workspace.what_fired() == []


@pytest.mark.parametrize("kind", ["link", "fifo", "folder", "device link"])
def test_an_agents_file_that_is_no_file_is_passed_over(workspace: Workspace, kind: str) -> None:
    path = workspace.project / "AGENTS.md"
    if kind == "link":
        (workspace.home / "outside.md").write_text(SECRET)
        path.symlink_to(workspace.home / "outside.md")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    ran = program(*SKIP, "--model", script({"say": "Done."}), "x")
    assert (ran.code, ran.out) == (0, "Done.\n")
    assert SECRET not in the_log().read_text()
    assert events("document") == []


def test_an_agents_file_that_is_one_guides_without_authority(workspace: Workspace) -> None:
    (workspace.project / "AGENTS.md").write_text("Use tabs.\n")
    program(*SKIP, "--model", script({"say": "Done."}), "x")
    (document,) = events("document")
    assert document["source"] == "AGENTS.md"
    assert document["content"].startswith("<tool_result")


@pytest.mark.parametrize("kind", ["fifo", "link", "folder", "grants"])
def test_project_settings_that_are_a_trap_end_with_2_at_once(workspace: Workspace, kind: str) -> None:
    path = workspace.project / ".agent-security.toml"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        (workspace.home / "outside.toml").write_text(f"{SECRET} =")
        path.symlink_to(workspace.home / "outside.toml")
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_text('mode = "dangerouslySkipPermissions"\n')
    ran = program("-p", "--model", script({"say": "no"}), "x")
    assert (ran.code, ".agent-security.toml" in ran.clear_line) == (2, True)
    assert SECRET not in ran.err


def test_a_fifo_anywhere_hangs_no_tool(workspace: Workspace) -> None:
    for name in ("pipe", "pipe.txt", ".env", ".gitignore", "vendor/nested/.gitignore"):
        os.mkfifo(workspace.project / name)
    calls = (
        {"call": {"read_file": {"path": "pipe"}}},
        {"call": {"grep": {"pattern": "x"}}},
        {"call": {"glob_files": {"pattern": "**/*"}}},
        {"call": {"write_file": {"path": "pipe", "content": "x"}}},
        {"call": {"edit_file": {"path": "pipe", "old_string": "a", "new_string": "b"}}},
        {"call": {"run_bash": {"command": "ls"}}},
        {"say": "Done."},
    )
    ran = program(*SKIP, "--model", script(*calls), "--tool-timeout", "20", "x")
    assert (ran.code, ran.out) == (0, "Done.\n")
    assert events("tool_timeout") == []
    assert stat.S_ISFIFO((workspace.project / "pipe").stat().st_mode)


def test_the_program_refuses_to_start_from_code_of_the_workspace(workspace: Workspace) -> None:
    env = environment()
    env["PYTHONPATH"] += os.pathsep + str(workspace.project / "lib")
    (workspace.project / "lib").mkdir()
    line = [*LINE, "-p", "--model", script({"say": "no"}), "x"]
    ran = subprocess.run(line, env=env, capture_output=True, timeout=60, check=False)
    assert (ran.returncode, b"imports from the workspace" in ran.stderr) == (2, True)
