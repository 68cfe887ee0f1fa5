"""What a look at the history costs before a request, at 10, 1,000 and 10,000 messages (goal: flat).

PYTHONPATH=src python benchmarks/context.py
"""

from __future__ import annotations

import time

from agent_security.history import Message
from agent_security.resource_limits import ContextBudget

TURNS = 200
TEXT = "def read(self):\n    return self.value\n" * 50


def pair(number: int) -> list[Message]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": TEXT},
    ]


def main() -> None:
    for messages in (10, 1_000, 10_000):
        history: list[Message] = [{"role": "user", "content": "go"}]
        for number in range(messages // 2):
            history += pair(number)
        budget = ContextBudget(10**9)
        budget.check_and_trim(history)
        began = time.perf_counter()
        for number in range(TURNS):
            history += pair(messages + number)
            budget.check_and_trim(history)
        each_us = (time.perf_counter() - began) / TURNS * 1e6
        began = time.perf_counter()
        ContextBudget(24_000).check_and_trim(list(history))
        trim_ms = (time.perf_counter() - began) * 1e3
        print(f"{messages:6} messages  {each_us:6.1f} µs a turn, cold start and one trim {trim_ms:6.1f} ms")


if __name__ == "__main__":
    main()
