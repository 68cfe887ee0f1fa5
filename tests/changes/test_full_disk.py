"""A disk that is full in the middle: what is said is what happened, and the way back stays open."""

from __future__ import annotations

import errno
import json
import os
from typing import Any

import pytest
from conftest import Bench

from agent_security.changes import ChangeStore
from agent_security.changes.journal import Journal
from agent_security.errors import ChangeError

OLD = {f"f{number}": ("file", b"old", 0o644) for number in range(5)}
NEW = {name: ("file", b"new", 0o644) for name in OLD}


def _contents(bench: Bench) -> set[bytes]:
    return {(bench.workspace / name).read_bytes() for name in OLD}


def test_a_change_set_whose_end_cannot_be_written_is_taken_back(bench: Bench, monkeypatch: Any) -> None:
    bench.write(OLD)
    store = bench.store()

    def torn(self: Journal, step: Any) -> None:
        with open(self._path(step.number), "ab") as file:
            file.write(b'{"done":[[0,')
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(Journal, "finish", torn)
        with pytest.raises(ChangeError, match="nothing was changed"):
            store.apply("c", bench.change(OLD, NEW), hold={})
    assert _contents(bench) == {b"old"}
    again = bench.store()
    assert again.apply("c", bench.change(OLD, NEW), hold={}).conflicts == {}
    assert _contents(bench) == {b"new"}
    assert bench.store().rollback().conflicts == {}
    assert _contents(bench) == {b"old"}


def test_what_follows_a_torn_line_of_the_journal_can_be_read(bench: Bench) -> None:
    bench.write(OLD)
    store = bench.store()
    store.apply("c", bench.change(OLD, NEW), hold={})
    path = bench.session / "changes" / "journal" / "000001.jsonl"
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:-1]) + whole[-1][:9])  # killed while it wrote "done"
    assert bench.store().recover().conflicts == {}
    assert _contents(bench) == {b"old"}
    for line in path.read_bytes().splitlines():
        json.loads(line)
    assert bench.store().rollback().conflicts == {}


def test_a_journal_that_cannot_be_read_is_said_and_ends_no_session(bench: Bench) -> None:
    store: ChangeStore = bench.store()
    (bench.session / "changes" / "journal" / "000001.jsonl").write_bytes(b"no JSON\n")
    with pytest.raises(ChangeError, match="journal"):
        store.recover()
