"""`agent-security explain TOOL JSON`: the whole trail for one call, for a person."""

from __future__ import annotations

import os
import sys

import click

from agent_security.calls import Mode, ToolCall
from agent_security.codes import CODES, Kind
from agent_security.decision import Decision
from agent_security.errors import AgentSecurityError
from agent_security.frontends.check import Output
from agent_security.gates import GATES, judge_call
from agent_security.judging import judge_context_for
from agent_security.permissions import Rules
from agent_security.text import for_terminal

__all__ = ["command", "run", "trail_lines"]


def run(
    tool: str,
    args_json: str,
    stdout: Output,
    *,
    mode: str = "default",
    cwd: str = "",
    home: str = "",
    user_goal: str = "",
    rules: Rules | None = None,
) -> int:
    """Write the trail of one call. Returns 0, or 2 where it cannot be judged at all."""
    try:
        goals = (user_goal,) if user_goal else ()
        context = judge_context_for(cwd or os.getcwd(), home, mode, goals=goals, rules=rules)
    except AgentSecurityError as error:
        stdout.write(for_terminal(f"agent-security explain: {error}") + "\n")
        return 2
    decision = judge_call(ToolCall("explain", tool, args_json), context)
    for line in trail_lines(decision, mode):
        stdout.write(for_terminal(line) + "\n")
    return 0


def trail_lines(decision: Decision, mode: str) -> list[str]:
    """One line a gate, then what it comes to, and what that code means."""
    width = max(len(gate.__name__) for gate in GATES)
    lines = [
        f"  {step.gate:<{width}}  {_word(step):<14}  {step.code}{f': {step.reason}' if step.reason else ''}"
        for step in decision.trail
    ]
    asked = len(decision.trail)
    lines += [f"  {gate.__name__:<{width}}  not asked" for gate in GATES[asked:]]
    lines.append(
        f"{decision.word}, in mode {mode}: {decision.gate}, {decision.code}: {CODES[decision.code].meaning}"
    )
    return lines


def _word(step: Decision) -> str:
    return step.word if step.kind is Kind.NONE else f"{step.word} ({step.kind})"


@click.command(name="explain")
@click.argument("tool")
@click.argument("args_json", metavar="JSON")
@click.option(
    "--mode",
    default=str(Mode.DEFAULT),
    type=click.Choice([str(mode) for mode in Mode]),
    help="Judge in this mode.",
)
@click.option("-C", "--working-dir", "cwd", default="", help="The workspace. Default: the current directory.")
@click.option("--goal", default="", help="What the person asked for.")
def command(tool: str, args_json: str, mode: str, cwd: str, goal: str) -> None:
    """Show the whole trail for one tool call, judged and not run."""
    cwd = os.path.abspath(cwd) if cwd else ""
    raise SystemExit(run(tool, args_json, sys.stdout, mode=mode, cwd=cwd, user_goal=goal))
