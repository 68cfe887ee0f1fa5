"""Build one session from settings: every concrete part is chosen here (DESIGN §2, F6)."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from agent_security.agent import build_tool_registry
from agent_security.calls import Mode
from agent_security.changes import ChangeStore
from agent_security.paths import DescriptorFacts, Scope
from agent_security.ports import Approver, Listener, Provider, Resolver, Sandbox
from agent_security.resource_limits import ContextBudget, CostTracker, IterationCaps
from agent_security.sandboxes import SandboxRequest, open_sandbox
from agent_security.secret_management import (
    Redactor,
    SessionCredentials,
    build_container_env,
    known_secret_values,
)
from agent_security.session import PlanState, Session, Silent
from agent_security.session_control import AbortController
from agent_security.settings import Settings, home_dir, state_dir
from agent_security.tools.audit import AuditLog
from agent_security.tools.validators import ToolValidator, bounded_schemas
from agent_security.wiring.choices import (
    chosen_tools,
    context_tokens,
    effect_limits,
    fresh_credentials,
    provider_for,
    read_rules,
    rules_of,
)
from agent_security.wiring.config_event import config_fields
from agent_security.wiring.identity import git_identity_of
from agent_security.wiring.records import end_record, new_record, sandbox_folder, sessions_dir
from agent_security.wiring.recovery import recover_crashed
from agent_security.wiring.workspace import (
    added_dirs_at,
    private_folder,
    refuse_log_inside,
    refuse_own_code_under,
    workspace_at,
)

_WALL = ("fs", "net", "env", "kill")
"""What must be proven before "everything the wall confines" may run unasked."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """What is chosen before anything is opened."""

    settings: Settings
    workspace: str
    added: tuple[str, ...]
    tools: list[str]
    approver: Approver
    listener: Listener
    resolver: Resolver | None


def build_session(
    settings: Settings,
    *,
    working_dir: str,
    approver: Approver,
    listener: Listener | None = None,
    provider: Provider | None = None,
    resolver: Resolver | None = None,
    needs_model: bool = True,
) -> tuple[Session, Provider | None]:
    """One session behind its wall, its log open, its config on record.

    The provider is None only where `needs_model` is false. Raises UsageError (workspace, tools,
    settings), SandboxUnavailable, AuditError; whatever was opened by then is closed again.
    """
    workspace = workspace_at(working_dir)
    refuse_own_code_under(workspace)
    added = added_dirs_at(settings.add_dir)
    parts = _Parts(
        settings, workspace, added, chosen_tools(settings), approver, listener or Silent(), resolver
    )
    with ExitStack() as undo:
        if provider is None and needs_model:
            provider = provider_for(settings, workspace)
        if provider is not None:
            undo.callback(provider.close)
            _warm(provider)
        session = _open(parts, undo)
        model = provider.model if provider is not None else ""
        session.audit.log("config", **config_fields(session, model=model, sandbox_root=workspace))
        if provider is not None:
            session.finishers.append(provider.close)
        undo.pop_all()
    return session, provider


def _warm(provider: Provider) -> None:
    """Let a provider load its client while the sandbox starts (0.9 s for openai)."""
    warm = getattr(provider, "warm", None)
    if warm is not None:
        warm()


def _open(parts: _Parts, undo: ExitStack) -> Session:
    """The parts that hold something open, each with its way back in `undo`."""
    credentials = fresh_credentials()
    folder = private_folder(sessions_dir() / credentials.session_id)
    redactor = Redactor([*known_secret_values(), credentials.session_token])
    log_path = _log_path(parts, folder)
    log = AuditLog(log_path, credentials.session_id, redact=redactor.redact)
    undo.callback(log.close)
    record = new_record(credentials.session_id, parts.workspace, log_path)
    undo.callback(end_record, record, 0)
    recover_crashed(parts.workspace, parts.listener)
    sandbox = open_sandbox(_request(parts, folder, credentials))
    undo.callback(sandbox.close)
    changes = ChangeStore(parts.workspace, record.changes_folder)
    undo.callback(changes.close)
    session = _assemble(parts, credentials, sandbox, changes, log, redactor)
    session.finishers.append(changes.close)
    session.finishers.append(lambda: end_record(record, len(session.tally.files_changed)))
    return session


def _log_path(parts: _Parts, folder: Path) -> str:
    """Never inside a workspace or an added directory (CONTRACTS §5)."""
    path = os.path.realpath(parts.settings.audit_log or folder / "audit.jsonl")
    refuse_log_inside(path, (parts.workspace, *parts.added))
    return path


def _request(parts: _Parts, folder: Path, credentials: SessionCredentials) -> SandboxRequest:
    settings = parts.settings
    user_name, user_email = git_identity_of(home_dir())
    granted, hidden = read_rules(rules_of(settings), parts.workspace)
    return SandboxRequest(
        workspace=parts.workspace,
        folder=str(private_folder(sandbox_folder(folder))),
        added_dirs=parts.added,
        container_env=build_container_env(credentials.session_id, credentials.session_token),
        backend=settings.sandbox,
        require=settings.require,
        exec_timeout_s=settings.tool_timeout,
        home=str(home_dir()),
        granted=granted,
        hidden=hidden,
        user_name=user_name,
        user_email=user_email,
        state_dir=str(state_dir()),
    )


def _assemble(
    parts: _Parts,
    credentials: SessionCredentials,
    sandbox: Sandbox,
    changes: ChangeStore,
    log: AuditLog,
    redactor: Redactor,
) -> Session:
    settings = parts.settings
    tools = build_tool_registry(sandbox, parts.tools)
    return Session(
        session_id=credentials.session_id,
        scope=_scope(parts),
        mode=Mode(settings.mode),
        tools=tools,
        validator=ToolValidator(bounded_schemas([tool.schema for tool in tools.values()])),
        sandbox=sandbox,
        changes=changes,
        approver=parts.approver,
        audit=log,
        redactor=redactor,
        credentials=credentials,
        caps=IterationCaps(settings.max_turns, settings.max_tool_calls),
        budget=ContextBudget(context_tokens(settings)),
        cost=CostTracker(settings.max_cost_usd, settings.price_in, settings.price_out),
        abort=AbortController(),
        rules=rules_of(settings),
        plan=PlanState(required=settings.approve_plan),
        listener=parts.listener,
        resolver=parts.resolver,
        sandboxed=settings.permissions_sandboxed,
        runs_later=settings.permissions_runs_later,
        wall_proven=not sandbox.guarantees.missing(_WALL),
        limits=effect_limits(settings),
        repository=sandbox.repository,
        apply=settings.apply,
        tool_timeout_s=settings.tool_timeout,
        llm_timeout_s=settings.llm_timeout,
    )


def _scope(parts: _Parts) -> Scope:
    return Scope(
        working_dir=parts.workspace,
        home=str(home_dir()),
        added_dirs=parts.added,
        facts=DescriptorFacts((parts.workspace, *parts.added)),
        permitted_binaries=frozenset(parts.settings.shell_permit),
        open_hosts=parts.settings.allow_domain,
        resolver=parts.resolver,
    )
