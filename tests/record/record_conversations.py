"""Small histories for the tests of this folder."""

from __future__ import annotations

from agent_security.history import Message

SYSTEM = {"role": "system", "content": "You are a coding agent. " * 5}


def user(text: str) -> Message:
    return {"role": "user", "content": f"<user_input>\n{text}\n</user_input>"}


def said(text: str) -> Message:
    return {"role": "assistant", "content": text}


def calls(*ids: str, name: str = "read_file", arguments: str = '{"path": "a"}') -> Message:
    made = [{"id": i, "type": "function", "function": {"name": name, "arguments": arguments}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(name: str, text: str = "text") -> Message:
    return {"role": "tool", "tool_call_id": name, "content": text}


def pairs(count: int, size: int = 400) -> list[Message]:
    return [m for n in range(count) for m in (calls(f"c{n}"), result(f"c{n}", f"line {n} " * (size // 8)))]


def contents(messages: list[Message]) -> str:
    return "\n".join(str(message.get("content")) for message in messages)
