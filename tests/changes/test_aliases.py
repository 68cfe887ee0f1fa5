"""What runs on the host is found under every name that leads to it: links, configuration, worktrees."""

from __future__ import annotations

import os

import pytest
from conftest import Bench
from trees import Spec

from agent_security.changes import judge_change_set
from agent_security.changeset import ChangeSet

HOOK = ("file", b"#!/bin/sh\n", 0o755)
NEW = ("file", b"#!/bin/sh\nanother\n", 0o755)
FOLDER = ("folder", 0o755)
GIT: Spec = {".git": FOLDER, ".git/hooks": FOLDER, "tools": FOLDER, "tools/h": FOLDER}


def found(bench: Bench, changes: ChangeSet) -> dict[str, str]:
    fd = os.open(bench.workspace, os.O_RDONLY)
    try:
        return {one.path: one.code for one in judge_change_set(changes, workspace_fd=fd)}
    finally:
        os.close(fd)


@pytest.mark.parametrize(
    ("before", "path"),
    [
        ({**GIT, "tools/h/check.sh": HOOK, ".git/hooks/pre-commit": ("link", "../../tools/h/check.sh")},
         "tools/h/check.sh"),
        ({**GIT, "a.sh": HOOK, "b.sh": ("link", "a.sh"), ".git/hooks/pre-push": ("link", "../../b.sh")}, "a.sh"),
        ({".git": FOLDER, "tools": FOLDER, "tools/h": FOLDER, ".git/hooks": ("link", "../tools/h")},
         "tools/h/post-merge"),
        ({**GIT, ".git/config": ("file", b"[core]\n\thooksPath = {root}/tools/h\n", 0o644)}, "tools/h/pre-commit"),
        ({**GIT, ".git/config": ("file", b"[core]\n\thooksPath = tools/h\n", 0o644), "c.sh": HOOK,
          "tools/h/pre-commit": ("link", "../../c.sh")}, "c.sh"),
        ({**GIT, ".git/config.worktree": ("file", b"[core]\n\thooksPath = ./tools/h\n", 0o644)},
         "tools/h/pre-commit"),
        ({**GIT, ".git/config": ("file", b"[include]\n\tpath = ../tools/shared\n", 0o644), "tools/shared": HOOK},
         "tools/shared"),
        ({**GIT, ".git/config": ("file", b'[includeIf "gitdir:x"]\n\tpath = ../tools/s\n', 0o644),
          "tools/s": HOOK}, "tools/s"),
        ({"tools": FOLDER, "tools/env": HOOK, ".envrc": ("link", "tools/env")}, "tools/env"),
        ({"tools": FOLDER, ".vscode": ("link", "tools")}, "tools/tasks.json"),
    ],
)  # fmt: skip
def test_writing_where_a_link_or_the_configuration_leads_is_writing_the_hook(
    bench: Bench, before: Spec, path: str
) -> None:
    root = os.fsencode(bench.workspace)
    tree = {
        name: (one[0], one[1].replace(b"{root}", root), one[2]) if one[0] == "file" else one
        for name, one in before.items()
    }
    bench.write(tree)
    assert found(bench, bench.change(tree, {**tree, path: NEW})) == {path: "first_tier"}


def test_a_link_hides_no_path_that_runs_by_its_own_name(bench: Bench) -> None:
    tree = bench.write({"tools": FOLDER, "tools/package.json": HOOK, ".cache": ("link", "tools")})
    changes = bench.change(tree, {**tree, "tools/package.json": NEW, "tools/plain.txt": NEW})
    assert found(bench, changes) == {"tools/package.json": "second_tier"}


@pytest.mark.parametrize("file", ["config", "hooks/post-checkout", "info/attributes", "config.worktree"])
def test_a_worktrees_folder_made_a_repository_of_its_own_is_confirmed(bench: Bench, file: str) -> None:
    """`sub/.git` may point there; without a commondir git takes its own configuration and hooks."""
    base = ".git/worktrees/x"
    wanted: Spec = {".git": FOLDER, ".git/worktrees": FOLDER, base: FOLDER, "sub": FOLDER}
    wanted |= {
        f"{base}/objects": FOLDER,
        f"{base}/refs": FOLDER,
        f"{base}/hooks": FOLDER,
        f"{base}/info": FOLDER,
    }
    wanted |= {f"{base}/HEAD": ("file", b"ref: refs/heads/x\n", 0o644)}
    wanted |= {"sub/.git": ("file", b"gitdir: ../.git/worktrees/x\n", 0o644)}
    planted: Spec = {**wanted, f"{base}/{file}": ("file", b"[core]\n\tfsmonitor = x\n", 0o755)}
    assert found(bench, bench.change({}, planted)) == {f"{base}/{file}": "first_tier"}


def test_a_git_file_points_at_a_worktrees_folder_itself_and_not_below_it(bench: Bench) -> None:
    wanted: Spec = {"sub": FOLDER, "sub/.git": ("file", b"gitdir: ../.git/worktrees/x/deeper\n", 0o644)}
    assert found(bench, bench.change({}, wanted)) == {"sub/.git": "first_tier"}


def test_configurations_of_other_version_control_run_too(bench: Bench) -> None:
    wanted: Spec = {".hg": FOLDER, ".hg/hgrc": HOOK, ".jj": FOLDER, ".jj/repo": FOLDER}
    wanted |= {".jj/repo/config.toml": HOOK}
    assert set(found(bench, bench.change({}, wanted)).values()) == {"first_tier"}
    assert len(found(bench, bench.change({}, wanted))) == 2


def test_an_absolute_link_into_the_workspace_stays_inside(bench: Bench) -> None:
    root = str(bench.workspace)
    inside = {"a": ("link", f"{root}/b"), "b": ("file", b"x", 0o644)}
    assert found(bench, bench.change({}, inside)) == {}
    for target in (f"{root}/../other", f"{root}x/b", f"{root}/b/../../other"):
        out = {"a": ("link", target), "b": ("folder", 0o755)}
        assert found(bench, bench.change({}, out)) == {"a": "link_out"}, target
