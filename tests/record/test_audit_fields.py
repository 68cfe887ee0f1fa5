"""What stands in a line: redacted, bounded, and nothing JSON or a terminal would choke on."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from agent_security.tools.audit import (
    MAX_ARGS_BYTES,
    MAX_RESULT_BYTES,
    AuditLog,
    _truncate_for_log,
    verify_log,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "s1" / "audit.jsonl"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def no_secret(text: str) -> str:
    return text.replace("hunter2", "[REDACTED]")


# --- what is written ----------------------------------------------------------------------------


def test_every_text_is_redacted_keys_and_nested_values_included(path: Path) -> None:
    with AuditLog(path, "s1", redact=no_secret) as log:
        log.log_permission_decision(
            "run_bash", {"hunter2": ["hunter2", {"a": "x hunter2"}]}, "default", True, "ok: hunter2"
        )
        log.log_tool_result(
            "id-hunter2",
            "t",
            "hunter2",
            True,
            "hunter2" * 3000,
            container_reason="hunter2",
            note=("hunter2",),
        )
        log.log("hunter2", texts={"hunter2"}, raw=b"hunter2", error=ValueError("hunter2"))
    assert b"hunter2" not in path.read_bytes()


def test_two_keys_that_redaction_made_equal_both_stay(path: Path) -> None:
    with AuditLog(path, "s1", redact=lambda text: "X" if text in ("a", "b") else text) as log:
        log.log("custom", data={"a": 1, "b": 2})
    assert lines(path)[1]["data"] == {"X": 1, "X#2": 2}


def test_hash_and_size_are_of_the_redacted_text(path: Path) -> None:
    with AuditLog(path, "s1", redact=no_secret) as log:
        log.log_tool_result("1", "t", {}, True, "pw hunter2")
    shown = lines(path)[1]
    assert shown["result"] == "pw [REDACTED]"
    assert shown["sha256"] == hashlib.sha256(b"pw [REDACTED]").hexdigest()
    assert shown["size"] == 13


def test_arguments_are_whole_up_to_64_kb_and_a_hash_above(path: Path) -> None:
    fits = {"content": "x" * (MAX_ARGS_BYTES - 20)}
    large = {"content": "x" * MAX_ARGS_BYTES}
    with AuditLog(path, "s1") as log:
        log.log_validation_error("write_file", fits, [])
        log.log_validation_error("write_file", large, [])
        log.log_assistant_message(
            "", [{"id": "1", "function": {"arguments": "x" * MAX_ARGS_BYTES}}, {"id": "2"}]
        )
    _, whole, cut, message, _ = lines(path)
    assert whole["args"] == fits
    assert cut["args"]["omitted"] is True
    assert cut["args"]["size"] == len(json.dumps(large, separators=(",", ":")))
    assert len(cut["args"]["sha256"]) == 64
    assert [call.get("omitted", False) for call in message["tool_calls"]] == [True, False]


def test_bytes_that_were_no_text_are_visible_and_no_surrogate_is_written(path: Path) -> None:
    with AuditLog(path, "s\udcff", redact=None) as log:
        log.log("custom", path="a\udcffb", lone="\ud83c", fine="é🎉")
    data = path.read_bytes()
    assert data.isascii()
    assert b"\\udc" not in data.replace(b"\\\\udc", b"")
    assert lines(path)[1]["path"] == "a\\udcffb"
    assert lines(path)[1]["fine"] == "é🎉"
    assert verify_log(path).status == "ok"


def test_what_json_cannot_hold_is_written_as_text(path: Path) -> None:
    nested: Any = 1
    for _ in range(5000):
        nested = [nested]
    with AuditLog(path, "s1") as log:
        log.log("custom", nan=float("nan"), huge=10**40, deep=nested, where=Path("x"), none=None)
    shown = lines(path)[1]
    assert (shown["nan"], shown["huge"], shown["where"], shown["none"]) == ("nan", str(10**40), "x", None)
    assert "nested too deeply" in json.dumps(shown["deep"])


def test_an_event_of_any_size_fits_a_line(path: Path) -> None:
    with AuditLog(path, "s1") as log:
        log.log_user_message("x" * 3_000_000)
        log.log("change_set", tool="run_bash", changes=[{"path": "p" * 200, "n": n} for n in range(60_000)])
    _, message, changes, _ = lines(path)
    assert message["content"]["size"] == 3_000_000
    assert changes["changes"]["omitted"] is True
    assert changes["tool"] == "run_bash"
    assert verify_log(path).status == "ok"


@pytest.mark.parametrize("unit", ["x", "é", "漢", "🎉"])
@pytest.mark.parametrize("extra", [-1, 0, 1, 2, 3])
def test_a_result_is_never_cut_inside_a_character(unit: str, extra: int) -> None:
    text = "a" * (MAX_RESULT_BYTES - 2 + extra) + unit * 2
    size = len(text.encode())
    fields = _truncate_for_log(text)
    assert fields["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    if size <= MAX_RESULT_BYTES:
        assert fields == {"result": text, "size": size, "sha256": fields["sha256"]}
    else:
        assert set(fields) == {"result_truncated", "truncated_from_size", "sha256"}
        assert fields["truncated_from_size"] == size
        assert text.startswith(fields["result_truncated"])
        assert MAX_RESULT_BYTES - 4 < len(fields["result_truncated"].encode()) <= MAX_RESULT_BYTES


def test_the_code_of_a_decision_stands_alone_beside_its_reason(path: Path) -> None:
    with AuditLog(path, "s1") as log:
        log.log_permission_decision("t", {}, "default", False, "unknown_tool: no tool of that name")
        log.log_permission_decision("t", {}, "default", False, "words", code="bad_arguments")
    assert [line["code"] for line in lines(path)[1:3]] == ["unknown_tool", "bad_arguments"]
