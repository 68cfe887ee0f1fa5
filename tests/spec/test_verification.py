"""The specification's Verification section, one test a statement, named after it (§1, §2, §3, §5, §6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_security.agent import check_permission
from agent_security.changes import ChangeStore
from agent_security.prompt_safety import (
    TRUST_BOUNDARIES,
    intent_check,
    mark_external_content,
    wrap_tool_result,
    wrap_user_input,
)
from agent_security.secret_management import (
    SessionCredentials,
    audit_system_prompt,
    build_container_env,
    scan_environment_for_secrets,
)
from agent_security.session_control import AbortController, FileRollback, kill_in_flight
from agent_security.testing import FakeApprover
from agent_security.tool_policy import (
    check_path_scope,
    check_shell_policy,
    check_web_policy,
    filter_tool_schemas,
)
from agent_security.tools.registry import TOOLS
from agent_security.tools.validators import ToolValidator, bounded_schemas

SCHEMAS = [tool.schema for tool in TOOLS.values()]
VALIDATOR = ToolValidator(bounded_schemas(SCHEMAS))

# --- §1 ----------------------------------------------------------------------------------------------


def test_1_delimiters_wrap_correctly() -> None:
    assert wrap_user_input("hi") == "<user_input>\nhi\n</user_input>"
    assert wrap_tool_result("webfetch", "x") == '<tool_result name="webfetch">\nx\n</tool_result>'


def test_1_the_trust_boundaries_text_is_present() -> None:
    assert all(tag in TRUST_BOUNDARIES for tag in ("tool_result", "external_document", "user_input"))


def test_1_external_document_wrapping_fires_for_webfetch_and_out_of_tree_reads(tmp_path: Path) -> None:
    url = "https://example.org/"
    web = mark_external_content("webfetch", {"url": url}, "text", str(tmp_path))
    assert web.startswith('<external_document kind="web"')
    assert url in web
    outside = mark_external_content("read_file", {"path": "/etc/hosts"}, "text", str(tmp_path))
    assert outside.startswith('<external_document kind="file"')
    (tmp_path / "in.txt").write_text("text")
    assert mark_external_content("read_file", {"path": "in.txt"}, "text", str(tmp_path)) == "text"


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("run_bash", {"command": "curl http://x"}),
        ("edit_file", {"path": ".env", "old_string": "a", "new_string": "b"}),
        ("webfetch", {"url": "http://169.254.169.254/"}),
    ],
)
def test_1_the_intent_check_flags_what_nobody_mentioned(tool: str, args: dict[str, Any]) -> None:
    ok, reason = intent_check("fix the failing test", "", tool, args)
    assert not ok
    assert reason


def test_1_the_intent_check_allows_benign_calls() -> None:
    assert intent_check("fix the failing test", "", "run_bash", {"command": "pytest -q"}).ok


# --- §2 ----------------------------------------------------------------------------------------------


def test_2_path_scope_blocks_etc_hosts(tmp_path: Path) -> None:
    assert not check_path_scope("read_file", {"path": "/etc/hosts"}, str(tmp_path)).ok


@pytest.mark.parametrize(
    "command", ["rm -rf /", "sudo ls", "docker ps", "curl http://x", "chmod 777 a", 'eval "$X"']
)
def test_2_shell_policy_blocks(command: str) -> None:
    assert not check_shell_policy(command).ok


@pytest.mark.parametrize(
    "command", ["ls", "cat a", "grep x a", "python a.py", "pytest", "npm test", "git status", "git log"]
)
def test_2_3_benign_commands_pass(command: str) -> None:
    assert check_shell_policy(command).ok


@pytest.mark.parametrize("host", ["169.254.169.254", "localhost", "10.0.0.1", "192.168.1.1", "172.16.0.1"])
def test_2_web_policy_blocks_metadata_localhost_and_private_ranges(host: str) -> None:
    assert not check_web_policy(f"http://{host}/").ok


def test_2_the_tools_flag_filters_schemas() -> None:
    (shown,) = filter_tool_schemas(SCHEMAS, ["read_file"])
    assert "read_file" in str(shown)


@pytest.mark.parametrize("command", ["git push --force", "git push -f origin main"])
def test_2_2_always_confirm_is_refused_outright_where_permissions_are_skipped(command: str) -> None:
    def yes(question: str) -> bool:
        assert question.startswith("[DESTRUCTIVE]")
        return True

    args = {"command": command}
    assert not check_permission("run_bash", args, "dangerouslySkipPermissions", approve=yes).ok
    assert check_permission("run_bash", args, "default", approve=yes).ok


def test_2_2_emptying_a_file_is_confirmed_even_in_accept_edits(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    asked: list[str] = []
    args = {"path": "a", "content": ""}
    check_permission(
        "write_file", args, "acceptEdits", str(tmp_path), approve=lambda q: bool(asked.append(q))
    )
    assert asked[0].startswith("[DELETE-via-empty]")


# --- §3 ----------------------------------------------------------------------------------------------

MB = 1024 * 1024


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        pytest.param("read_file", {}, id="missing required"),
        pytest.param("read_file", {"path": 1}, id="wrong type"),
        pytest.param("read_file", {"path": "a", "limit": 2001}, id="out of range"),
        pytest.param("read_file", {"path": "a", "offset": 0}, id="out of range below"),
        pytest.param("todo_write", {"todos": [{"content": "x", "status": "maybe"}]}, id="bad enum"),
        pytest.param("read_file", {"path": "a", "color": "x"}, id="unknown field"),
        pytest.param("read_file", {"path": "a", "limit": True}, id="bool as int"),
        pytest.param("write_file", {"path": "a", "content": "x" * (MB + 1)}, id="oversized content"),
        pytest.param("run_bash", {"command": "x" * 4097}, id="oversized command"),
        pytest.param("webfetch", {"url": "http://x/" + "x" * 4096}, id="oversized url"),
        pytest.param("glob_files", {"pattern": "/etc/*"}, id="absolute glob pattern"),
    ],
)
def test_3_the_validator_rejects(tool: str, args: dict[str, Any]) -> None:
    assert VALIDATOR.validate(tool, args)


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("read_file", {"path": "a", "offset": 1, "limit": 2000}),
        ("write_file", {"path": "a", "content": "x" * MB}),
        ("run_bash", {"command": "x" * 4096}),
        ("glob_files", {"pattern": "**/*.py"}),
    ],
)
def test_3_valid_args_pass(tool: str, args: dict[str, Any]) -> None:
    assert VALIDATOR.validate(tool, args) == []


# --- §5 ----------------------------------------------------------------------------------------------

HOST = {"MY_API_KEY": "a", "DB_PASSWORD": "b", "GITHUB_TOKEN": "c", "LANG": "C", "EDITOR": "vi"}


def test_5_the_env_scan_finds_the_documents_three() -> None:
    assert sorted(scan_environment_for_secrets(HOST)) == ["DB_PASSWORD", "GITHUB_TOKEN", "MY_API_KEY"]


@pytest.mark.parametrize("prompt", ["x {os.environ['A']}", "x {os.getenv('A')}", "use MY_API_KEY"])
def test_5_the_prompt_audit_flags_interpolation_and_literal_names(prompt: str) -> None:
    assert audit_system_prompt(prompt, HOST)
    assert audit_system_prompt("a harmless prompt", HOST) == []


def test_5_build_container_env_strips_secrets() -> None:
    env = build_container_env("id", "token", env=HOST)
    assert not env.keys() & {"MY_API_KEY", "DB_PASSWORD", "GITHUB_TOKEN", "EDITOR"}
    assert (env["AGENT_SESSION_ID"], env["AGENT_SESSION_TOKEN"]) == ("id", "token")


def test_5_session_credentials_are_unique_revoke_and_never_show() -> None:
    one, other = SessionCredentials(), SessionCredentials()
    assert (one.session_id, one.session_token) != (other.session_id, other.session_token)
    token = one.session_token
    assert token not in repr(one) + str(one)
    one.revoke()
    assert one.revoked
    assert one.session_token != token


# --- §6 ----------------------------------------------------------------------------------------------


def test_6_the_abort_controller_triggers_and_resets() -> None:
    abort = AbortController()
    abort.trigger("why")
    assert (abort.triggered, abort.reason) == (True, "why")
    abort.reset()
    assert not abort.triggered


def test_6_file_rollback_snapshots_restores_and_cleans_up(tmp_path: Path) -> None:
    project, path = tmp_path / "project", tmp_path / "project" / "a.txt"
    project.mkdir()
    path.write_text("before")
    store = ChangeStore(str(project), str(tmp_path / "store"))
    try:
        rollback = FileRollback(str(project), store, tell=lambda line: None)
        assert rollback.snapshot("a.txt")
        path.write_text("after")
        assert rollback.offer_rollback(FakeApprover(yes=True)) == 1
        assert path.read_text() == "before"
        assert rollback.cleanup()
    finally:
        store.close()


def test_6_kill_in_flight_survives_non_existent_containers(tmp_path: Path) -> None:
    assert kill_in_flight("no-such-container", docker=str(tmp_path / "no-engine")) is False
