"""What the loopback server's acts stand for: whole answers, chunks of streams, and the faults it knows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Act = Any

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}

FAULTS = {
    "429": "HTTP 429, with `retry_after` seconds where given",
    "400": "HTTP 400 with `message`",
    "401": "HTTP 401, quoting the key it was sent",
    "500": "HTTP 500",
    "502": "HTTP 502 with an HTML page, as gateways send",
    "529": "HTTP 529, overloaded",
    "redirect": "HTTP 307 to `location`",
    "html": "HTTP 200 with an HTML page",
    "no_json": "HTTP 200 with half a JSON object",
    "empty_choices": "HTTP 200 without a choice",
    "error_in_body": "HTTP 200 with an error object",
    "too_long": "HTTP 400 context_length_exceeded",
    "stream_options": "HTTP 400 for a request with stream_options; otherwise the next act",
    "hangup": "the connection closes before any answer",
    "broken_stream": "the connection closes in the middle of an answer",
    "stalled_stream": "an answer begins and goes on for ever, one comment at a time",
    "silence": "no answer at all, for ever",
}


def message_of(act: Act) -> dict[str, Any]:
    """The assistant message an act stands for."""
    if isinstance(act, str):
        return {"role": "assistant", "content": act}
    if "message" in act:
        return dict(act["message"])
    calls = [act["call"]] if "call" in act else act.get("calls", [])
    message: dict[str, Any] = {"role": "assistant", "content": act.get("say")}
    if calls:
        message["tool_calls"] = [_call(number, call) for number, call in enumerate(calls)]
    return message


def _call(number: int, call: dict[str, Any]) -> dict[str, Any]:
    ((name, args),) = call.items()
    arguments = args if isinstance(args, str) else json.dumps(args)
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def answer_of(act: Act) -> Any:
    """The whole body of a plain answer."""
    if isinstance(act, dict) and "body" in act:
        return act["body"]
    message, options = message_of(act), act if isinstance(act, dict) else {}
    reason = options.get("finish_reason", "tool_calls" if message.get("tool_calls") else "stop")
    answer = {
        "id": "chatcmpl-loopback",
        "object": "chat.completion",
        "created": 0,
        "model": "loopback",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
    }
    usage = options.get("usage", USAGE)
    return answer if usage == "missing" else answer | {"usage": usage}


def chunks_of(act: Act) -> Iterator[dict[str, Any]]:
    """The same answer as the chunks of a stream: text in two pieces, arguments in two pieces."""
    answer = answer_of(act)
    options = act if isinstance(act, dict) else {}
    choice, usage = answer["choices"][0], answer.get("usage")
    deltas = options.get("deltas") or list(_deltas(choice["message"]))
    where = options.get("usage_in", "own_chunk")
    middle = len(deltas) // 2
    for at, delta in enumerate(deltas):
        here = (where == "first" and at == 0) or (where == "middle" and at == middle)
        yield _chunk([{"index": 0, "delta": delta, "finish_reason": None}], usage if here else None)
    last = usage if where == "last" else None
    yield _chunk([{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}], last)
    if where == "own_chunk":
        yield _chunk([], usage)


def _chunk(choices: list[dict[str, Any]], usage: Any) -> dict[str, Any]:
    return {
        "id": "chatcmpl-loopback",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "loopback",
        "choices": choices,
        "usage": usage,
    }


def _deltas(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for key in message.keys() - {"role", "content", "tool_calls"}:
        yield {key: message[key]}
    content = message.get("content")
    if isinstance(content, str):
        half = len(content) // 2
        yield {"content": content[:half]}
        yield {"content": content[half:]}
    elif content:
        yield {"content": content}
    for index, call in enumerate(message.get("tool_calls") or []):
        function = call["function"]
        half = len(function["arguments"]) // 2
        first = {**function, "arguments": function["arguments"][:half]}
        yield {"tool_calls": [{**call, "index": index, "function": first}]}
        yield {"tool_calls": [{"index": index, "function": {"arguments": function["arguments"][half:]}}]}
