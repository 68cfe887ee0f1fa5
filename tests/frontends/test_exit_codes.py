"""The exit codes of CONTRACTS §3, as a table."""

from __future__ import annotations

from typing import Any

import pytest

from agent_security.errors import (
    AgentSecurityError,
    AuditError,
    NotBuiltError,
    ProviderError,
    SandboxUnavailable,
    SettingsError,
    UsageError,
)
from agent_security.frontends.exits import exit_of, line_of
from agent_security.frontends.result import KINDS, exit_code, subtype_of
from agent_security.loop.turn import TurnOutcome

ENDINGS = [
    # kind, approval missing, abort reason -> code, subtype
    ("success", False, "", 0, "success"),
    ("success", True, "", 5, "error_approval_required"),
    ("error_during_execution", False, "", 1, "error_during_execution"),
    ("error_during_execution", True, "", 1, "error_during_execution"),
    ("error_provider", True, "", 6, "error_provider"),
    ("error_max_turns", True, "", 3, "error_max_turns"),
    ("error_max_tool_calls", False, "", 3, "error_max_tool_calls"),
    ("error_max_budget_usd", False, "", 3, "error_max_budget_usd"),
    ("error_deadline", False, "", 3, "error_deadline"),
    ("error_sandbox", False, "", 4, "error_sandbox"),
    ("error_tripwire", True, "", 7, "error_tripwire"),
    ("aborted", False, "SIGINT", 130, "aborted"),
    ("aborted", False, "SIGTERM", 143, "aborted"),
    ("success", False, "SIGTERM", 143, "aborted"),
    ("error_tripwire", False, "SIGINT", 130, "aborted"),
    ("a word nobody knows", False, "", 1, "error_during_execution"),
]


@pytest.mark.parametrize(("kind", "missing", "reason", "code", "subtype"), ENDINGS)
def test_the_first_that_holds_decides(
    session: Any, kind: str, missing: bool, reason: str, code: int, subtype: str
) -> None:
    session.tally.approval_missing = missing
    if reason:
        session.abort.trigger(reason)
    outcome = TurnOutcome(kind, "text", "reason")
    assert exit_code(outcome, session) == code
    assert subtype_of(outcome, exit_code(outcome, session)) == subtype


def test_every_subtype_of_the_contract_has_a_code() -> None:
    named = (
        "success error_during_execution error_max_turns error_max_tool_calls error_max_budget_usd "
        "error_approval_required error_provider error_deadline error_sandbox error_tripwire aborted"
    )
    assert set(KINDS) == set(named.split())


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("x"), 2),
        (SettingsError("x"), 2),
        (NotBuiltError("x"), 2),
        (SandboxUnavailable("x"), 4),
        (ProviderError("x"), 6),
        (AuditError("x"), 1),
        (AgentSecurityError("x"), 1),
    ],
)
def test_each_error_ends_with_its_code(error: AgentSecurityError, code: int) -> None:
    assert exit_of(error) == code


def test_an_error_is_one_line_with_the_line_to_type() -> None:
    line = line_of(SandboxUnavailable("no bubblewrap\nhere.", "apt-get install bubblewrap"))
    assert line == "agent-security: no bubblewrap here. To get one: apt-get install bubblewrap"
