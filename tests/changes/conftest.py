"""A workspace, a session's folder beside it, and short ways to read, apply and undo."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from trees import Spec, make_upper, write_tree

from agent_security.changes import ChangeStore, read_upper
from agent_security.changeset import ChangeSet

_LATER_NS = 3_600_000_000_000


def other_file_system() -> Path | None:
    """A fresh folder that is not on the file system of temporary files, where there is one."""
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK) or shared.stat().st_dev == os.stat(tempfile.gettempdir()).st_dev:
        return None
    return Path(tempfile.mkdtemp(prefix="changes-", dir=shared))


class Bench:
    """One workspace with its store. `session` is what stays on disk between two stores."""

    def __init__(self, root: Path, session: Path | None = None) -> None:
        self.root = root
        self.workspace, self.session = root / "work", session or root / "session"
        self.workspace.mkdir(parents=True)
        self.session.mkdir(exist_ok=True)
        self.count = 0
        self.open: list[ChangeStore] = []

    def store(self, checkpoint: Callable[[str], None] | None = None) -> ChangeStore:
        store = ChangeStore(str(self.workspace), str(self.session / "changes"), checkpoint=checkpoint)
        self.open.append(store)
        return store

    def upper(self) -> Path:
        self.count += 1
        where = self.session / f"call{self.count}" / "upper"
        where.mkdir(parents=True)
        return where

    def read(self, upper: Path, *, masked: tuple[str, ...] = (), since_ns: int | None = None) -> ChangeSet:
        fd = os.open(self.workspace, os.O_RDONLY | os.O_DIRECTORY)
        try:
            now = time.time_ns() + _LATER_NS if since_ns is None else since_ns
            return read_upper(str(upper), fd, since_ns=now, masked=masked)
        finally:
            os.close(fd)

    def change(self, lower: Spec, wanted: Spec, **how: bool) -> ChangeSet:
        upper = self.upper()
        make_upper(upper, lower, wanted, **how)
        return self.read(upper)

    def write(self, spec: Spec) -> Spec:
        write_tree(self.workspace, spec)
        return spec

    def close(self) -> None:
        for store in self.open:
            store.close()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.close()
