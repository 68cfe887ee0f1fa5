"""How the log writes a line, and what it does when it cannot."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_security.errors import AuditError
from agent_security.tools.audit import (
    AuditLog,
    verify_log,
)
from agent_security.tools.audit import write as audit_write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "s1" / "audit.jsonl"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def no_secret(text: str) -> str:
    return text.replace("hunter2", "[REDACTED]")


def test_a_log_opens_with_session_start_and_closes_with_session_end(path: Path) -> None:
    with AuditLog(path, "s1") as log:
        log.log_user_message("hello")
    assert [line["event"] for line in lines(path)] == ["session_start", "user_message", "session_end"]
    assert lines(path)[0]["log_file"] == str(path)


def test_every_line_is_sealed_to_the_line_before_and_hash_stands_last(path: Path) -> None:
    with AuditLog(path, "s1") as log:
        log.log("custom", hash_like={"hash": "x"})
    prev = "0" * 64
    for number, raw in enumerate(path.read_bytes().splitlines(), 1):
        record = json.loads(raw)
        assert list(record)[:4] == ["seq", "ts", "session_id", "event"]
        assert list(record)[-2:] == ["prev", "hash"]
        assert (record["seq"], record["prev"], record["session_id"]) == (number, prev, "s1")
        prev = record["hash"]
        assert prev == hashlib.sha256(raw[: raw.rindex(b',"hash":"')]).hexdigest()
    assert log.head == prev


def test_the_same_events_at_the_same_times_give_the_same_bytes(path: Path, tmp_path: Path) -> None:
    def write(target: Path) -> bytes:
        with AuditLog(target, "s1", clock=lambda: 1.5) as log:
            log.log_permission_decision("run_bash", {"command": "ls"}, "default", True, "ok: fine")
        return target.read_bytes().replace(str(target).encode(), b"LOG").splitlines()[1][:-75]

    first, second = write(path), write(tmp_path / "b.jsonl")
    # the first line names its file, so the second's prev differs
    assert first.split(b',"prev"')[0] == second.split(b',"prev"')[0]
    assert b'"ts":"1970-01-01T00:00:01.500000Z"' in first


def test_the_file_is_private_and_never_written_over(path: Path) -> None:
    AuditLog(path, "s1").close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    with pytest.raises(AuditError, match="exists"):
        AuditLog(path, "s1")


def test_a_link_in_the_logs_place_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AuditError):
        AuditLog(path, "s1")
    assert not (tmp_path / "elsewhere").exists()


def test_an_event_is_in_the_file_when_the_method_returns(path: Path) -> None:
    log = AuditLog(path, "s1")
    log.log_session_abort("Ctrl-C")
    assert lines(path)[-1]["reason"] == "Ctrl-C"
    log.close()


# --- what cannot be written ---------------------------------------------------------------------


def test_a_full_disk_raises_now_and_at_every_later_call(path: Path) -> None:
    log = AuditLog(path, "s1")
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, log._fd)
    os.close(full)
    with pytest.raises(AuditError, match="No space left"):
        log.log_user_message("one")
    with pytest.raises(AuditError, match="No space left"):
        log.log_user_message("two")
    log.close()
    assert [line["event"] for line in lines(path)] == ["session_start"]


def short_write(let_through: int, then: BaseException) -> Callable[[int, bytes], int]:
    """An os.write that lets some bytes through and then fails."""
    real, done = os.write, []

    def write(fd: int, data: bytes) -> int:
        if done:
            raise then
        done.append(1)
        count = real(fd, bytes(data)[:let_through])
        if count < let_through or let_through == 10**9:
            raise then
        return count

    return write


def test_a_line_a_full_disk_cut_short_is_taken_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = AuditLog(path, "s1")
    monkeypatch.setattr(audit_write.os, "write", short_write(20, OSError(28, "No space left on device")))
    with pytest.raises(AuditError):
        log.log_user_message("lost")
    monkeypatch.undo()
    with pytest.raises(AuditError):
        log.log_user_message("later")
    log.close()
    assert verify_log(path).status == "unclosed"
    assert len(lines(path)) == 1


@pytest.mark.parametrize(("let_through", "kept"), [(20, False), (10**9, True)])
def test_an_interrupt_in_the_middle_of_a_write_breaks_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, let_through: int, kept: bool
) -> None:
    log = AuditLog(path, "s1")
    monkeypatch.setattr(audit_write.os, "write", short_write(let_through, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        log.log_user_message("struck")
    monkeypatch.undo()
    log.log_user_message("after")
    log.close()
    assert verify_log(path).status == "ok"
    assert [line.get("content") for line in lines(path) if "content" in line] == ["struck", "after"][
        not kept :
    ]


def test_a_closed_log_takes_nothing_more_and_closes_twice(path: Path) -> None:
    log = AuditLog(path, "s1")
    log.close()
    log.close()
    with pytest.raises(AuditError, match="closed"):
        log.log_user_message("late")


def test_a_folder_that_cannot_be_made_is_an_audit_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AuditError):
        AuditLog(tmp_path / "file" / "audit.jsonl", "s1")


def test_a_redactor_that_raises_stops_the_session_and_writes_nothing(path: Path) -> None:
    def broken(text: str) -> str:
        if "boom" in text:
            raise RuntimeError(text)
        return text

    log = AuditLog(path, "s1", redact=broken)
    with pytest.raises(AuditError) as raised:
        log.log_user_message("boom secret")
    assert "secret" not in str(raised.value)
    with pytest.raises(AuditError):
        log.log_user_message("fine")
    log.close()
    assert b"secret" not in path.read_bytes()


def test_a_field_the_log_writes_itself_is_refused(path: Path) -> None:
    with AuditLog(path, "s1") as log, pytest.raises(ValueError, match="hash, seq"):
        log.log("custom", hash="x", seq=3)


def test_eight_threads_write_one_unbroken_chain(path: Path) -> None:
    log = AuditLog(path, "s1")
    threads = [
        threading.Thread(target=lambda: [log.log("tick", number=n) for n in range(50)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    assert verify_log(path) == ("ok", 0, "", 402, log.head, "s1")
