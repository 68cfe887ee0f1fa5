"""Modes and the person's rules (§2.2, CONTRACTS §6, DESIGN's table).

Rules of all levels are pooled: any deny, then any ask, then any allow. A deny or ask rule holds if
any command of a line is its; an allow rule only where every command is covered. None of them
lifts the hard policy, and an allow answers the `permission` gate alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from agent_security.calls import Effect, Mode, ToolCall
from agent_security.decision import Kind, Verdict
from agent_security.errors import SettingsError
from agent_security.paths import Scope
from agent_security.permissions.match import (
    Free,
    covers_command,
    line_rule_matches,
    matches,
    transparent,
)
from agent_security.permissions.rules import OWN_TOOLS, Action, Rule, read_rule, tools_of
from agent_security.permissions.scripts import scripts_digest
from agent_security.shell import parse_line

__all__ = [
    "ModeVerdict",
    "Rule",
    "Rules",
    "mode_verdict",
    "parse_rule",
    "scripts_digest",
    "tools_of",
    "verdict_in_mode",
]


def parse_rule(
    text: str,
    action: str,
    source: str,
    *,
    match: Sequence[str] = (),
    not_match: Sequence[str] = (),
    known: Collection[str] = OWN_TOOLS,
) -> Rule:
    """Read one rule and try its examples (commands, paths or URLs, as the rule's tool takes them).

    Raises SettingsError: not a rule, no such tool (with the nearest names), an example that fails.
    """
    rule = read_rule(text, action, source, known)
    for example in match:
        if not _example_matches(rule, example):
            raise SettingsError(f"{source}: {text!r} should match {example!r}, and does not")
    for example in not_match:
        if _example_matches(rule, example):
            raise SettingsError(f"{source}: {text!r} should not match {example!r}, and does")
    return rule


def _example_matches(rule: Rule, example: str) -> bool:
    tool = tools_of(rule.tool)[0]
    args = {"command": example, "path": example, "url": example}
    scope = Scope("/nonexistent/workspace", home="/nonexistent/home")
    return Rules(**{rule.action: (rule,)}).first(rule.action, tool, args, scope) is not None


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules of a session, pooled. Frozen: a grant makes a new pool."""

    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    allow: tuple[Rule, ...] = ()

    def first(
        self,
        action: Action,
        tool: str,
        args: Mapping[str, Any],
        scope: Scope,
        *,
        free: Free = lambda command: False,
    ) -> Rule | None:
        """The first rule of that action that is about this call, or None.

        `free`: commands of a line that an allow need not cover, because they change nothing.
        """
        rules: tuple[Rule, ...] = getattr(self, action)
        if not rules:
            return None
        if action == "allow" and tool == "run_bash":
            return _first_covering(rules, str(args.get("command", "")), scope, free)
        return next((rule for rule in rules if matches(rule, tool, args, scope)), None)

    def with_grant(self, rule_text: str, call: ToolCall) -> Rules:
        """The pool with one more allow rule, given by a person at a question about `call`.

        Raises SettingsError where the text is no rule about that call's tool.
        """
        rule = read_rule(rule_text, "allow", "session", known=(call.name,))
        if call.name not in tools_of(rule.tool):
            raise SettingsError(f"session: {rule_text!r} is not about {call.name}")
        return replace(self, allow=(*self.allow, rule))

    def without(self, grant: Rule) -> Rules:
        """The pool with one allow rule less: a grant that is taken back."""
        return replace(self, allow=tuple(rule for rule in self.allow if rule is not grant))


def _first_covering(rules: Sequence[Rule], text: str, scope: Scope, free: Free) -> Rule | None:
    """An allow rule for the very line, or one for each of its commands."""
    line = parse_line(text)
    live = [rule for rule in rules if "run_bash" in tools_of(rule.tool) and _still_bound(rule, text, scope)]
    for rule in live:
        if line_rule_matches(rule, line):
            return rule
    if line.problem or not line.commands:
        return None
    used: list[Rule] = []
    for command in line.commands:
        cover = next((rule for rule in live if covers_command(rule, command)), None)
        if cover is not None:
            used.append(cover)
        elif not (free(command) or transparent(command, line)):
            return None
    return used[0] if used else None


def _still_bound(rule: Rule, text: str, scope: Scope) -> bool:
    return not rule.bound or rule.bound == scripts_digest(parse_line(text), scope)


# --- modes --------------------------------------------------------------------------------------


def verdict_in_mode(kind: Kind, mode: Mode) -> Verdict:
    """What becomes of a question of this kind: a confirm is asked or refused, never waved through.

    DESIGN's table: confirm ASK, ASK, DENY; question ASK, ASK, ALLOW. What is no question is refused.
    """
    if kind is Kind.NONE:
        return Verdict.DENY
    if mode is not Mode.SKIP:
        return Verdict.ASK
    return Verdict.ALLOW if kind is Kind.QUESTION else Verdict.DENY


class ModeVerdict(NamedTuple):
    """A row and column of DESIGN's table."""

    verdict: Verdict
    code: str
    reason: str = ""


_RUN = ModeVerdict(Verdict.ALLOW, "ok")


def mode_verdict(
    effect: Effect,
    mode: Mode,
    *,
    read_only: bool = False,
    confined: bool = False,
    host_named: bool = False,
    subject: str = "",
) -> ModeVerdict:
    """DESIGN's table for one call that is in scope and that no rule speaks of.

    `read_only`: the command is known to change nothing. `confined`: `permissions.sandboxed` is
    "allow" and the wall is proven. `host_named`: the person, a rule or an opened domain names the
    host. `subject`: what the question is about, for its sentence.
    """
    if effect in (Effect.PLAN, Effect.READ):
        return _RUN
    if effect is Effect.NETWORK:
        reason = subject or "a host that neither you nor a rule named"
        return (
            _RUN if host_named else ModeVerdict(verdict_in_mode(Kind.CONFIRM, mode), "unnamed_host", reason)
        )
    if mode is Mode.SKIP:
        return _RUN
    if effect is Effect.WRITE:
        asked = ModeVerdict(Verdict.ASK, "ask_write", f"changes {subject or 'a file'}")
        return _RUN if mode is Mode.ACCEPT_EDITS else asked
    if confined:
        return ModeVerdict(Verdict.ALLOW, "sandboxed")
    if read_only:
        return ModeVerdict(Verdict.ALLOW, "read_only_command")
    return ModeVerdict(Verdict.ASK, "ask_execute", f"runs {subject or 'a command'}")
