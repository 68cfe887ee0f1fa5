"""The store never destroys what the person did, never follows a link, and puts back what it replaced."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Bench
from trees import Spec, make_upper, read_tree

from agent_security.changes import ChangeStore, mask_config, moves, read_upper, stage_file
from agent_security.changes import engine as engine_module
from agent_security.changeset import Change, ChangeKind, ChangeSet, Node
from agent_security.errors import ChangeError, UsageError


def file(text: bytes = b"x", mode: int = 0o644) -> tuple[str, bytes, int]:
    return ("file", text, mode)


def staged(bench: Bench, path: str, data: bytes, before: bytes | None = None) -> ChangeSet:
    digest = None if before is None else hashlib.sha256(before).hexdigest()
    folder = str(bench.session / "staged")
    return stage_file(folder, path, data, mode=None, before=digest, existed=before is not None)


# --- conflicts ------------------------------------------------------------------------------------


def test_a_file_changed_during_the_call_is_a_conflict_and_left_alone(bench: Bench) -> None:
    lower = bench.write({"a": file(b"old"), "b": file(b"old")})
    upper = bench.upper()
    make_upper(upper, lower, {"a": file(b"agent"), "b": file(b"agent")})
    since_ns = os.lstat(bench.workspace / "b").st_ctime_ns
    while os.lstat(bench.workspace / "a").st_ctime_ns <= since_ns:  # the clock of files is coarse
        (bench.workspace / "a").write_bytes(b"person")
    changes = bench.read(upper, since_ns=since_ns)
    applied = bench.store().apply("1", changes, hold={})
    assert applied.changed == {"b": "changed"}
    assert applied.conflicts.keys() == {"a"}
    assert read_tree(bench.workspace) == {"a": file(b"person"), "b": file(b"agent")}


def test_what_we_applied_ourselves_is_no_conflict(bench: Bench) -> None:
    bench.write({"a": file(b"0")})
    store = bench.store()
    first, second = staged(bench, "a", b"1", b"0"), staged(bench, "a", b"2", b"1")
    assert store.apply("1", first, hold={}).changed == {"a": "changed"}
    assert store.apply("2", second, hold={}).changed == {
        "a": "changed"
    }  # staged before the first was applied


def test_another_content_than_the_tool_read_is_a_conflict(bench: Bench) -> None:
    bench.write({"a": file(b"person")})
    applied = bench.store().apply("1", staged(bench, "a", b"agent", b"what the tool read"), hold={})
    assert applied.changed == {}
    assert applied.conflicts == {"a": "its content was changed"}
    assert read_tree(bench.workspace) == {"a": file(b"person")}


@pytest.mark.parametrize("node", [("link", "elsewhere"), ("folder", 0o755)])
def test_another_type_is_a_conflict(bench: Bench, node: tuple[object, ...]) -> None:
    bench.write({"a": node})
    applied = bench.store().apply("1", staged(bench, "a", b"agent", b"old"), hold={})
    assert applied.conflicts.keys() == {"a"}
    assert read_tree(bench.workspace) == {"a": node}


def test_a_new_file_never_lands_on_one_of_the_person(bench: Bench) -> None:
    changes = staged(bench, "a", b"agent")
    bench.write({"a": file(b"person")})
    assert bench.store().apply("1", changes, hold={}).conflicts == {"a": "something else stands there now"}
    assert read_tree(bench.workspace) == {"a": file(b"person")}


def test_a_folder_with_a_new_file_of_the_person_stays(bench: Bench) -> None:
    lower = bench.write({"d": ("folder", 0o755), "d/a": file()})
    changes = bench.change(lower, {})
    (bench.workspace / "d/person").write_bytes(b"mine")
    applied = bench.store().apply("1", changes, hold={})
    assert applied.changed == {"d/a": "deleted"}
    assert applied.conflicts.keys() == {"d"}
    assert read_tree(bench.workspace)["d/person"] == file(b"mine")


def test_references_and_index_of_a_repository_go_together_or_not_at_all(bench: Bench) -> None:
    names = [".git/HEAD", ".git/index", ".git/refs/heads/main", ".git/objects/ab/c"]
    lower = bench.write({name: file(b"old") for name in names[:3]})
    upper = bench.upper()
    make_upper(upper, lower, {name: file(b"new") for name in names} | {"src": file(b"new")})
    changes = bench.read(upper)
    (bench.workspace / ".git/index").write_bytes(b"refreshed")
    applied = bench.store().apply("1", changes, hold={})
    assert applied.conflicts.keys() == {".git/HEAD", ".git/index", ".git/refs/heads/main"}
    assert {".git/objects/ab/c", "src"} <= applied.changed.keys()


def test_a_repository_the_person_used_since_goes_back_whole_or_not_at_all(bench: Bench) -> None:
    names = [".git/HEAD", ".git/index", ".git/refs/heads/main"]
    lower = bench.write({name: file(b"old") for name in names} | {"src": file(b"old")})
    store = bench.store()
    upper = bench.upper()
    make_upper(upper, lower, {name: file(b"new") for name in lower})
    store.apply("1", bench.read(upper), hold={})
    (bench.workspace / ".git/index").write_bytes(b"refreshed")
    undone = store.undo()
    assert undone.conflicts.keys() == set(names)
    assert undone.restored == {"src": "restored"}
    assert store.rollback(force=names).conflicts == {}
    tree = read_tree(bench.workspace)
    assert [tree[name] for name in names] == [file(b"old")] * 3


def test_a_save_between_look_and_exchange_is_put_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.write({"a": file(b"old")})
    real = moves.exchange

    def late_save(*args: object) -> None:
        if not (bench.workspace / "saved").exists():
            (bench.workspace / "saved").write_bytes(b"person")
            os.replace(bench.workspace / "saved", bench.workspace / "a")
        real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(engine_module, "exchange", late_save)
    applied = bench.store().apply("1", staged(bench, "a", b"agent", b"old"), hold={})
    assert applied.conflicts == {"a": "it was changed meanwhile"}
    assert read_tree(bench.workspace) == {"a": file(b"person")}


# --- links and what lies outside ------------------------------------------------------------------


def test_a_parent_swapped_for_a_link_before_apply_leaves_the_outside_alone(bench: Bench) -> None:
    outside = bench.root / "outside"
    outside.mkdir()
    (outside / "a").write_bytes(b"canary")
    lower = bench.write({"d": ("folder", 0o755), "d/a": file(b"canary")})
    changes = bench.change(lower, {"d": ("folder", 0o755), "d/a": file(b"agent"), "d/new": file()})
    os.rename(bench.workspace / "d", bench.workspace / "moved")
    (bench.workspace / "d").symlink_to(outside)
    applied = bench.store().apply("1", changes, hold={})
    assert applied.conflicts.keys() == {"d/a", "d/new"}
    assert read_tree(outside) == {"a": file(b"canary")}


def test_a_parent_swapped_for_a_link_before_rollback_leaves_the_outside_alone(bench: Bench) -> None:
    outside = bench.root / "outside"
    outside.mkdir()
    (outside / "a").write_bytes(b"agent")
    (outside / "new").write_bytes(b"x")
    lower = bench.write({"d": ("folder", 0o755), "d/a": file(b"old"), "d/gone": file()})
    store = bench.store()
    store.apply(
        "1", bench.change(lower, {"d": ("folder", 0o755), "d/a": file(b"agent"), "d/new": file()}), hold={}
    )
    os.rename(bench.workspace / "d", bench.workspace / "moved")
    (bench.workspace / "d").symlink_to(outside)
    undone = store.rollback()
    assert undone.conflicts.keys() == {"d/a", "d/new", "d/gone"}
    assert read_tree(outside) == {"a": file(b"agent"), "new": file()}


def test_a_path_that_leaves_the_workspace_is_never_applied(bench: Bench) -> None:
    source = staged(bench, "ok", b"x").changes[0]
    for path in ("../out", "/etc/x", "a/../../out", "a//b", ""):
        change = Change(path, ChangeKind.CREATED, staged=source.staged, size_bytes=1)
        applied = bench.store().apply("1", ChangeSet((change,), 0, str(bench.session / "staged")), hold={})
        assert applied.conflicts.keys() == {path}
    assert not (bench.root / "out").exists()


def test_staged_bytes_outside_their_root_are_never_read(bench: Bench) -> None:
    canary = bench.root / "canary"
    canary.write_bytes(b"secret")
    change = Change("a", ChangeKind.CREATED, staged=str(canary), size_bytes=6)
    with pytest.raises(ChangeError):
        bench.store().apply("1", ChangeSet((change,), 0, str(bench.session)), hold={})
    assert read_tree(bench.workspace) == {}


def test_the_store_does_not_live_in_the_workspace(bench: Bench) -> None:
    with pytest.raises(UsageError):
        ChangeStore(str(bench.workspace), str(bench.workspace / "changes"))


# --- what is held back ----------------------------------------------------------------------------


def test_a_held_path_waits_and_a_later_yes_applies_it(bench: Bench) -> None:
    lower = bench.write({"src": file(b"old")})
    wanted: Spec = {"src": file(b"new"), ".husky": ("folder", 0o755), ".husky/pre-push": file(b"hook", 0o755)}
    store = bench.store()
    applied = store.apply("1", bench.change(lower, wanted), hold={".husky/pre-push": "first_tier"})
    assert applied.changed == {"src": "changed"}
    assert applied.held == {".husky/pre-push": "first_tier", ".husky": "first_tier"}
    assert not (bench.workspace / ".husky").exists()
    again = bench.store()  # another process
    assert again.held() == applied.held
    assert "+hook" in again.diff(again.held_changes())
    assert again.apply_held([".husky/pre-push"]).changed.keys() == {".husky", ".husky/pre-push"}
    assert read_tree(bench.workspace) == wanted
    assert again.held() == {}
    assert again.rollback().conflicts == {}
    assert read_tree(bench.workspace) == lower


def test_what_depends_on_something_held_is_held(bench: Bench) -> None:
    lower = bench.write({"d": ("folder", 0o755), "d/keep": file(), "d/go": file()})
    store = bench.store()
    applied = store.apply("1", bench.change(lower, {}), hold={"d/keep": "many_deletions"})
    assert applied.held == {"d/keep": "many_deletions", "d": "many_deletions"}
    assert applied.changed == {"d/go": "deleted"}
    wanted: Spec = {"d": file(b"now a file")}
    here = read_tree(bench.workspace)
    applied = store.apply("2", bench.change(here, wanted), hold={"d": "first_tier"})
    assert applied.changed == {}
    assert read_tree(bench.workspace) == here


@pytest.mark.parametrize("code", ["link_out", "set_id", "special_file", "too_large"])
def test_what_is_refused_in_every_mode_is_never_applied_later(bench: Bench, code: str) -> None:
    store = bench.store()
    store.apply("1", staged(bench, "a", b"x"), hold={"a": code})
    assert store.apply_held(["a"]).held == {"a": code}
    assert read_tree(bench.workspace) == {}


def test_set_id_bits_never_reach_the_workspace_even_when_nobody_holds_them(bench: Bench) -> None:
    bench.store().apply("1", bench.change({}, {"a": file(mode=0o6755)}), hold={})
    assert read_tree(bench.workspace) == {"a": file(mode=0o755)}


def test_a_held_file_the_person_made_meanwhile_is_a_conflict(bench: Bench) -> None:
    store = bench.store()
    store.apply("1", staged(bench, "a", b"agent"), hold={"a": "first_tier"})
    (bench.workspace / "a").write_bytes(b"person")
    assert store.apply_held(["a"]).conflicts.keys() == {"a"}
    assert store.held() == {"a": "first_tier"}


# --- undo and the person --------------------------------------------------------------------------


def test_undo_leaves_what_the_person_changed_since_and_force_keeps_their_version(bench: Bench) -> None:
    bench.write({"a": file(b"old"), "b": file(b"old")})
    store = bench.store()
    store.apply("1", staged(bench, "a", b"agent", b"old"), hold={})
    store.apply("2", staged(bench, "b", b"agent", b"old"), hold={})
    store.apply("3", staged(bench, "a", b"agent 2", b"agent"), hold={})
    (bench.workspace / "a").write_bytes(b"person")
    undone = store.rollback()
    assert undone.restored == {"b": "restored"}
    assert undone.conflicts == {"a": "it was changed since"}
    assert read_tree(bench.workspace) == {"a": file(b"person"), "b": file(b"old")}
    assert store.cleanup() is False
    forced = store.rollback(force=["a"])
    assert forced.restored == {"a": "restored"}
    assert read_tree(bench.workspace)["a"] == file(b"old")
    assert store.redo().restored == {"a": "restored"}
    assert read_tree(bench.workspace)["a"] == file(b"person")


def test_undo_takes_one_call_back_and_rollback_the_rest(bench: Bench) -> None:
    store = bench.store()
    for number in range(3):
        store.apply(str(number), staged(bench, f"f{number}", b"x"), hold={})
    assert store.undo().calls == ("2",)
    assert [(past.call_id, past.undone) for past in store.history()] == [
        ("0", False),
        ("1", False),
        ("2", True),
    ]
    assert store.rollback().calls == ("1", "0")
    assert not store.undo()
    assert read_tree(bench.workspace) == {}


def test_a_deletion_undone_over_a_new_file_of_the_person_is_a_conflict(bench: Bench) -> None:
    lower = bench.write({"a": file(b"old")})
    store = bench.store()
    store.apply("1", bench.change(lower, {}), hold={})
    (bench.workspace / "a").write_bytes(b"person")
    assert store.undo().conflicts == {"a": "something else stands there since"}
    assert read_tree(bench.workspace) == {"a": file(b"person")}


def test_undo_keeps_times_and_the_very_inode(bench: Bench) -> None:
    bench.write({"a": file(b"old")})
    os.utime(bench.workspace / "a", ns=(1, 123456789))
    before = os.lstat(bench.workspace / "a")
    store = bench.store()
    store.apply("1", staged(bench, "a", b"agent", b"old"), hold={})
    store.undo()
    after = os.lstat(bench.workspace / "a")
    assert (after.st_ino, after.st_mtime_ns, after.st_mode) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_mode,
    )


def test_backups_stay_until_rollback_or_an_explicit_keep(bench: Bench) -> None:
    store = bench.store()
    store.apply("1", staged(bench, "a", b"x"), hold={})
    assert store.cleanup() is False
    store.keep()
    assert store.cleanup() is True
    assert not Path(store.folder).exists()
    assert read_tree(bench.workspace) == {"a": file()}


def test_a_new_call_after_keep_needs_a_new_keep(bench: Bench) -> None:
    store = bench.store()
    store.keep()
    store.apply("1", staged(bench, "a", b"x"), hold={})
    assert store.cleanup() is False


# --- machines that fail ---------------------------------------------------------------------------


def test_a_full_disk_during_apply_takes_everything_back(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    lower = bench.write({"a": file(b"1"), "b": file(b"1")})
    changes = bench.change(lower, {"a": file(b"2"), "b": file(b"2")})
    store = bench.store()
    real, calls = moves.exchange, []

    def full(*args: object) -> None:
        calls.append(args)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "full")
        real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(engine_module, "exchange", full)
    with pytest.raises(ChangeError, match="nothing was changed"):
        store.apply("1", changes, hold={})
    assert read_tree(bench.workspace) == lower
    assert store.history() == ()


def test_a_full_disk_during_undo_reports_done_and_not_done(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    lower = bench.write({"a": file(b"1"), "b": file(b"1")})
    store = bench.store()
    store.apply("1", bench.change(lower, {"a": file(b"2"), "b": file(b"2")}), hold={})
    real = moves.exchange

    def full(from_fd: int, name: str, to_fd: int, to: str) -> None:
        if to == "a":
            raise OSError(errno.ENOSPC, "full")
        real(from_fd, name, to_fd, to)

    monkeypatch.setattr(engine_module, "exchange", full)
    undone = store.undo()
    assert undone.restored == {"b": "restored"}
    assert undone.conflicts.keys() == {"a"}
    assert read_tree(bench.workspace) == {"a": file(b"2"), "b": file(b"1")}
    monkeypatch.undo()
    assert store.rollback(force=["a"]).restored == {"a": "restored"}
    assert read_tree(bench.workspace) == lower


def test_without_the_kernels_exchange_the_same_holds(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "_renameat2", None)
    lower = bench.write({"a": file(b"1"), "gone": file(), "l": ("link", "a")})
    wanted: Spec = {"a": file(b"2"), "new": file(), "l": ("link", "new")}
    store = bench.store()
    assert store.apply("1", bench.change(lower, wanted), hold={}).conflicts == {}
    assert read_tree(bench.workspace) == wanted
    assert store.undo().conflicts == {}
    assert read_tree(bench.workspace) == lower


KILLED = """
import os, signal, sys
from agent_security.changes import ChangeStore, stage_file
work, session = sys.argv[1:3]
def checkpoint(name):
    if name == "after b":
        os.kill(os.getpid(), signal.SIGKILL)
store = ChangeStore(work, session + "/changes", checkpoint=checkpoint)
for path in ("a", "b"):
    change = stage_file(session + "/staged", path, b"agent", mode=None, before=None, existed=False)
    store.apply(path, change, hold={})
"""


def test_a_process_killed_in_the_middle_is_recovered_by_the_next(bench: Bench) -> None:
    argv = [sys.executable, "-c", KILLED, str(bench.workspace), str(bench.session)]
    done = subprocess.run(argv, check=False, env={"PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == -9
    store = bench.store()
    assert store.recover().calls == ("b",)
    assert read_tree(bench.workspace) == {"a": file(b"agent")}
    assert [past.call_id for past in store.history()] == ["a"]
    assert store.rollback().restored == {"a": "removed"}


def test_two_processes_do_not_work_at_once(bench: Bench) -> None:
    other = bench.store()

    def meanwhile(name: str) -> None:
        with pytest.raises(ChangeError, match="another process"):
            other.undo()
        seen.append(name)

    seen: list[str] = []
    bench.store(meanwhile).apply("1", staged(bench, "a", b"x"), hold={})
    assert seen
    assert other.undo().restored == {"a": "removed"}  # it reads what the first one did


# --- reading --------------------------------------------------------------------------------------


def test_masked_paths_never_come_out_and_their_folders_stay(bench: Bench) -> None:
    lower = bench.write(
        {"c": ("folder", 0o755), "c/.env": file(b"secret"), "c/x": file(), ".env": file(b"secret")}
    )
    upper = bench.upper()
    make_upper(upper, lower, {".env": file(b"overwritten")})
    changes = bench.read(upper, masked=(".env", "c/.env"))
    assert [(c.path, c.kind) for c in changes.changes] == [("c/x", ChangeKind.DELETED)]
    bench.store().apply("1", changes, hold={})
    assert read_tree(bench.workspace)["c/.env"] == file(b"secret")


def test_a_masked_configuration_is_merged_into_the_real_one(bench: Bench) -> None:
    word = b"not-" + b"a-secret"
    real = b'[core]\n\tbare = false\n[remote "o"]\n\turl = https://me:' + word + b"@h.example/x\n"
    lower = bench.write({".git": ("folder", 0o755), ".git/config": file(real, 0o600)})
    upper = bench.upper()
    shown = mask_config(real)
    make_upper(upper, lower, lower | {".git/config": file(shown + b"[user]\n\tname = x\n", 0o600)})
    changes = bench.read(upper, masked=(".git/config",))
    bench.store().apply("1", changes, hold={})
    assert read_tree(bench.workspace)[".git/config"] == file(real + b"[user]\n\tname = x\n", 0o600)
    upper = bench.upper()
    make_upper(upper, lower, lower | {".git/config": file(shown, 0o600)})
    (bench.workspace / ".git/config").write_bytes(real)
    assert not bench.read(upper, masked=(".git/config",))


def test_a_configuration_that_cannot_be_merged_is_left_alone_and_said_so(bench: Bench) -> None:
    real = b"[http]\n\textraheader = " + b"not-" + b"a-secret\n"
    lower = bench.write({".git": ("folder", 0o755), ".git/config": file(real)})
    upper = bench.upper()
    make_upper(upper, lower, lower | {".git/config": file(b"[broken\n")})
    applied = bench.store().apply("1", bench.read(upper, masked=(".git/config",)), hold={})
    assert applied.conflicts.keys() == {".git/config"}
    assert read_tree(bench.workspace)[".git/config"] == file(real)


def test_a_view_that_hides_what_it_moved_is_not_read(bench: Bench) -> None:
    upper = bench.upper()
    (upper / "d").mkdir()
    os.setxattr(upper / "d", "user.overlay.redirect", b"/elsewhere")
    with pytest.raises(ChangeError, match="redirect"):
        bench.read(upper)


def test_overlay_marks_and_capabilities_do_not_reach_the_workspace(bench: Bench) -> None:
    upper = bench.upper()
    (upper / "f").write_bytes(b"x")
    os.setxattr(upper / "f", "user.overlay.origin", b"y")
    os.setxattr(upper / "f", "user.kept", b"y")
    bench.store().apply("1", bench.read(upper), hold={})
    assert os.listxattr(bench.workspace / "f") == ["user.kept"]


def test_hard_links_in_the_view_become_files_of_their_own(bench: Bench) -> None:
    upper = bench.upper()
    (upper / "a").write_bytes(b"x")
    os.link(upper / "a", upper / "b")
    store = bench.store()
    store.apply("1", bench.read(upper), hold={"b": "first_tier"})
    (bench.workspace / "a").write_bytes(b"changed in place")
    store.apply_held(["b"])
    assert (bench.workspace / "b").read_bytes() == b"x"


def test_a_sparse_file_stays_sparse_and_costs_no_digest(bench: Bench) -> None:
    upper = bench.upper()
    with open(upper / "big", "wb") as big:
        big.truncate(3 << 30)
    started = time.monotonic()
    changes = bench.read(upper)
    assert changes.changes[0].after is None
    store = bench.store()
    store.apply("1", changes, hold={})
    assert os.lstat(bench.workspace / "big").st_blocks < 1000
    assert store.undo().restored == {"big": "removed"}
    assert time.monotonic() - started < 20


def test_names_of_255_bytes_work(bench: Bench) -> None:
    name = "n" * 255
    bench.write({name: file(b"old")})
    store = bench.store()
    assert store.apply("1", staged(bench, name, b"new", b"old"), hold={}).changed == {name: "changed"}
    assert store.undo().restored == {name: "restored"}
    assert read_tree(bench.workspace) == {name: file(b"old")}


def test_writing_the_same_bytes_is_no_change(bench: Bench) -> None:
    bench.write({"a": file(b"same")})
    assert not staged(bench, "a", b"same", b"same")


def test_an_edit_keeps_the_mode(bench: Bench) -> None:
    bench.write({"a": file(b"old", 0o750)})
    bench.store().apply("1", staged(bench, "a", b"new", b"old"), hold={})
    assert read_tree(bench.workspace) == {"a": file(b"new", 0o750)}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to be root")
def test_as_root_new_files_belong_to_the_workspaces_owner_and_old_ones_to_theirs(bench: Bench) -> None:
    bench.write({"a": file(b"old")})
    os.chown(bench.workspace, 4242, 4243)
    os.chown(bench.workspace / "a", 4000, 4001)
    store = bench.store()
    store.apply("1", staged(bench, "a", b"new", b"old"), hold={})
    store.apply("2", staged(bench, "d/b", b"new"), hold={})
    owners = {path: os.lstat(bench.workspace / path) for path in ("a", "d", "d/b")}
    assert {path: (seen.st_uid, seen.st_gid) for path, seen in owners.items()} == {
        "a": (4000, 4001),
        "d": (4242, 4243),
        "d/b": (4242, 4243),
    }
    store.rollback()
    assert os.lstat(bench.workspace / "a").st_uid == 4000


def test_a_mode_change_touches_the_mode_alone(bench: Bench) -> None:
    lower = bench.write({"a": file(b"x")})
    inode = os.lstat(bench.workspace / "a").st_ino
    store = bench.store()
    changes = bench.change(lower, {"a": file(b"x", 0o755)})
    assert store.apply("1", changes, hold={}).changed == {"a": "mode"}
    assert os.lstat(bench.workspace / "a").st_ino == inode
    assert store.undo().restored == {"a": "mode"}
    assert read_tree(bench.workspace) == lower


# --- diff -----------------------------------------------------------------------------------------


def test_the_diff_is_a_patch_that_git_applies(bench: Bench) -> None:
    lower = bench.write(
        {
            "edit": file(b"1\n2\n3\n"),
            "gone": file(b"bye"),
            "mode": file(b"m\n"),
            "a b": file(b"old"),
            "l": ("link", "edit"),
            "odd\udcff\n": file(b"x\r\ny\n"),
        }
    )
    wanted: Spec = {
        "edit": file(b"1\n2!\n3\n"),
        "mode": file(b"m\n", 0o755),
        "a b": file(b"new\n"),
        "new": file(b"n\n", 0o755),
        "l": ("link", "new"),
        "odd\udcff\n": file(b"x\r\nz\n"),
    }
    patch = bench.store().diff(bench.change(lower, wanted), max_bytes=None)
    done = subprocess.run(
        ["git", "apply", "-"],
        input=patch.encode("utf-8", "surrogateescape"),
        cwd=bench.workspace,
        capture_output=True,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(bench.root), "GIT_CEILING_DIRECTORIES": str(bench.root)},
    )
    assert done.returncode == 0, done.stderr
    assert read_tree(bench.workspace) == wanted


def test_the_diff_is_bounded_and_binaries_get_one_line(bench: Bench) -> None:
    changes = bench.change({}, {"bin": file(b"\0" * 100), "text": file(b"x\n" * 5000), "z": file()})
    text = bench.store().diff(changes, max_bytes=1000)
    assert len(text) < 1200
    assert "binary or large, 100 bytes): bin" in text
    assert "2 more changes" in text


def test_an_upper_directory_that_is_not_there_is_an_error(bench: Bench) -> None:
    fd = os.open(bench.workspace, os.O_RDONLY)
    try:
        with pytest.raises(FileNotFoundError):
            read_upper(str(bench.root / "none"), fd, since_ns=0)
    finally:
        os.close(fd)


def test_links_of_the_tree_are_never_read_through(bench: Bench) -> None:
    canary = bench.root / "canary"
    canary.write_bytes(b"secret")
    bench.write({"l": ("link", str(canary))})
    upper = bench.upper()
    (upper / "l").write_bytes(b"agent")
    (change,) = bench.read(upper).changes
    assert (change.kind, change.node, change.before) == (ChangeKind.CHANGED, Node.FILE, None)
    bench.store().apply("1", bench.read(upper), hold={})
    assert canary.read_bytes() == b"secret"
    assert (bench.workspace / "l").read_bytes() == b"agent"
