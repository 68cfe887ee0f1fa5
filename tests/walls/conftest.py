"""A project, a home with canaries, and a wall around the project; all of it in a temporary folder."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent_security.calls import Permit, ToolCall, ToolOutput
from agent_security.decision import allow
from agent_security.ports import Sandbox
from agent_security.sandboxes import SandboxRequest, open_sandbox
from agent_security.sandboxes.removal import remove_tree

NOBODY = 65534
CANARY = "canary-" + "of-the-person"


def permit(name: str, **args: Any) -> Permit:
    return Permit(ToolCall("call", name, json.dumps(args)), allow("test"), "sandbox")


@dataclass
class Project:
    """`tree` is the workspace, `home` the person's, `state` the session's private folder."""

    base: Path
    owner: int
    sandboxes: list[Sandbox] = field(default_factory=list)

    @property
    def tree(self) -> Path:
        return self.base / "home" / "project"

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def state(self) -> Path:
        return self.base / "state"

    def write(self, path: str, content: str | bytes, mode: int = 0o644) -> Path:
        """A file of the workspace, owned by its owner."""
        target = self.tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        target.chmod(mode)
        self.hand_over()
        return target

    def hand_over(self) -> None:
        if self.owner == os.geteuid():
            return
        for folder, names, files in os.walk(self.home):
            for name in [folder, *(os.path.join(folder, one) for one in names + files)]:
                os.chown(name, self.owner, self.owner, follow_symlinks=False)

    def open(self, **more: Any) -> Sandbox:
        given: dict[str, Any] = {
            "workspace": str(self.tree),
            "folder": str(self.state),
            "home": str(self.home),
            "user_name": "A Person",
            "user_email": "person@example.org",
        }
        sandbox = open_sandbox(SandboxRequest(**(given | more)))
        self.sandboxes.append(sandbox)
        return sandbox

    @property
    def sandbox(self) -> Sandbox:
        """The one wall of a test, opened when first asked for."""
        return self.sandboxes[0] if self.sandboxes else self.open()

    def run(self, command: str, timeout_s: float = 60) -> ToolOutput:
        return self.sandbox.run_command(permit("run_bash", command=command), timeout_s=timeout_s)

    def tool(self, name: str, timeout_s: float = 60, **args: Any) -> ToolOutput:
        return self.sandbox.run_file_tool(permit(name, **args), timeout_s=timeout_s)

    def python(self, code: str) -> ToolOutput:
        """Run a probe INSIDE the sandbox, and never elsewhere."""
        (self.tree / "probe.py").write_text(code)
        self.hand_over()
        return self.run("python3 probe.py")


def new_project(owner: int) -> Iterator[Project]:
    """A project of one owner, removed with its walls afterwards."""
    base = Path(os.path.realpath(tempfile.mkdtemp(prefix="walls-")))
    base.chmod(0o755)
    project = Project(base, owner)
    project.tree.mkdir(parents=True)
    (project.home / ".ssh").mkdir(mode=0o700)
    (project.home / ".ssh" / "id_fake").write_text(CANARY)
    (project.home / "private.txt").write_text(CANARY)
    project.hand_over()
    try:
        yield project
    finally:
        for sandbox in project.sandboxes:
            sandbox.close()
        remove_tree(str(base))
        assert not base.exists()


@pytest.fixture
def project() -> Iterator[Project]:
    """A project of the user who runs the tests."""
    yield from new_project(os.geteuid())


@pytest.fixture(params=["own", "of another user"])
def any_project(request: pytest.FixtureRequest) -> Iterator[Project]:
    """The same, and as root also one of an ordinary user, whom the sandbox has to become."""
    if request.param != "own" and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    yield from new_project(os.geteuid() if request.param == "own" else NOBODY)


@pytest.fixture
def tree_of() -> Callable[[Path], dict[str, tuple[int, bytes]]]:
    """A tree as path -> (mode, bytes), to compare before and after."""

    def look(root: Path) -> dict[str, tuple[int, bytes]]:
        found = {}
        for path in sorted(root.rglob("*")):
            mode = path.lstat().st_mode
            found[str(path.relative_to(root))] = (mode, path.read_bytes() if stat.S_ISREG(mode) else b"")
        return found

    return look
