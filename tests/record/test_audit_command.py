"""`agent-security audit`: what it prints, and the exit code a script sees."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import agent_security
from agent_security.frontends.audit import command
from agent_security.tools.audit import AuditLog


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "state" / "sessions" / "s1" / "audit.jsonl"
    with AuditLog(path, "s1") as log:
        log.log_user_message("fix \x1b[31mthe\x1b]0;title\x07 test\u202e")
        log.log_permission_decision("run_bash", {"command": "ls"}, "default", True, "ok: fine")
        log.log_permission_decision("webfetch", {"url": "x"}, "default", False, "unknown_tool: none")
        log.log_tool_result("1", "run_bash", {"command": "ls"}, True, "a.py", status="ok")
        log.log_tool_result(
            "2",
            "\x1b[2Jtool",
            {"\x1b[2J": "\x9b2J"},
            True,
            "",
            container_error=True,
            container_reason="\x1b[2J",
        )
        log.log("approval", tool="run_bash", yes=True, by="person")
        log.log("note", text="##vso[task.setvariable]x ##[group]")
        log.log("odd\x1b[2J", value="\x1b[2J")
    return path


def run(*args: str, state: Path | None = None) -> Result:
    env = {"AGENT_SECURITY_STATE": str(state)} if state else {}
    return CliRunner().invoke(command, args, env=env)


def test_show_prints_a_line_an_event(log: Path) -> None:
    lines = run("show", str(log)).output.splitlines()
    assert len(lines) == 10
    assert "user_message" in lines[1]
    assert "allowed  run_bash" in lines[2]
    assert "refused  webfetch" in lines[3]
    assert "unknown_tool: none" in lines[3]
    assert "failed" in lines[5]
    assert "session_end" in lines[9]


def test_show_lets_no_control_character_of_a_log_through(log: Path) -> None:
    for args in (("show", str(log)), ("show", "--json", str(log))):
        output = run(*args).output
        assert all(character == "\n" or character.isprintable() for character in output), repr(output)


def test_show_breaks_the_commands_of_ci_systems(log: Path) -> None:
    for args in (("show", str(log)), ("show", "--json", str(log))):
        output = run(*args).output
        assert "##vso[" not in output
        assert "##[" not in output
    (note,) = run("show", "--json", "--event", "note", str(log)).output.splitlines()
    assert json.loads(note)["text"] == "##vso[task.setvariable]x ##[group]"


def test_show_filters_by_event_and_tool(log: Path) -> None:
    assert len(run("show", "--event", "permission_decision", str(log)).output.splitlines()) == 2
    assert (
        len(run("show", "--event", "permission_decision", "--tool", "webfetch", str(log)).output.splitlines())
        == 1
    )


def test_show_json_gives_the_records(log: Path) -> None:
    records = [json.loads(line) for line in run("show", "--json", str(log)).output.splitlines()]
    assert records[2]["args"] == {"command": "ls"}
    assert [record["seq"] for record in records] == list(range(1, 11))


def test_a_session_may_be_a_file_a_folder_or_an_id(log: Path) -> None:
    state = log.parents[2]
    outputs = {run("show", session, state=state).output for session in (str(log), str(log.parent), "s1")}
    assert len(outputs) == 1
    for wrong in ("s2", "../s1", "..", ""):
        assert run("show", wrong, state=state).exit_code == 2


def test_verify_ends_with_0_for_a_whole_log_and_claims_no_origin(log: Path) -> None:
    result = run("verify", str(log))
    assert result.exit_code == 0
    assert "consistent, origin unproven (10 events" in result.output


def test_verify_ends_with_1_and_names_the_line_of_a_changed_log(log: Path) -> None:
    log.write_bytes(log.read_bytes().replace(b"default", b"defaulT", 1))
    result = run("verify", str(log))
    assert result.exit_code == 1
    assert "broken: line 3 was changed" in result.output
    found = json.loads(run("verify", "--json", str(log)).output)
    assert (found["status"], found["line"], found["origin"]) == ("broken", 3, "unproven")


def test_verify_ends_with_3_for_an_unclosed_log_or_one_it_cannot_read(log: Path, tmp_path: Path) -> None:
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    result = run("verify", str(log))
    assert result.exit_code == 3
    assert "unclosed: does not end with session_end (9 events hold" in result.output
    assert run("verify", "/dev/null").exit_code == 3
    (tmp_path / "empty").mkdir()
    assert run("verify", str(tmp_path / "empty")).exit_code == 2


@pytest.mark.parametrize("name", ["replay", "export", "report", "summary"])
def test_what_is_not_built_says_so_and_ends_with_2(name: str) -> None:
    result = run(name, "x", "--format", "csv")
    assert result.exit_code == 2
    assert "not built yet" in result.output
    assert "Not built yet" in run(name, "--help").output


def test_the_command_imports_neither_a_terminal_library_nor_the_models_client() -> None:
    slow = ["rich", "prompt_toolkit", "openai", "platformdirs", "cryptography"]
    code = f"import sys, agent_security.frontends.audit; print([m for m in {slow} if m in sys.modules])"
    env = {"PYTHONPATH": str(Path(agent_security.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.strip() == "[]"
