"""The specification's names for the loop and its permission gate.

The loop itself is `loop.Agent`; every call goes through `pipeline.run_tool_call`. Run as
`python -P -m agent_security.agent` this is the program.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # without -P the first entry is the working directory: a workspace's click.py would be ours (D16)
        del sys.path[0]
    from agent_security.frontends.cli import main

    sys.exit(main())

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from agent_security.calls import Mode, ToolCall
from agent_security.decision import Check, Decision, Verdict, strictest
from agent_security.errors import UsageError
from agent_security.gates import judge_call
from agent_security.loop import Agent
from agent_security.loop.conversation import Conversation
from agent_security.loop.documents import Document
from agent_security.loop.toolcalls import answer_call, read_calls, tool_message
from agent_security.loop.turn import TurnOutcome
from agent_security.paths import DescriptorFacts, Scope
from agent_security.ports import Message, Provider, Sandbox
from agent_security.providers.replies import raw_calls
from agent_security.session import JudgeContext, Session
from agent_security.tools.registry import TOOLS, ToolSpec
from agent_security.tools.validators import ToolValidator, bounded_schemas

__all__ = [
    "Agent",
    "TurnOutcome",
    "agent_loop",
    "build_tool_registry",
    "check_permission",
    "handle_tool_calls",
]

_EMPTIED = "[DELETE-via-empty]"
"""The mark that an emptied file's reason carries already."""

_LAYERS = ("policy", "rules_deny", "always_confirm", "permission")
"""§2.2's three layers by the names of their gates; rules belong to the mode decision."""


def agent_loop(
    session: Session,
    provider: Provider,
    *,
    prompt: str,
    documents: Sequence[Document] = (),
    conversation: Conversation | None = None,
    stream: bool = False,
    deadline_at: float | None = None,
) -> TurnOutcome:
    """One user turn. Keep the `conversation`, or an `Agent`, where more turns shall follow.

    Raises SystemPromptError (§5.1) and AuditError; everything else is the outcome's `kind`.
    """
    agent = Agent(session, provider, conversation=conversation, stream=stream, deadline_at=deadline_at)
    return agent.run_turn(prompt, documents)


def handle_tool_calls(tool_calls: object, session: Session) -> list[Message]:
    """Answer the calls of one reply: exactly one tool message each, in the model's order.

    `tool_calls` is the list a server sent: mappings, a client's objects or RawCalls. A missing or
    repeated id is replaced by a new one. Raises AuditError.
    """
    calls = read_calls(raw_calls(tool_calls), session.tools)
    return [tool_message(read.call.id, answer_call(read, session).content) for read in calls]


def build_tool_registry(
    sandbox: Sandbox | None = None, allowed_tools: Iterable[str] | str | None = None
) -> dict[str, ToolSpec]:
    """The tools that can be called, filtered by `--tools` (§2.1). Raises UsageError naming the valid names.

    `sandbox` is the specification's parameter; a tool reaches its wall through the session alone.
    """
    if allowed_tools is None:
        return dict(TOOLS)
    given = allowed_tools.split(",") if isinstance(allowed_tools, str) else list(allowed_tools)
    names = [name.strip() for name in given if name.strip()]
    if unknown := [name for name in names if name not in TOOLS]:
        raise UsageError(f"no tool named {', '.join(unknown)}; the valid names are {', '.join(TOOLS)}")
    return {name: tool for name, tool in TOOLS.items() if name in names}


def check_permission(
    tool_name: str,
    args: Mapping[str, Any],
    mode: Mode | str = Mode.DEFAULT,
    working_dir: str = ".",
    *,
    approve: Callable[[str], bool] | None = None,
    context: JudgeContext | None = None,
) -> Check:
    """§2.2's gate as `(allowed, reason)`: a view of the pipeline's decision over its three layers (D16).

    `approve` is asked where a person would be, with the specification's labels; without one the
    answer is no. `context` stands in for a session's; without it only mode and working directory count.
    """
    call = ToolCall("check_permission", tool_name, json.dumps(dict(args)))
    whole = judge_call(call, context or _context(Mode(mode), working_dir))
    if whole.verdict is Verdict.DENY:
        return Check(False, f"{whole.code}: {whole.reason}")
    decision = strictest(answer for answer in whole.trail if answer.gate in _LAYERS)
    if decision.verdict is not Verdict.ASK:
        return Check(decision.allowed, f"{decision.code}: {decision.reason}")
    label = _label(decision)
    yes = (
        approve is not None and approve(f"{label}{tool_name}: {decision.reason.removeprefix(label)}") is True
    )
    return Check(yes, f"{decision.code}: {decision.reason}")


def _label(decision: Decision) -> str:
    """How the specification marks what is destructive."""
    if decision.gate != "always_confirm":
        return ""
    return f"{_EMPTIED} " if decision.reason.startswith(_EMPTIED) else "[DESTRUCTIVE] "


def _context(mode: Mode, working_dir: str) -> JudgeContext:
    root = os.path.realpath(working_dir)
    facts = DescriptorFacts((root,)) if os.path.isdir(root) else None
    validator = ToolValidator(bounded_schemas([tool.schema for tool in TOOLS.values()]))
    return JudgeContext(tools=TOOLS, validator=validator, scope=Scope(root, facts=facts), mode=mode)
