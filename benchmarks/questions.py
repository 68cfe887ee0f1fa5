"""How often a person is asked in ordinary work: real tasks on real projects, played on the real road.

PYTHONPATH=src python benchmarks/questions.py [--small] [--seed N] [--only WORD] [--told]

A question is one put to the person, or a command that fails inside and succeeds in a bare clone.
Goals: with `sandboxed = "allow"` median 0 and 90th percentile at most 2; in `ci` refusals or held-back
paths in at most 2 of 50 tasks. `--told` prints what the model was told where something failed.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from real_tasks.play import MODES, Story, play, play_bare
from real_tasks.projects import missing
from real_tasks.tasks import TASKS, Task

SMALL = 6
MOST_COMMON = 10


def chosen(small: bool, seed: int, only: str) -> tuple[list[Task], list[str]]:
    """(the tasks to play, a line for each project that is skipped)."""
    skipped = {task.project: name for task in TASKS if (name := missing(task.project))}
    tasks = [task for task in TASKS if task.project not in skipped and only in task.name]
    if small:
        tasks = random.Random(seed).sample(tasks, min(SMALL, len(tasks)))
    return tasks, [f"skipped: {project} (no {name} on this machine)" for project, name in skipped.items()]


def stories(tasks: Iterable[Task]) -> list[Story]:
    found = []
    for task in tasks:
        bare = play_bare(task)
        found += [play(task, mode, bare) for mode in MODES]
    return found


def percentile(values: Sequence[int], share: float) -> int:
    """Nearest rank."""
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


def report(mode: str, told: Sequence[Story]) -> list[str]:
    counts = [story.questions for story in told]
    hindered = [story for story in told if story.refused or story.held]
    lines = [
        f"{mode:22} tasks {len(told):3}   questions a task: median {statistics.median(counts):g}, "
        f"p90 {percentile(counts, 0.9)}, most {max(counts)}   "
        f"fail inside only: {sum(len(story.failed) for story in told)}   "
        f"tasks with refusals or held back: {len(hindered)}   "
        f"trees that differ: {sum(bool(story.differs) for story in told)}"
    ]
    asked = Counter(code for story in told for code, _ in story.asked)
    for code, count in asked.most_common(MOST_COMMON):
        calls = Counter(call for story in told for one, call in story.asked if one == code)
        lines.append(f"    {count:4} {code}")
        lines += [f"           {times} x {_short(call)}" for call, times in calls.most_common(3)]
    for story in told:
        lines += [f"    refused   {story.task.name}: {code}: {_short(call)}" for code, call in story.refused]
        lines += [f"    held back {story.task.name}: {path} ({code})" for path, code in story.held.items()]
        lines += [f"    fails     {story.task.name}: {_short(call)}" for call, _ in story.failed]
        lines += [f"    differs   {story.task.name}: {dict(story.differs)}"[:400] for _ in story.differs[:1]]
    return lines


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 90 else f"{line[:89]}…"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="a handful of tasks, drawn with --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="tasks whose name holds this word")
    parser.add_argument("--told", action="store_true", help="print what the model was told of failures")
    options = parser.parse_args()
    began = time.monotonic()
    tasks, skipped = chosen(options.small, options.seed, options.only)
    told = stories(tasks)
    print("\n".join(skipped))
    for mode in MODES:
        print("\n".join(report(mode, [story for story in told if story.mode == mode])))
    if options.told:
        for story in told:
            for call, text in story.failed:
                print(f"--- {story.mode}, {story.task.name}: {call}\n{text}")
    print(f"{len(told)} sessions in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
