"""The history stays under its budget, whole in its pairs, and cheap to measure."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_security import context_budget
from agent_security.context_cut import cut_message
from agent_security.history import INTERRUPTED, Message, repair_history, valid_history
from agent_security.resource_limits import ContextBudget
from agent_security.token_estimate import text_tokens

CASES = {
    case["id"]: case
    for case in map(json.loads, Path(__file__).with_name("history_cases.jsonl").read_text().splitlines())
}
SYSTEM = {"role": "system", "content": "You are a coding agent. " * 5}


def user(text: str) -> Message:
    return {"role": "user", "content": f"<user_input>\n{text}\n</user_input>"}


def said(text: str) -> Message:
    return {"role": "assistant", "content": text}


def calls(*ids: str, name: str = "read_file", arguments: str = '{"path": "a"}') -> Message:
    made = [{"id": i, "type": "function", "function": {"name": name, "arguments": arguments}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(name: str, text: str = "text") -> Message:
    return {"role": "tool", "tool_call_id": name, "content": text}


def pairs(count: int, size: int = 400) -> list[Message]:
    return [m for n in range(count) for m in (calls(f"c{n}"), result(f"c{n}", f"line {n} " * (size // 8)))]


def contents(messages: list[Message]) -> str:
    return "\n".join(str(message.get("content")) for message in messages)


# --- the specification's own case -------------------------------------------------------------------


def test_eleven_messages_become_four_with_a_summary() -> None:
    history = [SYSTEM, *[said(f"thought {n} " * 50) for n in range(8)], user("fix it"), said("done")]
    assert len(history) == 11
    trim = ContextBudget(max_tokens=500, keep_recent=2).check_and_trim(history)
    assert len(trim.messages) == 4
    assert trim.messages[0] == SYSTEM
    assert trim.messages[2:] == history[-2:]
    assert trim.reason.startswith("estimate ")


def test_the_summary_holds_counts_names_digest_and_advice_and_no_dropped_word() -> None:
    history = [SYSTEM, *pairs(10), user("go on"), said("ok")]
    summary = ContextBudget(max_tokens=1_000, keep_recent=2).check_and_trim(history).messages[1]
    dropped = history[1:-2]
    chars = sum(len(m["content"] or "") for m in dropped)
    assert summary["role"] == "system"
    assert (
        f"dropped messages: 20\ntotal chars: {chars}\ntool calls: read_file\nsha256: " in summary["content"]
    )
    assert re.search(r"sha256: [0-9a-f]{16}\n", summary["content"])
    assert "Read files again" in summary["content"]
    assert "line 3" not in summary["content"]


def test_the_summary_is_deterministic_and_its_digest_follows_the_content() -> None:
    history = [SYSTEM, *pairs(10), user("go on"), said("ok")]
    budget = {"max_tokens": 1_000, "keep_recent": 2}
    first = ContextBudget(**budget).check_and_trim(list(history)).messages[1]
    again = ContextBudget(**budget).check_and_trim(list(history)).messages[1]
    history[2] = result("c0", history[2]["content"] + "!")
    other = ContextBudget(**budget).check_and_trim(history).messages[1]
    assert first == again
    assert first["content"] != other["content"]


def test_a_second_trim_counts_on_from_the_first() -> None:
    budget = ContextBudget(max_tokens=1_000, keep_recent=2)
    history = budget.check_and_trim([SYSTEM, *pairs(10), user("one"), said("ok")]).messages
    history = budget.check_and_trim([*history, *pairs(10), user("two"), said("ok")]).messages
    assert sum(m["role"] == "system" for m in history) == 2
    assert "dropped messages: 42\n" in history[1]["content"]


def test_only_registered_tools_are_named() -> None:
    history = [SYSTEM, *pairs(5), calls("x", name="obey_the_page"), result("x"), user("go"), said("ok")]
    budget = ContextBudget(max_tokens=500, keep_recent=2)
    budget.use_tools([{"type": "function", "function": {"name": "read_file"}}])
    assert "tool calls: read_file\n" in budget.check_and_trim(history).messages[1]["content"]


def test_where_a_second_system_message_is_refused_the_summary_joins_the_first() -> None:
    budget = ContextBudget(max_tokens=1_000, keep_recent=2, second_system=False)
    history = budget.check_and_trim([SYSTEM, *pairs(10), user("one"), said("ok")]).messages
    history = budget.check_and_trim([*history, *pairs(10), user("two"), said("ok")]).messages
    assert [m["role"] for m in history].count("system") == 1
    assert history[0]["content"].startswith(SYSTEM["content"])
    assert history[0]["content"].count("[context summary]") == 1
    assert "dropped messages: 42\n" in history[0]["content"]


# --- what is never lost -----------------------------------------------------------------------------


def test_under_the_threshold_the_same_list_comes_back() -> None:
    history = [SYSTEM, user("hello")]
    trim = ContextBudget().check_and_trim(history)
    assert trim.messages is history
    assert trim.reason == ""


def test_the_persons_newest_request_survives_among_harness_and_document_messages() -> None:
    history = [
        SYSTEM,
        user("first"),
        user("the goal"),
        {"role": "user", "content": '<external_document kind="task">x</external_document>'},
        *pairs(10),
    ]
    trim = ContextBudget(max_tokens=1_200, keep_recent=4).check_and_trim(history)
    assert "the goal" in contents(trim.messages)
    assert "first" not in contents(trim.messages)
    assert valid_history(trim.messages) == []


def test_a_trim_changes_no_message_of_the_history_it_was_given() -> None:
    history = [
        SYSTEM,
        user("go"),
        calls("a", arguments=json.dumps({"content": "x" * 50_000})),
        result("a", "y" * 90_000),
    ]
    before = json.dumps(history)
    ContextBudget(max_tokens=2_000).check_and_trim(history)
    assert json.dumps(history) == before


def test_a_cut_keeps_both_ends_so_the_tags_survive() -> None:
    wrapped = f'<tool_result name="grep" nonce="n1">\n{"x" * 200_000}\n</tool_result nonce="n1">'
    trim = ContextBudget(max_tokens=2_000).check_and_trim(
        [SYSTEM, user("go"), calls("a"), result("a", wrapped)]
    )
    shown = trim.messages[-1]["content"]
    assert shown.startswith('<tool_result name="grep" nonce="n1">')
    assert shown.endswith('</tool_result nonce="n1">')
    assert "characters cut to fit the context" in shown


def test_cut_arguments_are_still_one_json_object() -> None:
    large = json.dumps({"path": "a.py", "content": "é" * 100_000, "more": list(range(5_000))})
    cut = cut_message(calls("a", arguments=large), 300)["tool_calls"][0]["function"]["arguments"]
    assert json.loads(cut)["path"] == "a.py"
    assert len(cut) < 5_000
    broken = cut_message(calls("a", arguments="{" * 10_000), 300)["tool_calls"][0]["function"]["arguments"]
    assert isinstance(json.loads(broken), dict)


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


# --- always under the budget ----------------------------------------------------------------------

TEXTS = st.sampled_from(["", "short", "word " * 400, "x" * 9_000, "漢字" * 2_000, '{"a": 1}\n' * 900])


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    history: list[Message] = [SYSTEM]
    for turn in range(draw(st.integers(1, 6))):
        history.append(user(draw(TEXTS)))
        for step in range(draw(st.integers(0, 4))):
            ids = [f"{turn}-{step}-{n}" for n in range(draw(st.integers(1, 4)))]
            history.append(calls(*ids, arguments=json.dumps({"content": draw(TEXTS)})))
            history += [result(name, draw(TEXTS)) for name in ids]
        history.append(said("done"))
    return history


@given(history=histories(), max_tokens=st.integers(800, 6_000), keep_recent=st.integers(1, 12))
@settings(max_examples=150, deadline=None)
def test_any_history_gets_under_the_threshold_and_stays_valid(
    history: list[Message], max_tokens: int, keep_recent: int
) -> None:
    budget = ContextBudget(max_tokens, keep_recent=keep_recent)
    trim = budget.check_and_trim(history)
    assert valid_history(trim.messages) == []
    assert ContextBudget(max_tokens).estimate(trim.messages) <= int(max_tokens * 0.8)
    assert trim.messages[0] == SYSTEM
    asked = [m["content"] for m in history if m["role"] == "user"][-1]
    assert any(m["role"] == "user" and m["content"][:40] == asked[:40] for m in trim.messages)


def test_hundreds_of_parallel_calls_fit_as_well() -> None:
    ids = [f"c{n}" for n in range(500)]
    history = [SYSTEM, user("go"), calls(*ids), *[result(name, "x" * 500) for name in ids]]
    budget = ContextBudget(4_000)
    trim = budget.check_and_trim(history)
    assert budget.estimate(trim.messages) <= 3_200
    assert valid_history(trim.messages) == []


def test_a_system_prompt_larger_than_the_budget_is_kept_and_said() -> None:
    prompt = {"role": "system", "content": "rule " * 5_000}
    trim = ContextBudget(1_000).check_and_trim([prompt, user("go")])
    assert trim.messages[0] == prompt
    assert "leave no room" in trim.reason


def test_a_refusal_by_the_server_is_answered_by_half_the_size() -> None:
    budget = ContextBudget(24_000)
    history = [SYSTEM, user("go"), *pairs(12, 2_000)]
    before = budget.estimate(history)
    trim = budget.trim_harder(history)
    assert budget.estimate(trim.messages) <= before // 2
    assert valid_history(trim.messages) == []


@pytest.mark.parametrize(
    "wrong", [{"max_tokens": 0}, {"trim_threshold": 0}, {"trim_threshold": 1.5}, {"keep_recent": 0}]
)
def test_a_budget_that_cannot_be_kept_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="budget"):
        ContextBudget(**wrong)


# --- measuring --------------------------------------------------------------------------------------


def test_only_what_is_new_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[Message] = []
    real = context_budget.message_tokens
    monkeypatch.setattr(context_budget, "message_tokens", lambda m: measured.append(m) or real(m))
    history = [SYSTEM, user("go"), *pairs(500)]
    budget = ContextBudget(10**9)
    budget.estimate(history)
    measured.clear()
    history += pairs(1)
    grown = budget.estimate(history)
    assert len(measured) == 2
    assert grown == ContextBudget(10**9).estimate(list(history))


def test_a_replaced_list_or_start_is_measured_anew() -> None:
    budget = ContextBudget(10**9)
    history = [SYSTEM, user("go"), said("x" * 4_000)]
    large = budget.estimate(history)
    history[:] = [SYSTEM, user("go")]
    assert budget.estimate(history) < large
    history[0] = {"role": "system", "content": "y" * 9_000}
    assert budget.estimate(history) > large


@pytest.mark.parametrize(
    ("text", "per_char"),
    [
        ("The quick brown fox jumps over the lazy dog, and then it rests for a while. ", 0.26),
        ("    def read(self, path: str) -> bytes:\n        return self.files[path].data\n", 0.24),
        ('{"id":12,"name":"alpha","tags":["a","b"],"ok":true,"size":40960},', 0.44),
        ("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", 0.57),
        ("我们必须在提交之前运行所有的测试并检查结果是否正确", 0.81),
    ],
)
def test_the_estimate_is_near_measured_counts_for_each_kind_of_text(text: str, per_char: float) -> None:
    text *= 50
    assert text_tokens(text) / (len(text) * per_char) == pytest.approx(1, abs=0.25)


def test_deep_indentation_is_cheap() -> None:
    assert text_tokens(" " * 4_000) < 4_000 / 4 / 4


def test_the_servers_usage_scales_the_estimate_within_bounds() -> None:
    history = [SYSTEM, user("word " * 2_000)]
    budget = ContextBudget()
    raw = budget.estimate(history)
    budget.calibrate({"prompt_tokens": raw * 2})
    assert budget.estimate(history) == pytest.approx(raw * 2, rel=0.01)
    budget.calibrate({"prompt_tokens": raw * 1_000})
    assert budget.scale <= 3


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": "NaN"},
        {"prompt_tokens": -5},
        {"prompt_tokens": None},
        {"prompt_tokens": True},
    ],
)
def test_nonsense_usage_teaches_nothing(usage: object) -> None:
    budget = ContextBudget()
    budget.estimate([SYSTEM, user("word " * 2_000)])
    budget.calibrate(usage)
    assert budget.scale == 1.0


def test_tool_schemas_and_images_count() -> None:
    budget = ContextBudget()
    bare = budget.estimate([SYSTEM])
    budget.use_tools([{"type": "function", "function": {"name": "t", "description": "d" * 2_000}}])
    assert budget.estimate([SYSTEM]) > bare + 400
    picture = {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": "data:" + "x" * 10**6}}],
    }
    assert 1_000 < ContextBudget().estimate([picture]) < 2_000
