"""One session: its parts, what it remembers, and what its gates may know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_security.calls import Mode, ToolCall
from agent_security.changes import ChangeStore, EffectLimits
from agent_security.decision import Decision
from agent_security.paths import Scope
from agent_security.permissions import Rules
from agent_security.ports import Approver, AuditSink, Listener, Repository, Resolver, Sandbox
from agent_security.provenance import Provenance
from agent_security.resource_limits import ContextBudget, CostTracker, IterationCaps
from agent_security.secret_management import Redactor, SessionCredentials
from agent_security.session_control import AbortController
from agent_security.tools.memory import ScratchpadState, TodoState
from agent_security.tools.registry import ToolSpec
from agent_security.tools.validators import ToolValidator


@dataclass(frozen=True, slots=True)
class JudgeContext:
    """All that a gate may know of the session. Frozen: no gate changes what the next one sees."""

    tools: Mapping[str, ToolSpec]
    validator: ToolValidator
    scope: Scope
    mode: Mode = Mode.DEFAULT
    goals: tuple[str, ...] = ()
    """The person's messages, oldest first; the last one is `user_goal` (D6)."""
    scratchpad: str = ""
    """The part written before anything untrusted was read (D6)."""
    rules: Rules = field(default_factory=Rules)
    provenance: Provenance = field(default_factory=Provenance)
    sandboxed: str = "ask"
    """`permissions.sandboxed`: "allow" answers every question about EXECUTE where the wall is proven."""
    wall_proven: bool = False
    runs_later: str = "ask"
    """`permissions.runs_later`: "ask" once a file a session (D11), or "list": applied and listed."""
    seen_later: frozenset[str] = frozenset()
    """Run-later paths that were answered, or listed, earlier in this session."""
    plan_needed: bool = False
    """--approve-plan is on and this turn's plan has no approval yet."""
    limits: EffectLimits = field(default_factory=EffectLimits)
    """The `changes.*` bounds of one change set."""
    repository: Repository | None = None
    """What git held when the session began; None where nobody can be asked."""
    changed_here: frozenset[str] = frozenset()
    """Paths that this session has changed."""
    made_here: Callable[[], frozenset[str]] = frozenset
    """Those of them that it created; asked where something depends on it."""

    @property
    def user_goal(self) -> str:
        return self.goals[-1] if self.goals else ""


@dataclass(slots=True)
class PlanState:
    """§6.2: whether plans are asked for, and whether this turn's plan is approved."""

    required: bool = False
    approved: bool = False


@dataclass(slots=True)
class Tally:
    """What the end of the session reports (CONTRACTS §4)."""

    questions: int = 0
    denials: list[tuple[ToolCall, Decision]] = field(default_factory=list)
    approval_missing: bool = False
    """An approval was needed, nobody could give it, and it did not come from untrusted text (exit 5)."""
    files_changed: dict[str, str] = field(default_factory=dict)
    held_back: dict[str, str] = field(default_factory=dict)
    runs_later: dict[str, str] = field(default_factory=dict)


class Silent:
    """A listener for sessions that nobody watches."""

    def notice(self, event: str, **data: Any) -> None:
        return None


@dataclass(slots=True)
class Session:
    """One session's parts. Built in wiring.py, or in a test from `testing.py`'s fakes."""

    session_id: str
    scope: Scope
    mode: Mode
    tools: Mapping[str, ToolSpec]
    validator: ToolValidator
    sandbox: Sandbox
    changes: ChangeStore
    approver: Approver
    audit: AuditSink
    redactor: Redactor
    credentials: SessionCredentials
    caps: IterationCaps
    budget: ContextBudget
    cost: CostTracker
    abort: AbortController
    rules: Rules = field(default_factory=Rules)
    provenance: Provenance = field(default_factory=Provenance)
    scratchpad: ScratchpadState = field(default_factory=ScratchpadState)
    todos: TodoState = field(default_factory=TodoState)
    plan: PlanState = field(default_factory=PlanState)
    tally: Tally = field(default_factory=Tally)
    listener: Listener = field(default_factory=Silent)
    goals: list[str] = field(default_factory=list)
    resolver: Resolver | None = None
    """Answers names for `webfetch`; None is the system's resolver. Only code can set it."""
    sandboxed: str = "ask"
    runs_later: str = "ask"
    wall_proven: bool = False
    limits: EffectLimits = field(default_factory=EffectLimits)
    repository: Repository | None = None
    apply: str = "auto"
    tool_timeout_s: float = 120.0
    llm_timeout_s: float = 120.0
    web_max_bytes: int = 5_000_000
    finishers: list[Callable[[], None]] = field(default_factory=list)

    @property
    def working_dir(self) -> str:
        return self.scope.working_dir

    def judge_context(self) -> JudgeContext:
        """A frozen view for the gates, made anew for each call."""
        return JudgeContext(
            tools=self.tools,
            validator=self.validator,
            scope=self.scope,
            mode=self.mode,
            goals=tuple(self.goals),
            scratchpad=self.scratchpad.trusted(),
            rules=self.rules,
            provenance=self.provenance,
            sandboxed=self.sandboxed,
            wall_proven=self.wall_proven,
            runs_later=self.runs_later,
            seen_later=frozenset(self.tally.runs_later),
            plan_needed=self.plan.required and not self.plan.approved,
            limits=self.limits,
            repository=self.repository,
            changed_here=frozenset(self.tally.files_changed),
            made_here=self.changes.created,
        )
