"""Loop and resource controls (§4): caps, context budget, result cap, cost. The model has no vote.

`ContextBudget` is in context_budget.py, `CostTracker` in cost.py; both are re-exported here, where
the specification puts them.
"""

from __future__ import annotations

from agent_security.history import Message
from agent_security.resource_limits.context_budget import ContextBudget, Trim
from agent_security.resource_limits.cost import CostTracker

__all__ = [
    "MAX_TOOL_RESULT_BYTES",
    "ContextBudget",
    "CostTracker",
    "IterationCaps",
    "Trim",
    "cap_tool_result",
    "stop_message",
]

MAX_TOOL_RESULT_BYTES = 32 * 1024
"""What of one tool result enters the history (§4.2)."""
_TAIL_SHARE = 4
"""A quarter of a capped result is its end: test runners put what matters there."""


class IterationCaps:
    """Two counters (§4.1): responses a user turn, dispatched tool calls a session."""

    def __init__(self, max_turns: int = 40, max_tool_calls: int = 200) -> None:
        self.max_turns = max_turns
        self.max_tool_calls = max_tool_calls
        self.turns = 0
        self.tool_calls = 0

    def reset_turn(self) -> None:
        """A new message of the person begins a new turn."""
        self.turns = 0

    def count_turn(self) -> str:
        """Count one model response, or say why there may be none ("" where it may)."""
        if self.turns >= self.max_turns:
            return f"the cap of {self.max_turns} model responses for this message is reached"
        self.turns += 1
        return ""

    def count_tool_call(self) -> str:
        """Count one tool call, or say why it may not be made ("" where it may)."""
        if self.tool_calls >= self.max_tool_calls:
            return f"the cap of {self.max_tool_calls} tool calls for this session is reached"
        self.tool_calls += 1
        return ""

    def grant(self, *, turns: int = 0, tool_calls: int = 0) -> None:
        """More, given by a person at an interactive cap. Raises ValueError for less than none."""
        if turns < 0 or tool_calls < 0:
            raise ValueError("a grant only adds")
        self.max_turns += turns
        self.max_tool_calls += tool_calls


def stop_message(reason: str) -> Message:
    """The "stop and summarize" message of a breached limit or an abort (§4.1, §6.3).

    Of role `user`: the strictest servers take no system message behind the first others.
    """
    return {
        "role": "user",
        "content": (
            f"[harness] Stop: {reason}. Call no more tools. Give the person a concise summary: "
            "what was done, what is left, and what they should look at."
        ),
    }


def cap_tool_result(result: str, limit: int = MAX_TOOL_RESULT_BYTES) -> str:
    """A result of at most `limit` bytes of UTF-8, notice included (§4.2).

    Keeps the start and the end, parts no character, and tells the model how to page on. A limit
    with no room for the notice gives the start alone.
    """
    if len(result) * 4 <= limit:
        return result
    data = result.encode("utf-8", "replace")
    if len(data) <= limit:
        return result
    notice = (
        f"\n[harness] result capped: {{}} of {len(data)} bytes left out here; "
        "use read_file with offset and limit, or a narrower command, for more\n"
    )
    room = limit - len(notice) - len(str(len(data)))
    if room < len(notice):
        return _start(data, limit)
    tail = _end(data, room // _TAIL_SHARE)
    start = _start(data, room - room // _TAIL_SHARE)
    left_out = len(data) - len(start.encode()) - len(tail.encode())
    return start + notice.format(left_out) + tail


def _start(data: bytes, size: int) -> str:
    return data[: max(0, size)].decode("utf-8", "ignore")


def _end(data: bytes, size: int) -> str:
    """The last whole characters within `size` bytes."""
    start = len(data) - size
    while start < len(data) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:].decode("utf-8", "ignore")
