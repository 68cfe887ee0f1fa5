"""What it costs to wrap, scan and trace: `python benchmarks/content.py`. Prints one figure a line, in ms."""

from __future__ import annotations

import json
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

from agent_security.calls import Origin, ToolCall
from agent_security.prompt_safety import fresh_nonce, neutralise, wrap_tool_result
from agent_security.provenance import Provenance
from agent_security.secret_management import Redactor, scan_text
from agent_security.text import findings, for_model, for_terminal


def one_megabyte() -> str:
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    return "".join(path.read_bytes().decode("utf-8", "replace") for path in files)[:1_000_000]


def best_ms(work: Callable[[], object], rounds: int = 5) -> float:
    def once() -> float:
        start = time.perf_counter()
        work()
        return (time.perf_counter() - start) * 1e3

    return min(once() for _ in range(rounds))


def long_session(messages: int = 10_000) -> Provenance:
    memory = Provenance()
    memory.note_person("fix the test; see https://docs.example.org/guide")
    memory.note_private(["not-a-real-value-9876"])
    for number in range(messages):
        call = ToolCall(str(number), "read_file", json.dumps({"path": f"f{number}.py"}))
        memory.note_result(call, f"line {number} https://host{number}.example/ " * 20, Origin.WORKSPACE)
    return memory


def main() -> None:
    text = one_megabyte()
    plain = text.encode("ascii", "replace").decode()
    redactor = Redactor([f"known-value-{number:08d}" for number in range(30)])
    memory = long_session()
    rows: list[tuple[str, Callable[[], object], float]] = [
        ("for_model, 1 MB", lambda: for_model(text), 20),
        ("for_terminal, 1 MB", lambda: for_terminal(text), 20),
        ("findings, 1 MB", lambda: findings(text), 20),
        ("neutralise, 1 MB ASCII", lambda: neutralise(plain), 20),
        ("wrap_tool_result, 1 MB", lambda: wrap_tool_result("t", text, nonce=fresh_nonce()), 20),
        ("scan_text, 1 MB", lambda: scan_text(text), 80),
        ("redact with 30 known values, 1 MB", lambda: redactor.redact(text), 80),
        (
            "check_sinks, 10,000 messages",
            lambda: memory.check_sinks("webfetch", {"url": "https://never.example/x"}, (("url", "url"),)),
            2,
        ),
    ]
    for name, work, goal_ms in rows:
        print(f"{name:36s} {best_ms(work):8.1f} ms   (goal {goal_ms:g})")


if __name__ == "__main__":
    main()
