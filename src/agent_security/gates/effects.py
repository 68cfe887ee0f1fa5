"""Judge what a call did, by its change set: effects, not text (DESIGN §3.2, D24).

`changes` finds, per path, what a change means; here the mode and the person's rules say what
becomes of it. A path that no finding speaks of is applied.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from agent_security.changes import Finding, GitMemory, judge_change_set
from agent_security.changeset import ChangeSet
from agent_security.codes import CODES, Kind
from agent_security.decision import Decision, Verdict, allow, ask, deny
from agent_security.descriptors import open_root
from agent_security.permissions import verdict_in_mode
from agent_security.session import JudgeContext

__all__ = ["Judged", "judge_effects"]

_GATE = "effects"
_MAKE = {Verdict.ALLOW: allow, Verdict.ASK: ask, Verdict.DENY: deny}
_WALLED = "made_executable"
"""The effect that `permissions.sandboxed = "allow"` answers, as it answers `chmod` (CONTRACTS §6)."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One answer about some paths of a change set. `runs_later`: they are listed as such once applied."""

    decision: Decision
    paths: tuple[str, ...]
    runs_later: bool = False


def judge_effects(changes: ChangeSet, context: JudgeContext, apply: str) -> tuple[Judged, ...]:
    """One answer a code, the strictest first.

    `apply` is `--apply`: "never" holds everything back, "ask" puts one question for what nothing
    else asks about, "auto" asks only where a finding does. Any other word refuses everything.
    """
    if not changes:
        return ()
    everything = tuple(change.path for change in changes.changes)
    if apply not in ("auto", "ask"):
        return (Judged(deny(_GATE, "apply_never", "changes stay a patch"), everything),)
    try:
        answers = _by_rule(changes, context) + _by_finding(changes, context)
    except Exception as error:  # a judgement that breaks is a refusal, as in every gate
        return (
            Judged(deny(_GATE, "gate_error", f"the judgement broke ({type(error).__name__})"), everything),
        )
    groups = _grouped(_without_refused(answers))
    if apply == "ask":
        spoken = {path for judged in groups for path in judged.paths if not judged.decision.allowed}
        rest = tuple(path for path in everything if path not in spoken)
        if rest:
            groups.append(Judged(ask(_GATE, "apply_ask", f"{len(rest)} changes"), rest))
    return tuple(sorted(groups, key=lambda judged: -judged.decision.verdict))


def _without_refused(answers: list[Judged]) -> list[Judged]:
    """Nobody is asked about a path that is refused anyway, and nothing held back runs later."""
    refused = {path for a in answers if a.decision.verdict is Verdict.DENY for path in a.paths}
    return [a for a in answers if a.decision.verdict is Verdict.DENY or not refused.issuperset(a.paths)]


def _by_rule(changes: ChangeSet, context: JudgeContext) -> list[Judged]:
    """What a deny rule for `Edit` names is held back, whatever wrote it; an ask rule asks."""
    found = []
    for change in changes.changes:
        args = {"path": change.path}
        if rule := context.rules.first("deny", "write_file", args, context.scope):
            decision = deny(_GATE, "rule_deny", f"{rule.text} is denied by {rule.source}")
        elif rule := context.rules.first("ask", "write_file", args, context.scope):
            decision = ask(_GATE, "rule_ask", f"{rule.text} is asked about by {rule.source}")
        else:
            continue
        found.append(Judged(decision, (change.path,)))
    return found


def _by_finding(changes: ChangeSet, context: JudgeContext) -> list[Judged]:
    workspace_fd = open_root(context.scope.working_dir)
    try:
        memory = _memory(changes, workspace_fd, context)
        findings = judge_change_set(
            changes,
            workspace_fd=workspace_fd,
            limits=context.limits,
            known=memory.known if memory else None,
            lost=memory.lost if memory else None,
        )
    finally:
        os.close(workspace_fd)
    return [_judged(finding, context) for finding in findings]


def _memory(changes: ChangeSet, workspace_fd: int, context: JudgeContext) -> GitMemory | None:
    """What git held at session start, where there is a repository that can be asked."""
    if context.repository is None:
        return None
    made, changed = context.made_here, context.changed_here
    return GitMemory(changes, workspace_fd, context.repository, made_here=made, changed_here=changed)


def _judged(finding: Finding, context: JudgeContext) -> Judged:
    verdict = finding.verdict
    if verdict is Verdict.ASK:
        verdict = _asked_in_mode(finding, context)
    decision = _MAKE[verdict](_GATE, finding.code, finding.reason)
    return Judged(decision, (finding.path,), finding.runs_later)


def _asked_in_mode(finding: Finding, context: JudgeContext) -> Verdict:
    kind = CODES[finding.code].kind
    if kind is Kind.QUESTION:
        if finding.runs_later and (context.runs_later == "list" or finding.path in context.seen_later):
            return Verdict.ALLOW
        if context.rules.first("allow", "write_file", {"path": finding.path}, context.scope) is not None:
            return Verdict.ALLOW
        if finding.code == _WALLED and context.sandboxed == "allow" and context.wall_proven:
            return Verdict.ALLOW
    return verdict_in_mode(kind, context.mode)


def _grouped(answers: list[Judged]) -> list[Judged]:
    """One question a code, not one a file."""
    groups: dict[tuple[Verdict, str, bool], list[Judged]] = {}
    for judged in answers:
        key = (judged.decision.verdict, judged.decision.code, judged.runs_later)
        groups.setdefault(key, []).append(judged)
    return [_joined(group) for group in groups.values()]


def _joined(group: list[Judged]) -> Judged:
    first = group[0]
    paths = tuple(dict.fromkeys(path for judged in group for path in judged.paths))
    return Judged(first.decision, paths, first.runs_later)
