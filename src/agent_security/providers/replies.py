"""From what a server sent to a `Reply`: every shape is checked here, nothing is believed.

Servers differ: content as text, as a list of parts or null; calls missing, null or misshapen; usage in
any chunk or in none. What has no reading becomes "no text" or a call that will be answered with an
error, and is never executed. What is no chat.completions answer at all raises ProviderError.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_security.errors import ProviderError
from agent_security.ports import RawCall, Reply, Usage

_NOT_EXTRA = frozenset(
    {"role", "content", "tool_calls", "function_call", "refusal", "audio", "annotations", "name"}
)
"""Fields of an assistant message that are read here, or that servers send and do not take back."""

_MAX_TOKENS = 100_000_000
"""No request is that large: a count beyond it is nonsense and is clamped."""


def reply_from_body(body: object) -> Reply:
    """A whole chat.completions answer as a Reply. Raises ProviderError where it is none."""
    if not isinstance(body, Mapping):
        raise ProviderError("the endpoint's answer is JSON, but no chat.completions object")
    if error := body.get("error"):
        raise ProviderError(f"the endpoint answered with an error: {error_text(error)}", retryable=True)
    choice = first_choice(body)
    if choice is None:
        raise ProviderError("the endpoint's answer holds no choice", retryable=True)
    return reply_from_message(
        message=choice.get("message"),
        finish_reason=choice.get("finish_reason"),
        usage=usage_from(body.get("usage")),
        model=body.get("model"),
    )


def reply_from_message(message: object, finish_reason: object, usage: Usage | None, model: object) -> Reply:
    """One assistant message as a Reply, whatever its fields turned out to be."""
    fields: Mapping[str, Any] = message if isinstance(message, Mapping) else {}
    return Reply(
        content=text_of(fields.get("content")) or text_of(fields.get("refusal")),
        tool_calls=raw_calls(fields.get("tool_calls")),
        finish_reason=finish_reason if isinstance(finish_reason, str) and finish_reason else "stop",
        usage=usage,
        model=model if isinstance(model, str) else "",
        extra={
            key: value for key, value in fields.items() if key not in _NOT_EXTRA and value not in (None, [])
        },
    )


def first_choice(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The first choice, or None where there is none."""
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, Mapping) else None


def text_of(content: object) -> str:
    """Text of a message: a string, or the text parts of a list joined; anything else is no text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def raw_calls(tool_calls: object) -> tuple[RawCall, ...]:
    """Every entry becomes a RawCall, broken ones too, so that each gets its answer; no list is no call."""
    if isinstance(tool_calls, Mapping):
        tool_calls = [tool_calls]
    if not isinstance(tool_calls, list | tuple):
        return ()
    return tuple(_raw_call(entry) for entry in tool_calls)


def _raw_call(entry: object) -> RawCall:
    if isinstance(entry, RawCall):
        return entry
    function = _field(entry, "function")
    return RawCall(_field(entry, "id"), _field(function, "name"), _field(function, "arguments"))


def _field(value: object, name: str) -> object:
    """A key of a mapping or an attribute of a client's object; None where there is neither."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def usage_from(usage: object) -> Usage | None:
    """Token counts, clamped to what can be true; None where the server told none that can be read."""
    if not isinstance(usage, Mapping):
        return None
    counts = [_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")]
    if counts[0] is None:
        return None
    return Usage(counts[0], counts[1] or 0)


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return int(min(max(value, 0), _MAX_TOKENS))


def error_text(error: object, limit: int = 200) -> str:
    """One short printable line of a server's error; foreign text, so nothing in it may steer a terminal."""
    message = error.get("message") if isinstance(error, Mapping) else error
    text = message if isinstance(message, str) else "no message"
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
