"""`agent-security doctor`: what this machine can enforce, what is missing, and the line to type."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from agent_security.frontends.exits import Exit


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("--require", multiple=True, help="Guarantees that must hold, e.g. fs,net,env; else exit 4.")
@click.option("--sandbox", "backend", default="auto", show_default=True, help="The wall's kind to look at.")
def command(as_json: bool, require: tuple[str, ...], backend: str) -> int:
    """Tell what this machine can enforce, what is missing, and how to get it.

    Exit code 4 where there is no sandbox, or none that gives what --require names.
    """
    from agent_security.frontends.diagnosis import examine
    from agent_security.frontends.walls import look_at_walls, wall_lines
    from agent_security.text import for_terminal

    look, findings = look_at_walls(None, backend), examine()
    needed = [name.strip() for names in require for name in names.split(",") if name.strip()]
    missing = look.guarantees.missing(needed)
    if as_json:
        found = {
            "walls": look.as_object(),
            "missing": list(missing),
            "findings": [asdict(f) for f in findings],
        }
        click.echo(json.dumps(found))
    else:
        lines = [*wall_lines(look), "", *(line for finding in findings for line in finding.lines)]
        for line in lines:
            click.echo(for_terminal(line))
        if missing:
            click.echo(f"required, but not enforced here: {', '.join(missing)}", err=True)
    return Exit.SANDBOX if missing or not look.backend else Exit.DONE
