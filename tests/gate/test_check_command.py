"""`check` and `explain` as CONTRACTS §4 writes them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from agent_security.frontends import check, explain
from agent_security.permissions import Rules, parse_rule


def run(*lines: Any, **options: Any) -> tuple[int, list[dict[str, Any]]]:
    out = io.StringIO()
    text = [line if isinstance(line, (str, bytes)) else json.dumps(line) for line in lines]
    code = check.run(text, out, **options)
    return code, [json.loads(line) for line in out.getvalue().splitlines()]


def test_every_line_is_answered_in_order_with_all_its_fields(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("x")
    cwd = str(tmp_path)
    code, answers = run(
        {"id": "a", "tool": "read_file", "args": {"path": "x"}, "cwd": cwd},
        {"id": 2, "tool": "read_file", "args": {"path": ".env"}, "cwd": cwd},
        {"id": None, "tool": "read_file", "args": {"path": "/etc/passwd"}, "cwd": cwd},
    )
    assert code == 0
    assert [(a["id"], a["decision"], a["kind"], a["gate"], a["code"]) for a in answers] == [
        ("a", "allow", "", "validation", "ok"),
        (2, "ask", "confirm", "always_confirm", "secret_file"),
        (None, "deny", "", "policy", "path_outside"),
    ]
    for answer in answers:
        assert list(answer) == ["id", "decision", "kind", "gate", "code", "reason", "trail"]
        assert all(set(step) == {"gate", "decision", "kind", "code", "reason"} for step in answer["trail"])


@pytest.mark.parametrize(
    "line",
    ["{", "[]", "5", '"x"', b"\xff\xfe", "[" * 100_000, '{"id": 1, "id": '],
    ids=lambda value: str(value)[:10],
)
def test_a_line_that_cannot_be_read_is_an_error_and_the_rest_go_on(line: Any, tmp_path: Path) -> None:
    good = {"id": 1, "tool": "todo_read", "args": {}, "cwd": str(tmp_path)}
    code, answers = run(line, "", good)
    assert code == 2
    assert answers[0]["id"] is None
    assert set(answers[0]) == {"id", "error"}
    assert answers[1]["decision"] == "allow"


@pytest.mark.parametrize(
    "fields",
    [
        {"args": {}},
        {"tool": 5},
        {"tool": "read_file", "mode": "yolo"},
        {"tool": "read_file", "cwd": "relative"},
        {"tool": "read_file", "cwd": 5},
        {"tool": "webfetch", "resolve": ["a"]},
        {"tool": "webfetch", "resolve": {"a": "1.2.3.4"}},
    ],
    ids=str,
)
def test_a_line_whose_fields_cannot_be_obeyed_is_an_error_with_its_id(fields: dict[str, Any]) -> None:
    code, answers = run({"id": "x", **fields})
    assert code == 2
    assert answers[0]["id"] == "x"
    assert answers[0]["error"]


@pytest.mark.parametrize("args", [[], "x", None, 5])
def test_arguments_that_are_no_object_are_a_refusal_and_no_error(args: Any, tmp_path: Path) -> None:
    code, answers = run({"id": 1, "tool": "read_file", "args": args, "cwd": str(tmp_path)})
    assert (code, answers[0]["code"]) == (0, "bad_arguments")


def test_names_resolve_only_through_the_line(tmp_path: Path) -> None:
    base = {"tool": "webfetch", "args": {"url": "https://A.example/"}, "cwd": str(tmp_path)}
    lines = [
        {"id": 1, **base},
        {"id": 2, **base, "resolve": {"a.example": ["10.0.0.1"]}},
        {"id": 3, **base, "resolve": {"a.example": ["8.8.8.8"]}},
        {"id": 4, **base, "resolve": {"a.example": []}},
        {"id": 5, **base, "resolve": {"other.example": ["10.0.0.1"]}},
        {"id": 6, **base, "resolve": {"a.example": ["metadata.google.internal"]}},
    ]
    _, answers = run(*lines)
    assert [a["code"] for a in answers] == [
        "unnamed_host",
        "private_address",
        "unnamed_host",
        "unresolved",
        "unnamed_host",
        "private_address",
    ]
    _, answers = run(*lines, offline=True)
    assert [a["decision"] for a in answers] == ["deny", "deny", "ask", "deny", "deny", "deny"]


def test_mode_goal_and_rules_are_heeded(tmp_path: Path) -> None:
    line = {"id": 1, "tool": "run_bash", "args": {"command": "pytest"}, "cwd": str(tmp_path)}
    assert run(line)[1][0]["code"] == "ask_execute"
    assert run({**line, "mode": "dangerouslySkipPermissions"})[1][0]["decision"] == "allow"
    rules = Rules(allow=(parse_rule("Bash(pytest:*)", "allow", "user"),))
    assert run(line, rules=rules)[1][0]["decision"] == "allow"
    web = {"id": 2, "tool": "webfetch", "args": {"url": "https://a.example/"}, "cwd": str(tmp_path)}
    assert run({**web, "user_goal": "read https://a.example/"})[1][0]["decision"] == "allow"


def test_a_home_that_is_given_is_the_home_that_is_meant(tmp_path: Path) -> None:
    line = {
        "id": 1,
        "tool": "read_file",
        "args": {"path": "notes/x"},
        "cwd": str(tmp_path),
        "home": str(tmp_path),
    }
    rules = Rules(deny=(parse_rule("Read(~/notes/**)", "deny", "user"),))
    assert run(line, rules=rules)[1][0]["code"] == "rule_deny"


def test_the_command_reads_stdin_and_gives_the_exit_code(tmp_path: Path) -> None:
    good = json.dumps({"id": 1, "tool": "read_file", "args": {"path": "../x"}, "cwd": str(tmp_path)})
    result = CliRunner().invoke(check.command, [], input=good + "\n")
    assert result.exit_code == 0
    assert json.loads(result.output)["decision"] == "deny"
    assert CliRunner().invoke(check.command, ["--offline"], input="{\n").exit_code == 2


def test_checking_loads_no_terminal_library_and_no_sdk(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom agent_security.frontends import check, explain\n"
        'check.run([\'{"tool": "read_file", "args": {"path": "x"}}\'], sys.stdout)\n'
        "print([m for m in ('rich', 'openai', 'prompt_toolkit', 'httpx2') if m in sys.modules])"
    )
    source = Path(check.__file__).resolve().parents[2]
    env = {"PYTHONPATH": str(source), "PATH": os.environ.get("PATH", "")}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, cwd=tmp_path, env=env
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_explain_shows_every_gate_and_what_it_comes_to(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        explain.command, ["read_file", '{"path": "/etc/passwd"}', "-C", str(tmp_path)]
    )
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert [line.split()[0] for line in lines[:7]] == [
        "validation",
        "policy",
        "rules_deny",
        "always_confirm",
        "intent",
        "permission",
        "plan",
    ]
    assert "path_outside" in lines[1]
    assert lines[2].endswith("not asked")
    assert lines[-1].startswith("deny, in mode default: policy, path_outside")


def test_explain_neutralises_what_it_shows(tmp_path: Path) -> None:
    out = io.StringIO()
    assert (
        explain.run("write_file", json.dumps({"path": "a\x1b[2J", "content": "x"}), out, cwd=str(tmp_path))
        == 0
    )
    assert "\x1b" not in out.getvalue()
    assert explain.run("write_file", "{}", io.StringIO(), cwd=str(tmp_path), mode="odd") == 2
