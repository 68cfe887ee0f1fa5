"""Small stand-ins for the parts around the loop: nothing runs, everything is remembered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent_security.agent import Agent, build_tool_registry
from agent_security.calls import Mode, Permit, ToolOutput
from agent_security.changes import Applied
from agent_security.changeset import ChangeSet
from agent_security.history import valid_history
from agent_security.paths import Scope
from agent_security.ports import Answer, Guarantees, Message, Question, Reply
from agent_security.provenance import Provenance
from agent_security.providers import ScriptedProvider
from agent_security.resource_limits import ContextBudget, CostTracker, IterationCaps
from agent_security.secret_management import Redactor
from agent_security.session import Session
from agent_security.session_control import AbortController
from agent_security.tools.validators import ToolValidator, bounded_schemas

READ = {"call": {"read_file": {"path": "a"}}}
"""A turn of a script: one harmless call."""


class FakeSandbox:
    """Answers every call with `output(call)` and remembers what ran, in order."""

    backend = "fake"
    guarantees = Guarantees()

    def __init__(self, output: Callable[[Permit], ToolOutput] | None = None) -> None:
        self.ran: list[tuple[str, dict[str, Any]]] = []
        self.killed = 0
        self._output = output or (lambda permit: ToolOutput(f"{permit.call.name} ran"))

    def run_file_tool(self, permit: Permit, *, timeout_s: float) -> ToolOutput:
        self.ran.append((permit.call.name, permit.call.args))
        return self._output(permit)

    run_command = run_file_tool

    def html_to_text(self, permit: Permit, html: bytes, *, timeout_s: float) -> str:
        return f"text of {len(html)} bytes"

    def kill(self) -> None:
        self.killed += 1

    def close(self) -> None:
        return None


class FakeChanges:
    """Applies nothing, remembers the calls."""

    def created(self) -> frozenset[str]:
        return frozenset()

    def __init__(self) -> None:
        self.applied: list[str] = []

    def apply(self, call_id: str, changes: ChangeSet, *, hold: Mapping[str, str]) -> Applied:
        self.applied.append(call_id)
        return Applied()


class FakeApprover:
    """Gives the same answer to everything."""

    def __init__(self, yes: bool | None = None) -> None:
        self.yes = yes
        self.questions: list[Question] = []

    def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        return Answer() if self.yes is None else Answer(self.yes, by="person")

    def confirm(self, prompt: str, detail: str = "") -> bool:
        return bool(self.yes)


class FakeAudit:
    """Every event in order, as (name, fields)."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    def log(self, event: str, **fields: Any) -> None:
        self.events.append((event, fields))

    def log_permission_decision(
        self, tool: str, args: object, mode: str, allowed: bool, reason: str, **more: Any
    ) -> None:
        self.log(
            "permission_decision", tool=tool, args=args, mode=mode, allowed=allowed, reason=reason, **more
        )

    def log_tool_result(
        self, tool_call_id: str, tool: str, args: object, permission_allowed: bool, result: str, **more: Any
    ) -> None:
        self.log("tool_result", tool_call_id=tool_call_id, tool=tool, args=args, result=result, **more)

    def log_llm_request(
        self, model: str, message_count: int, token_estimate: int, has_tools: bool, **more: Any
    ) -> None:
        self.log("llm_request", model=model, message_count=message_count, has_tools=has_tools)

    def log_llm_response(
        self,
        model: str,
        finish_reason: str,
        usage: object,
        message_hash: str,
        tool_call_count: int,
        **more: Any,
    ) -> None:
        self.log(
            "llm_response",
            finish_reason=finish_reason,
            usage=usage,
            message_hash=message_hash,
            tool_call_count=tool_call_count,
        )

    def log_session_abort(self, reason: str, **more: Any) -> None:
        self.log("session_abort", reason=reason)

    def close(self) -> None:
        return None

    def named(self, event: str) -> list[dict[str, Any]]:
        """The fields of every event of that name."""
        return [fields for name, fields in self.events if name == event]

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.events]


class FakeListener:
    def __init__(self) -> None:
        self.notices: list[tuple[str, dict[str, Any]]] = []

    def notice(self, event: str, **data: Any) -> None:
        self.notices.append((event, data))


class Watched:
    """A provider in front of another: keeps a copy of the messages and tools of every request."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.asked: list[list[Message]] = []
        self.tools: list[list[str]] = []

    @property
    def model(self) -> str:
        return str(self._inner.model)

    def complete(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], **how: Any) -> Reply:
        self.asked.append([dict(message) for message in messages])
        self.tools.append([tool["function"]["name"] for tool in tools])
        return self._inner.complete(messages, tools, **how)

    def close(self) -> None:
        self._inner.close()


def session_in(folder: str, **parts: Any) -> Session:
    """A session over fakes; `parts` replaces any of them. `tools` may be a list of names."""
    tools = build_tool_registry(None, parts.pop("tools", None))
    fields: dict[str, Any] = {
        "session_id": "session-1",
        "scope": Scope(folder),
        "mode": Mode.ACCEPT_EDITS,
        "tools": tools,
        "validator": ToolValidator(bounded_schemas([tool.schema for tool in tools.values()])),
        "sandbox": FakeSandbox(),
        "changes": FakeChanges(),
        "approver": FakeApprover(),
        "audit": FakeAudit(),
        "redactor": Redactor(),
        "credentials": object(),
        "caps": IterationCaps(),
        "budget": ContextBudget(),
        "cost": CostTracker(),
        "abort": AbortController(),
        "provenance": Provenance(),
        "listener": FakeListener(),
    }
    return Session(**(fields | parts))


def agent_with(session: Session, turns: Sequence[Any], **how: Any) -> tuple[Agent, Watched]:
    """An agent whose model follows the script, and the model, which remembers what it was sent."""
    provider = Watched(ScriptedProvider(turns))
    return Agent(session, provider, **how), provider


def check_valid(agent: Agent, provider: Watched) -> None:
    """The history is valid now, and was in every request."""
    for messages in (agent.conversation.messages, *provider.asked):
        problems = valid_history(messages)
        if problems:
            raise AssertionError(problems)
