"""What the wall costs: medians of one run, and ratios to a bare process of the same run.

    PYTHONPATH=src python benchmarks/walls.py [--rounds 30] [--files 50000]

Everything happens in a temporary folder. Ratios are what to compare between machines and days.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_security.calls import Permit, ToolCall
from agent_security.decision import allow
from agent_security.ports import Sandbox
from agent_security.sandboxes import SandboxRequest, open_sandbox


def permit(name: str, **args: Any) -> Permit:
    return Permit(ToolCall("bench", name, json.dumps(args)), allow("bench"), "sandbox")


def median_ms(action: Callable[[], object], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        action()
        taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken)


def fill(tree: Path, files: int) -> None:
    for number in range(files):
        folder = tree / f"d{number // 250}"
        if number % 250 == 0:
            folder.mkdir()
        (folder / f"f{number}.txt").write_bytes(b"x")


def measure(tree: Path, base: Path, rounds: int) -> dict[str, float]:
    """Milliseconds by name; the sandbox is opened and closed in here."""
    found: dict[str, float] = {
        "bare true": median_ms(lambda: subprocess.run(["/bin/true"], check=True), rounds)
    }
    opened: list[Sandbox] = []
    request = SandboxRequest(str(tree), str(base / "state"), home=str(base / "home"))
    found["open a session"] = median_ms(lambda: opened.append(open_sandbox(request)), 3)
    for extra in opened[1:]:
        extra.close()
    sandbox = opened[0]
    (tree / "read.txt").write_text("line\n" * 800)
    read, write = permit("read_file", path="read.txt"), permit("write_file", path="w.txt", content="x")
    grep = permit("grep", pattern="nowhere", path="read.txt")
    found["first file read"] = median_ms(lambda: sandbox.run_file_tool(read, timeout_s=60), 1)
    found["file read, 4 KB"] = median_ms(lambda: sandbox.run_file_tool(read, timeout_s=60), rounds * 5)
    found["file write, to a change set"] = median_ms(
        lambda: sandbox.run_file_tool(write, timeout_s=60), rounds
    )
    found["grep in one file"] = median_ms(lambda: sandbox.run_file_tool(grep, timeout_s=60), rounds)
    for name, command in (("command true", "true"), ("command, one file written", "echo x > made")):
        call = permit("run_bash", command=command)
        found[name] = median_ms(lambda call=call: sandbox.run_command(call, timeout_s=60), rounds)  # type: ignore[misc]
    page = permit("webfetch", url="https://example.org/")
    found["html to text"] = median_ms(
        lambda: sandbox.html_to_text(page, b"<p>x", timeout_s=60), max(3, rounds // 3)
    )
    sandbox.close()
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=30)
    options.add_argument("--files", type=int, default=50_000)
    given = options.parse_args()
    base = Path(os.path.realpath(tempfile.mkdtemp(prefix="bench-walls-")))
    try:
        columns = {}
        for files in (0, given.files):
            tree = base / "home" / f"tree{files}"
            tree.mkdir(parents=True)
            fill(tree, files)
            columns[files] = measure(tree, base, given.rounds)
        bare = statistics.mean(column["bare true"] for column in columns.values())
        print(f"{'median of one run':32}" + "".join(f"{f'{files} files':>22}" for files in columns))
        for name in columns[0]:
            cells = (f"{column[name]:10.2f} ms {column[name] / bare:7.1f}x" for column in columns.values())
            print(f"{name:32}" + "".join(f"{cell:>22}" for cell in cells))
    finally:
        shutil.rmtree(base)


if __name__ == "__main__":
    main()
