"""The walk through the gates: order, the first DENY, a gate that breaks, an answer that is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gate_cases import judged

from agent_security import gates
from agent_security.calls import ToolCall
from agent_security.decision import Decision, Verdict, allow, strictest
from agent_security.gates import GATES, judge_call
from agent_security.judging import judge_context_for
from agent_security.tools.registry import TOOLS

NAMES = ("validation", "policy", "rules_deny", "always_confirm", "intent", "permission", "plan")


def test_no_answer_at_all_is_a_refusal() -> None:
    assert strictest([]).verdict is Verdict.DENY


def test_the_gates_stand_in_designs_order() -> None:
    assert tuple(gate.__name__ for gate in GATES) == NAMES


def test_every_gate_answers_a_call_that_is_fine(tmp_path: Path) -> None:
    trail = judged("read_file", {"path": "a.txt"}, tmp_path).trail
    assert tuple(step.gate for step in trail) == NAMES
    assert {step.verdict for step in trail} == {Verdict.ALLOW}


def test_the_first_refusal_ends_the_walk(tmp_path: Path) -> None:
    trail = judged("read_file", {"path": "/etc/passwd"}, tmp_path).trail
    assert tuple(step.gate for step in trail) == NAMES[:2]


@pytest.mark.parametrize("broken", range(len(GATES)), ids=NAMES)
@pytest.mark.parametrize("answer", [RuntimeError("secret-looking text"), None, True, "allow"], ids=str)
def test_a_gate_that_breaks_or_gives_no_decision_refuses(
    broken: int, answer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gate(call: ToolCall, context: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    gate.__name__ = NAMES[broken]
    monkeypatch.setattr(gates, "GATES", (*GATES[:broken], gate, *GATES[broken + 1 :]))
    decision = judged("read_file", {"path": "a.txt"}, tmp_path)
    assert (decision.verdict, decision.code, decision.gate) == (Verdict.DENY, "gate_error", NAMES[broken])
    assert "secret-looking" not in decision.reason


def test_a_gate_cannot_change_what_the_next_one_sees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def meddler(call: ToolCall, context: Any) -> Decision:
        call.args["path"] = "a.txt"
        return allow("validation")

    monkeypatch.setattr(gates, "GATES", (meddler, *GATES[1:]))
    assert judged("read_file", {"path": "/etc/passwd"}, tmp_path).code == "path_outside"


@pytest.mark.parametrize(
    ("args_json", "told"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "one JSON object"),
        ('"{}"', "one JSON object"),
        ("null", "one JSON object"),
        ('{"path": "a", "path": "/etc/passwd"}', "twice"),
        ('{"path": "a", "limit": NaN}', "NaN"),
        ('{"path": "a", "limit": -Infinity}', "Infinity"),
        ('{"path": "a", "limit": 1e999}', "too large"),
        ("[" * 100_000, "nested too deeply"),
        ('{"path": "a"} {"path": "b"}', "not JSON"),
        ('{"path": "\\ud800"}', "half of a character"),
    ],
    ids=lambda value: value[:20],
)
def test_arguments_that_readers_could_read_differently_are_refused(
    args_json: str, told: str, tmp_path: Path
) -> None:
    decision = judge_call(ToolCall("1", "read_file", args_json), judge_context_for(str(tmp_path)))
    assert (decision.verdict, decision.code) == (Verdict.DENY, "bad_arguments")
    assert told in decision.reason


@pytest.mark.parametrize("name", ["", "bash", "Read_file", "read_file ", "__class__"])
def test_a_tool_that_is_not_active_is_unknown(name: str, tmp_path: Path) -> None:
    decision = judged(name, {}, tmp_path)
    assert (decision.verdict, decision.code) == (Verdict.DENY, "unknown_tool")


def test_a_tool_left_out_of_the_session_is_unknown_there(tmp_path: Path) -> None:
    tools = {name: tool for name, tool in TOOLS.items() if name != "run_bash"}
    assert judged("run_bash", {"command": "ls"}, tmp_path, tools=tools).code == "unknown_tool"
    assert judged("run_bash", {"command": "ls"}, tmp_path).allowed


def test_code_that_only_the_wall_can_judge_carries_its_note(tmp_path: Path) -> None:
    trail = judged("run_bash", {"command": "python3 -c 'print(1)'"}, tmp_path).trail
    note = next(step for step in trail if step.gate == "policy")
    assert (note.verdict, note.code) == (Verdict.ALLOW, "opaque_code")


def test_a_sensitive_word_in_content_is_recorded_and_in_a_path_asked_about(tmp_path: Path) -> None:
    content = judged(
        "write_file", {"path": "doc.md", "content": "set your password"}, tmp_path, mode="acceptEdits"
    )
    assert content.allowed
    path = judged("run_bash", {"command": "cat ~/.ssh/id_rsa"}, tmp_path, mode="acceptEdits")
    assert not path.allowed


def test_no_decision_touches_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def refuse(*args: object, **more: object) -> Any:
        pytest.fail("a gate asked the network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    for args in ({"url": "https://a.example/"}, {"url": "http://localhost/"}):
        judged("webfetch", args, tmp_path)
    judged("run_bash", {"command": "git clone https://a.example/x"}, tmp_path)


def test_reasons_name_the_rule_and_never_what_a_secret_file_holds(tmp_path: Path) -> None:
    marker = "m4rk" + "er" * 3
    (tmp_path / ".env").write_text(f"A={marker}\n")
    decision = judged("read_file", {"path": ".env"}, tmp_path)
    assert decision.code == "secret_file"
    assert marker not in json.dumps([step.reason for step in decision.trail])
    url = judged("webfetch", {"url": f"https://user:{marker}@a.example/"}, tmp_path)
    assert url.code == "url_userinfo"
    assert marker not in json.dumps([step.reason for step in url.trail])


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("rm -rf build/ node_modules", "intent_mention"),
        ("cat > .gitignore <<'EOF'\n.env\nEOF", "intent_mention"),
        ("grep -rn '.env' src", "intent_mention"),
        ("git commit -m 'read the password'", "intent_mention"),
        ("test -f .env && echo yes", "intent_mention"),
        ("cat config/.env", "intent_drift"),
        ("cp .env other", "intent_drift"),
        ("cat < .env", "intent_drift"),
        ("grep x .env", "intent_drift"),
        ("python3 -c 'print(open(\"/home/dev/.ssh/id_rsa\").read())'", "intent_drift"),
    ],
)
def test_only_a_command_a_path_or_an_address_asks_and_what_is_said_is_recorded(
    command: str, code: str, tmp_path: Path
) -> None:
    trail = judged("run_bash", {"command": command}, tmp_path, goals=("tidy up",)).trail
    step = next((step for step in trail if step.gate == "intent"), None)
    if step is None:  # the policy may have refused it before
        assert trail[-1].verdict is Verdict.DENY
        return
    allowed = code == "intent_mention"
    assert (step.verdict is Verdict.ALLOW) is allowed, f"{step.code}: {step.reason}"
    assert step.code in (("intent_mention", "ok") if allowed else (code,))


@pytest.mark.parametrize("field", ["old_string", "new_string"])
def test_a_placeholder_never_reaches_a_file(field: str, tmp_path: Path) -> None:
    args = {"path": "conf.py", "old_string": "a", "new_string": "b"} | {field: "TOKEN = '⟦secret:env:1⟧'"}
    decision = judge_call(
        ToolCall("1", "edit_file", json.dumps(args)), judge_context_for(str(tmp_path), mode="acceptEdits")
    )
    assert (decision.word, decision.code) == ("deny", "placeholder_written")


def test_arguments_without_a_bottom_are_no_object() -> None:
    call = ToolCall("x", "read_file", '{"a":' * 100_000)
    with pytest.raises(ValueError, match="nested too deeply"):
        _ = call.args
