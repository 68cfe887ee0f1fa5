"""The gates every call passes, in order, and the judgement of what a call did (DESIGN §2).

`judge_call` needs no session, no network and no effect: a call, a frozen context, one answer.

    validation → policy → rules_deny → always_confirm → intent → permission → plan

The first DENY ends the walk; the strictest answer stands; a gate that raises has refused.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from agent_security import net, paths, prompt_safety, tool_policy
from agent_security.calls import Effect, ToolCall
from agent_security.codes import CODES, Kind
from agent_security.decision import Check, Decision, Verdict, allow, ask, deny, strictest
from agent_security.gates.arguments import read_arguments
from agent_security.gates.effects import Judged, judge_effects
from agent_security.gates.intent import acting_words
from agent_security.gates.offers import offers_for
from agent_security.gates.permission import permission
from agent_security.permissions import verdict_in_mode
from agent_security.secret_management import contains_placeholder
from agent_security.session import JudgeContext

__all__ = ["GATES", "Gate", "Judged", "judge_call", "judge_effects", "offers_for"]

Gate = Callable[[ToolCall, JudgeContext], Decision]

_PATTERN_ARGS = {"glob_files": "pattern", "grep": "glob"}
"""Arguments that are glob patterns: judged by what they could reach."""


def judge_call(call: ToolCall, context: JudgeContext) -> Decision:
    """Ask every gate until one denies; the strictest answer, with the whole trail."""
    trail: list[Decision] = []
    for gate in GATES:
        trail.append(_safely(gate, call, context))
        if trail[-1].verdict is Verdict.DENY:
            break
    return strictest(trail)


def _safely(gate: Gate, call: ToolCall, context: JudgeContext) -> Decision:
    """A gate that raises, or answers with something else than a Decision, refuses."""
    try:
        answer = gate(call, context)
    except Exception as error:  # whatever broke, the answer is no
        return deny(
            gate.__name__, "gate_error", f"the gate broke ({type(error).__name__}), which is a refusal"
        )
    if isinstance(answer, Decision):
        return answer
    return deny(gate.__name__, "gate_error", "the gate gave no decision, which is a refusal")


# --- 1 validation, §3.1 -----------------------------------------------------------------------------


def validation(call: ToolCall, context: JudgeContext) -> Decision:
    """The tool is active, and its arguments are what its schema says."""
    if call.name not in context.tools:
        near = difflib.get_close_matches(call.name, context.tools, n=2)
        hint = f", did you mean {' or '.join(near)}" if near else ""
        return deny("validation", "unknown_tool", f"no tool of that name is active{hint}")
    args, problem = read_arguments(call.args_json)
    errors = [problem] if problem else context.validator.validate(call.name, args)
    if errors:
        return deny("validation", "bad_arguments", "; ".join(errors))
    return allow("validation")


# --- 2 policy, §2.3 ---------------------------------------------------------------------------------


def policy(call: ToolCall, context: JudgeContext) -> Decision:
    """The hard policy: what no mode, rule or person at the keyboard lifts."""
    args, scope, spec = call.args, context.scope, context.tools[call.name]
    checks = [tool_policy.check_tool_policy(call.name, args, scope.working_dir, scope=scope)]
    write = spec.effect is Effect.WRITE
    checks += [paths.judge_path(args[name], scope, write=write) for name in spec.path_args if name in args]
    if (pattern := args.get(_PATTERN_ARGS.get(call.name, ""))) is not None:
        checks.append(paths.judge_pattern(pattern, args.get("path", ""), scope))
    checks += [_url_check(args[name], context) for name, role in spec.sinks if role == "url" and name in args]
    checks.append(_placeholder_check(call, spec.effect))
    refused = next((check for check in checks if not check.ok), None)
    if refused is not None:
        return deny("policy", refused.code or "policy", refused.sentence)
    note = tool_policy.notes_on(call.name, args)
    return allow("policy", note or "ok", CODES[note].meaning if note else "")


def _placeholder_check(call: ToolCall, effect: Effect) -> Check:
    """What stands for a redacted secret must not become the file's content (§5, LO-151)."""
    texts = (value for value in call.args.values() if isinstance(value, str))
    if effect in (Effect.WRITE, Effect.EXECUTE) and any(contains_placeholder(text) for text in texts):
        return Check(False, "placeholder_written: the text holds a placeholder that stands for a secret")
    return Check(True)


def _url_check(url: str, context: JudgeContext) -> Check:
    return net.judge_url(url, open_hosts=context.scope.open_hosts, resolver=context.scope.resolver)


# --- 3 rules_deny, CONTRACTS §6 ---------------------------------------------------------------------


def rules_deny(call: ToolCall, context: JudgeContext) -> Decision:
    """Any deny rule, of any level, ends the matter."""
    rule = context.rules.first("deny", call.name, call.args, context.scope)
    if rule is None:
        return allow("rules_deny")
    return deny("rules_deny", "rule_deny", f"{rule.text} is denied by {rule.source}")


# --- 4 always_confirm, §2.2 -------------------------------------------------------------------------


def always_confirm(call: ToolCall, context: JudgeContext) -> Decision:
    """What cannot be taken back needs a person's yes; where no person is asked, it is refused."""
    answers = [_in_mode("always_confirm", check, call, context) for check in _confirm_checks(call, context)]
    if not answers:
        return allow("always_confirm")
    return strictest(answers).with_trail(())


def _confirm_checks(call: ToolCall, context: JudgeContext) -> list[Check]:
    args, scope, spec = call.args, context.scope, context.tools[call.name]
    write = spec.effect is Effect.WRITE
    checks = [tool_policy.always_confirm_required(call.name, args, scope=scope)]
    checks += [paths.confirm_path(args[name], scope, write=write) for name in spec.path_args if name in args]
    if call.name == "grep" and "glob" in args:
        checks.append(paths.judge_search(args["glob"]))
    checks += [
        net.confirm_url(args[name], open_hosts=scope.open_hosts)
        for name, role in spec.sinks
        if role == "url" and name in args
    ]
    return [check for check in checks if check.ok]


def _in_mode(gate: str, check: Check, call: ToolCall, context: JudgeContext) -> Decision:
    """What becomes of a confirm or a question in this mode (DESIGN's table)."""
    code = check.code or "always_confirm"
    kind = CODES[code].kind
    confined = context.sandboxed == "allow" and context.wall_proven
    if kind is Kind.QUESTION and confined and context.tools[call.name].effect is Effect.EXECUTE:
        return allow(gate, code, check.sentence)
    verdict = verdict_in_mode(kind, context.mode)
    return {Verdict.ALLOW: allow, Verdict.ASK: ask, Verdict.DENY: deny}[verdict](gate, code, check.sentence)


# --- 5 intent and provenance, §1.4 ------------------------------------------------------------------


def intent(call: ToolCall, context: JudgeContext) -> Decision:
    """Does the call still serve what the person asked for, and may its values leave (D5, D6)?

    A sensitive word asks where it is a command that would run, a path, a host or a URL; in content
    and prose it is recorded as `intent_mention`.
    """
    sink = _sink_check(call, context)
    if not sink.ok:
        return _in_mode("intent", sink, call, context)
    args = _what_travels(call, context)
    drift = _drift(call.name, args, context)
    if drift.ok:
        return allow("intent")
    if CODES[drift.code].kind is Kind.NONE or _only_said(call.name, args, context):
        return allow("intent", "intent_mention", drift.sentence)
    return _in_mode("intent", drift, call, context)


def _drift(name: str, args: Mapping[str, Any], context: JudgeContext) -> Check:
    return prompt_safety.intent_check("\n".join(context.goals), context.scratchpad, name, args)


def _only_said(name: str, args: Mapping[str, Any], context: JudgeContext) -> bool:
    """Whether the sensitive word of a command line is in no command, path or address of it."""
    if name != "run_bash":
        return False
    return _drift(name, {"command": acting_words(str(args["command"]))}, context).ok


def _what_travels(call: ToolCall, context: JudgeContext) -> dict[str, Any]:
    """The arguments, URLs without their fragment: that part never leaves the machine."""
    args = call.args
    for name, role in context.tools[call.name].sinks:
        if role == "url" and isinstance(args.get(name), str):
            args[name] = args[name].partition("#")[0]
    return args


def _sink_check(call: ToolCall, context: JudgeContext) -> Check:
    """What would leave: nothing does without a network. A web tool's host is the permission gate's
    question; here it is what the URL would carry out, and whether it may go there at all.
    """
    spec, args, opened = context.tools[call.name], call.args, context.scope.open_hosts
    if spec.effect is Effect.EXECUTE and not tool_policy.network_commands(str(args.get("command", ""))):
        return Check(True)
    check = context.provenance.check_sinks(call.name, args, spec.sinks, open_hosts=opened)
    if check.ok or spec.effect is not Effect.NETWORK or CODES[check.code].kind is Kind.NONE:
        return check
    hosts = (net.host_of(str(args[name])) for name, role in spec.sinks if role == "url" and name in args)
    return context.provenance.check_sinks(call.name, args, spec.sinks, open_hosts=(*opened, *hosts))


# --- 7 plan, §6.2 -----------------------------------------------------------------------------------


def plan(call: ToolCall, context: JudgeContext) -> Decision:
    """--approve-plan: no action before this turn's plan is approved, in whatever mode (D20)."""
    if not context.plan_needed or context.tools[call.name].effect in (Effect.PLAN, Effect.READ):
        return allow("plan")
    return ask("plan", "plan_first", f"{call.name} would act before the plan is approved")


GATES: tuple[Gate, ...] = (validation, policy, rules_deny, always_confirm, intent, permission, plan)
