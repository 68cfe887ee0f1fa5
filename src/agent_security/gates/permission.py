"""The permission gate: the person's rules, then the mode's table (§2.2, CONTRACTS §6)."""

from __future__ import annotations

import shlex

from agent_security import paths, tool_policy
from agent_security.calls import Effect, ToolCall
from agent_security.codes import Kind
from agent_security.decision import Check, Decision, Verdict, allow, ask, deny
from agent_security.net import host_matches, host_of
from agent_security.permissions import Rule, mode_verdict, verdict_in_mode
from agent_security.session import JudgeContext
from agent_security.shell import Command, parse_line

__all__ = ["allowing_rule", "changes_nothing", "permission"]

_GATE = "permission"
_MAKE = {Verdict.ALLOW: allow, Verdict.ASK: ask, Verdict.DENY: deny}


def permission(call: ToolCall, context: JudgeContext) -> Decision:
    """An ask rule asks in every mode; an allow rule answers; else the mode's table decides."""
    rule = context.rules.first("ask", call.name, call.args, context.scope)
    if rule is not None:
        return ask(_GATE, "rule_ask", f"{rule.text} is asked about by {rule.source}")
    rule = allowing_rule(call, context)
    if rule is not None:
        return allow(_GATE, "rule_allow", f"{rule.text} is allowed by {rule.source}")
    later = _runs_later(call, context)
    if later.ok:
        verdict = verdict_in_mode(Kind.QUESTION, context.mode)
        return _MAKE[verdict](_GATE, later.code, later.sentence)
    return _by_mode(call, context)


def allowing_rule(call: ToolCall, context: JudgeContext) -> Rule | None:
    """The allow rule that answers this call; commands that change nothing need none."""
    return context.rules.first("allow", call.name, call.args, context.scope, free=changes_nothing)


def changes_nothing(command: Command) -> bool:
    """Whether one command of a line is a known read-only command whose words are all known."""
    if any(
        ">" in r.op and r.target.text not in ("/dev/null", "1", "2", "&1", "&2") for r in command.redirects
    ):
        return False
    if command.assignments or not all(word.known for word in command.argv):
        return False
    return tool_policy.is_read_only_command(shlex.join(word.text for word in command.argv))


def _runs_later(call: ToolCall, context: JudgeContext) -> Check:
    spec = context.tools[call.name]
    if spec.effect is not Effect.WRITE or context.runs_later == "list":
        return Check(False)
    found = (
        paths.second_tier(call.args[name], context.scope, seen=context.seen_later)
        for name in spec.path_args
        if name in call.args
    )
    return next((check for check in found if check.ok), Check(False))


def _by_mode(call: ToolCall, context: JudgeContext) -> Decision:
    spec, args = context.tools[call.name], call.args
    command = str(args.get("command", "")) if call.name == "run_bash" else ""
    if spec.effect is Effect.EXECUTE and (network := _opaque_network(command, context)):
        verdict = verdict_in_mode(Kind.QUESTION, context.mode)
        return _MAKE[verdict](_GATE, "opaque_network", f"{network} may reach the network and runs code")
    answer = mode_verdict(
        spec.effect,
        context.mode,
        read_only=bool(command) and tool_policy.is_read_only_command(command),
        confined=context.sandboxed == "allow" and context.wall_proven,
        host_named=spec.effect is Effect.NETWORK and _host_named(call, context),
        subject=_subject(call, context),
    )
    return _MAKE[answer.verdict](_GATE, answer.code, answer.reason)


def _opaque_network(command: str, context: JudgeContext) -> str:
    """The network command of a line that also runs code no parser can judge, where domains are opened."""
    if (
        not command
        or not context.scope.open_hosts
        or not tool_policy.notes_on("run_bash", {"command": command})
    ):
        return ""
    return next(iter(tool_policy.network_commands(command)), "")


def _hosts(call: ToolCall, context: JudgeContext) -> list[str]:
    spec, args = context.tools[call.name], call.args
    return [host_of(str(args[name])) for name, role in spec.sinks if role in ("url", "host") and name in args]


def _host_named(call: ToolCall, context: JudgeContext) -> bool:
    """Every host of the call is opened, or stands in a message of the person (D5)."""
    hosts = _hosts(call, context)
    return bool(hosts) and all(
        host and (host_matches(host, context.scope.open_hosts) or context.provenance.trusted_value(host))
        for host in hosts
    )


def _subject(call: ToolCall, context: JudgeContext) -> str:
    """What the question is about, as it stands in the call; front ends neutralise it before showing."""
    spec, args = context.tools[call.name], call.args
    if spec.effect is Effect.NETWORK:
        return "; ".join(
            f"{host}: {context.provenance.where_from(host)}" for host in _hosts(call, context) if host
        )
    if call.name == "run_bash":
        return ", ".join(dict.fromkeys(c.name or c.text for c in parse_line(str(args["command"])).commands))
    names = spec.path_args if spec.effect is Effect.WRITE else ()
    return ", ".join(str(args[name]) for name in names if name in args) or call.name
