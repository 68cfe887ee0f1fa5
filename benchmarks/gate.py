"""How long a decision takes: median and 99th percentile, with and without the caches. Times in ms.

PYTHONPATH=src python benchmarks/gate.py [CASES.jsonl]
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from agent_security.paths import Scope
from agent_security.shell import parse_line
from agent_security.shell.grammar import syntax_tree
from agent_security.tool_policy import always_confirm_required, check_tool_policy
from agent_security.tool_policy.programs import places

CASES = Path(__file__).parent.parent / "tests" / "cases" / "shell_benign.jsonl"


def clear() -> None:
    for cached in (parse_line, syntax_tree, places):
        cached.cache_clear()


def decide(command: str, scope: Scope) -> None:
    check_tool_policy("run_bash", {"command": command}, scope.working_dir, scope=scope)
    always_confirm_required("run_bash", {"command": command}, scope=scope)


def measure(
    commands: list[str], work: Callable[[str], object], before: Callable[[], None]
) -> tuple[float, float]:
    times = []
    for command in commands:
        before()
        start = time.perf_counter()
        work(command)
        times.append((time.perf_counter() - start) * 1000)
    times.sort()
    return statistics.median(times), times[int(len(times) * 0.99)]


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else CASES
    commands = [json.loads(line)["args"]["command"] for line in path.read_text().splitlines()]
    scope = Scope("/srv/proj", home="/home/dev")
    rows = (
        ("grammar alone", lambda command: syntax_tree(command), clear),
        ("decision, not cached", lambda command: decide(command, scope), clear),
        ("decision, cached", lambda command: decide(command, scope), lambda: None),
        (
            "read_file, no shell",
            lambda _: check_tool_policy("read_file", {"path": "src/x.py"}, "/srv/proj"),
            clear,
        ),
    )
    for name, work, before in rows:
        if before is not clear:
            measure(commands, work, before)
        median, p99 = measure(commands, work, before)
        print(f"{name:24} median {median:6.2f} ms   p99 {p99:6.2f} ms")


if __name__ == "__main__":
    main()
