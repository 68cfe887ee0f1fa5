"""Ordinary work asks nothing where the wall is proven: a handful of real tasks, drawn by a seed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from behind_bwrap import why_not

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")
SEED, TASKS = 7, 5
NEVER_DRAWN = {"second_tier", "destructive_git"}
"""What a person wants to be asked about in acceptEdits, whatever the wall holds."""


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    if reason := why_not():
        pytest.skip(reason)
    monkeypatch.syspath_prepend(BENCHMARKS)
    import questions

    yield questions
    for name in [name for name in sys.modules if name == "questions" or name.startswith("real_tasks")]:
        del sys.modules[name]


def test_ordinary_work_is_not_interrupted_behind_the_wall(questions: object) -> None:
    tasks, _ = questions.chosen(True, SEED, "")  # type: ignore[attr-defined]
    told = questions.stories(tasks[:TASKS])  # type: ignore[attr-defined]
    assert len(told) == 3 * TASKS
    for story in told:
        assert story.failed == [], story.task.name
        assert story.differs == [], story.task.name
        assert story.held == {}, story.task.name
        if story.mode != "default":
            assert [one for one in story.asked if one[0] not in NEVER_DRAWN] == [], story.task.name


def test_commits_carry_the_name_of_the_person(questions: object) -> None:
    tasks, _ = questions.chosen(False, SEED, "python: fix and commit")  # type: ignore[attr-defined]
    for story in questions.stories(tasks):  # type: ignore[attr-defined]
        assert (story.failed, story.differs) == ([], [])
