"""Bounds and strictness put into tool schemas before anything is validated by them (§3.3, D17)."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent_security.errors import UsageError

__all__ = [
    "BOUNDS",
    "MAX_SCHEMA_BYTES",
    "MAX_SCHEMA_DEPTH",
    "bounded_parameters",
    "bounded_schemas",
    "check_foreign",
]

Schema = dict[str, Any]

_MIB_CHARS = 1_048_576
BOUNDS: dict[str, dict[str, Schema]] = {
    "read_file": {
        "offset": {"minimum": 1, "maximum": 1_000_000},
        "limit": {"minimum": 1, "maximum": 2_000},
    },
    "write_file": {"content": {"maxLength": _MIB_CHARS}},
    "edit_file": {"old_string": {"maxLength": _MIB_CHARS}, "new_string": {"maxLength": _MIB_CHARS}},
    "run_bash": {"command": {"minLength": 1, "maxLength": 4_096}},
    "webfetch": {"url": {"maxLength": 4_096}},
    "glob_files": {"pattern": {"format": "relative-path"}},
    "grep": {"pattern": {"format": "search-pattern"}},
}
"""§3.3's table, and `grep`. One row a tool, one entry a field; lengths count characters."""

MAX_SCHEMA_BYTES = 64 * 1024
MAX_SCHEMA_DEPTH = 32
_TIGHTER = {"minimum": max, "minLength": max, "maximum": min, "maxLength": min}
_REFUSED_KEYS = ("$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$recursiveAnchor")


def bounded_schemas(raw_schemas: Sequence[Mapping[str, Any]]) -> list[Schema]:
    """A deep copy of chat.completions tool schemas, strict and with §3.3's bounds.

    A bound never loosens what the schema already says. Raises UsageError for a schema that is too
    large, too deep, or refers to something outside itself.
    """
    bounded = [copy.deepcopy(dict(raw)) for raw in raw_schemas]
    for schema in bounded:
        function = schema.get("function")
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise UsageError("a tool schema without a name")
        function["parameters"] = bounded_parameters(function["name"], function.get("parameters") or {})
    return bounded


def bounded_parameters(name: str, parameters: Mapping[str, Any]) -> Schema:
    """One tool's parameters as a strict object with its bounds. Raises UsageError."""
    check_foreign(name, parameters)
    strict = copy.deepcopy(dict(parameters))
    strict.setdefault("type", "object")
    strict.setdefault("properties", {})
    strict["additionalProperties"] = False
    for value in _objects(strict["properties"]):
        value.setdefault("additionalProperties", False)
    for field, bound in BOUNDS.get(name, {}).items():
        if isinstance(found := strict["properties"].get(field), dict):
            _tighten(found, bound)
    return strict


def _tighten(schema: Schema, bound: Schema) -> None:
    for key, value in bound.items():
        choose = _TIGHTER.get(key)
        schema[key] = choose(schema[key], value) if choose and key in schema else value


def _objects(schema: Any) -> Iterator[Schema]:
    """Every nested schema that lists properties and says nothing of others."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield schema
        for value in schema.values():
            yield from _objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _objects(value)


# --- foreign schemas ----------------------------------------------------------------------------


def check_foreign(name: str, schema: Mapping[str, Any]) -> None:
    """Refuse a schema that could make a validator fetch, loop or drown. Raises UsageError."""
    if _depth(schema) > MAX_SCHEMA_DEPTH:
        raise UsageError(f"schema of {name}: deeper than {MAX_SCHEMA_DEPTH}")
    try:
        size = len(json.dumps(schema, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise UsageError(f"schema of {name}: not JSON") from error
    if size > MAX_SCHEMA_BYTES:
        raise UsageError(f"schema of {name}: larger than {MAX_SCHEMA_BYTES} bytes")
    if schema.get("type", "object") != "object" or not isinstance(schema.get("properties", {}), dict):
        raise UsageError(f"schema of {name}: arguments must be one object")
    _check_references(name, schema)


def _depth(value: Any, level: int = 0) -> int:
    """How deep a value nests; stops looking just past the limit, so it cannot overflow the stack."""
    if level > MAX_SCHEMA_DEPTH or not isinstance(value, (dict, list)):
        return level
    inside = value.values() if isinstance(value, dict) else value
    return max((_depth(item, level + 1) for item in inside), default=level + 1)


def _check_references(name: str, schema: Mapping[str, Any]) -> None:
    for node in _nodes(schema):
        if any(key in node for key in _REFUSED_KEYS):
            raise UsageError(f"schema of {name}: dynamic references are refused")
        if "$ref" in node:
            _follow(name, schema, node["$ref"], frozenset())


def _follow(name: str, root: Mapping[str, Any], reference: Any, seen: frozenset[str]) -> None:
    """Walk a chain of references; one that leaves the schema or comes back to itself is refused."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        raise UsageError(f"schema of {name}: a reference leads out of it")
    if reference in seen or len(seen) > MAX_SCHEMA_DEPTH:
        raise UsageError(f"schema of {name}: a reference comes back to itself")
    for node in _nodes(_target(name, root, reference)):
        if "$ref" in node:
            _follow(name, root, node["$ref"], seen | {reference})


def _target(name: str, root: Mapping[str, Any], reference: str) -> Any:
    found: Any = root
    for part in filter(None, reference[1:].split("/")):
        key = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, Mapping) or key not in found:
            raise UsageError(f"schema of {name}: a reference leads nowhere")
        found = found[key]
    return found


def _nodes(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
        for item in value.values():
            yield from _nodes(item)
    elif isinstance(value, list):
        for item in value:
            yield from _nodes(item)
