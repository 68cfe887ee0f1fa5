"""What is mounted beside the workspace: found by reading, led by nothing hostile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

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
