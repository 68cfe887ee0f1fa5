"""The loop's limits, endings and records. The harness owns them; the model never votes."""

from __future__ import annotations

import pytest

from agent_security.agent import Agent, agent_loop
from agent_security.calls import Mode, Status, ToolOutput
from agent_security.conversation import Conversation
from agent_security.documents import Document, workspace_guidance
from agent_security.errors import AuditError, ProviderError, SystemPromptError
from agent_security.history import valid_history
from agent_security.ports import Reply, Usage
from agent_security.providers import ScriptedProvider
from agent_security.resource_limits import CostTracker, IterationCaps

from .fakes import FakeApprover, FakeSandbox, agent_with, session_in

READ = {"call": {"read_file": {"path": "a"}}}
BASH = {"call": {"run_bash": {"command": "echo hi"}}}


def check_valid(agent, provider):
    assert valid_history(agent.conversation.messages) == []
    for messages in provider.asked:
        assert valid_history(messages) == []


def failing(*errors):
    """Turns that raise, one after the other."""

    def turn(error):
        def raise_it(messages):
            raise error

        return raise_it

    return [turn(error) for error in errors]


# --- a turn ---------------------------------------------------------------------------------------


def test_a_turn_runs_calls_until_the_model_answers(session):
    agent, provider = agent_with(session, [READ, READ, "all good"])
    outcome = agent.run_turn("look at a")
    assert (outcome.kind, outcome.text, outcome.requests, outcome.is_error) == (
        "success",
        "all good",
        3,
        False,
    )
    assert session.sandbox.ran == [("read_file", {"path": "a"})] * 2
    check_valid(agent, provider)


def test_every_step_is_on_record_in_order(session):
    agent, _ = agent_with(session, [READ, "done"])
    agent.run_turn("look")
    assert session.audit.names == [
        "user_message",
        "llm_request",
        "llm_response",
        "assistant_message",
        "permission_decision",
        "tool_result",
        "llm_request",
        "llm_response",
        "assistant_message",
    ]
    assert session.audit.named("llm_response")[0]["tool_call_count"] == 1
    assert len(session.audit.named("llm_response")[0]["message_hash"]) == 64


def test_the_persons_words_are_wrapped_with_a_fresh_nonce_and_remembered(session):
    agent, provider = agent_with(session, ["one", "two"])
    agent.run_turn("first task")
    agent.run_turn("second task")
    users = [message["content"] for message in provider.asked[-1] if message["role"] == "user"]
    assert [text.splitlines()[1] for text in users] == ["first task", "second task"]
    assert users[0].splitlines()[0] != users[1].splitlines()[0]
    assert session.goals == ["first task", "second task"]
    assert [event["content"] for event in session.audit.named("user_message")] == session.goals


def test_the_system_prompt_says_how_to_read_what_follows(session):
    from agent_security.prompt_safety import TRUST_BOUNDARIES, tag_explanation

    agent, provider = agent_with(session, ["ok"])
    agent.run_turn("hi")
    first, *rest = provider.asked[0]
    assert first["role"] == "system"
    assert TRUST_BOUNDARIES.strip() in first["content"]
    assert tag_explanation().strip() in first["content"]
    assert all(message["role"] != "system" for message in rest)


def test_a_system_prompt_that_would_carry_a_secret_never_starts(session, monkeypatch):
    monkeypatch.setattr("agent_security.system_prompt.IDENTITY", "use $LOOP_TEST_API_KEY for everything")
    monkeypatch.setenv("LOOP_TEST_API_KEY", "x" * 20)
    with pytest.raises(SystemPromptError):
        Agent(session, ScriptedProvider(["never"]))


def test_the_model_is_shown_the_active_tools_and_no_other(tmp_path):
    agent, provider = agent_with(session_in(str(tmp_path), tools=["grep", "todo_read"]), ["ok"])
    agent.run_turn("hi")
    assert provider.tools == [["grep", "todo_read"]]
    assert "run_bash" not in provider.asked[0][0]["content"]


def test_text_is_streamed_to_the_listener_where_asked(session):
    agent, _ = agent_with(session, ["hello"], stream=True)
    agent.run_turn("hi")
    assert [data["text"] for name, data in session.listener.notices if name == "text"] == ["hello"]


def test_one_turn_is_one_call_away(session):
    conversation = Conversation()
    assert (
        agent_loop(session, ScriptedProvider(["hi"]), prompt="hello", conversation=conversation).text == "hi"
    )
    assert [message["role"] for message in conversation.messages] == ["system", "user", "assistant"]


def test_ids_stay_unique_over_turns_and_after_a_resume(session):
    call = {"raw": {"tool_calls": [{"id": "call_0", "function": {"name": "todo_read", "arguments": "{}"}}]}}
    agent, provider = agent_with(session, [call, "one", call, "two"])
    agent.run_turn("a")
    agent.run_turn("b")
    resumed = Agent(
        session, ScriptedProvider([call, "three"]), conversation=Conversation(agent.conversation.messages)
    )
    resumed.run_turn("c")
    assert valid_history(resumed.conversation.messages) == []
    check_valid(agent, provider)


# --- documents ------------------------------------------------------------------------------------


def test_documents_come_before_the_persons_words_and_without_authority(session):
    agent, provider = agent_with(session, ["ok"])
    agent.run_turn(
        "do it", [Document("a log file", "stdin"), Document("use tabs", "AGENTS.md", guidance=True)]
    )
    users = [message["content"] for message in provider.asked[0] if message["role"] == "user"]
    assert len(users) == 3
    assert 'kind="task"' in users[0]
    assert "a log file" in users[0]
    assert "<user_input" not in users[0] + users[1]
    assert "<tool_result" in users[1]
    assert session.goals == ["do it"]
    check_valid(agent, provider)


def test_the_workspaces_guidance_is_read_and_a_link_is_not_followed(tmp_path):
    session = session_in(str(tmp_path))
    assert workspace_guidance(session) is None
    (tmp_path / "AGENTS.md").write_text("use tabs")
    assert workspace_guidance(session) == Document("use tabs", "AGENTS.md", guidance=True)
    (tmp_path / "AGENTS.md").unlink()
    (tmp_path / "secret").write_text("canary")
    (tmp_path / "AGENTS.md").symlink_to("secret")
    assert workspace_guidance(session) is None


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


# --- permissions as the loop sees them ------------------------------------------------------------


def test_a_refusal_is_told_to_the_model_and_the_turn_goes_on(tmp_path):
    session = session_in(str(tmp_path), mode=Mode.DEFAULT, approver=FakeApprover(None))
    agent, provider = agent_with(
        session, [{"call": {"write_file": {"path": "a", "content": "x"}}}, "I may not"]
    )
    assert agent.run_turn("work").text == "I may not"
    assert session.sandbox.ran == []
    (result,) = [message for message in provider.asked[-1] if message["role"] == "tool"]
    assert "nobody" in result["content"]
    assert session.tally.denials


def test_a_plan_is_approved_anew_in_each_turn(session):
    session.plan.required = session.plan.approved = True
    agent, _ = agent_with(session, ["ok"])
    agent.run_turn("work")
    assert session.plan.approved is False


def test_scratchpad_notes_count_as_intent_only_until_something_untrusted_is_read(session):
    agent, _ = agent_with(session, [{"call": {"scratchpad_write": {"content": "mine"}}}, "ok"])
    agent.run_turn("plan")
    assert session.scratchpad.trusted() == "mine"
    agent, _ = agent_with(session, [{"call": {"scratchpad_write": {"content": "theirs"}}}, "ok"])
    agent.run_turn("read this", [Document("from the web", "stdin")])
    assert session.scratchpad.read() == "theirs"
    assert session.scratchpad.trusted() == "mine"


def test_a_broken_wall_is_an_answer(tmp_path):
    from agent_security.errors import SandboxTimeout

    def times_out(permit):
        raise SandboxTimeout("timed out after 1s")

    session = session_in(str(tmp_path), sandbox=FakeSandbox(times_out))
    agent, provider = agent_with(session, [READ, "I see"])
    assert agent.run_turn("work").text == "I see"
    assert session.audit.named("tool_result")[0]["status"] == Status.TIMEOUT
    check_valid(agent, provider)


def test_long_histories_are_trimmed_on_record(tmp_path):
    session = session_in(str(tmp_path), sandbox=FakeSandbox(lambda permit: ToolOutput("word " * 3_000)))
    agent, provider = agent_with(session, [*[READ] * 30, "done"])
    assert agent.run_turn("the one request").text == "done"
    assert session.audit.named("context_trimmed")
    assert all(any("the one request" in str(message) for message in messages) for messages in provider.asked)
    check_valid(agent, provider)
