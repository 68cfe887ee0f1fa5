"""§3: arguments are what the schema says, errors are words the model can act on, schemas are bounded."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_security.errors import UsageError
from agent_security.tools.registry import TOOLS
from agent_security.tools.validators import ToolValidator, bounded_schemas

VALIDATOR = ToolValidator([tool.schema for tool in TOOLS.values()])
MIB = 1_048_576

GOOD: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": "a", "offset": 1, "limit": 2_000}),
    ("read_file", {"path": "caf\udce9.txt"}),
    ("read_file", {"path": "a", "offset": 1_000_000}),
    ("glob_files", {"pattern": "src/**/*.py"}),
    ("grep", {"pattern": r"\p{L}+(?P<x>a)\z", "ignore_case": True}),
    ("write_file", {"path": "a", "content": "é" * MIB}),
    ("edit_file", {"path": "a", "old_string": "x", "new_string": ""}),
    ("run_bash", {"command": "x" * 4_096}),
    ("webfetch", {"url": "https://a.example/" + "x" * 4_078}),
    ("todo_write", {"todos": [{"content": "x", "status": "pending"}]}),
]

BAD: list[tuple[str, Any, str]] = [
    ("read_file", {}, "path: is missing"),
    ("read_file", {"path": 5}, "path: 5 is not a string"),
    ("read_file", {"path": ["a", "b"]}, 'path: ["a", "b"] is not a string'),
    ("read_file", {"path": "a", "limit": 5_000}, "limit: 5000 is more than 2000"),
    ("read_file", {"path": "a", "offset": 0}, "offset: 0 is less than 1"),
    ("read_file", {"path": "a", "offset": 1_000_001}, "offset: 1000001 is more than 1000000"),
    ("read_file", {"path": "a", "offset": True}, "offset: true is not an integer"),
    ("read_file", {"path": "a", "offset": 1.0}, "offset: 1.0 is not an integer, write 1"),
    ("read_file", {"path": "a", "offset": "1"}, 'offset: "1" is not an integer'),
    ("read_file", {"path": "a", "lines": 3}, "arguments: read_file takes no lines, only path, offset, limit"),
    ("read_file", {"path": "\ud800"}, "path: holds half of a character"),
    ("read_file", [], "arguments: [] is not an object"),
    ("read_file", None, "arguments: null is not an object"),
    ("write_file", {"path": "a", "content": "x" * (MIB + 1)}, "1048577 characters are more than 1048576"),
    ("write_file", {"path": "a", "content": "\udce9"}, "content: holds half of a character"),
    ("edit_file", {"path": "a", "old_string": "x" * (MIB + 1), "new_string": ""}, "1048577 characters"),
    ("run_bash", {"command": ""}, "command: is empty"),
    ("run_bash", {"command": "x" * 4_097}, "command: 4097 characters are more than 4096"),
    ("webfetch", {"url": "x" * 4_097}, "url: 4097 characters are more than 4096"),
    ("glob_files", {"pattern": "/etc/*"}, 'pattern: "/etc/*" must be relative'),
    ("glob_files", {"pattern": "C:\\x"}, "must be relative"),
    ("grep", {"pattern": "(["}, "is no regular expression"),
    ("todo_write", {"todos": [{"content": "x", "status": "later"}]}, 'todos[0].status: "later" is none of'),
    ("todo_write", {"todos": [{"content": "x", "status": "pending", "who": 1}]}, "todo_write takes no who"),
    ("nothing", {}, "nothing: no schema"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "args"), GOOD, ids=lambda value: str(value)[:30])
def test_valid_arguments_pass(tool: str, args: dict[str, Any]) -> None:
    assert VALIDATOR.validate(tool, args) == []


@pytest.mark.parametrize(("tool", "args", "told"), BAD, ids=lambda value: str(value)[:30])
def test_what_does_not_fit_is_told_in_words(tool: str, args: Any, told: str) -> None:
    errors = VALIDATOR.validate(tool, args)
    assert any(told in error for error in errors), errors


def test_all_errors_of_a_call_come_at_once_and_each_is_short() -> None:
    errors = VALIDATOR.validate("read_file", {"offset": 0, "limit": "x" * 10_000, "a": 1})
    assert {error.split(":")[0] for error in errors} == {"offset", "limit", "path", "arguments"}
    assert all(len(error) < 200 and ";" not in error and "\n" not in error for error in errors)


def test_bounds_are_put_into_a_copy_and_never_loosen() -> None:
    raw = [
        {
            "type": "function",
            "function": {
                "name": "read_file",
                "parameters": {"type": "object", "properties": {"limit": {"type": "integer", "maximum": 10}}},
            },
        }
    ]
    before = copy.deepcopy(raw)
    parameters = bounded_schemas(raw)[0]["function"]["parameters"]
    assert raw == before
    assert parameters["additionalProperties"] is False
    assert parameters["properties"]["limit"] == {"type": "integer", "minimum": 1, "maximum": 10}


def _nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"items": schema}
    return {"properties": {"x": schema}}


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"properties": {"x": {"$ref": "https://evil.example/s"}}}, "leads out"),
        ({"properties": {"x": {"$ref": "file:///etc/passwd"}}}, "leads out"),
        ({"properties": {"x": {"$ref": "#"}}}, "comes back"),
        (
            {"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}},
            "comes back",
        ),
        ({"properties": {"x": {"$ref": "#/$defs/no"}}}, "leads nowhere"),
        ({"properties": {"x": {"$dynamicRef": "#x"}}}, "dynamic"),
        ({"properties": {"x": {"description": "x" * 65_536}}}, "larger than 65536"),
        (_nested(40), "deeper than 32"),
        (_nested(100_000), "deeper than 32"),
        ({"type": "array"}, "one object"),
        ({"properties": {"x": {"maximum": float("nan")}}}, "not JSON"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, str) else "schema",
)
def test_a_foreign_schema_that_could_fetch_loop_or_drown_is_refused(
    schema: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        ToolValidator({"mcp__x__y": schema})


def test_a_foreign_schema_is_made_strict() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "string"}}}
    validator = ToolValidator({"mcp__x__y": {"properties": {"o": inner}, "additionalProperties": True}})
    assert validator.validate("mcp__x__y", {"o": {"a": "x"}}) == []
    assert validator.validate("mcp__x__y", {"o": {"a": "x", "b": 1}})
    assert validator.validate("mcp__x__y", {"p": 1})


def test_a_costly_pattern_of_a_foreign_schema_ends() -> None:
    validator = ToolValidator({"mcp__x__y": {"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}})
    assert validator.validate("mcp__x__y", {"a": "a" * 5_000 + "!"})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(tool=st.sampled_from(sorted(TOOLS)), args=JSON)
def test_no_value_breaks_the_validator(tool: str, args: Any) -> None:
    errors = VALIDATOR.validate(tool, args)
    assert all(isinstance(error, str) and error for error in errors)
    if not isinstance(args, dict):
        assert errors
    json.dumps(errors)
