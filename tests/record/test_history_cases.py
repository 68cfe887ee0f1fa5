"""Histories that ended real sessions, by the id of their case."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from record_conversations import SYSTEM, calls, contents, pairs, result, said, user

from agent_security.history import INTERRUPTED, Message, repair_history, valid_history
from agent_security.resource_limits import ContextBudget

CASES = {
    case["id"]: case
    for case in map(json.loads, Path(__file__).with_name("history_cases.jsonl").read_text().splitlines())
}
# --- the cases --------------------------------------------------------------------------------------


def trimmed(history: list[Message], max_tokens: int = 600, keep_recent: int = 2) -> list[Message]:
    return ContextBudget(max_tokens, keep_recent=keep_recent).check_and_trim(history).messages


def case_history(case: str) -> list[Message]:
    """The history a case describes, filled with enough text to be trimmed."""
    text = "word " * 200
    return {
        "LO-079": [
            SYSTEM,
            user("goal"),
            calls("a"),
            result("a", text),
            calls("b"),
            result("b", text),
            calls("c"),
            result("c", text),
            said("so"),
        ],
        "LO-081": [
            user("goal"),
            calls("call_1", "call_2"),
            result("call_1", text * 3),
            result("call_2", text * 3),
        ],
        "LO-083": [user("goal"), calls("call_1")],
        "LO-085": [SYSTEM, user("the goal"), *pairs(20)],
        "LO-087": [SYSTEM, user("goal"), calls("a"), result("a", "x" * 200_000)],
        "LO-089": [user("goal"), calls("a"), user("steer"), result("a", text)],
        "LO-091": [SYSTEM, user("goal"), *pairs(6)],
    }[case]


@pytest.mark.parametrize("case", [name for name, row in CASES.items() if row["tool"] == "context_trim"])
def test_every_trim_case_leaves_a_history_the_strictest_server_takes(case: str) -> None:
    history = case_history(case)
    repaired = repair_history(history)
    assert valid_history(repaired) == [], CASES[case]["must"]
    for keep_recent in range(1, 9):
        for max_tokens in (200, 400, 800, 1_600):
            assert valid_history(trimmed(history, max_tokens, keep_recent)) == [], CASES[case]["must"]


def test_lo_083_an_interrupted_call_gets_a_stub_result() -> None:
    assert repair_history(case_history("LO-083"))[-1] == result("call_1", INTERRUPTED)


def test_lo_085_the_goal_survives() -> None:
    assert "the goal" in contents(trimmed(case_history("LO-085")))


def test_lo_087_one_huge_message_is_cut_with_a_notice_and_does_not_trim_for_ever() -> None:
    budget = ContextBudget(24_000)
    first = budget.check_and_trim(case_history("LO-087"))
    assert budget.estimate(first.messages) <= 24_000 * 0.8
    assert "1 cut" in first.reason
    second = budget.check_and_trim(first.messages)
    assert second.reason == ""


def test_lo_089_a_text_between_call_and_result_moves_behind_them() -> None:
    assert [m["role"] for m in repair_history(case_history("LO-089"))] == [
        "user",
        "assistant",
        "tool",
        "user",
    ]


def test_lo_091_recent_pairs_keep_their_structure() -> None:
    history = case_history("LO-091")
    assert trimmed(history, 1_000, 4)[-4:] == history[-4:]
