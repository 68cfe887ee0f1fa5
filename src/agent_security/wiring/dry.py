"""Judge as a session would, without one: the person's settings and rules, no wall, nothing run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent_security.calls import ToolCall
from agent_security.gates import judge_call
from agent_security.gates.permission import allowing_rule
from agent_security.judging import judge_context_for
from agent_security.permissions import Rule
from agent_security.ports import Resolver
from agent_security.session import JudgeContext
from agent_security.settings import Settings
from agent_security.tools.registry import TOOLS
from agent_security.wiring.choices import chosen_tools, effect_limits, rules_of, settings_for

__all__ = ["answering_rules", "context_from", "dry_context", "rows_of_rules"]


def dry_context(workspace: str, *, mode: str = "", walled: bool = False) -> JudgeContext:
    """The gates' view of a call in this workspace under the person's settings."""
    settings = settings_for(workspace, {"mode": mode or None})
    return context_from(settings, workspace, walled=walled)


def context_from(
    settings: Settings,
    workspace: str,
    *,
    home: str = "",
    goals: Sequence[str] = (),
    scratchpad: str = "",
    resolver: Resolver | None = None,
    walled: bool = False,
) -> JudgeContext:
    """As `judge_context_for`, with everything a session would take from its settings.

    `walled`: as if a wall were proven; nothing is started here that could prove one.
    """
    return judge_context_for(
        workspace,
        home,
        settings.mode,
        goals=goals,
        scratchpad=scratchpad,
        rules=rules_of(settings),
        resolver=resolver,
        open_hosts=settings.allow_domain,
        added_dirs=settings.add_dir,
        permitted_binaries=frozenset(settings.shell_permit),
        tools={name: TOOLS[name] for name in chosen_tools(settings)} if settings.tools else None,
        sandboxed=settings.permissions_sandboxed,
        wall_proven=walled,
        runs_later=settings.permissions_runs_later,
        limits=effect_limits(settings),
    )


def rows_of_rules(workspace: str) -> list[dict[str, str]]:
    """Every rule of every level, each parsed, in the order the gates ask: deny, ask, allow."""
    rules = rules_of(settings_for(workspace, {}))
    return [_row(rule) for group in (rules.deny, rules.ask, rules.allow) for rule in group]


def _row(rule: Rule) -> dict[str, str]:
    level, _, source = rule.source.partition(": ")
    return {"action": rule.action, "rule": rule.text, "level": level, "source": source}


def answering_rules(call: ToolCall, context: JudgeContext) -> list[dict[str, Any]]:
    """The rules about this call, the first of each action; `answers` where the decision is that rule's."""
    try:
        args: Mapping[str, Any] = call.args
    except ValueError:
        return []
    if call.name not in context.tools or context.validator.validate(call.name, dict(args)):
        return []
    found = [context.rules.first(action, call.name, args, context.scope) for action in ("deny", "ask")]
    found.append(allowing_rule(call, context))
    decision = judge_call(call, context)
    codes = {step.code for step in decision.trail if step.verdict is decision.verdict}
    return [{**_row(rule), "answers": f"rule_{rule.action}" in codes} for rule in found if rule is not None]
