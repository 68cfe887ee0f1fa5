"""The loop's part of the shared cases (tool-call, provider, history), by id; `cases.jsonl` is their text."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_security.agent import Agent
from agent_security.history import valid_history
from agent_security.ports import RawCall, Reply
from agent_security.providers import Backoff, OpenAIProvider

from .fakes import Watched, agent_with, session_in

CASES = {
    case["id"]: case
    for case in map(json.loads, Path(__file__).with_name("cases.jsonl").read_text("utf-8").splitlines())
}
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


# --- provider -------------------------------------------------------------------------------------


def asked(loopback: Callable[..., Any], tmp_path: Path, *acts: Any, **how: Any) -> tuple[Agent, Any, Any]:
    """One turn over the real provider and a loopback server that plays `acts`."""
    server, slept = loopback(*acts), []
    provider = OpenAIProvider(
        "loopback",
        base_url=server.base_url,
        api_key="k",
        backoff=Backoff(sleep=slept.append, jitter=lambda: 0.5),
    )
    agent = Agent(session_in(str(tmp_path), **how.pop("parts", {})), provider, **how)
    agent.slept = slept
    outcome = agent.run_turn("fix the failing test")
    assert valid_history(agent.conversation.messages) == []
    return agent, outcome, server


def test_lo_047_no_content_and_no_call_ends_after_a_few_tries(loopback, tmp_path):
    act = {"message": CASES["LO-047"]["args"]["choices"][0]["message"]}
    _, outcome, server = asked(loopback, tmp_path, *[act] * 9)
    assert outcome.kind == "error_during_execution"
    assert "no answer" in outcome.text
    assert len(server.requests) == 3


def test_lo_049_parts_are_joined_and_logged(loopback, tmp_path):
    act = {"message": CASES["LO-049"]["args"]["choices"][0]["message"]}
    agent, outcome, _ = asked(loopback, tmp_path, act)
    assert outcome.text == "hi"
    assert agent.session.audit.named("assistant_message")[0]["content"] == "hi"


@pytest.mark.parametrize(
    ("case_id", "usage_in"),
    [("LO-051", "own_chunk"), ("LO-053", "middle"), ("LO-053", "first"), ("LO-053", "last")],
)
def test_usage_is_found_wherever_it_stands(case_id, usage_in, loopback, tmp_path):
    agent, _, _ = asked(loopback, tmp_path, {"say": "hello", "usage_in": usage_in}, stream=True)
    assert CASES[case_id]["kind"] == "provider"
    assert (agent.session.cost.total_tokens_in, agent.session.cost.total_tokens_out) == (10, 5)


@pytest.mark.parametrize("usage", [None, "missing"])
def test_lo_055_missing_usage_is_estimated(usage, loopback, tmp_path):
    agent, _, _ = asked(loopback, tmp_path, {"say": "hello", "usage": usage})
    assert agent.session.cost.total_tokens_in > 100


def test_lo_057_nonsense_usage_never_lowers_the_cost(loopback, tmp_path):
    agent, _, _ = asked(loopback, tmp_path, {"say": "hello", "usage": CASES["LO-057"]["args"]["usage"]})
    cost = agent.session.cost
    assert cost.total_tokens_in >= 0
    assert cost.total_tokens_out >= 0


def test_lo_060_a_filtered_answer_is_shown_and_ends_the_turn(loopback, tmp_path):
    act = {"message": CASES["LO-060"]["args"]["message"], "finish_reason": "content_filter"}
    _, outcome, server = asked(loopback, tmp_path, act, "never")
    assert outcome.kind == "error_during_execution"
    assert "content filter" in outcome.text
    assert len(server.requests) == 1


def test_lo_062_finish_reason_tool_calls_without_calls_is_an_answer(loopback, tmp_path):
    act = {"message": {"content": "that is all", "tool_calls": None}, "finish_reason": "tool_calls"}
    _, outcome, _ = asked(loopback, tmp_path, act)
    assert (outcome.kind, outcome.text) == ("success", "that is all")


@pytest.mark.parametrize("stream", [False, True])
def test_lo_064_reasoning_is_passed_back_on_every_assistant_message(stream, loopback, tmp_path):
    call = {"id": "a", "type": "function", "function": {"name": "todo_read", "arguments": "{}"}}
    thinking = {"message": {"content": "", "reasoning_content": "let me think", "tool_calls": [call]}}
    answer = {"message": {"content": "done", "reasoning_content": "I know"}}
    agent, _, server = asked(loopback, tmp_path, thinking, answer, stream=stream)
    sent = [message for message in server.requests[1]["messages"] if message["role"] == "assistant"]
    assert [message["reasoning_content"] for message in sent] == ["let me think"]
    assert agent.conversation.messages[-1]["reasoning_content"] == "I know"


def test_lo_066_a_call_written_as_text_is_text(loopback, tmp_path):
    content = CASES["LO-066"]["args"]["message"]["content"]
    agent, outcome, server = asked(loopback, tmp_path, content)
    assert outcome.text == content
    assert agent.session.sandbox.ran == []
    assert len(server.requests) == 1


def test_lo_067_retry_after_is_obeyed_and_audited(loopback, tmp_path):
    agent, outcome, server = asked(loopback, tmp_path, {"fault": "429", "retry_after": 7}, "ok")
    assert outcome.kind == "success"
    assert 7 <= sum(agent.slept) < 7.5
    (event,) = agent.session.audit.named("llm_call_error")
    assert "429" in event["error"]
    assert len(server.requests) == 2


def test_lo_069_without_the_header_waits_grow(loopback, tmp_path):
    agent, _, _ = asked(loopback, tmp_path, *[{"fault": "429"}] * 3, "ok")
    waits = [event["retry_in_s"] for event in agent.session.audit.named("llm_call_error")]
    assert waits == [0.5, 1.0, 2.0]


def test_lo_071_an_overloaded_server_is_tried_a_bounded_number_of_times(loopback, tmp_path):
    agent, outcome, server = asked(loopback, tmp_path, *[{"fault": "529"}] * 9)
    assert (outcome.kind, outcome.retryable) == ("error_provider", True)
    assert len(server.requests) == 4
    assert len(agent.session.audit.named("llm_call_error")) == 4


def long_session(loopback: Callable[..., Any], tmp_path: Path, *acts: Any) -> tuple[Agent, Any, Any]:
    reads = [{"call": {"todo_read": {}}, "say": "word " * 300} for _ in range(10)]
    return asked(loopback, tmp_path, *reads, *acts)


def test_lo_073_too_long_is_trimmed_once_and_asked_again(loopback, tmp_path):
    agent, outcome, server = long_session(loopback, tmp_path, {"fault": "too_long"}, "it fits")
    assert outcome.text == "it fits"
    assert len(server.requests) == 12
    assert len(str(server.requests[-1]["messages"])) < len(str(server.requests[-2]["messages"]))
    assert "context_trimmed" in agent.session.audit.names


def test_lo_075_what_cannot_fit_fails_fast(loopback, tmp_path):
    _, outcome, server = long_session(loopback, tmp_path, *[{"fault": "too_long"}] * 9)
    assert (outcome.kind, outcome.retryable) == ("error_provider", False)
    assert len(server.requests) == 12


def test_lo_075_a_history_with_nothing_to_trim_is_sent_once(loopback, tmp_path):
    _, outcome, server = asked(loopback, tmp_path, *[{"fault": "too_long"}] * 9)
    assert outcome.kind == "error_provider"
    assert len(server.requests) <= 2


def test_lo_077_a_stream_that_trickles_for_ever_meets_its_deadline(loopback, tmp_path):
    started = time.monotonic()
    _, outcome, _ = asked(
        loopback, tmp_path, {"fault": "stalled_stream"}, stream=True, parts={"llm_timeout_s": 0.3}
    )
    assert outcome.kind == "error_provider"
    assert time.monotonic() - started < 5


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
    covered = Path(__file__).read_text("utf-8")
    missing = [
        case_id
        for case_id in CASES
        if case_id not in BLOCKED
        and case_id not in TOLERABLE_REPAIRS | OF_OTHERS.keys()
        and case_id not in covered
        and case_id.lower().replace("-", "_") not in covered
    ]
    assert missing == []
