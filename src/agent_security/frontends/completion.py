"""`agent-security completion bash|zsh|fish`: click's own completion script, for the shell to source."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

_VARIABLE = "_AGENT_SECURITY_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> int:
    """Print the completion script of a shell, e.g. eval "$(agent-security completion bash)"."""
    from agent_security.frontends.cli import program

    chosen = get_completion_class(shell)
    if chosen is None:
        raise click.UsageError(f"no completion for {shell}")
    # the base class's form: bash's own starts a bash to ask for its version
    click.echo(ShellComplete.source(chosen(program, {}, "agent-security", _VARIABLE)))
    return 0
