"""A whole session over a chat.completions server: it reads, edits, runs a command and answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_security.tools.audit import verify_log

from .conftest import Here
from .program import program, the_log
from .terminal import Terminal

NOTES = b"\xef\xbb\xbfone\r\ntwo\r\nthree"
"""A byte-order mark, CRLF, and no newline at the end."""
EDITED = b"\xef\xbb\xbfone\r\nzwei\r\nthree"

ACTS: tuple[Any, ...] = (
    {"say": "I look.", "call": {"read_file": {"path": "notes.txt"}}},
    {"call": {"edit_file": {"path": "notes.txt", "old_string": "two", "new_string": "zwei"}}},
    {"call": {"run_bash": {"command": "wc -c < notes.txt; touch made.txt"}}},
    "All three done.",
)
SKIP = ("--mode", "dangerouslySkipPermissions", "--model", "m")


@pytest.fixture
def project(home: Path) -> Path:
    (home / "project" / "notes.txt").write_bytes(NOTES)
    return home / "project"


def sees(server: Any, text: str) -> bool:
    """Whether the last request carries this text."""
    return text in json.dumps(server.requests[-1]["messages"])


def looks_right(project: Path, server: Any) -> None:
    assert (project / "notes.txt").read_bytes() == EDITED
    assert (project / "made.txt").exists()
    assert len(server.requests) == 4
    assert sees(server, "zwei")
    assert sees(server, str(len(EDITED)))
    assert verify_log(the_log()).status == "ok"


@pytest.mark.parametrize("output_format", ["text", "json", "stream-json"])
def test_a_headless_session_does_its_work_in_every_format(
    output_format: str, project: Path, here: Here, loopback: Any
) -> None:
    server = loopback(*ACTS)
    ran = here("-p", *SKIP, "--base-url", server.base_url, "--output-format", output_format, "do it")
    assert ran.code == 0
    looks_right(project, server)
    assert not any(request.get("stream") for request in server.requests)
    lines = ran.out.splitlines()
    if output_format == "text":
        assert lines == ["All three done."]
    elif output_format == "json":
        assert (len(lines), ran.json["result"]) == (1, "All three done.")
    else:
        kinds = [json.loads(line)["type"] for line in lines]
        assert kinds == ["system", *["assistant", "user"] * 3, "assistant", "result"]


def test_the_program_in_a_process_of_its_own_does_the_same(project: Path, loopback: Any) -> None:
    server = loopback(*ACTS)
    ran = program("-p", *SKIP, "--base-url", server.base_url, "do it")
    assert (ran.code, ran.out) == (0, "All three done.\n")
    looks_right(project, server)


def test_a_terminal_session_streams_and_does_the_same(project: Path, loopback: Any) -> None:
    server = loopback(*ACTS)
    with Terminal("--base-url", server.base_url, *SKIP, "do it") as run:
        run.wait_for("All three done.")
        run.type("/quit\r")
        run.wait_for("y(es) / n(o)")
        run.type("\r")
        assert run.ended() == 0
    assert all(request["stream"] is True for request in server.requests)
    looks_right(project, server)


# --- the JSON object of CONTRACTS §4, field by field -------------------------------------------------

SUBTYPES = [
    "success",
    "error_during_execution",
    "error_max_turns",
    "error_max_tool_calls",
    "error_max_budget_usd",
    "error_approval_required",
    "error_provider",
    "error_deadline",
    "error_sandbox",
    "error_tripwire",
    "aborted",
]


def fits_the_contract(found: dict[str, Any]) -> None:
    """Every key, no other, each of the type that is written there."""
    plain = {
        "type": str, "subtype": str, "is_error": bool, "retryable": bool, "result": str, "session_id": str,
        "num_turns": int, "tool_calls": int, "questions": int, "duration_ms": int, "total_cost_usd": float,
        "usage": dict, "permission_denials": list, "files_changed": list, "held_back": list,
        "runs_later": list, "undo": str, "sandbox": dict, "audit_log": str,
    }  # fmt: skip
    assert {name: type(value) for name, value in found.items()} == plain
    assert found["type"] == "result"
    assert found["subtype"] in SUBTYPES
    assert found["undo"] in ("full", "file tools only")
    usage = found["usage"]
    assert {name: type(value) for name, value in usage.items()} == {
        "input_tokens": int, "output_tokens": int, "estimated": bool,
    }  # fmt: skip
    for denial in found["permission_denials"]:
        assert list(denial) == ["tool_name", "tool_use_id", "tool_input", "gate", "code", "kind", "reason"]
        assert {type(denial[name]) for name in denial.keys() - {"tool_input"}} == {str}
    for name in ("files_changed", "held_back", "runs_later"):
        assert all(isinstance(path, str) for path in found[name])
    assert found["sandbox"].keys() == {"backend", "guarantees"}
    assert all(type(held) is bool for held in found["sandbox"]["guarantees"].values())


def test_the_object_says_what_happened(project: Path, here: Here, loopback: Any) -> None:
    plant = "python3 -c \"open('.envrc','w').write('x'); open('Makefile','w').write('a:')\""
    server = loopback(
        {"call": {"write_file": {"path": "b.txt", "content": "x"}}},
        {"call": {"run_bash": {"command": "curl http://192.0.2.1/"}}},
        {"call": {"run_bash": {"command": plant}}},
        "Told.",
    )
    ran = here("-p", *SKIP, "--base-url", server.base_url, "--output-format", "json", "do it")
    found = ran.json
    fits_the_contract(found)
    assert ran.code == 0  # what was blocked is no failure
    assert (found["subtype"], found["is_error"], found["retryable"]) == ("success", False, False)
    assert (found["result"], found["num_turns"], found["tool_calls"]) == ("Told.", 4, 3)
    assert found["usage"] == {"input_tokens": 40, "output_tokens": 20, "estimated": False}
    (denied,) = found["permission_denials"]
    assert denied["tool_input"] == {"command": "curl http://192.0.2.1/"}
    assert (denied["tool_name"], denied["gate"]) == ("run_bash", "policy")
    assert found["files_changed"] == ["Makefile", "b.txt"]
    assert (found["held_back"], found["runs_later"]) == ([".envrc"], ["Makefile"])
    assert found["undo"] == "full"
    assert found["sandbox"]["backend"] == "bubblewrap"
    assert found["sandbox"]["guarantees"].keys() == {"fs", "net", "env", "kill", "limits", "view"}
    assert found["audit_log"] == str(the_log())
    assert found["session_id"] == the_log().parent.name


@pytest.mark.parametrize("act", [{"say": "hm", "usage": "missing"}])
def test_tokens_that_nobody_counted_are_called_estimated(
    act: Any, project: Path, here: Here, loopback: Any
) -> None:
    ran = here("-p", *SKIP, "--base-url", loopback(act).base_url, "--output-format", "json", "do it")
    fits_the_contract(ran.json)
    assert ran.json["usage"]["estimated"] is True
