"""The checker refuses what some server refuses, and the repair mends it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_security.history import INTERRUPTED, Message, is_paired, repair_history, valid_history

USER = {"role": "user", "content": "go"}


def call(name: object, arguments: object = "{}", tool: object = "read_file") -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": tool, "arguments": arguments}}


def asked(*made: object) -> Message:
    return {"role": "assistant", "content": None, "tool_calls": list(made)}


def answer(name: str, text: object = "x") -> Message:
    return {"role": "tool", "tool_call_id": name, "content": text}


def test_a_usual_history_is_valid() -> None:
    history = [{"role": "system", "content": "s"}, {"role": "system", "content": "summary"}, USER]
    history += [
        asked(call("a"), call("b")),
        answer("a"),
        answer("b"),
        {"role": "assistant", "content": "done"},
    ]
    assert valid_history(history) == []
    assert valid_history([]) == []


@pytest.mark.parametrize(
    ("history", "problem"),
    [
        ([USER, asked(call("a"))], "the end: no result for a"),
        ([USER, asked(call("a")), USER, answer("a")], "message 2: comes before the result of a"),
        (
            [USER, asked(call("a"), call("b")), answer("b"), answer("a")],
            "message 2: the result of b is out of order",
        ),
        ([USER, asked(call("a")), answer("a"), answer("a")], "message 3: a result for 'a'"),
        ([USER, answer("a")], "message 1: a result for 'a'"),
        (
            [USER, asked(call("a")), answer("a"), asked(call("a")), answer("a")],
            "two tool calls with the id a",
        ),
        ([USER, asked(call(None))], "a tool call without an id"),
        ([USER, asked(call("a", tool="")), answer("a")], "a function name no server takes"),
        ([USER, asked(call("a", arguments={"path": "x"})), answer("a")], "arguments that are not"),
        ([USER, asked(call("a", arguments='{"a":1}{"b":2}')), answer("a")], "arguments that are not"),
        ([USER, asked(call("a", arguments="null")), answer("a")], "arguments that are not"),
        ([USER, asked()], "tool_calls is not a list of calls"),
        ([USER, asked({"id": "a", "type": "function", "function": None}), answer("a")], "no function call"),
        (
            [USER, {"role": "system", "content": "late"}],
            "message 1: a system message that is not at the start",
        ),
        ([USER, {"role": "assistant", "content": None}], "content is NoneType"),
        ([USER, {"role": "assistant", "content": ""}], "neither content nor tool calls"),
        ([{"role": "user", "content": ""}], "an empty user message"),
        ([{"role": "bot", "content": "x"}], "no such role"),
        ([{"role": "user", "content": "\ud83c"}], "cannot be sent as JSON"),
        ([USER, asked(call("a")), answer("a", None)], "content is NoneType"),
        ([{**USER, "tool_calls": []}], "not the assistant's"),
    ],
)
def test_what_a_server_would_refuse_is_named(history: list[Message], problem: str) -> None:
    assert any(problem in found for found in valid_history(history)), valid_history(history)


IDS = ["a", "b", "c", "d", "e", "f"]


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_a_valid_history_in_any_disorder_is_mended(data: st.DataObject) -> None:
    """Results lost, doubled, moved behind later texts, and answers to nobody."""
    history: list[Message] = [USER]
    results: list[Message] = [answer("nobody")]
    for name in IDS[: data.draw(st.integers(1, 6))]:
        history += [asked(call(name)), {"role": "user", "content": f"after {name}"}]
        results += [answer(name)] * data.draw(st.integers(0, 2))
    for item in results:
        history.insert(data.draw(st.integers(1, len(history))), item)
    before = copy.deepcopy(history)
    mended = repair_history(history)
    assert valid_history(mended) == []
    assert is_paired(mended)
    assert is_paired(history) == all("result" not in problem for problem in valid_history(history))
    assert history == before
    assert [m for m in mended if m["role"] != "tool"] == [m for m in history if m["role"] != "tool"]


def test_a_valid_history_is_left_as_it_is() -> None:
    history = [USER, asked(call("a"), call("b")), answer("a"), answer("b")]
    assert repair_history(history) == history


def test_a_result_that_never_came_is_said_to_be_interrupted() -> None:
    assert repair_history([USER, asked(call("a"), call("b")), answer("b")])[2:] == [
        answer("a", INTERRUPTED),
        answer("b"),
    ]


def test_the_pairing_of_new_messages_is_judged_with_the_group_they_join() -> None:
    history = [USER, asked(call("a"), call("b")), answer("a"), answer("b")]
    assert all(is_paired(history, start) for start in range(5))
    assert not is_paired(history[:3], 3)
    assert not is_paired([*history, USER, answer("b")], 5)
