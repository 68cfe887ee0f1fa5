"""Whatever a model sends: one object with one reading, or an answer that says why not."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_security.agent import handle_tool_calls
from agent_security.history import valid_history
from agent_security.loop.argument_json import read_arguments
from agent_security.loop.conversation import Conversation
from agent_security.loop.toolcalls import NO_TOOL, read_calls
from agent_security.ports import RawCall, Reply
from agent_security.tools.registry import TOOLS

REPAIRED = {
    '{"a": 1,}': {"a": 1},
    '{"a": [1, 2, ], }': {"a": [1, 2]},
    '```json\n{"a": 1}\n```': {"a": 1},
    '```\n{"a": 1}```': {"a": 1},
    '{"a": "x\ty\r\nz"}': {"a": "x\ty\r\nz"},
    '"{\\"a\\": 1}"': {"a": 1},
    '{"a": ",]", }': {"a": ",]"},
}
TAKEN = ["{}", ' {"a": 1}\n', '{"a": "\\u00e9\\ud83d\\ude00"}', '{"a": {"b": [null, true, 1.5, -3]}}']
REFUSED = [
    "",
    "null",
    "[]",
    "7",
    '"a.txt"',
    "{a: 1}",
    "{'a': 1}",
    '{"a": 1}{"a": 1}',
    '{"a": 1} trailing',
    '{"a": 1, "a": 2}',
    '{"b": {"a": 1, "a": 2}}',
    '"{\\"a\\": 1, \\"a\\": 2}"',
    '"\\"{}\\""',
    '{"a": NaN}',
    '{"a": 1e999}',
    '{"a": ' + "9" * 5_000 + "}",
    '{"a": "\\ud83c"}',
    '{"a": "\ud83c"}',
    '{"a": "\x00"}',
    '{"a": "\x1b[31m"}',
    '{"a":' * 40 + "1" + "}" * 40,
    '{"a":' * 100_000,
    "[" * 100_000,
    '```json\n{"a": 1}',
    '{"a": "unfinished',
    "\ufeff{}",
    '{"x": "' + '\\"' * 200_000,
    " " * 200_000 + "x",
    "," * 200_000,
    None,
    7,
    True,
    ["a"],
    b"{}",
    {"a": float("nan")},
    {1: "a"},
    {"a": {"b": object()}},
    {"a": "\ud83c"},
]


@pytest.mark.parametrize("raw", TAKEN)
def test_a_valid_object_is_kept_to_the_byte(raw):
    assert read_arguments(raw, takes_none=False) == (raw, "", ())


@pytest.mark.parametrize("raw", REPAIRED)
def test_what_has_one_reading_is_repaired_and_said_to_be(raw):
    arguments = read_arguments(raw, takes_none=False)
    assert json.loads(arguments.text) == REPAIRED[raw]
    assert arguments.problem == ""
    assert arguments.repairs


@pytest.mark.parametrize("raw", REFUSED, ids=lambda raw: repr(raw)[:30])
def test_everything_else_is_a_problem_with_a_short_reason(raw):
    arguments = read_arguments(raw, takes_none=False)
    assert arguments.problem
    assert len(arguments.problem) < 200
    assert arguments.text == "{}"


@pytest.mark.parametrize("raw", [None, "", "  ", "null", "{}"])
def test_nothing_is_an_empty_object_for_tools_that_take_nothing(raw):
    assert read_arguments(raw, takes_none=True)[:2] == ("{}", "")


@pytest.mark.parametrize(
    "name", [None, "", "a b", "x" * 65, 7, "read_file\n", "café", "read_file<|channel|>"]
)
def test_a_name_that_is_none_stands_as_no_tool(name):
    (read,) = read_calls([RawCall("a", name, "{}")], TOOLS)
    assert read.call.name == NO_TOOL
    assert "names no tool" in read.problem


@pytest.mark.parametrize("call_id", [None, "", 7, "a b", "x" * 129, "taken", "é"])
def test_an_id_that_cannot_be_kept_is_replaced(call_id):
    (read,) = read_calls([RawCall(call_id, "todo_read", "{}")], TOOLS, {"taken"})
    assert read.call.id.startswith("call_")


def test_a_broken_call_can_never_be_read_as_an_object_later():
    (read,) = read_calls([RawCall("a", "todo_write", '{"todos": [], "todos": []}')], TOOLS)
    with pytest.raises(ValueError, match="not a JSON object"):
        _ = read.call.args


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(REFUSED[:24]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.builds(RawCall, ANYTHING, ANYTHING | st.sampled_from(list(TOOLS)), ANYTHING), max_size=5))
def test_whatever_a_server_sends_the_history_is_valid(raw):
    conversation = Conversation()
    conversation.add_user("hello")
    calls = read_calls(raw, TOOLS)
    conversation.add_reply(Reply("text \ud83c"), calls)
    for call in calls:
        conversation.add_result(call.call.id, call.problem or "ran")
    assert valid_history(conversation.messages) == []
    assert len({call.call.id for call in calls}) == len(raw)


# --- handle_tool_calls ----------------------------------------------------------------------------


def test_each_call_gets_one_tool_message_in_order_whatever_its_form(session):
    objects = SimpleNamespace(id="b", function=SimpleNamespace(name="todo_read", arguments=""))
    mapping = {"id": "a", "function": {"name": "read_file", "arguments": '{"path": "x"}'}}
    messages = handle_tool_calls([mapping, objects, RawCall("c", "nothing", "{}"), None], session)
    assert [message["role"] for message in messages] == ["tool"] * 4
    assert [message["tool_call_id"] for message in messages[:3]] == ["a", "b", "c"]
    assert all("<tool_result" in message["content"] for message in messages)
    assert session.sandbox.ran == [("read_file", {"path": "x"})]
    assert len(session.audit.named("validation_error")) == 2


@pytest.mark.parametrize("nothing", [None, [], "zz"])
def test_no_calls_are_no_messages(session, nothing):
    assert handle_tool_calls(nothing, session) == []
