"""`agent-security explain TOOL JSON`: the whole trail for one call, for a person."""

from __future__ import annotations

import os
import sys

import click

from agent_security.calls import Mode, ToolCall
from agent_security.codes import CODES, Kind
from agent_security.decision import Decision
from agent_security.errors import AgentSecurityError
from agent_security.frontends.check import Output, judge_one
from agent_security.gates import GATES
from agent_security.judging import judge_context_for
from agent_security.permissions import Rules
from agent_security.text import for_terminal
from agent_security.wiring.choices import settings_for
from agent_security.wiring.dry import context_from

__all__ = ["command", "run", "trail_lines"]


def run(
    tool: str,
    args_json: str,
    stdout: Output,
    *,
    mode: str = "",
    cwd: str = "",
    home: str = "",
    user_goal: str = "",
    rules: Rules | None = None,
    own_settings: bool = False,
    walled: bool = False,
) -> int:
    """Write the trail of one call. Returns 0, or 2 where it cannot be judged at all."""
    goals, cwd, apply = (user_goal,) if user_goal else (), cwd or os.getcwd(), "auto"
    try:
        if own_settings:
            settings = settings_for(cwd, {"mode": mode or None})
            context, apply = (
                context_from(settings, cwd, home=home, goals=goals, walled=walled),
                settings.apply,
            )
        else:
            context = judge_context_for(
                cwd, home, mode or Mode.DEFAULT, goals=goals, rules=rules, wall_proven=walled
            )
    except AgentSecurityError as error:
        stdout.write(for_terminal(f"agent-security explain: {error}") + "\n")
        return 2
    decision = judge_one(ToolCall("explain", tool, args_json), context, apply)
    for line in trail_lines(decision, str(context.mode)):
        stdout.write(for_terminal(line) + "\n")
    return 0


def trail_lines(decision: Decision, mode: str) -> list[str]:
    """One line a gate, then what it comes to, and what that code means."""
    width = max(len(gate.__name__) for gate in GATES)
    lines = [
        f"  {step.gate:<{width}}  {_word(step):<14}  {step.code}{f': {step.reason}' if step.reason else ''}"
        for step in decision.trail
    ]
    if all(step.gate == gate.__name__ for step, gate in zip(decision.trail, GATES, strict=False)):
        lines += [f"  {gate.__name__:<{width}}  not asked" for gate in GATES[len(decision.trail) :]]
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
    default=None,
    type=click.Choice([str(mode) for mode in Mode]),
    help="Judge in this mode. [default: the settings' own]",
)
@click.option("-C", "--working-dir", "cwd", default="", help="The workspace. Default: the current directory.")
@click.option("--goal", default="", help="What the person asked for.")
@click.option("--no-settings", is_flag=True, help="Shipped defaults, without your settings and rules.")
@click.option("--walled", is_flag=True, help="Judge as behind a proven wall.")
def command(
    tool: str, args_json: str, mode: str | None, cwd: str, goal: str, no_settings: bool, walled: bool
) -> None:
    """Show the whole trail for one tool call or change set, judged and not run."""
    own = not no_settings
    cwd = os.path.abspath(cwd) if cwd else ""
    raise SystemExit(
        run(
            tool,
            args_json,
            sys.stdout,
            mode=mode or "",
            cwd=cwd,
            user_goal=goal,
            own_settings=own,
            walled=walled,
        )
    )
