"""The `config` event: what this session may do and what confines it (CONTRACTS §5)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from agent_security import __version__
from agent_security.secret_management import (
    ALLOWED_CONTAINER_ENV,
    check_credential_mounts,
    scan_environment_for_secrets,
)
from agent_security.session import Session


def config_fields(session: Session, *, model: str, sandbox_root: str) -> dict[str, Any]:
    """The specification's fields but `session_id`, which each line carries; then ours."""
    return {
        "mode": str(session.mode),
        "working_dir": session.working_dir,
        "sandbox_root": sandbox_root,
        "container": session.sandbox.backend,
        "network": list(session.scope.open_hosts) or "none",
        "tools_allowed": list(session.tools),
        "tool_timeout_s": session.tool_timeout_s,
        "llm_timeout_s": session.llm_timeout_s,
        "max_turns_per_user_msg": session.caps.max_turns,
        "max_tool_calls_per_session": session.caps.max_tool_calls,
        "max_context_tokens": session.budget.max_tokens,
        "max_cost_usd": session.cost.max_cost_usd,
        "secret_env_count": len(scan_environment_for_secrets()),
        "credential_mounts_found": check_credential_mounts(),
        "container_env_allowlist": sorted(ALLOWED_CONTAINER_ENV),
        "added_dirs": list(session.scope.added_dirs),
        "approve_plan": session.plan.required,
        "apply": session.apply,
        "sandboxed": session.sandboxed,
        "guarantees": asdict(session.sandbox.guarantees),
        "rules": [rule.text for rules in _all_rules(session) for rule in rules],
        "model": model,
        "version": __version__,
    }


def _all_rules(session: Session) -> tuple[Any, ...]:
    return session.rules.deny, session.rules.ask, session.rules.allow
