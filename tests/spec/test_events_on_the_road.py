"""Each row of the specification's events table, written by the real road at its own moment.

One session in this process with the real loop, gates and pipeline; sandbox, model and person are fakes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent_security.agent import agent_loop
from agent_security.calls import Mode
from agent_security.errors import ProviderError, SandboxTimeout
from agent_security.ports import Usage
from agent_security.providers import ScriptedProvider
from agent_security.resource_limits import ContextBudget, CostTracker, IterationCaps
from agent_security.session import Session
from agent_security.testing import FakeApprover, FakeSandbox, fake_session
from agent_security.tools.audit import AuditLog

from .test_events import DOCUMENT, fields_of

READ = {"call": {"read_file": {"path": "a.txt"}}}
RUN = {"call": {"run_bash": {"command": "make"}}}
SAY = {"say": "Done."}


class FailingProvider:
    """An endpoint that is down."""

    model = "down"

    def complete(self, *args: Any, **how: Any) -> Any:
        raise ProviderError("the endpoint is down", retryable=True)

    def close(self) -> None:
        return None


@dataclass
class Scene:
    """What the model does, and what is changed about the session before it."""

    turns: list[dict[str, Any]]
    prepare: Callable[[Session], object] = lambda session: None
    yes: bool = True
    goal: str = "read a.txt and run make"


def _times_out(session: Session) -> None:
    session.sandbox = FakeSandbox({"run_bash": SandboxTimeout("timed out after 1s")})


def _tiny_budget(session: Session) -> None:
    session.budget = ContextBudget(4000, keep_recent=2)
    session.sandbox = FakeSandbox({"read_file": "word " * 400})


def _spent(session: Session) -> None:
    session.cost = CostTracker(0.01, price_in=1.0, price_out=1.0)
    session.cost.record_usage(Usage(1000, 1000))


def _plan_first(session: Session) -> None:
    session.plan.required = True


def _drifts(session: Session) -> None:
    session.mode = Mode.DEFAULT


SCENES: dict[str, Scene] = {
    "session_start": Scene([SAY]),
    "user_message": Scene([SAY]),
    "llm_request": Scene([SAY]),
    "llm_response": Scene([SAY]),
    "assistant_message": Scene([SAY]),
    "permission_decision": Scene([READ, SAY]),
    "tool_result": Scene([READ, SAY]),
    "validation_error": Scene([{"call": {"read_file": {"path": "a", "limit": True}}}, SAY]),
    "intent_drift_suspected": Scene([{"call": {"run_bash": {"command": "cat ../.ssh/id"}}}, SAY], _drifts),
    "tool_timeout": Scene([RUN, SAY], _times_out),
    "context_trimmed": Scene([READ] * 8 + [SAY], _tiny_budget),
    "iteration_cap_hit": Scene([READ] * 5, lambda s: setattr(s, "caps", IterationCaps(2, 200))),
    "cost_limit_hit": Scene([SAY], _spent),
    "plan_approved": Scene([RUN, SAY], _plan_first),
    "plan_rejected": Scene([RUN, SAY], _plan_first, yes=False),
    "llm_call_error": Scene([]),
    "session_abort": Scene([SAY], lambda s: s.abort.trigger("SIGTERM")),
    "session_end": Scene([SAY]),
}


def played(scene: Scene, folder: Path) -> list[dict[str, Any]]:
    """The whole log of one scene."""
    project = folder / "project"
    project.mkdir()
    (project / "a.txt").write_text("x\n")
    with AuditLog(folder / "audit.jsonl", "s1") as log:
        session = fake_session(
            project,
            folder / "store",
            sandbox=FakeSandbox(),
            approver=FakeApprover(yes=scene.yes, by="person"),
            audit=log,  # type: ignore[arg-type]
        )
        scene.prepare(session)
        provider = ScriptedProvider(scene.turns) if scene.turns else FailingProvider()
        agent_loop(session, provider, prompt=scene.goal)
    return [json.loads(line) for line in (folder / "audit.jsonl").read_text().splitlines()]


def at(records: list[dict[str, Any]], event: str) -> int:
    """The place of the first such event. Raises ValueError where there is none."""
    return [record["event"] for record in records].index(event)


@pytest.mark.parametrize("event", SCENES)
def test_the_road_writes_it_with_its_key_fields(event: str, tmp_path: Path) -> None:
    records = played(SCENES[event], tmp_path)
    assert set(fields_of(event)) <= records[at(records, event)].keys()


def test_every_row_but_the_one_of_the_start_up_is_played_here() -> None:
    # `config` needs the wiring: tests/frontends/test_headless.py reads its fields from a real run
    assert set(SCENES) == set(DOCUMENT) - {"config"}


ORDER = [
    ("read", "session_start", "user_message"),
    ("read", "user_message", "llm_request"),
    ("read", "llm_request", "llm_response"),
    ("read", "llm_response", "assistant_message"),
    ("read", "assistant_message", "permission_decision"),
    ("read", "permission_decision", "tool_result"),
    ("read", "tool_result", "session_end"),
    ("plan_approved", "plan_approved", "permission_decision"),
    ("plan_rejected", "plan_rejected", "permission_decision"),
    ("validation_error", "validation_error", "permission_decision"),
    ("intent_drift_suspected", "intent_drift_suspected", "permission_decision"),
    ("tool_timeout", "permission_decision", "tool_timeout"),
    ("tool_timeout", "tool_timeout", "tool_result"),
    ("context_trimmed", "tool_result", "context_trimmed"),
    ("llm_call_error", "llm_request", "llm_call_error"),
]


@pytest.mark.parametrize(("scene", "first", "then"), ORDER)
def test_it_comes_at_its_moment(scene: str, first: str, then: str, tmp_path: Path) -> None:
    records = played(SCENES["tool_result" if scene == "read" else scene], tmp_path)
    assert at(records, first) < at(records, then)


def test_a_cost_limit_comes_before_any_request(tmp_path: Path) -> None:
    assert "llm_request" not in [r["event"] for r in played(SCENES["cost_limit_hit"], tmp_path)]


def test_an_aborted_session_asks_no_model(tmp_path: Path) -> None:
    assert "llm_request" not in [r["event"] for r in played(SCENES["session_abort"], tmp_path)]


def test_a_session_cap_says_its_scope(tmp_path: Path) -> None:
    records = played(Scene([READ] * 5, lambda s: setattr(s, "caps", IterationCaps(40, 1))), tmp_path)
    hit = records[at(records, "iteration_cap_hit")]
    assert (hit["scope"], "tool_calls" in hit) == ("session", True)
