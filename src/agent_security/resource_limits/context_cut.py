"""Shorten one message without breaking it: its tags, its calls and its JSON stay whole (§4.2)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agent_security.history import Message, calls_of, is_json_object, text_of

MAX_RESULT_CHARS_KEPT = 200
"""What is left of a text that is cut as far as it goes: enough for the tags at its ends."""


def cut_middle(text: str, keep_chars: int) -> str:
    """The start and the end of a text, so that the tags around it survive, and a notice between."""
    keep = max(keep_chars, MAX_RESULT_CHARS_KEPT)
    notice = f"\n[harness] {len(text) - keep:,} characters cut to fit the context; read the source again\n"
    if len(text) <= keep + len(notice):
        return text
    tail = keep // 3
    return text[: keep - tail] + notice + text[len(text) - tail :]


def cut_message(message: Message, keep_chars: int) -> Message:
    """A copy whose content, and each long value of its calls' arguments, is cut to `keep_chars`."""
    cut = dict(message)
    if message.get("content"):
        text = text_of(message)
        cut["content"] = cut_middle(text, keep_chars) if len(text) > keep_chars else message["content"]
    if calls_of(message):
        cut["tool_calls"] = [_cut_call(call, keep_chars) for call in calls_of(message)]
    for name, value in message.items():
        # what servers add (reasoning) must be handed back, but not at any length
        if name not in ("role", "content", "tool_calls", "tool_call_id", "name") and isinstance(value, str):
            cut[name] = cut_middle(value, keep_chars)
    return cut


def _cut_call(call: Mapping[str, Any], keep_chars: int) -> dict[str, Any]:
    function = dict(call.get("function") or {})
    arguments = function.get("arguments")
    if isinstance(arguments, str) and len(arguments) > keep_chars:
        function["arguments"] = _cut_arguments(arguments, keep_chars)
    return {**call, "function": function}


def _cut_arguments(arguments: str, keep_chars: int) -> str:
    """Still one JSON object: a server that parses the history must not choke on it."""
    if not is_json_object(arguments):
        return json.dumps({"cut": f"{len(arguments)} characters"})
    kept = {name: _cut_value(value, keep_chars) for name, value in json.loads(arguments).items()}
    text = json.dumps(kept)
    return (
        text if len(text) <= 4 * keep_chars + 2_000 else json.dumps({"cut": f"{len(arguments)} characters"})
    )


def _cut_value(value: Any, keep_chars: int) -> Any:
    if isinstance(value, str):
        return cut_middle(value, keep_chars)
    text = json.dumps(value)
    return value if len(text) <= keep_chars else f"[harness] {len(text)} characters cut"
