"""Are a call's arguments what the tool's schema says? (§3.1, §3.3, D17)

Strict: no field that the schema does not list, no `true` and no `1.0` where an integer is asked
for. All errors of a call at once, each one short line that the model can act on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from agent_security.errors import UsageError
from agent_security.tools.validators.schemas import BOUNDS, bounded_parameters, bounded_schemas

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError

__all__ = ["BOUNDS", "ToolValidator", "bounded_schemas"]

_MAX_ERRORS = 20
_SHOWN_CHARS = 60
_FORMAT_WORDS = {
    "relative-path": "must be relative: no leading /, ~ or drive",
    "search-pattern": "is no regular expression: a bracket is not closed",
}
_LONE_HALF = re.compile("[\ud800-\udfff]")


class ToolValidator:
    """Validates by the bounded schemas of all tools; each is compiled when first needed."""

    def __init__(self, schemas: Sequence[Mapping[str, Any]] | Mapping[str, Mapping[str, Any]]) -> None:
        """`schemas`: chat.completions tool dicts, or a mapping of name to parameters.

        Raises UsageError for a schema that may not be used (too large, too deep, remote reference).
        """
        if isinstance(schemas, Mapping):
            self._schemas = {name: bounded_parameters(name, schema) for name, schema in schemas.items()}
        else:
            functions = (schema["function"] for schema in bounded_schemas(schemas))
            self._schemas = {function["name"]: function["parameters"] for function in functions}
        self._compiled: dict[str, Draft202012Validator] = {}

    def validate(self, name: str, args: Any) -> list[str]:
        """Every error, each one line; [] where the arguments fit. A tool without a schema fits nothing."""
        schema = self._schemas.get(name)
        if schema is None:
            return [f"{name}: no schema, so no arguments are accepted"]
        errors = list(_value_errors(args, schema, ""))
        plain = _readable(args)
        try:
            found = [_sentence(name, error, schema) for error in self._validator(name).iter_errors(plain)]
        except ValueError as error:  # what the library cannot even read is no valid call
            found = [f"arguments: {_short(str(error))}"]
        return list(dict.fromkeys([*found, *errors]))[:_MAX_ERRORS]

    def _validator(self, name: str) -> Draft202012Validator:
        if name not in self._compiled:
            self._compiled[name] = _compile(name, self._schemas[name])
        return self._compiled[name]


def _compile(name: str, schema: dict[str, Any]) -> Draft202012Validator:
    import jsonschema_rs  # costs 50 ms: not before the first call is judged

    try:
        return jsonschema_rs.Draft202012Validator(
            schema,
            formats={"relative-path": _is_relative_path, "search-pattern": _is_search_pattern},
            validate_formats=True,
            retriever=_refuse_to_fetch,
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000, size_limit=1 << 20),
        )
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise UsageError(f"schema of {name}: {_short(str(error))}") from error


def _refuse_to_fetch(uri: str) -> NoReturn:
    raise ValueError(f"schemas are not fetched: {uri}")


def _is_relative_path(text: str) -> bool:
    """§3.1's own format: no absolute path, of any system."""
    return not text.startswith(("/", "\\", "~")) and re.match(r"[A-Za-z]:[\\/]", text) is None


def _is_search_pattern(text: str) -> bool:
    """No regular expression of any dialect leaves a bracket open; other quarrels are the searcher's."""
    try:
        re.compile(text)
    except re.error as error:
        return not str(error.msg).startswith(
            ("unterminated", "missing )", "unbalanced", "bad character range")
        )
    except (RecursionError, OverflowError):
        return False
    return True


# --- what JSON Schema lets through ---------------------------------------------------------------


def _value_errors(value: Any, schema: Any, where: str) -> list[str]:
    """1.0 as an integer, half a surrogate pair in a text; the words of a path may hold bytes (U+DC80…)."""
    if isinstance(value, dict):
        fields = schema.get("properties", {}) if isinstance(schema, dict) else {}
        return [
            e
            for key, v in value.items()
            for e in _value_errors(v, fields.get(key), f"{where}.{key}".lstrip("."))
        ]
    if isinstance(value, list):
        items = schema.get("items") if isinstance(schema, dict) else None
        return [e for i, v in enumerate(value) for e in _value_errors(v, items, f"{where}[{i}]")]
    if (
        isinstance(value, float)
        and value.is_integer()
        and isinstance(schema, dict)
        and schema.get("type") == "integer"
    ):
        return [f"{where}: {value} is not an integer, write {int(value)}"]
    if isinstance(value, str) and _LONE_HALF.search(value) and not _is_bytes_of_a_name(value, where):
        return [f"{where}: holds half of a character (a lone surrogate)"]
    return []


def _is_bytes_of_a_name(value: str, where: str) -> bool:
    return where == "path" and not any(
        "\ud800" <= c <= "\udfff" and not "\udc80" <= c <= "\udcff" for c in value
    )


def _readable(value: Any) -> Any:
    """The arguments with lone surrogates replaced, which the library cannot read."""
    if isinstance(value, str):
        return _LONE_HALF.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_readable(key): _readable(item) for key, item in value.items()}
    return [_readable(item) for item in value] if isinstance(value, list) else value


# --- words ----------------------------------------------------------------------------------------


def _sentence(name: str, error: ValidationError, schema: Mapping[str, Any]) -> str:
    """`limit: 5000 is more than 2000`."""
    where = _where(error.instance_path)
    kind, keyword = error.kind.as_dict(), error.kind.name
    if keyword == "required":
        return f"{f'{where}.' if error.instance_path else ''}{kind['property']}: is missing"
    if keyword == "additionalProperties":
        takes = "" if error.instance_path else f", only {', '.join(schema['properties']) or 'nothing'}"
        return f"{where}: {name} takes no {', '.join(_short(field) for field in kind['unexpected'])}{takes}"
    return f"{where}: {_words(keyword, kind, error.instance) or _short(error.message)}"


def _words(keyword: str, kind: Mapping[str, Any], value: Any) -> str:
    match keyword:
        case "maximum" | "exclusiveMaximum":
            return f"{_shown(value)} is more than {kind['limit']}"
        case "minimum" | "exclusiveMinimum":
            return f"{_shown(value)} is less than {kind['limit']}"
        case "maxLength":
            return f"{len(value)} characters are more than {kind['limit']}"
        case "minLength":
            return "is empty" if not value else f"{len(value)} characters are fewer than {kind['limit']}"
        case "type":
            return f"{_shown(value)} is not {_a(kind['types'])}"
        case "enum":
            return f"{_shown(value)} is none of {', '.join(map(_shown, kind['options']))}"
        case "format":
            return f"{_shown(value)} {_FORMAT_WORDS.get(str(kind['format']), 'has the wrong form')}"
    return ""


def _where(path: Sequence[str | int]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.lstrip(".") or "arguments"


def _a(types: Sequence[str] | str) -> str:
    names = [types] if isinstance(types, str) else list(types)
    return " or ".join(f"{'an' if kind[0] in 'aeio' else 'a'} {kind}" for kind in names)


def _shown(value: Any) -> str:
    return _short(json.dumps(value))


def _short(text: str) -> str:
    text = " ".join(text.replace(";", ",").split())
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
