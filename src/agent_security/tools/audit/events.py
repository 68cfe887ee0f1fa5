"""The nineteen events of the specification with their key fields, as one table.

The documents print it and tests/spec/test_events.py holds every writer to it. Further events
(`approval`, `change_set`, …) go through `AuditLog.log` and need no row here.
"""

from __future__ import annotations

from typing import NamedTuple


class Event(NamedTuple):
    """One row: when it is written, and the fields that are always there."""

    when: str
    fields: tuple[str, ...] = ()


_CONFIG = (
    "mode working_dir sandbox_root container network tools_allowed tool_timeout_s llm_timeout_s"
    " max_turns_per_user_msg max_tool_calls_per_session max_context_tokens max_cost_usd session_id"
    " secret_env_count credential_mounts_found container_env_allowlist"
)
_RESULT = (
    "tool_call_id tool args permission_allowed permission_reason container_error container_reason"
    " intent_drift intent_reason"
)


def _event(when: str, fields: str = "") -> Event:
    return Event(when, tuple(fields.split()))


EVENTS: dict[str, Event] = {
    "session_start": _event("log opened", "log_file"),
    "config": _event("startup", _CONFIG),
    "user_message": _event("each user input", "content"),
    "llm_request": _event("before each LLM call", "model message_count token_estimate has_tools"),
    "llm_response": _event(
        "after each LLM response", "model finish_reason usage message_hash tool_call_count"
    ),
    "assistant_message": _event("after each LLM response", "content tool_calls"),
    "permission_decision": _event("before each tool runs", "tool args mode allowed reason"),
    "validation_error": _event("schema validation fails", "tool args errors"),
    "intent_drift_suspected": _event("intent check flags drift", "tool args reason"),
    "tool_result": _event("after each tool returns", _RESULT),
    "tool_timeout": _event("a tool times out", "tool timeout_s"),
    "context_trimmed": _event("context budget trims", "message_count estimate_tokens reason"),
    "iteration_cap_hit": _event("iteration cap breached", "scope"),
    "cost_limit_hit": _event("cost cap exceeded", "cost_usd cap_usd tokens_in tokens_out calls"),
    "plan_approved": _event("user approves plan", "tool"),
    "plan_rejected": _event("user rejects plan", "tool"),
    "llm_call_error": _event("LLM call fails", "error"),
    "session_abort": _event("abort controller fires", "reason"),
    "session_end": _event("log closed"),
}
"""Event name -> row. `tool_result` also carries `_truncate_for_log`'s fields; `iteration_cap_hit`
carries `turns` or `tool_calls`, whichever its scope counts."""
