"""The specification's Verification section, for §2.1, §2.4, §4 and §6.1."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from agent_security.ports import Usage
from agent_security.resource_limits import ContextBudget, CostTracker, IterationCaps, cap_tool_result
from agent_security.settings import load_settings
from agent_security.tools.audit import MAX_RESULT_BYTES, AuditLog, _truncate_for_log


def test_2_1_the_tools_flag_is_a_comma_separated_allowlist(tmp_path: Path) -> None:
    none = str(tmp_path / "none.toml")
    found = load_settings(
        flags={"tools": "read_file, grep"}, workspace=None, env={}, user_file=none, managed_file=none
    )
    assert found.tools == ("read_file", "grep")


def test_2_4_the_audit_log_truncates_results_with_hash() -> None:
    assert MAX_RESULT_BYTES == 8 * 1024
    long = "x" * 10_000
    assert _truncate_for_log(long) == {
        "result_truncated": "x" * 8192,
        "truncated_from_size": 10_000,
        "sha256": hashlib.sha256(long.encode()).hexdigest(),
    }
    assert _truncate_for_log("ok") == {"result": "ok", "size": 2, "sha256": hashlib.sha256(b"ok").hexdigest()}


def test_2_4_a_tool_result_records_both_reasons(tmp_path: Path) -> None:
    with AuditLog(tmp_path / "a.jsonl", "s") as log:
        log.log_tool_result(
            "1", "t", {}, True, "r", permission_reason="ok: fine", intent_drift=True, intent_reason="curl"
        )
    record = json.loads((tmp_path / "a.jsonl").read_text().splitlines()[1])
    assert (record["permission_reason"], record["intent_drift"], record["intent_reason"]) == (
        "ok: fine",
        True,
        "curl",
    )


def test_4_1_iteration_caps_fire_at_the_right_count() -> None:
    caps = IterationCaps(max_turns=3, max_tool_calls=2)
    assert [bool(caps.count_turn()) for _ in range(4)] == [False, False, False, True]
    assert [bool(caps.count_tool_call()) for _ in range(3)] == [False, False, True]


def test_4_2_the_context_budget_trims_eleven_messages_to_four_with_a_summary() -> None:
    history = [{"role": "system", "content": "prompt"}]
    history += [{"role": "assistant", "content": f"step {n} " * 60} for n in range(8)]
    history += [{"role": "user", "content": "goal"}, {"role": "assistant", "content": "done"}]
    budget = ContextBudget(max_tokens=400, keep_recent=2)
    messages, reason = budget.check_and_trim(history)
    assert (len(history), len(messages)) == (11, 4)
    assert messages[1]["role"] == "system"
    assert reason


def test_4_2_a_tool_result_is_capped_at_32_kb() -> None:
    assert len(cap_tool_result("x" * 100_000).encode()) <= 32 * 1024


def test_4_2_the_defaults_are_the_documents() -> None:
    budget = ContextBudget()
    assert (budget.max_tokens, budget.trim_threshold, budget.keep_recent) == (24_000, 0.8, 8)


def test_4_4_the_cost_tracker_accumulates_and_fires_at_the_cap() -> None:
    cost = CostTracker(max_cost_usd=0.03, price_in=0.01, price_out=0.02)
    for _ in range(2):
        assert cost.check() is None
        cost.record_usage(Usage(500, 500))
    assert cost.total_cost_usd == 0.03
    assert cost.check()


def test_6_1_every_line_is_flushed_when_its_method_returns(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "a.jsonl", "s")
    for expected in range(2, 5):
        log.log_llm_request("m", 1, 1, False)
        assert len((tmp_path / "a.jsonl").read_text().splitlines()) == expected
    log.close()
