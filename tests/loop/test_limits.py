"""Limits and stops: every way a turn ends that is not the model's answer. The model never votes."""

from __future__ import annotations

import pytest

from agent_security.calls import ToolOutput
from agent_security.errors import AuditError, ProviderError
from agent_security.ports import Reply, Usage
from agent_security.resource_limits import CostTracker, IterationCaps

from .fakes import READ, agent_with, check_valid, session_in


def failing(*errors):
    """Turns that raise, one after the other."""

    def turn(error):
        def raise_it(messages):
            raise error

        return raise_it

    return [turn(error) for error in errors]


# --- limits ---------------------------------------------------------------------------------------


def test_the_turn_cap_asks_for_one_summary_without_tools(tmp_path):
    session = session_in(str(tmp_path), caps=IterationCaps(max_turns=3))
    agent, provider = agent_with(session, [READ, READ, READ, "what I did", READ])
    outcome = agent.run_turn("work")
    assert (outcome.kind, outcome.text) == ("error_max_turns", "what I did")
    assert provider.tools[-1] == []
    assert len(provider.asked) == 4
    assert "summary" in provider.asked[-1][-1]["content"]
    (event,) = session.audit.named("iteration_cap_hit")
    assert (event["scope"], event["turns"]) == ("per_turn", 3)
    check_valid(agent, provider)


def test_a_model_that_goes_on_calling_in_its_summary_runs_nothing(tmp_path):
    session = session_in(str(tmp_path), caps=IterationCaps(max_turns=1))
    agent, provider = agent_with(session, [READ, READ, READ])
    assert agent.run_turn("work").kind == "error_max_turns"
    assert len(session.sandbox.ran) == 1
    assert len(provider.asked) == 2
    check_valid(agent, provider)


def test_a_new_message_resets_the_turn_cap(tmp_path):
    session = session_in(str(tmp_path), caps=IterationCaps(max_turns=2))
    agent, _ = agent_with(session, [READ, "one", READ, "two"])
    assert [agent.run_turn(text).kind for text in ("a", "b")] == ["success", "success"]


def test_the_sessions_cap_on_calls_ends_the_turn_with_a_summary(tmp_path):
    session = session_in(str(tmp_path), caps=IterationCaps(max_tool_calls=2))
    three = {"calls": [{"read_file": {"path": name}} for name in "abc"]}
    agent, provider = agent_with(session, [three, "what I did"])
    outcome = agent.run_turn("work")
    assert (outcome.kind, outcome.text) == ("error_max_tool_calls", "what I did")
    assert len(session.sandbox.ran) == 2
    assert session.audit.named("iteration_cap_hit")[0]["scope"] == "session"
    check_valid(agent, provider)


def test_at_the_cost_cap_no_further_request_is_sent(tmp_path):
    session = session_in(str(tmp_path), cost=CostTracker(max_cost_usd=0.5, price_in=1.0, price_out=1.0))
    dear = Reply("", usage=Usage(600, 0))
    call = {**READ, "usage": {"prompt_tokens": 600, "completion_tokens": 0}}
    agent, provider = agent_with(session, [call, dear])
    outcome = agent.run_turn("work")
    assert outcome.kind == "error_max_budget_usd"
    assert len(provider.asked) == 1
    (event,) = session.audit.named("cost_limit_hit")
    assert (event["cap_usd"], event["tokens_in"], event["calls"]) == (0.5, 600, 1)
    assert agent.run_turn("more").kind == "error_max_budget_usd"
    check_valid(agent, provider)


def test_past_the_deadline_nothing_is_asked(session):
    now = [0.0]
    agent, provider = agent_with(session, [READ, READ], deadline_at=10.0, clock=lambda: now[0])

    def slow(permit):
        now[0] += 11
        return ToolOutput("late")

    session.sandbox._output = slow
    assert agent.run_turn("work").kind == "error_deadline"
    assert len(provider.asked) == 1
    check_valid(agent, provider)


def test_three_empty_answers_end_the_turn(session):
    agent, provider = agent_with(session, ["", " ", "", "never"])
    outcome = agent.run_turn("work")
    assert outcome.kind == "error_during_execution"
    assert len(provider.asked) == 3
    check_valid(agent, provider)


def test_an_answer_cut_at_its_length_is_said_to_be(session):
    agent, _ = agent_with(session, [Reply("half an ans", finish_reason="length")])
    outcome = agent.run_turn("work")
    assert (outcome.kind, outcome.text) == ("success", "half an ans")
    assert "cut" in outcome.notices[0]


def test_calls_of_a_cut_answer_come_with_a_hint(session):
    agent, provider = agent_with(session, [{**READ, "finish_reason": "length"}, "ok"])
    agent.run_turn("work")
    assert "cut at its length limit" in provider.asked[-1][-1]["content"]


def test_a_flood_of_calls_is_bounded(session):
    flood = {"calls": [{"todo_read": {}}] * 500}
    agent, provider = agent_with(session, [flood, "ok"])
    agent.run_turn("work")
    assert sum(message["role"] == "tool" for message in agent.conversation.messages) == 128
    check_valid(agent, provider)


# --- stopping -------------------------------------------------------------------------------------


def test_an_abort_during_a_batch_answers_every_call_and_asks_nothing_more(session):
    def stop(permit):
        session.abort.trigger("SIGTERM")
        return ToolOutput("first")

    session.sandbox._output = stop
    agent, provider = agent_with(
        session, [{"calls": [{"read_file": {"path": name}} for name in "abc"]}, "never"]
    )
    outcome = agent.run_turn("work")
    assert (outcome.kind, outcome.reason) == ("aborted", "SIGTERM")
    assert len(session.sandbox.ran) == 1
    assert len(provider.asked) == 1
    assert [event["reason"] for event in session.audit.named("session_abort")] == ["SIGTERM"]
    assert any("concise summary" in str(message["content"]) for message in agent.conversation.messages)
    check_valid(agent, provider)


def test_an_abort_before_the_first_request_sends_none(session):
    session.abort.trigger("SIGINT")
    agent, provider = agent_with(session, ["never"])
    assert agent.run_turn("work").kind == "aborted"
    assert provider.asked == []


def test_a_provider_that_fails_ends_the_turn_and_not_the_session(session):
    agent, provider = agent_with(session, [*failing(ProviderError("no route", retryable=True)), "back"])
    outcome = agent.run_turn("work")
    assert (outcome.kind, outcome.retryable) == ("error_provider", True)
    assert "no route" in outcome.text
    assert session.audit.named("llm_call_error")[0]["error"] == "no route"
    assert agent.run_turn("again").text == "back"
    check_valid(agent, provider)


def test_a_log_that_cannot_be_written_stops_everything(session):
    agent, provider = agent_with(session, [READ, "never"])

    def broken(event, **fields):
        raise AuditError("disk full")

    session.audit.log = broken
    with pytest.raises(AuditError):
        agent.run_turn("work")
    assert provider.asked == []
    assert session.sandbox.ran == []


def test_a_log_that_breaks_between_calls_leaves_a_valid_history(session):
    agent, provider = agent_with(
        session, [{"calls": [{"read_file": {"path": "a"}}, {"read_file": {"path": "b"}}]}]
    )

    def breaks(permit):
        session.audit.log = None
        return ToolOutput("x")

    session.sandbox._output = breaks
    with pytest.raises(TypeError):
        agent.run_turn("work")
    check_valid(agent, provider)
