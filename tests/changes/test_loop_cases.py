"""The rollback cases LO-041 and LO-150 to LO-175 of the case collection, one test a case."""

from __future__ import annotations

import hashlib
import os

from conftest import Bench
from trees import Spec, read_tree

from agent_security.changes import stage_file
from agent_security.changeset import ChangeSet
from agent_security.session_control import FileRollback


def file(text: bytes = b"x", mode: int = 0o644) -> tuple[str, bytes, int]:
    return ("file", text, mode)


def staged(bench: Bench, path: str, data: bytes, before: bytes | None = None) -> ChangeSet:
    digest = None if before is None else hashlib.sha256(before).hexdigest()
    folder = str(bench.session / "staged")
    return stage_file(folder, path, data, mode=None, before=digest, existed=before is not None)


class Says:
    """An approver that answers every plain question the same way."""

    def __init__(self, yes: bool) -> None:
        self.yes, self.asked = yes, 0

    def confirm(self, prompt: str, detail: str = "") -> bool:
        self.asked += 1
        return self.yes


def test_lo_041_two_writes_of_one_file_roll_back_to_the_first_original(bench: Bench) -> None:
    bench.write({"x": file(b"0")})
    store = bench.store()
    store.apply("a", staged(bench, "x", b"1", b"0"), hold={})
    store.apply("b", staged(bench, "x", b"2", b"1"), hold={})
    assert read_tree(bench.workspace) == {"x": file(b"2")}
    store.rollback()
    assert read_tree(bench.workspace) == {"x": file(b"0")}


def test_lo_150_and_153_created_folders_go_with_their_file(bench: Bench) -> None:
    store = bench.store()
    store.apply("1", staged(bench, "new/deep/dir/a.txt", b"x"), hold={})
    assert (bench.workspace / "new/deep/dir/a.txt").read_bytes() == b"x"
    store.rollback()
    assert read_tree(bench.workspace) == {}


def test_lo_153_a_created_folder_with_a_file_of_the_person_stays(bench: Bench) -> None:
    store = bench.store()
    store.apply("1", staged(bench, "d/e/new.txt", b"x"), hold={})
    (bench.workspace / "d/mine").write_bytes(b"mine")
    store.rollback()
    assert set(read_tree(bench.workspace)) == {"d", "d/mine"}


def test_lo_155_a_file_renamed_by_the_shell_is_restored(bench: Bench) -> None:
    lower = bench.write({"a.txt": file(b"a")})
    store = bench.store()
    store.apply("1", bench.change(lower, {"b.txt": file(b"a")}), hold={})
    assert read_tree(bench.workspace) == {"b.txt": file(b"a")}
    store.rollback()
    assert read_tree(bench.workspace) == lower


def test_lo_157_and_158_what_the_person_edited_is_a_conflict_and_nothing_is_lost(bench: Bench) -> None:
    bench.write({"a.txt": file(b"original")})
    store = bench.store()
    store.apply("1", staged(bench, "a.txt", b"agent", b"original"), hold={})
    (bench.workspace / "a.txt").write_bytes(b"by hand")
    assert store.rollback().conflicts.keys() == {"a.txt"}
    assert read_tree(bench.workspace) == {"a.txt": file(b"by hand")}
    store.rollback(force=["a.txt"])  # the person said: put this one back all the same
    assert read_tree(bench.workspace) == {"a.txt": file(b"original")}
    store.redo()
    assert read_tree(bench.workspace) == {"a.txt": file(b"by hand")}


def test_lo_160_a_binary_file_comes_back_byte_equal(bench: Bench) -> None:
    data = bytes(range(256)) * 1000
    bench.write({"binary.png": file(data)})
    store = bench.store()
    store.apply("1", staged(bench, "binary.png", b"\0other", data), hold={})
    store.rollback()
    assert (bench.workspace / "binary.png").read_bytes() == data


def test_lo_163_a_folder_replaced_by_a_link_is_skipped_and_counted(bench: Bench) -> None:
    outside = bench.root / "outside"
    outside.mkdir()
    (outside / "f").write_bytes(b"agent")
    bench.write({"dir": ("folder", 0o755), "dir/f": file(b"old")})
    store = bench.store()
    store.apply("1", staged(bench, "dir/f", b"agent", b"old"), hold={})
    os.rename(bench.workspace / "dir", bench.workspace / "aside")
    (bench.workspace / "dir").symlink_to(outside)
    lines: list[str] = []
    rollback = FileRollback(str(bench.workspace), store, tell=lines.append)
    assert rollback.offer_rollback(Says(True)) == 0
    assert rollback.conflicts.keys() == {"dir/f"}
    assert len(lines) == 1
    assert (outside / "f").read_bytes() == b"agent"


def test_lo_164_a_file_edited_through_a_link_is_restored_and_the_link_kept(bench: Bench) -> None:
    lower = bench.write({"real.txt": file(b"old"), "link.txt": ("link", "real.txt")})
    rollback = FileRollback(str(bench.workspace), bench.store())
    assert rollback.snapshot("link.txt") is True
    (bench.workspace / "link.txt").write_bytes(b"agent")
    assert rollback.offer_rollback(Says(True)) == 1
    assert read_tree(bench.workspace) == lower


def test_lo_167_a_name_of_255_bytes_works(bench: Bench) -> None:
    name = "é" * 127 + "x"
    bench.write({name: file(b"old")})
    rollback = FileRollback(str(bench.workspace), bench.store())
    rollback.snapshot(name)
    (bench.workspace / name).write_bytes(b"agent")
    assert rollback.offer_rollback(Says(True)) == 1
    assert read_tree(bench.workspace) == {name: file(b"old")}


def test_lo_171_with_nobody_to_ask_the_work_is_kept_and_the_command_named(bench: Bench) -> None:
    store = bench.store()
    store.apply("1", staged(bench, "a", b"x"), hold={})
    lines: list[str] = []
    rollback = FileRollback(
        str(bench.workspace), store, command="agent-security rollback ID", tell=lines.append
    )
    assert rollback.offer_rollback(None) == 0
    assert lines == ["changes kept; to undo them: agent-security rollback ID"]
    assert rollback.cleanup() is False
    assert store.rollback().restored == {"a": "removed"}


def test_lo_173_a_huge_file_is_exchanged_and_not_copied(bench: Bench) -> None:
    with open(bench.workspace / "big", "wb") as big:
        big.truncate(2 << 30)
    inode = os.lstat(bench.workspace / "big").st_ino
    store = bench.store()
    upper = bench.upper()
    (upper / "big").write_bytes(b"small")
    store.apply("1", bench.read(upper), hold={})
    assert (bench.workspace / "big").read_bytes() == b"small"
    assert store.rollback().restored == {"big": "restored"}
    seen = os.lstat(bench.workspace / "big")
    assert (seen.st_ino, seen.st_size) == (inode, 2 << 30)


def test_lo_175_a_refused_write_leaves_nothing_to_restore(bench: Bench) -> None:
    rollback = FileRollback(str(bench.workspace), bench.store())
    asker = Says(True)
    assert rollback.snapshot("../outside") is False
    assert rollback.offer_rollback(asker) == 0
    assert asker.asked == 0


def test_a_no_keeps_everything(bench: Bench) -> None:
    lower: Spec = bench.write({"a": file(b"old")})
    store = bench.store()
    store.apply("1", staged(bench, "a", b"new", b"old"), hold={})
    assert FileRollback(str(bench.workspace), store).offer_rollback(Says(False)) == 0
    assert read_tree(bench.workspace) != lower
