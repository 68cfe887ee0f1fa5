"""Whatever is done to a finished log is found, and the line is named."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_security.errors import AuditError
from agent_security.tools.audit import AuditLog, read_log, verify_log
from agent_security.tools.audit.line import MAX_LINE_BYTES, seal

quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("log") / "audit.jsonl"
    with AuditLog(path, "s1", clock=lambda: 1.0) as log:
        log.log_user_message("fix the test")
        log.log_permission_decision("run_bash", {"command": "pytest"}, "default", True, "ok: fine")
        log.log_tool_result("1", "run_bash", {"command": "pytest"}, True, "1 passed")
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "changed.jsonl"


def status_of(data: bytes, path: Path) -> tuple[str, int]:
    path.write_bytes(data)
    found = verify_log(path)
    return found.status, found.line


def test_an_untouched_log_is_ok(whole: bytes, path: Path) -> None:
    assert status_of(whole, path) == ("ok", 0)


@given(data=st.data())
@quick
def test_any_byte_changed_names_its_line(whole: bytes, path: Path, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != whole[at]))
    status, line = status_of(whole[:at] + bytes([byte]) + whole[at + 1 :], path)
    assert (status, line) == ("broken", whole[:at].count(b"\n") + 1)


@given(data=st.data())
@quick
def test_any_byte_put_in_or_taken_out_is_found(whole: bytes, path: Path, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(whole) - 1))
    extra = bytes([data.draw(st.integers(0, 255))])
    assert status_of(whole[:at] + extra + whole[at:], path)[0] == "broken"
    assert status_of(whole[:at] + whole[at + 1 :], path)[0] == "broken"


@given(data=st.data())
@quick
def test_a_line_dropped_doubled_or_moved_names_the_first_line_that_does_not_follow(
    whole: bytes, path: Path, data: st.DataObject
) -> None:
    lines = whole.splitlines(keepends=True)
    at = data.draw(st.integers(0, len(lines) - 2))
    other = data.draw(st.integers(at + 1, len(lines) - 1))
    dropped = lines[:at] + lines[at + 1 :]
    doubled = lines[: at + 1] + lines[at:]
    swapped = list(lines)
    swapped[at], swapped[other] = lines[other], lines[at]
    assert status_of(b"".join(dropped), path) == ("broken", at + 1)
    assert status_of(b"".join(doubled), path) == ("broken", at + 2)
    assert status_of(b"".join(swapped), path) == ("broken", at + 1)


@given(data=st.data())
@quick
def test_a_log_cut_inside_a_line_is_broken_and_between_lines_unclosed(
    whole: bytes, path: Path, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(whole) - 1))
    expected = "unclosed" if at == 0 or whole[at - 1 : at] == b"\n" else "broken"
    assert status_of(whole[:at], path)[0] == expected


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b"\n", b"\r\n", "does not end with its hash"),
        (b'"}\n', b'"} \n', "does not end with its hash"),
        (b"\n", b"\n\n", "does not end with its hash"),
    ],
)
def test_another_line_end_is_found(whole: bytes, path: Path, old: bytes, new: bytes, problem: str) -> None:
    path.write_bytes(whole.replace(old, new, 1))
    found = verify_log(path)
    assert found.status == "broken"
    assert found.problem == problem


def test_a_missing_last_newline_is_found(whole: bytes, path: Path) -> None:
    path.write_bytes(whole[:-1])
    found = verify_log(path)
    assert (found.status, found.line) == ("broken", 5)
    assert "no newline" in found.problem


def test_the_hash_in_capitals_is_another_hash(whole: bytes, path: Path) -> None:
    last = whole.rindex(b'"hash":"') + 8
    assert status_of(whole[:last] + whole[last : last + 64].upper() + whole[last + 64 :], path) == (
        "broken",
        5,
    )


def resealed(bodies: list[str], *, ids: list[str] | None = None, seqs: list[int] | None = None) -> bytes:
    """A log written anew with right hashes, for what hashes alone would not show."""
    prev, data = "0" * 64, b""
    for number, body in enumerate(bodies, 1):
        name = json.dumps(ids[number - 1] if ids else "s1")
        line, prev = seal(seqs[number - 1] if seqs else number, "t", name, body, prev)
        data += line
    return data


START, NOTE, END = '"event":"session_start"', '"event":"note"', '"event":"session_end"'


@pytest.mark.parametrize(
    ("data", "line", "problem"),
    [
        (resealed([NOTE, END]), 1, "is not session_start"),
        (resealed([START, START, END]), 2, "is a second session_start"),
        (resealed([START, END, NOTE]), 3, "follows session_end"),
        (resealed([START, NOTE, END], ids=["s1", "s2", "s1"]), 2, "belongs to another session"),
        (resealed([START, NOTE, END], seqs=[1, 3, 4]), 2, "does not carry seq 2"),
        (resealed([START, '"event":"note","x":', END]), 2, "is not an event"),
        (resealed([START, '"other":"note"', END]), 2, "is not an event"),
    ],
)
def test_a_well_hashed_log_must_still_be_one_sessions_log(
    path: Path, data: bytes, line: int, problem: str
) -> None:
    path.write_bytes(data)
    found = verify_log(path)
    assert (found.status, found.line, found.problem, found.events) == ("broken", line, problem, line - 1)


def test_a_log_without_its_end_is_unclosed_and_says_how_far_it_holds(whole: bytes, path: Path) -> None:
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]))
    found = verify_log(path)
    assert (found.status, found.events, found.head) == ("unclosed", 3, json.loads(lines[2])["hash"])


def test_an_empty_log_is_unclosed(path: Path) -> None:
    assert status_of(b"", path)[0] == "unclosed"


def test_a_line_without_end_is_refused_without_being_read_whole(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(MAX_LINE_BYTES * 40)
    found = verify_log(path)
    assert (found.status, found.line, found.problem) == ("broken", 1, "is too long")


def test_what_is_no_file_cannot_be_verified(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for place in (tmp_path / "fifo", tmp_path / "missing", tmp_path):
        with pytest.raises(AuditError):
            verify_log(place)


def test_the_verdict_rests_on_the_bytes_alone(whole: bytes) -> None:
    """A verifier written from the format's description, without this package's code, agrees."""
    prev = b"0" * 64
    for number, line in enumerate(whole.split(b"\n")[:-1], 1):
        covered, tail = line[:-75], line[-75:]
        assert tail == b',"hash":"' + hashlib.sha256(covered).hexdigest().encode() + b'"}'
        assert covered.endswith(b',"prev":"' + prev + b'"')
        assert covered.startswith(b'{"seq":%d,' % number)
        prev = tail[9:73]


def test_reading_goes_on_past_what_is_no_event(whole: bytes, path: Path) -> None:
    lines = whole.splitlines(keepends=True)
    path.write_bytes(lines[0] + b"\xff\x1b[31mnoise\n[1]\n" + b'{"a":' * 100_000 + b"\n" + lines[1])
    assert [record["event"] for record in read_log(path)] == [
        "session_start",
        "unreadable",
        "unreadable",
        "unreadable",
        "user_message",
    ]
