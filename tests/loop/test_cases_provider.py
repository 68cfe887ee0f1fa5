"""The provider's part of the shared cases, over the real client and a loopback server."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_security.agent import Agent
from agent_security.history import valid_history
from agent_security.providers import Backoff, OpenAIProvider

from .cases import CASES
from .fakes import session_in

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
