"""What applying and undoing cost: medians for change sets of 1, 100 and 10,000 files.

Usage: python benchmarks/undo.py [--runs 5] [--dir FOLDER] [--kind created|changed|deleted]
Reading the upper directory, judging, applying and undoing are
timed apart, each on a fresh tree in a temporary folder that is removed afterwards.
"""

from __future__ import annotations

import argparse
import os
import shutil
import stat
import statistics
import tempfile
import time
from pathlib import Path

from agent_security.changes import ChangeStore, judge_change_set, read_upper

STEPS = ("read", "judge", "apply", "undo")


def one_run(folder: Path, files: int, kind: str) -> dict[str, float]:
    """Milliseconds of each step for one change set."""
    workspace, upper = folder / "work", folder / "session" / "upper"
    for n in range(files):
        where = f"d{n // 100}/f{n}.txt"
        old, new = workspace / where, upper / where
        for path in (old, new):
            path.parent.mkdir(parents=True, exist_ok=True)
        if kind != "created":
            old.write_bytes(b"old %d\n" % n)
        if kind == "deleted":
            os.mknod(new, stat.S_IFCHR, 0)
        else:
            new.write_bytes(b"new line %d\n" % n)
    since_ns = time.time_ns() + 3_600_000_000_000
    fd = os.open(workspace, os.O_RDONLY)
    store = ChangeStore(str(workspace), str(folder / "session" / "changes"))
    took: dict[str, float] = {}

    def timed(step: str, start: float) -> None:
        took[step] = (time.perf_counter() - start) * 1000

    start = time.perf_counter()
    changes = read_upper(str(upper), fd, since_ns=since_ns)
    timed("read", start)
    start = time.perf_counter()
    judge_change_set(changes, workspace_fd=fd)
    timed("judge", start)
    start = time.perf_counter()
    applied = store.apply("1", changes, hold={})
    timed("apply", start)
    start = time.perf_counter()
    undone = store.undo()
    timed("undo", start)
    os.close(fd)
    store.close()
    if applied.conflicts or undone.conflicts or len(applied.changed) < files:
        raise SystemExit("the run is not what it claims to measure")
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--dir", default=None)
    parser.add_argument("--kind", choices=("created", "changed", "deleted"), default="changed")
    options = parser.parse_args()
    print(f"{'files':>8} " + " ".join(f"{step + ' ms':>10}" for step in STEPS))
    for files in (1, 100, 10_000):
        runs = []
        for _ in range(options.runs):
            folder = Path(tempfile.mkdtemp(prefix="undo-", dir=options.dir))
            try:
                runs.append(one_run(folder, files, options.kind))
            finally:
                shutil.rmtree(folder)
        medians = [statistics.median(run[step] for run in runs) for step in STEPS]
        print(f"{files:>8} " + " ".join(f"{median:>10.1f}" for median in medians))


if __name__ == "__main__":
    main()
