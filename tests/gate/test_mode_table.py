"""DESIGN's table of modes, row by row, column by column, through all the gates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gate_cases import judged

from agent_security.calls import Effect, Mode
from agent_security.codes import Kind
from agent_security.decision import Verdict
from agent_security.permissions import Rules, mode_verdict, parse_rule, verdict_in_mode

MODES = (Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.SKIP)

RUN, ASK, NO = "allow", "ask", "deny"
Q, C, NONE = "question", "confirm", ""

# (row of the table, tool, arguments, what each mode answers, kind of the question)
ROWS: list[tuple[str, str, dict[str, Any], tuple[str, str, str], str]] = [
    ("READ in scope", "read_file", {"path": "a.txt"}, (RUN, RUN, RUN), NONE),
    ("READ in scope", "grep", {"pattern": "x"}, (RUN, RUN, RUN), NONE),
    ("PLAN", "todo_read", {}, (RUN, RUN, RUN), NONE),
    ("read-only command", "run_bash", {"command": "ls src"}, (RUN, RUN, RUN), NONE),
    ("WRITE in scope", "write_file", {"path": "new.txt", "content": "x"}, (ASK, RUN, RUN), Q),
    ("WRITE", "edit_file", {"path": "a.txt", "old_string": "a", "new_string": ""}, (ASK, RUN, RUN), Q),
    ("EXECUTE", "run_bash", {"command": "pytest -q"}, (ASK, ASK, RUN), Q),
    ("NETWORK to a host nobody named", "webfetch", {"url": "https://a.example/x"}, (ASK, ASK, NO), C),
    ("confirm: unusual port", "webfetch", {"url": "https://a.example:6379/"}, (ASK, ASK, NO), C),
    ("confirm: destructive git", "run_bash", {"command": "git push --force"}, (ASK, ASK, NO), C),
    ("confirm: secret file", "read_file", {"path": ".env"}, (ASK, ASK, NO), C),
    ("confirm: secret file", "grep", {"pattern": ".", "glob": ".env"}, (ASK, ASK, NO), C),
    ("confirm: first tier", "write_file", {"path": ".git/hooks/x", "content": "x"}, (ASK, ASK, NO), C),
    ("question: second tier", "write_file", {"path": "Makefile", "content": "x"}, (ASK, ASK, RUN), Q),
    ("question: chmod +x", "run_bash", {"command": "chmod +x a.sh"}, (ASK, ASK, RUN), Q),
    ("READ in scope", "glob_files", {"pattern": "*"}, (RUN, RUN, RUN), NONE),
    ("PLAN", "todo_write", {"todos": []}, (RUN, RUN, RUN), NONE),
    ("PLAN", "scratchpad_write", {"content": "x"}, (RUN, RUN, RUN), NONE),
    ("read-only command", "run_bash", {"command": "git status"}, (RUN, RUN, RUN), NONE),
    ("confirm: destructive git", "run_bash", {"command": "git reset --hard"}, (ASK, ASK, NO), C),
    ("confirm: destructive git", "run_bash", {"command": "git clean -fd"}, (ASK, ASK, NO), C),
    ("confirm: code from an address", "run_bash", {"command": "pip install https://a.example/x.whl"},
     (ASK, ASK, NO), C),
    ("confirm: emptied file", "write_file", {"path": "a.txt", "content": ""}, (ASK, ASK, NO), C),
    ("confirm: unparsable", "run_bash", {"command": "echo 'a"}, (ASK, ASK, NO), C),
    ("confirm: known at run time", "run_bash", {"command": "$X a"}, (ASK, ASK, NO), C),
    ("question: second tier", "edit_file", {"path": "conftest.py", "old_string": "a", "new_string": "b"},
     (ASK, ASK, RUN), Q),
    ("hard policy", "write_file", {"path": "../x", "content": "x"}, (NO, NO, NO), NONE),
    ("hard policy", "read_file", {"path": "/etc/passwd"}, (NO, NO, NO), NONE),
    ("hard policy", "run_bash", {"command": "sudo id"}, (NO, NO, NO), NONE),
    ("hard policy", "webfetch", {"url": "http://169.254.169.254/"}, (NO, NO, NO), NONE),
]  # fmt: skip


def cells() -> Iterator[Any]:
    for row, tool, args, answers, kind in ROWS:
        for mode, answer in zip(MODES, answers, strict=True):
            yield pytest.param(tool, args, mode, answer, kind, id=f"{row}-{tool}-{mode}")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name in ("a.txt", ".env", "a.sh", "src/x", "conftest.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a\n")
    (tmp_path / ".git/hooks").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(("tool", "args", "mode", "answer", "kind"), list(cells()))
def test_cell(tool: str, args: dict[str, Any], mode: Mode, answer: str, kind: str, workspace: Path) -> None:
    decision = judged(tool, args, workspace, mode=mode, goals=("push --force the .env and a.sh",))
    assert decision.word == answer, f"{decision.gate}: {decision.code}: {decision.reason}"
    if answer == ASK:
        assert decision.kind == kind


@pytest.mark.parametrize("mode", MODES)
def test_network_to_a_host_that_was_named_or_opened_runs(mode: Mode, tmp_path: Path) -> None:
    args = {"url": "https://docs.example/a"}
    assert judged("webfetch", args, tmp_path, mode=mode, goals=("read https://docs.example/ first",)).allowed
    assert judged("webfetch", args, tmp_path, mode=mode, open_hosts=("docs.example",)).allowed
    assert not judged("webfetch", args, tmp_path, mode=mode, goals=("read evil.docs.example",)).allowed


def test_commands_run_unasked_only_where_the_setting_says_so_and_the_wall_is_proven(workspace: Path) -> None:
    command = {"command": "pytest -q"}
    assert judged("run_bash", command, workspace, sandboxed="allow", wall_proven=True).allowed
    assert not judged("run_bash", command, workspace, sandboxed="allow", wall_proven=False).allowed
    assert not judged("run_bash", command, workspace, sandboxed="ask", wall_proven=True).allowed


def test_a_proven_wall_answers_questions_about_commands_and_never_a_confirm(workspace: Path) -> None:
    walled = {"sandboxed": "allow", "wall_proven": True, "goals": ("push --force a.sh",)}
    assert judged("run_bash", {"command": "chmod +x a.sh"}, workspace, **walled).allowed
    assert judged("run_bash", {"command": "git push --force"}, workspace, **walled).kind is Kind.CONFIRM
    assert not judged("write_file", {"path": "Makefile", "content": "x"}, workspace, **walled).allowed


def test_what_skip_lets_through_keeps_its_code_on_record(workspace: Path) -> None:
    decision = judged("write_file", {"path": "Makefile", "content": "x"}, workspace, mode=Mode.SKIP)
    assert decision.allowed
    assert "second_tier" in {step.code for step in decision.trail}


@pytest.mark.parametrize("mode", MODES)
def test_kinds_in_modes(mode: Mode) -> None:
    skip = mode is Mode.SKIP
    assert verdict_in_mode(Kind.CONFIRM, mode) is (Verdict.DENY if skip else Verdict.ASK)
    assert verdict_in_mode(Kind.QUESTION, mode) is (Verdict.ALLOW if skip else Verdict.ASK)
    assert verdict_in_mode(Kind.NONE, mode) is Verdict.DENY


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("effect", list(Effect))
def test_an_unlisted_host_is_never_reached_and_reading_never_asked_about(effect: Effect, mode: Mode) -> None:
    verdict = mode_verdict(effect, mode).verdict
    if effect is Effect.NETWORK:
        assert verdict is not Verdict.ALLOW
    if effect in (Effect.READ, Effect.PLAN):
        assert verdict is Verdict.ALLOW


def test_the_plan_is_asked_first_in_every_mode_and_only_for_actions(workspace: Path) -> None:
    from agent_security.calls import ToolCall
    from agent_security.gates import judge_call
    from agent_security.judging import judge_context_for

    for mode in MODES:
        context = replace(judge_context_for(str(workspace), mode=mode), plan_needed=True)
        write = judge_call(ToolCall("1", "write_file", '{"path": "n.txt", "content": "x"}'), context)
        read = judge_call(ToolCall("2", "read_file", '{"path": "a.txt"}'), context)
        assert write.verdict is Verdict.ASK
        assert "plan_first" in {question.code for question in write.questions}
        assert read.allowed


# --- the rows that depend on what else is set --------------------------------------------------------

HOST = {"url": "https://a.example/x"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", ["named by the person", "opened"])
def test_a_host_the_person_named_or_opened_runs_in_every_mode(how: str, mode: Mode, workspace: Path) -> None:
    goals = ("read https://a.example/x",)
    more = {"open_hosts": ("a.example",), "goals": goals} if how == "opened" else {"goals": goals}
    assert judged("webfetch", HOST, workspace, mode=mode, **more).allowed


@pytest.mark.parametrize(("mode", "answer"), list(zip(MODES, (ASK, ASK, NO), strict=True)))
def test_a_lifted_binary_is_confirmed_and_refused_where_nobody_is_asked(
    mode: Mode, answer: str, workspace: Path
) -> None:
    command = {"command": "curl https://a.example/x"}
    more = {"open_hosts": ("a.example",), "goals": (command["command"],)}
    assert judged("run_bash", command, workspace, mode=mode, **more).word == NO
    lifted = judged("run_bash", command, workspace, mode=mode, permitted_binaries=frozenset({"curl"}), **more)
    assert lifted.word == answer
    assert "lifted_binary" in {step.code for step in lifted.trail}


@pytest.mark.parametrize(("mode", "answer"), list(zip(MODES, (ASK, ASK, RUN), strict=True)))
def test_drift_of_intent_is_a_question_and_recorded_where_nobody_is_asked(
    mode: Mode, answer: str, workspace: Path
) -> None:
    (workspace / "lib").mkdir()
    call = {"path": "lib/.npmrc.md", "content": "x"}
    decision = judged("write_file", call, workspace, mode=mode, goals=("fix the test",))
    drift = [step for step in decision.trail if step.gate == "intent"]
    assert [(step.word, step.code) for step in drift] == [(answer, "intent_drift")]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("write_file", {"path": "new.txt", "content": "x"}),
        ("run_bash", {"command": "make"}),
        ("webfetch", HOST),
    ],
)
def test_deny_and_ask_rules_hold_in_every_mode(
    tool: str, args: dict[str, Any], mode: Mode, workspace: Path
) -> None:
    for action, word in (("deny", NO), ("ask", ASK)):
        rules = Rules(**{action: (parse_rule(tool, action, "test"),)})
        assert judged(tool, args, workspace, mode=mode, rules=rules, goals=("a.example",)).word == word
