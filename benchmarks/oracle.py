"""The oracle at length: generated lines run behind bubblewrap, commands found against commands run.

    PYTHONPATH=src:tests/gate python benchmarks/oracle.py [LINES [FIRST_SEED]]

Prints every line with a command missed, and how many had one too many. Exit 1 if any was missed.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from behind_bwrap import STUBS, Run, run_inside
from lines import Lines

from agent_security.shell import parse_line


def one(seed: int) -> tuple[int, str, Run]:
    line = Lines(seed).line()
    return seed, line, run_inside(line)


def main() -> int:
    count, first = int((sys.argv[1:2] or ["2000"])[0]), int((sys.argv[2:3] or ["0"])[0])
    missed = extra = commands = 0
    with ThreadPoolExecutor(2) as pool:
        for seed, line, run in pool.map(one, range(first, first + count)):
            parsed = parse_line(line)
            found = {(c.name, *(word.value for word in c.args)) for c in parsed.commands if c.name in STUBS}
            ran = set(run.commands)
            commands += len(ran)
            extra += not found <= ran
            if not ran <= found and not parsed.problem:
                missed += 1
                print(f"seed {seed}: missed {ran - found} in {line!r}")
    print(
        f"{count} lines, {commands} commands run, {missed} lines with one missed, {extra} with one too many"
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
