"""The message history as the strictest server wants it: a checker, and the repair of what is broken.

A tool call without its result, a result without its call, or a text between the two ends a
session for good with HTTP 400 at every further request. Pure functions; messages are plain dicts
and are never changed in place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Message = dict[str, Any]

INTERRUPTED = "[harness] interrupted: this call has no result"
"""Stands in for a result that never came."""

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


# --- shape ----------------------------------------------------------------------------------------


def calls_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """An assistant message's tool calls; [] where there are none."""
    calls = message.get("tool_calls") if message.get("role") == "assistant" else None
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, (list, tuple)) else []


def text_of(message: Mapping[str, Any]) -> str:
    """A message's content as text; the parts of a list are joined."""
    content = message.get("content")
    if isinstance(content, (list, tuple)):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


def groups_of(messages: Sequence[Message]) -> list[list[Message]]:
    """Split a valid history into what may not be parted: a call with its results, or one message."""
    groups: list[list[Message]] = []
    for message in messages:
        if message.get("role") == "tool" and groups:
            groups[-1].append(message)
        else:
            groups.append([message])
    return groups


# --- the checker ----------------------------------------------------------------------------------


def valid_history(messages: Sequence[Message]) -> list[str]:
    """What the strictest server would refuse, one sentence each; [] for a valid history.

    Every tool call answered exactly once, right behind it and in order; ids that are there and
    unique; arguments one JSON object; system messages at the start alone; text that is UTF-8.
    """
    problems: list[str] = []
    open_ids: list[str] = []
    seen: set[str] = set()
    begun = False
    for at, message in enumerate(messages):
        role = message.get("role")
        if role in ("system", "developer") and begun:
            problems.append(f"message {at}: a system message that is not at the start")
        begun = begun or role not in ("system", "developer")
        problems += [f"message {at}: {problem}" for problem in _content_problems(message)]
        if role == "tool":
            problems += [f"message {at}: {problem}" for problem in _answer_problems(message, open_ids)]
            continue
        problems += [f"message {at}: comes before the result of {name}" for name in open_ids]
        open_ids = []
        for problem in _call_problems(message, seen, open_ids):
            problems.append(f"message {at}: {problem}")
    return problems + [f"the end: no result for {name}" for name in open_ids]


def _content_problems(message: Message) -> Iterator[str]:
    role, content = message.get("role"), message.get("content")
    if role not in _ROLES:
        yield f"no such role: {role!r}"
    if not isinstance(content, (str, list)) and not (content is None and calls_of(message)):
        yield f"content is {type(content).__name__}"
    if role == "assistant" and not text_of(message) and not calls_of(message):
        yield "an assistant message with neither content nor tool calls"
    if role == "user" and not content:
        yield "an empty user message"
    if role != "assistant" and "tool_calls" in message:
        yield "tool calls on a message that is not the assistant's"
    try:
        json.dumps(message, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (TypeError, ValueError, RecursionError):
        yield "cannot be sent as JSON"


def _answer_problems(message: Message, open_ids: list[str]) -> Iterator[str]:
    """Takes the answered id off `open_ids`."""
    name = message.get("tool_call_id")
    if not isinstance(name, str) or name not in open_ids:
        yield f"a result for {name!r}, which no call before it is waiting for"
        return
    if open_ids[0] != name:
        yield f"the result of {name} is out of order"
    open_ids.remove(name)


def _call_problems(message: Message, seen: set[str], open_ids: list[str]) -> Iterator[str]:
    """Adds the ids of the message's calls to `seen` and `open_ids`."""
    given = message.get("tool_calls")
    if given is None or message.get("role") != "assistant":
        return
    if not isinstance(given, list) or not given or len(calls_of(message)) != len(given):
        yield "tool_calls is not a list of calls"
    for call in calls_of(message):
        name, function = call.get("id"), call.get("function")
        if not isinstance(name, str) or not name:
            yield "a tool call without an id"
        elif name in seen:
            yield f"two tool calls with the id {name}"
        else:
            seen.add(name)
            open_ids.append(name)
        yield from _function_problems(call.get("type"), function)


def _function_problems(kind: object, function: object) -> Iterator[str]:
    if kind != "function" or not isinstance(function, Mapping):
        yield "a tool call that is no function call"
        return
    if not isinstance(function.get("name"), str) or not _NAME.fullmatch(function["name"]):
        yield f"a function name no server takes: {function.get('name')!r}"
    if not is_json_object(function.get("arguments")):
        yield "arguments that are not one JSON object as text"


def is_json_object(arguments: object) -> bool:
    """Whether a tool call's arguments are the text of one JSON object."""
    try:
        return isinstance(arguments, str) and isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


# --- the repair -----------------------------------------------------------------------------------


def repair_history(messages: Sequence[Message]) -> list[Message]:
    """The history with every call answered once, right behind it: results are moved to their calls,
    missing ones get INTERRUPTED, orphans and second answers go. Nothing else changes.

    For after an abort, a crash, or a text that arrived between a call and its result.
    """
    answers = _answers(messages)
    repaired: list[Message] = []
    for at, message in enumerate(messages):
        if message.get("role") == "tool":
            continue
        repaired.append(message)
        for call in calls_of(message):
            waiting = answers.get(str(call.get("id")), [])
            late = [index for index in waiting if index > at]
            repaired.append(messages[late[0]] if late else _stub(call))
            if late:
                waiting.remove(late[0])
    return repaired


def is_paired(messages: Sequence[Message], start: int = 0) -> bool:
    """Whether every call from `start` on (or the group `start` lies in) has its results right behind it."""
    while 0 < start <= len(messages) and messages[start - 1].get("role") == "tool":
        start -= 1
    if 0 < start <= len(messages) and calls_of(messages[start - 1]):
        start -= 1
    open_ids: list[object] = []
    for at in range(start, len(messages)):
        message = messages[at]
        if message.get("role") == "tool":
            if not open_ids or open_ids.pop(0) != message.get("tool_call_id"):
                return False
        elif open_ids:
            return False
        else:
            open_ids = [call.get("id") for call in calls_of(message)]
    return not open_ids


def _answers(messages: Sequence[Message]) -> dict[str, list[int]]:
    """tool_call_id -> where its results stand."""
    found: dict[str, list[int]] = {}
    for at, message in enumerate(messages):
        if message.get("role") == "tool":
            found.setdefault(str(message.get("tool_call_id")), []).append(at)
    return found


def _stub(call: Mapping[str, Any]) -> Message:
    return {"role": "tool", "tool_call_id": str(call.get("id")), "content": INTERRUPTED}
