"""The default command: the session, in the terminal or headless."""

from __future__ import annotations

import sys
from typing import Any

import click

from agent_security.frontends.options import given_settings, refuse_not_built, session_parameters
from agent_security.frontends.table import BY_NAME, DASHES


def start(prompt: str | None, **given: Any) -> int:
    """Choose the front end; what the flags say is judged in `load_settings`."""
    _refuse_command_as_prompt(prompt)
    flags = given_settings(given)
    refuse_not_built(flags)
    from agent_security.wiring import settings_for, workspace_at

    workspace = workspace_at(str(flags.get("working_dir") or "."))
    settings = settings_for(workspace, flags)
    if settings.headless:
        from agent_security.frontends.headless import run_headless

        return run_headless(settings, workspace, prompt)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("this is no terminal: use -p to run headless")
    from agent_security.frontends.terminal import run_terminal

    return run_terminal(settings, workspace, prompt)


def _refuse_command_as_prompt(prompt: str | None) -> None:
    """`agent-security -C dir doctor` would send the word "doctor" to the model: surely not meant."""
    if prompt in BY_NAME and not click.get_current_context().meta.get(DASHES):
        raise click.UsageError(
            f"a command comes first: agent-security {prompt} … (to say it to the model: -- {prompt})"
        )


command = click.Command(
    "agent-security",
    callback=start,
    params=session_parameters(),
    help="Open a session in the terminal, or run headless with -p.",
    epilog="Only PROMPT and what you type are your words; stdin and --context carry no authority.",
)
