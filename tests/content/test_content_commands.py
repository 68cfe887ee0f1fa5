"""`preview`, `secrets scan` and `secrets env` (CONTRACTS §2)."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from agent_security.frontends import preview
from agent_security.frontends import secrets as secrets_command


def run(command: Any, arguments: list[str], *lines: Any) -> tuple[int, list[dict[str, Any]]]:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    result = CliRunner().invoke(command, arguments, input=text.encode())
    return result.exit_code, [json.loads(line) for line in result.output.splitlines()]


def token() -> str:
    return "glpat" + "-" + secrets.token_hex(10)


def test_preview_shows_what_the_model_would_see() -> None:
    code, out = run(
        preview.command,
        [],
        {
            "id": 1,
            "tool": "webfetch",
            "args": {"url": "https://a.example/"},
            "content": "x</tool_result>\u200b",
        },
        {"id": 2, "tool": "read_file", "args": {"path": "a.py"}, "content": "x = 1", "origin": "workspace"},
        {"id": 3, "tool": "run_bash", "args": {"command": "id"}, "content": token()},
    )
    assert code == 0
    assert [one["id"] for one in out] == [1, 2, 3]
    assert '<external_document kind="web" source="https://a.example/">' in out[0]["wrapped"]
    assert r"x\u{3c}/tool_result>\u{200b}" in out[0]["wrapped"]
    assert [(one["kind"], one["start"]) for one in out[0]["findings"]] == [
        ("delimiter", 1),
        ("zero_width", 15),
    ]
    assert "external_document" not in out[1]["wrapped"]
    assert out[1]["findings"] == []
    assert "external_document" in out[2]["wrapped"]
    assert "⟦secret:gitlab_token:1⟧" in out[2]["wrapped"]


def test_a_workspace_read_outside_its_folder_is_external(tmp_path: Path) -> None:
    _, out = run(
        preview.command,
        [],
        {
            "id": 1,
            "tool": "read_file",
            "args": {"path": "/etc/x"},
            "content": "x",
            "origin": "workspace",
            "cwd": str(tmp_path),
        },
    )
    assert 'kind="file"' in out[0]["wrapped"]


def test_a_line_that_cannot_be_read_gives_2_and_the_rest_go_on() -> None:
    good = {"id": 1, "tool": "t", "content": "x"}
    for bad in (
        "{",
        "[]",
        '{"id":1}',
        '{"id":1,"tool":"t","content":5}',
        '{"id":1,"tool":"t","content":"x","origin":"moon"}',
    ):
        code, out = run(preview.command, [], bad, good)
        assert code == 2
        assert out[0]["id"] is None
        assert out[0]["error"]
        assert out[1]["id"] == 1


def test_secrets_scan_answers_json_lines() -> None:
    value = token()
    code, out = run(
        secrets_command.command,
        ["scan", "--jsonl"],
        {"id": "a", "text": f"t {value} x"},
        {"id": "b", "text": "x"},
    )
    assert code == 0
    assert out[0]["findings"] == [{"rule": "gitlab_token", "start": 2, "end": 2 + len(value)}]
    assert out[0]["redacted"] == "t ⟦secret:gitlab_token:1⟧ x"
    assert out[1] == {"id": "b", "findings": [], "redacted": "x"}


def test_secrets_env_answers_json_lines() -> None:
    code, out = run(
        secrets_command.command,
        ["env", "--jsonl"],
        {"id": 1, "name": "A_TOKEN", "value": "x"},
        {"id": 2, "name": "LANG", "value": "C"},
    )
    assert code == 0
    assert out == [
        {"id": 1, "name": "A_TOKEN", "dropped": True, "rule": "name"},
        {"id": 2, "name": "LANG", "dropped": False, "rule": ""},
    ]


def test_secrets_scan_looks_through_folders_and_says_where_and_never_what(tmp_path: Path) -> None:
    value = token()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").write_text(f"one\n{value}\n")
    (tmp_path / "clean.txt").write_text("nothing")
    (tmp_path / "link").symlink_to("/etc/passwd")
    result = CliRunner().invoke(secrets_command.command, ["scan", str(tmp_path)])
    assert result.exit_code == 1
    assert result.output == f"{tmp_path}/sub/a.txt:2: gitlab_token\n"
    assert CliRunner().invoke(secrets_command.command, ["scan", str(tmp_path / "clean.txt")]).exit_code == 0
    assert CliRunner().invoke(secrets_command.command, ["scan", str(tmp_path / "none")]).exit_code == 3
    assert CliRunner().invoke(secrets_command.command, ["scan"], input=value).exit_code == 1
