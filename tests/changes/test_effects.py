"""Effects are judged by what they would do: asked about where they run later, refused where they lead out."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from conftest import Bench
from trees import Spec, make_upper, place

from agent_security.changes import EffectLimits, Finding, judge_change_set, stage_file
from agent_security.changeset import Change, ChangeKind, ChangeSet, Node
from agent_security.codes import CODES, Kind
from agent_security.decision import Verdict

CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n"


def judge(bench: Bench, changes: ChangeSet, limits: EffectLimits | None = None) -> tuple[Finding, ...]:
    fd = os.open(bench.workspace, os.O_RDONLY)
    try:
        return judge_change_set(changes, workspace_fd=fd, limits=limits)
    finally:
        os.close(fd)


def judged(bench: Bench, lower: Spec, wanted: Spec) -> dict[str, set[str]]:
    """Path -> codes, for the change from one tree to the other."""
    found: dict[str, set[str]] = {}
    for finding in judge(bench, bench.change(bench.write(lower), lower | wanted)):
        found.setdefault(finding.path, set()).add(finding.code)
    return found


def file(text: bytes = b"x", mode: int = 0o644) -> tuple[str, bytes, int]:
    return ("file", text, mode)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (".git/hooks/pre-commit", "first_tier"),
        ("sub/.git/hooks/post-checkout", "first_tier"),
        (".vscode/settings.json", "first_tier"),
        (".envrc", "first_tier"),
        ("Makefile", "second_tier"),
        (".github/workflows/ci.yml", "second_tier"),
        (".env", "secret_file"),
    ],
)
def test_a_run_later_or_secret_file_is_asked_about(bench: Bench, path: str, code: str) -> None:
    assert code in judged(bench, {}, {path: file()})[path]


def test_codes_decide_the_verdict() -> None:
    asks = {"first_tier": Kind.CONFIRM, "secret_file": Kind.CONFIRM, "second_tier": Kind.QUESTION}
    asks |= {"many_deletions": Kind.QUESTION, "made_executable": Kind.QUESTION}
    refused = ("link_out", "set_id", "special_file", "too_large")
    assert {code: CODES[code].kind for code in asks} == asks
    assert all(CODES[code].kind is Kind.NONE for code in refused)


@pytest.mark.parametrize(
    "path",
    ["src/a.py", ".git/objects/ab/cd", ".git/refs/heads/x", ".git/index", ".git/HEAD", ".git/logs/HEAD"],
)
def test_everyday_files_and_gits_own_are_ordinary(bench: Bench, path: str) -> None:
    assert judged(bench, {".git/HEAD": file(b"ref")}, {path: file(b"other")}) == {}


def test_sample_hooks_and_plain_settings_are_inert(bench: Bench) -> None:
    wanted = {
        "new/.git/hooks/pre-commit.sample": file(mode=0o755),
        "new/.git/config": file(CONFIG + b"[user]\n\tname = x\n"),
        "new/.git/HEAD": file(b"ref: refs/heads/main\n"),
    }
    assert judged(bench, {}, wanted) == {}


def test_a_configuration_that_runs_something_is_confirmed(bench: Bench) -> None:
    found = judged(
        bench, {".git/config": file(CONFIG)}, {".git/config": file(CONFIG + b"\tfsmonitor = ./x\n")}
    )
    assert found == {".git/config": {"first_tier"}}


def test_an_embedded_bare_repository_is_seen_as_one(bench: Bench) -> None:
    bare: Spec = {"t/HEAD": file(), "t/objects/x": file(), "t/refs/x": file()}
    evil = judged(
        bench, {}, bare | {"t/config": file(b"[core]\n\tfsmonitor = ./x\n"), "t/hooks/update": file()}
    )
    assert evil == {"t/config": {"first_tier"}, "t/hooks/update": {"first_tier"}}


def test_a_plain_bare_repository_is_ordinary(bench: Bench) -> None:
    bare: Spec = {"t/HEAD": file(), "t/objects/x": file(), "t/refs/x": file(), "t/config": file(CONFIG)}
    assert judged(bench, {}, bare | {"t/hooks/update.sample": file(), "config/x": file()}) == {}


def test_the_folder_that_hooks_path_names_holds_hooks(bench: Bench) -> None:
    lower: Spec = {".git/config": file(CONFIG + b"\thooksPath = tools/hooks\n")}
    assert judged(bench, lower, {"tools/hooks/pre-push": file()}) == {"tools/hooks/pre-push": {"first_tier"}}


@pytest.mark.parametrize(
    ("target", "asked"),
    [
        ("gitdir: ../.git/modules/sub\n", False),
        ("gitdir: ../.git/worktrees/sub", False),
        ("gitdir: ../build/evil\n", True),
        ("gitdir: ../../elsewhere/.git/modules/x\n", True),
        ("gitdir: /elsewhere/.git/modules/x\n", True),
        ("gitdir: ../.git/modules/../../build/x\n", True),
        ("nonsense", True),
    ],
)
def test_a_git_file_may_point_home_only(bench: Bench, target: str, asked: bool) -> None:
    assert bool(judged(bench, {}, {"sub/.git": file(target.encode())})) is asked


def test_a_worktree_below_the_workspace_is_inert(bench: Bench) -> None:
    wanted: Spec = {
        "wt/.git": file(f"gitdir: {bench.workspace}/.git/worktrees/wt\n".encode()),
        ".git/worktrees/wt/commondir": file(b"../..\n"),
        ".git/worktrees/wt/gitdir": file(f"{bench.workspace}/wt/.git\n".encode()),
    }
    assert judged(bench, {}, wanted) == {}


def test_a_submodules_own_work_tree_is_inert_and_another_is_not(bench: Bench) -> None:
    def with_tree(value: bytes) -> Spec:
        return {".git/modules/sub/config": file(CONFIG + b"\tworktree = " + value + b"\n")}

    assert judged(bench, {}, with_tree(b"../../../sub")) == {}
    assert judged(bench, {}, with_tree(b"../../../../out")) != {}


def test_a_rebase_plan_is_asked_about_only_where_it_runs_something(bench: Bench) -> None:
    todo = ".git/rebase-merge/git-rebase-todo"
    assert judged(bench, {}, {todo: file(b"pick 1234 x\n")}) == {}
    assert judged(bench, {}, {todo: file(b"pick 1234 x\nexec make\n")}) == {todo: {"second_tier"}}


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("l", "/etc/passwd"),
        ("l", ".."),
        ("l", "../x"),
        ("a/l", "../../x"),
        ("l", "a/../../x"),
        ("l", "a/../b"),
        ("l", "out/x"),
        ("l", "hop/x"),
        ("l", "/usr/bin/../../home"),
        ("l", "/usr/binx"),
        ("l", ""),
    ],
)
def test_a_link_that_leads_out_is_refused(bench: Bench, path: str, target: str) -> None:
    bench.write({"a/f": file(), "out": ("link", "/elsewhere"), "hop": ("link", "out")})
    changes = ChangeSet((Change(path, ChangeKind.CREATED, Node.LINK, target=target),))
    (found,) = judge(bench, changes)
    assert (found.code, found.verdict) == ("link_out", Verdict.DENY)
    assert path in found.reason


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("l", "a"),
        ("a/l", "../b"),
        ("a/b/l", "../../c/d"),
        ("l", "./a"),
        ("v/bin/python", "/usr/bin/python3"),
        ("l", "l"),
    ],
)
def test_a_link_that_stays_inside_is_ordinary(bench: Bench, path: str, target: str) -> None:
    assert judge(bench, ChangeSet((Change(path, ChangeKind.CREATED, Node.LINK, target=target),))) == ()


def test_a_link_through_another_new_link_is_followed(bench: Bench) -> None:
    bench.write({"deep/er/f": file()})
    changes = ChangeSet(
        (
            Change("deep/er/up", ChangeKind.CREATED, Node.LINK, target="../.."),
            Change("l", ChangeKind.CREATED, Node.LINK, target="deep/er/up/f"),
        )
    )
    assert judge(bench, changes) == ()


def test_set_id_bits_are_refused(bench: Bench) -> None:
    found = judged(bench, {"a": file()}, {"a": file(mode=0o4755), "b": file(mode=0o2755)})
    assert "set_id" in found["a"]
    assert "set_id" in found["b"]


def test_sockets_pipes_and_devices_are_refused(bench: Bench) -> None:
    upper = bench.upper()
    os.mkfifo(upper / "pipe")
    changes = bench.read(upper)
    assert [change.node for change in changes.changes] == [Node.OTHER]
    (found,) = judge(bench, changes)
    assert (found.path, found.code, found.verdict) == ("pipe", "special_file", Verdict.DENY)
    assert bench.store().apply("1", changes, hold={}).conflicts.keys() == {"pipe"}
    assert not (bench.workspace / "pipe").exists()


def test_many_deletions_are_asked_about_and_few_are_not(bench: Bench) -> None:
    lower = bench.write({f"d/f{n}": file() for n in range(21)})
    few = {path: node for path, node in lower.items() if path == "d/f0"}
    assert {f.code for f in judge(bench, bench.change(lower, few | {"d": ("folder", 0o755)}))} == set()
    upper = bench.upper()
    make_upper(upper, lower | {"d": ("folder", 0o755)}, {})
    found = judge(bench, bench.read(upper))
    assert {f.code for f in found} == {"many_deletions"}
    assert len(found) == 22


def test_gits_housekeeping_is_no_deletion_and_a_lost_history_is(bench: Bench) -> None:
    objects = {f".git/objects/ab/{n}": file() for n in range(30)}
    lower = bench.write(objects | {".git/HEAD": file()})
    kept = {".git/HEAD": file(), ".git": ("folder", 0o755)}
    upper = bench.upper()
    make_upper(upper, lower | {".git": ("folder", 0o755), ".git/objects": ("folder", 0o755)}, kept)
    assert judge(bench, bench.read(upper)) == ()
    upper = bench.upper()
    make_upper(upper, lower | {".git": ("folder", 0o755)}, {})
    found = judge(bench, bench.read(upper))
    assert {f.code for f in found} == {"many_deletions"}
    assert {f.path for f in found} >= {".git/HEAD", ".git/objects/ab/0"}


def test_an_existing_file_made_a_program_is_asked_about_and_a_new_one_is_not(bench: Bench) -> None:
    assert judged(bench, {"a": file()}, {"a": file(mode=0o755), "b": file(mode=0o755)}) == {
        "a": {"made_executable"}
    }


def test_deleting_a_safeguard_is_confirmed_and_deleting_a_makefile_is_not(bench: Bench) -> None:
    bench.write({".git/hooks/pre-push": file(), "Makefile": file()})
    gone = tuple(Change(path, ChangeKind.DELETED) for path in (".git/hooks/pre-push", "Makefile"))
    assert [(f.path, f.code) for f in judge(bench, ChangeSet(gone))] == [
        (".git/hooks/pre-push", "first_tier")
    ]


def test_too_many_changes_or_bytes_are_refused_whole(bench: Bench) -> None:
    changes = bench.change({}, {"a": file(b"12345"), "b": file(b"12345")})
    for limits in (EffectLimits(max_changes=1), EffectLimits(max_bytes=9)):
        assert {(f.path, f.code) for f in judge(bench, changes, limits)} == {
            ("a", "too_large"),
            ("b", "too_large"),
        }
    assert judge(bench, changes, EffectLimits(max_file_bytes=5)) == ()


def test_a_known_blob_is_not_asked_about(bench: Bench) -> None:
    changes = bench.change({}, {".vscode/settings.json": file()})
    fd = os.open(bench.workspace, os.O_RDONLY)
    try:
        assert judge_change_set(changes, workspace_fd=fd, known=lambda change: True) == ()
        assert judge_change_set(changes, workspace_fd=fd, known=lambda change: False) != ()
    finally:
        os.close(fd)


def test_a_staged_write_is_judged_the_same_way(bench: Bench) -> None:
    staged = stage_file(str(bench.session / "s"), "conftest.py", b"x", mode=None, before=None, existed=False)
    assert [(f.code, f.runs_later) for f in judge(bench, staged)] == [("second_tier", True)]


def test_judging_changes_nothing(bench: Bench, tmp_path: Path) -> None:
    place(bench.workspace, ".git/config", file(CONFIG))
    before = stat.S_IMODE(os.lstat(bench.workspace / ".git/config").st_mode)
    changes = bench.change({".git/config": file(CONFIG)}, {".git/config": file(CONFIG + b"[a]\n\tb = c\n")})
    judge(bench, changes)
    assert (bench.workspace / ".git/config").read_bytes() == CONFIG
    assert stat.S_IMODE(os.lstat(bench.workspace / ".git/config").st_mode) == before
