"""The specification's nineteen audit events, each with its key fields (§2.4, §6.1)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_security.tools.audit import EVENTS, AuditLog, verify_log

DOCUMENT = {
    "session_start": "log_file",
    "config": "mode, working_dir, sandbox_root, container, network, tools_allowed, tool_timeout_s,"
    " llm_timeout_s, max_turns_per_user_msg, max_tool_calls_per_session, max_context_tokens,"
    " max_cost_usd, session_id,"
    " secret_env_count, credential_mounts_found, container_env_allowlist",
    "user_message": "content",
    "llm_request": "model, message_count, token_estimate, has_tools",
    "llm_response": "model, finish_reason, usage, message_hash, tool_call_count",
    "assistant_message": "content, tool_calls",
    "permission_decision": "tool, args, mode, allowed, reason",
    "validation_error": "tool, args, errors",
    "intent_drift_suspected": "tool, args, reason",
    "tool_result": "tool_call_id, tool, args, permission_allowed, permission_reason, container_error,"
    " container_reason, intent_drift, intent_reason",
    "tool_timeout": "tool, timeout_s",
    "context_trimmed": "message_count, estimate_tokens, reason",
    "iteration_cap_hit": "scope",
    "cost_limit_hit": "cost_usd, cap_usd, tokens_in, tokens_out, calls",
    "plan_approved": "tool",
    "plan_rejected": "tool",
    "llm_call_error": "error",
    "session_abort": "reason",
    "session_end": "",
}

ARGS = {"command": "ls"}
CONFIG = {name: 1 for name in DOCUMENT["config"].split(", ") if name != "session_id"}

CALLS: dict[str, Callable[[AuditLog], None]] = {
    "config": lambda log: log.log_config(**CONFIG, session_id="s1"),
    "user_message": lambda log: log.log_user_message("hello"),
    "llm_request": lambda log: log.log_llm_request("m", 3, 120, True),
    "llm_response": lambda log: log.log_llm_response("m", "stop", {"prompt_tokens": 1}, "ab", 0),
    "assistant_message": lambda log: log.log_assistant_message("hi", []),
    "permission_decision": lambda log: log.log_permission_decision("t", ARGS, "default", True, "ok: fine"),
    "validation_error": lambda log: log.log_validation_error("t", ARGS, ["bad"]),
    "intent_drift_suspected": lambda log: log.log_intent_drift_suspected("t", ARGS, "curl"),
    "tool_result": lambda log: log.log_tool_result("1", "t", ARGS, True, "done"),
    "tool_timeout": lambda log: log.log_tool_timeout("t", 120.0),
    "context_trimmed": lambda log: log.log_context_trimmed(4, 900, "over"),
    "iteration_cap_hit": lambda log: log.log_iteration_cap_hit("per_turn", turns=40),
    "cost_limit_hit": lambda log: log.log_cost_limit_hit(5.1, 5.0, 10, 20, 3),
    "plan_approved": lambda log: log.log_plan_approved("t"),
    "plan_rejected": lambda log: log.log_plan_rejected("t"),
    "llm_call_error": lambda log: log.log_llm_call_error("timed out"),
    "session_abort": lambda log: log.log_session_abort("SIGTERM"),
}


def fields_of(event: str) -> list[str]:
    return [name for name in DOCUMENT[event].split(", ") if name]


def test_the_table_is_the_documents() -> None:
    assert len(EVENTS) == 19
    assert {name: list(row.fields) for name, row in EVENTS.items()} == {
        name: fields_of(name) for name in DOCUMENT
    }


@pytest.fixture
def records(tmp_path: Path) -> dict[str, dict[str, Any]]:
    path = tmp_path / "audit.jsonl"
    with AuditLog(path, "s1") as log:
        for call in CALLS.values():
            call(log)
    assert verify_log(path).status == "ok"
    return {record["event"]: record for record in map(json.loads, path.read_text().splitlines())}


@pytest.mark.parametrize("event", DOCUMENT)
def test_an_event_carries_its_key_fields(records: dict[str, dict[str, Any]], event: str) -> None:
    assert set(fields_of(event)) <= records[event].keys()


def test_a_tool_result_carries_result_hash_and_size(records: dict[str, dict[str, Any]]) -> None:
    assert {"result", "sha256", "size"} <= records["tool_result"].keys()


def test_a_cap_says_what_it_counted(records: dict[str, dict[str, Any]]) -> None:
    assert records["iteration_cap_hit"]["turns"] == 40
