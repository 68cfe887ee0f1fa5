"""What the front ends' tests share: a home of their own, and a session made of plain objects."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent_security.calls import Mode
from agent_security.ports import Guarantees
from agent_security.resource_limits import CostTracker, IterationCaps
from agent_security.session import Tally


class Lines:
    """A log that keeps what was written."""

    path = "/state/audit.jsonl"

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    def log(self, event: str, **fields: Any) -> None:
        self.events.append((event, fields))


class Flag:
    """An abort flag without signals."""

    def __init__(self) -> None:
        self.triggered, self.reason = False, ""

    def trigger(self, reason: str) -> None:
        self.triggered, self.reason = True, self.reason or reason

    def reset(self) -> None:
        self.triggered, self.reason = False, ""


@pytest.fixture
def session() -> Any:
    """Only what a front end reads of a session; nothing behind it runs."""
    return SimpleNamespace(
        session_id="s1",
        working_dir="/project",
        mode=Mode.DEFAULT,
        tools={},
        sandbox=SimpleNamespace(
            backend="bubblewrap", guarantees=Guarantees(True, True, True, True, False, True)
        ),
        abort=Flag(),
        audit=Lines(),
        caps=IterationCaps(),
        cost=CostTracker(),
        budget=SimpleNamespace(max_tokens=24_000),
        tally=Tally(),
        redactor=SimpleNamespace(redact=lambda text: text.replace("hunter2", "[redacted]")),
        sandboxed="ask",
        wall_proven=True,
        tool_timeout_s=120.0,
        llm_timeout_s=120.0,
    )


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """HOME and the state directory in a temporary folder; the working directory a project in it."""
    home = tmp_path / "home"
    project = home / "project"
    project.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENT_SECURITY_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(project)
    return home
