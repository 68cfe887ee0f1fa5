"""What a command did to a random tree comes out as its change set, applies exactly, undoes exactly."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import Bench, other_file_system
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trees import Spec, make_upper, read_tree, remove_tree, whiteout

from agent_security.changeset import ChangeKind, Node

NAMES = ["a", "b", ".git", "objects", "HEAD", "-x", "odd\udcff name", "é\n"]
MODES = st.sampled_from([0o644, 0o600, 0o755])
LEAVES = st.one_of(
    st.tuples(
        st.just("file"),
        st.sampled_from([b"", b"one", b"two", b"\0bin"]),
        st.sampled_from([0o644, 0o600, 0o755]),
    ),
    st.tuples(st.just("link"), st.sampled_from(["a", "b/c", "nowhere"])),
)


@st.composite
def trees(draw: st.DrawFn, depth: int = 3) -> Spec:
    spec: Spec = {}

    def fill(prefix: str, left: int) -> None:
        for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=4)):
            if left and draw(st.booleans()):
                spec[prefix + name] = ("folder", draw(st.sampled_from([0o755, 0o700, 0o555])))
                fill(f"{prefix}{name}/", left - 1)
            else:
                spec[prefix + name] = draw(LEAVES)

    fill("", depth)
    return spec


@st.composite
def changed(draw: st.DrawFn) -> tuple[Spec, Spec]:
    """A tree and another one that shares some of it."""
    lower, other = draw(trees()), draw(trees())
    wanted = dict(other)
    for path, node in sorted(lower.items()):
        parent_ok = "/" not in path or wanted.get(path.rpartition("/")[0], ("",))[0] == "folder"
        if draw(st.booleans()) and parent_ok and path not in wanted:
            wanted[path] = node
    return lower, wanted


@contextmanager
def benches(across: bool) -> Iterator[Bench]:
    """A bench of its own for each example; `across`: the session's folder on another file system."""
    root = Path(tempfile.mkdtemp(prefix="changes-"))
    session = other_file_system() if across else None
    bench = Bench(root, session)
    try:
        yield bench
    finally:
        bench.close()
        remove_tree(root)
        if session is not None:
            remove_tree(session)


EXAMPLES = int(os.environ.get("EXAMPLES", "40"))
SLOW = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


@SLOW
@given(changed(), st.booleans(), st.booleans(), st.booleans())
def test_a_view_applies_and_undoes_bit_for_bit(
    trees: tuple[Spec, Spec], opaque: bool, copied_up: bool, across: bool
) -> None:
    lower, wanted = trees
    with benches(across) as bench:
        bench.write(lower)
        store = bench.store()
        applied = store.apply("1", bench.change(lower, wanted, opaque=opaque, copied_up=copied_up), hold={})
        assert applied.conflicts == {}
        assert read_tree(bench.workspace) == wanted
        undone = store.undo()
        assert undone.conflicts == {}
        assert read_tree(bench.workspace) == lower
        assert store.redo().conflicts == {}
        assert read_tree(bench.workspace) == wanted
        assert store.rollback().conflicts == {}
        assert read_tree(bench.workspace) == lower


def test_a_mode_goes_back_although_the_file_came_back_as_another_inode() -> None:
    """Across file systems a file that comes back is a copy; its old inode may belong to somebody else."""
    first: Spec = {"a": ("file", b"one", 0o644)}
    second: Spec = {"a": ("file", b"one", 0o600)}
    with benches(across=True) as bench:
        bench.write(first)
        store = bench.store()
        store.apply("mode", bench.change(first, second), hold={})
        store.apply("gone", bench.change(second, {}), hold={})
        for number in range(8):
            (Path(bench.workspace).parent / f"takes-the-inode-{number}").write_text("x")
        assert store.rollback().conflicts == {}
        assert read_tree(bench.workspace) == first


@SLOW
@given(trees(), trees(), trees(), st.booleans())
def test_many_calls_roll_back_to_the_start(first: Spec, second: Spec, third: Spec, across: bool) -> None:
    with benches(across) as bench:
        bench.write(first)
        store = bench.store()
        for before, after in ((first, second), (second, third)):
            assert store.apply("call", bench.change(before, after), hold={}).conflicts == {}
        assert read_tree(bench.workspace) == third
        assert store.rollback().conflicts == {}
        assert read_tree(bench.workspace) == first
        assert store.redo().conflicts == {}
        assert read_tree(bench.workspace) == third


class Crash(BaseException):
    """Stands for the process's end: no handler of the code under test may see it."""


def crash_at(number: int) -> tuple[list[str], Callable[[str], None]]:
    seen: list[str] = []

    def checkpoint(name: str) -> None:
        seen.append(name)
        if len(seen) == number:
            raise Crash(name)

    return seen, checkpoint


@SLOW
@given(changed(), st.booleans(), st.integers(1, 40), st.booleans(), st.booleans())
def test_a_crash_at_any_point_of_apply_or_undo_is_taken_back(
    trees: tuple[Spec, Spec], opaque: bool, number: int, undoing: bool, across: bool
) -> None:
    lower, wanted = trees
    with benches(across) as bench:
        bench.write(lower)
        seen, checkpoint = crash_at(number)
        if undoing:
            bench.store().apply("1", bench.change(lower, wanted, opaque=opaque), hold={})
        store = bench.store(checkpoint)
        try:
            if undoing:
                store.undo()
            else:
                store.apply("1", bench.change(lower, wanted, opaque=opaque), hold={})
        except Crash:
            again = bench.store()
            assert again.recover().conflicts == {}, seen
            assert read_tree(bench.workspace) == (wanted if undoing else lower)
            assert again.rollback().conflicts == {}
            assert read_tree(bench.workspace) == lower


@pytest.mark.parametrize("across", [False, True])
def test_every_crash_point_of_one_rich_change_recovers(across: bool) -> None:
    lower: Spec = {
        "gone": ("file", b"gone", 0o644),
        "edit": ("file", b"old", 0o644),
        "mode": ("file", b"m", 0o644),
        "dir": ("folder", 0o755),
        "dir/x": ("file", b"x", 0o644),
        "swap": ("folder", 0o755),
        "swap/in": ("file", b"in", 0o600),
        "link": ("link", "edit"),
    }
    wanted: Spec = {
        "edit": ("file", b"new", 0o644),
        "mode": ("file", b"m", 0o755),
        "swap": ("file", b"now a file", 0o644),
        "link": ("link", "mode"),
        "dir": ("link", "edit"),
        "new": ("folder", 0o755),
        "new/deep": ("folder", 0o500),
        "new/deep/f": ("file", b"f", 0o644),
    }
    points = 0
    for number in range(1, 200):
        with benches(across) as bench:
            bench.write(lower)
            seen, checkpoint = crash_at(number)
            try:
                bench.store(checkpoint).apply("1", bench.change(lower, wanted), hold={})
            except Crash:
                points += 1
                assert bench.store().recover().conflicts == {}, seen[-1]
                assert read_tree(bench.workspace) == lower, seen[-1]
                continue
            assert read_tree(bench.workspace) == wanted
            break
    assert points > 20


def test_an_upper_directory_is_read_without_walking_the_tree(bench: Bench) -> None:
    lower = bench.write({f"d{n}": ("folder", 0o755) for n in range(50)} | {"f": ("file", b"1", 0o644)})
    upper = bench.upper()
    make_upper(upper, lower, lower | {"f": ("file", b"2", 0o644)})
    for n in range(50):
        (bench.workspace / f"d{n}").rmdir()  # had it been walked, these would be missed
    assert [change.path for change in bench.read(upper).changes] == ["f"]


def test_a_whiteout_of_nothing_is_no_change(bench: Bench) -> None:
    upper = bench.upper()
    whiteout(upper / "never-was")
    assert not bench.read(upper)


def test_a_copied_up_file_with_another_mode_is_a_mode_change(bench: Bench) -> None:
    lower = bench.write({"f": ("file", b"same", 0o644)})
    changes = bench.change(lower, {"f": ("file", b"same", 0o755)})
    assert [(c.kind, c.node, c.mode) for c in changes.changes] == [(ChangeKind.MODE, Node.FILE, 0o755)]


@pytest.mark.parametrize("depth", [60, 300])
def test_deep_trees_come_out_and_go_back(bench: Bench, depth: int) -> None:
    path = "/".join(["deep-folder-name"] * depth)
    lower = bench.write({"top": ("file", b"1", 0o644)})
    upper = bench.upper()
    make_deep(upper, path)
    changes = bench.read(upper)
    assert len(changes) == depth + 1
    store = bench.store()
    assert len(store.apply("1", changes, hold={}).changed) == depth + 1
    assert store.undo().conflicts == {}
    assert read_tree(bench.workspace) == lower


def make_deep(root: Path, path: str) -> None:
    """Make folders deeper than PATH_MAX, and a file at the end, one step at a time."""
    fd = os.open(root, os.O_RDONLY)
    for part in path.split("/"):
        os.mkdir(part, 0o755, dir_fd=fd)
        below = os.open(part, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    file = os.open("leaf", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=fd)
    os.write(file, b"leaf")
    os.close(file)
    os.close(fd)
