"""The loop's part of the shared cases (tool-call, provider, history), by id; `cases.jsonl` is their text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_security.agent import Agent
from agent_security.history import valid_history
from agent_security.ports import RawCall, Reply

from .cases import CASES
from .fakes import Watched, agent_with, session_in

OF_OTHERS = {
    "LO-079": "ContextBudget keeps calls and results together: tests/record/test_context_budget.py",
    "LO-081": "ContextBudget keeps siblings together: tests/record/test_context_budget.py",
    "LO-085": "ContextBudget keeps the person's request: tests/record/test_context_budget.py",
    "LO-087": "ContextBudget cuts a message that is too large: tests/record/test_context_budget.py",
    "LO-091": "ContextBudget keeps recent pairs as they are: tests/record/test_context_budget.py",
}
TOLERABLE_REPAIRS = {"LO-001", "LO-012", "LO-017"}
"""Cases whose own text says that a repair to exactly the same object is right as well."""


def raw_calls_of(case: dict[str, Any]) -> tuple[RawCall, ...]:
    return tuple(
        RawCall(
            call.get("id"),
            (call.get("function") or {}).get("name"),
            (call.get("function") or {}).get("arguments"),
        )
        for call in case["args"]["tool_calls"]
    )


def played(case: dict[str, Any], tmp_path: Path, **parts: Any) -> tuple[Agent, Watched]:
    """The loop after a model made the case's calls once and then answered."""
    agent, provider = agent_with(session_in(str(tmp_path), **parts), [Reply("", raw_calls_of(case)), "done"])
    outcome = agent.run_turn(case["context"]["user_goal"])
    assert (outcome.kind, outcome.text) == ("success", "done")
    assert valid_history(agent.conversation.messages) == []
    return agent, provider


def results_of(agent: Agent) -> list[dict[str, Any]]:
    return [message for message in agent.conversation.messages if message["role"] == "tool"]


def ids_asked(agent: Agent) -> list[str]:
    calls = [call for message in agent.conversation.messages for call in message.get("tool_calls") or ()]
    return [call["id"] for call in calls]


# --- tool calls -----------------------------------------------------------------------------------

BLOCKED = [
    case_id
    for case_id, case in CASES.items()
    if case["kind"] == "tool-call"
    and case["expect"] == "block"
    and case_id not in ("LO-040", *TOLERABLE_REPAIRS)
]


@pytest.mark.parametrize("case_id", BLOCKED)
def test_a_call_that_is_none_is_answered_and_never_run(case_id, tmp_path):
    case = CASES[case_id]
    tools = ["read_file", "write_file"] if case_id == "LO-032" else None
    agent, provider = played(case, tmp_path, tools=tools)
    session = agent.session
    (result,) = results_of(agent)
    assert result["tool_call_id"] == case["args"]["tool_calls"][0]["id"]
    assert len(result["content"]) < 1_000
    assert session.sandbox.ran == []
    assert len(session.audit.named("validation_error")) == 1
    assert [event["allowed"] for event in session.audit.named("permission_decision")] == [False]
    assert len(provider.asked) == 2
    json.dumps(session.audit.events, ensure_ascii=False, default=str).encode()


@pytest.mark.parametrize("case_id", sorted(TOLERABLE_REPAIRS))
def test_a_call_with_one_reading_is_repaired_on_record(case_id, tmp_path):
    agent, _ = played(CASES[case_id], tmp_path)
    content = "line1\nline2" if case_id == "LO-017" else "x"
    assert agent.session.sandbox.ran == [("write_file", {"path": "a.txt", "content": content})]
    (event,) = agent.session.audit.named("validation_error")
    assert event["repaired"] is True
    assert len(results_of(agent)) == 1


def test_lo_013_arguments_that_are_an_object_already_are_taken(tmp_path):
    agent, _ = played(CASES["LO-013"], tmp_path)
    assert agent.session.sandbox.ran == [("write_file", {"path": "a.txt", "content": "x"})]
    assert agent.session.audit.named("validation_error") == []


def test_lo_036_duplicate_ids_are_made_unique_and_both_run(tmp_path):
    agent, _ = played(CASES["LO-036"], tmp_path)
    assert [args["path"] for _, args in agent.session.sandbox.ran] == ["a.txt", "b.txt"]
    ids = ids_asked(agent)
    assert ids[0] == "call_1"
    assert ids == [result["tool_call_id"] for result in results_of(agent)]
    assert len(set(ids)) == 2


def test_lo_038_a_missing_id_is_generated(tmp_path):
    agent, _ = played(CASES["LO-038"], tmp_path)
    assert ids_asked(agent) == [result["tool_call_id"] for result in results_of(agent)]
    assert len(agent.session.sandbox.ran) == 1


def test_lo_040_a_refusal_in_the_middle_leaves_its_neighbours_alone(tmp_path):
    agent, _ = played(CASES["LO-040"], tmp_path)
    assert [name for name, _ in agent.session.sandbox.ran] == ["read_file", "read_file"]
    assert [result["tool_call_id"] for result in results_of(agent)] == ["a", "b", "c"]


def test_lo_041_writes_of_one_file_happen_in_the_models_order(tmp_path):
    agent, _ = played(CASES["LO-041"], tmp_path)
    assert [args["content"] for _, args in agent.session.sandbox.ran] == ["1", "2"]
    assert agent.session.changes.applied == ["a", "b"]


def test_lo_043_an_empty_list_is_no_call(tmp_path):
    agent, _ = agent_with(session_in(str(tmp_path)), [Reply("hello", raw_calls_of(CASES["LO-043"]))])
    assert agent.run_turn("hi").text == "hello"
    assert "tool_calls" not in agent.conversation.messages[-1]


# --- history --------------------------------------------------------------------------------------


def test_lo_083_a_call_cut_off_by_an_interrupt_has_a_stub_result(tmp_path):
    def interrupt(permit: object) -> None:
        raise KeyboardInterrupt

    session = session_in(str(tmp_path))
    session.sandbox._output = interrupt
    agent, provider = agent_with(
        session, [{"calls": [{"read_file": {"path": "a"}}, {"grep": {"pattern": "x"}}]}, "ok"]
    )
    assert agent.run_turn("look").kind == "aborted"
    assert ["interrupted" in result["content"] for result in results_of(agent)] == [True, True]
    assert session.sandbox.killed == 1
    assert agent.run_turn("go on").text == "ok"
    assert valid_history(provider.asked[-1]) == []


def test_lo_089_a_message_of_the_person_never_parts_a_call_from_its_result(tmp_path):
    agent, provider = agent_with(session_in(str(tmp_path)), ["ok"])
    call = {"id": "a", "type": "function", "function": {"name": "todo_read", "arguments": "{}"}}
    agent.conversation.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
    agent.run_turn("stop that, do this")
    assert valid_history(provider.asked[-1]) == []


def test_every_case_is_covered_here_or_named():
    here = Path(__file__)
    covered = here.read_text("utf-8") + here.with_name("test_cases_provider.py").read_text("utf-8")
    missing = [
        case_id
        for case_id in CASES
        if case_id not in BLOCKED
        and case_id not in TOLERABLE_REPAIRS | OF_OTHERS.keys()
        and case_id not in covered
        and case_id.lower().replace("-", "_") not in covered
    ]
    assert missing == []
