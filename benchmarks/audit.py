"""What the log costs: µs an event without fsync (goal 40), and verify against hashing's own speed.

PYTHONPATH=src python benchmarks/audit.py [EVENTS]
"""

from __future__ import annotations

import hashlib
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from agent_security.tools.audit import AuditLog, verify_log

ARGS = {"command": "python -m pytest -q tests/record && git diff --stat"}


def decision(log: AuditLog) -> None:
    trail = [
        f"{gate}:allow:ok" for gate in ("validation", "policy", "rules_deny", "intent", "permission", "plan")
    ]
    log.log_permission_decision(
        "run_bash", ARGS, "default", True, "ok: allowed", gate="permission", trail=trail
    )


def small_result(log: AuditLog) -> None:
    log.log_tool_result("call_1", "run_bash", ARGS, True, "12 passed in 0.31s\n", status="ok", exit_code=0)


def large_result(log: AuditLog) -> None:
    log.log_tool_result(
        "call_1", "read_file", {"path": "a.py"}, True, "    return self.value\n" * 1500, status="ok"
    )


def timed(folder: Path, write: Callable[[AuditLog], None], events: int) -> tuple[float, Path]:
    with AuditLog(folder / f"{write.__name__}.jsonl", "bench") as log:
        began = time.perf_counter()
        for _ in range(events):
            write(log)
        spent = time.perf_counter() - began
    return spent / events * 1e6, Path(log.path)


def hashing_s(path: Path) -> float:
    began = time.perf_counter()
    with path.open("rb") as file:
        for line in file:
            hashlib.sha256(line).digest()
    return time.perf_counter() - began


def main() -> None:
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    with tempfile.TemporaryDirectory() as folder:
        for write, count in ((decision, events), (small_result, events), (large_result, events // 20)):
            each_us, path = timed(Path(folder), write, count)
            before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            began = time.perf_counter()
            found = verify_log(path)
            spent = time.perf_counter() - began
            grew_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
            print(
                f"{write.__name__:12}  write {each_us:6.1f} µs/event   "
                f"verify {spent / found.events * 1e6:5.1f} µs/event, "
                f"{path.stat().st_size / spent / 1e6:4.0f} MB/s, {spent / hashing_s(path):4.1f} × hashing, "
                f"{grew_kb} KB more memory   {found.status}"
            )


if __name__ == "__main__":
    main()
