"""A trimmed history is under its budget, and whole in its pairs."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_conversations import SYSTEM, calls, contents, pairs, result, said, user

from agent_security.history import Message, valid_history
from agent_security.resource_limits import ContextBudget
from agent_security.resource_limits.context_cut import cut_message

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
