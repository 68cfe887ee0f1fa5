"""The loop's limits, endings and records. The harness owns them; the model never votes."""

from __future__ import annotations

import pytest

from agent_security.agent import Agent, agent_loop
from agent_security.calls import Mode, Status, ToolOutput
from agent_security.errors import SystemPromptError
from agent_security.history import valid_history
from agent_security.loop.conversation import Conversation
from agent_security.loop.documents import Document, workspace_guidance
from agent_security.providers import ScriptedProvider

from .fakes import READ, FakeApprover, FakeSandbox, agent_with, check_valid, session_in

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
    monkeypatch.setattr("agent_security.loop.system_prompt.IDENTITY", "use $LOOP_TEST_API_KEY for everything")
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
