"""Public fakes, for tests of this package and of code that uses it. No process, file or socket.

session = fake_session(sandbox=FakeSandbox({"run_bash": "ok"}), approver=FakeApprover(yes=True))
result = run_tool_call(call("run_bash", command="ls"), session)
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_security.calls import Mode, Permit, ToolCall, ToolOutput
from agent_security.changes import ChangeStore
from agent_security.paths import Scope
from agent_security.ports import Answer, Guarantees, Question, Repository
from agent_security.providers.scripted import ScriptedProvider
from agent_security.resource_limits import ContextBudget, CostTracker, IterationCaps
from agent_security.secret_management import Redactor, SessionCredentials
from agent_security.session import Session
from agent_security.session_control import AbortController
from agent_security.tools.registry import TOOLS
from agent_security.tools.validators import ToolValidator, bounded_schemas

__all__ = ["FakeApprover", "FakeSandbox", "RecordingAudit", "ScriptedProvider", "call", "fake_session"]

ALL_WALLS = Guarantees(fs=True, net=True, env=True, kill=True, limits=True, view=True)

Answering = str | ToolOutput | Exception | Callable[[Permit], ToolOutput]

_ids = itertools.count(1)


def call(name: str, **args: Any) -> ToolCall:
    """A ToolCall as a model would make it, with an id of its own."""
    return ToolCall(f"call_{next(_ids)}", name, json.dumps(args))


@dataclass
class FakeSandbox:
    """Answers each tool from a table and remembers the permits. A tool not in the table gives ""."""

    answers: Mapping[str, Answering] = field(default_factory=dict)
    guarantees: Guarantees = ALL_WALLS
    tracked_secrets: tuple[str, ...] = ()
    backend: str = "fake"
    ran: list[Permit] = field(default_factory=list)
    killed: int = 0
    closed: bool = False
    repository: Repository | None = None

    def run_file_tool(self, permit: Permit, *, timeout_s: float) -> ToolOutput:
        return self._answer(permit)

    def run_command(self, permit: Permit, *, timeout_s: float) -> ToolOutput:
        return self._answer(permit)

    def html_to_text(self, permit: Permit, html: bytes, *, timeout_s: float) -> str:
        return html.decode("utf-8", "replace")

    def kill(self) -> None:
        self.killed += 1

    def close(self) -> None:
        self.closed = True

    def _answer(self, permit: Permit) -> ToolOutput:
        self.ran.append(permit)
        answer = self.answers.get(permit.call.name, "")
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            return ToolOutput(answer)
        return answer(permit) if callable(answer) else answer


@dataclass
class FakeApprover:
    """Says the same to every question, or what `script` says in order; remembers what was asked."""

    yes: bool = False
    by: str = "nobody"
    script: list[Answer] = field(default_factory=list)
    asked: list[Question] = field(default_factory=list)

    def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        if self.script:
            return self.script.pop(0)
        return Answer(self.yes, "person" if self.yes else self.by)

    def confirm(self, prompt: str, detail: str = "") -> bool:
        return self.yes


@dataclass
class RecordingAudit:
    """An AuditSink in memory. `fail_on` names an event whose writing raises OSError."""

    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    fail_on: str = ""

    def log(self, event: str, **fields: Any) -> None:
        if event == self.fail_on:
            raise OSError("no space left on device")
        self.events.append((event, fields))

    def log_permission_decision(
        self, tool: str, args: Mapping[str, Any] | str, mode: str, allowed: bool, reason: str, **more: Any
    ) -> None:
        self.log(
            "permission_decision", tool=tool, args=args, mode=mode, allowed=allowed, reason=reason, **more
        )

    def log_tool_result(
        self,
        tool_call_id: str,
        tool: str,
        args: Mapping[str, Any] | str,
        permission_allowed: bool,
        result: str,
        **more: Any,
    ) -> None:
        self.log("tool_result", tool_call_id=tool_call_id, tool=tool, args=args,
                 permission_allowed=permission_allowed, result=result, **more)  # fmt: skip

    def log_llm_request(
        self, model: str, message_count: int, token_estimate: int, has_tools: bool, **more: Any
    ) -> None:
        self.log("llm_request", model=model, message_count=message_count, token_estimate=token_estimate,
                 has_tools=has_tools, **more)  # fmt: skip

    def log_llm_response(
        self,
        model: str,
        finish_reason: str,
        usage: Mapping[str, int] | None,
        message_hash: str,
        tool_call_count: int,
        **more: Any,
    ) -> None:
        self.log("llm_response", model=model, finish_reason=finish_reason, usage=usage,
                 message_hash=message_hash, tool_call_count=tool_call_count, **more)  # fmt: skip

    def log_session_abort(self, reason: str, **more: Any) -> None:
        self.log("session_abort", reason=reason, **more)

    def close(self) -> None:
        self.log("session_end")

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.events]

    def of(self, event: str) -> list[dict[str, Any]]:
        """The fields of every record of one event, in order."""
        return [fields for name, fields in self.events if name == event]


def fake_session(
    working_dir: str | Path,
    store: str | Path,
    *,
    mode: Mode | str = Mode.DEFAULT,
    sandbox: FakeSandbox | None = None,
    approver: FakeApprover | None = None,
    audit: RecordingAudit | None = None,
    tools: Sequence[str] | None = None,
    **more: Any,
) -> Session:
    """A whole session over fakes. `working_dir` and `store` are real folders, beside each other."""
    active = {name: spec for name, spec in TOOLS.items() if tools is None or name in tools}
    root = str(Path(working_dir).resolve())
    parts: dict[str, Any] = {
        "session_id": "fake",
        "scope": Scope(root),
        "mode": Mode(mode),
        "tools": active,
        "validator": ToolValidator(bounded_schemas([spec.schema for spec in active.values()])),
        "sandbox": sandbox or FakeSandbox(),
        "changes": ChangeStore(root, str(store)),
        "approver": approver or FakeApprover(),
        "audit": audit or RecordingAudit(),
        "redactor": Redactor(),
        "credentials": SessionCredentials(),
        "caps": IterationCaps(),
        "budget": ContextBudget(),
        "cost": CostTracker(),
        "abort": AbortController(),
        "goals": [],
    }
    return Session(**(parts | more))
