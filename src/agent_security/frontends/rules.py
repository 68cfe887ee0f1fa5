"""`agent-security rules`: what is allowed, asked and denied, where each comes from; add, remove, test."""

from __future__ import annotations

import difflib
import json
import os
from pathlib import Path

import click

from agent_security.errors import SettingsError
from agent_security.text import for_terminal

_ACTIONS = click.Choice(("allow", "ask", "deny"))
_HERE = click.option(
    "-C", "--working-dir", "cwd", default="", help="The project. Default: the current directory."
)
_DRY = click.option("-n", "--dry-run", is_flag=True, help="Show the difference and write nothing.")


@click.group(name="rules", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List, add, remove and test permission rules. Alone: the list."""
    if context.invoked_subcommand is None:
        context.invoke(list_rules)


@command.command("list")
@_HERE
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_rules(cwd: str = "", as_json: bool = False) -> None:
    """Every rule in force here, in the order it is asked: deny, ask, allow."""
    from agent_security.wiring.dry import rows_of_rules

    rows = rows_of_rules(_workspace(cwd))
    for row in rows:
        if as_json:
            click.echo(json.dumps(row))
        else:
            click.echo(
                for_terminal(f"{row['action']:<6} {row['rule']:<40} {row['level']:<8} {row['source']}")
            )
    if not rows and not as_json:
        click.echo("no rules: the mode's table decides (docs/reference.md)", err=True)


def _workspace(cwd: str) -> str:
    return os.path.realpath(cwd or os.getcwd())


# --- add, remove -----------------------------------------------------------------------------------


@command.command("add")
@click.argument("action", type=_ACTIONS)
@click.argument("rule")
@_DRY
def add(action: str, rule: str, dry_run: bool) -> None:
    """Add a rule to your own settings file, e.g. rules add allow 'Bash(npm test:*)'."""
    from agent_security.settings.edit import with_rule

    path, text = _own_file()
    _validate(rule, action, path)
    _write(path, text, with_rule(text, action, rule.strip()), dry_run=dry_run)


@command.command("remove")
@click.argument("action", type=_ACTIONS)
@click.argument("rule")
@_DRY
def remove(action: str, rule: str, dry_run: bool) -> None:
    """Take a rule out of your own settings file, as `rules list` shows it."""
    from agent_security.settings.edit import without_rule

    path, text = _own_file()
    _write(path, text, without_rule(text, action, rule.strip()), dry_run=dry_run)


def _own_file() -> tuple[Path, str]:
    """The person's file and its text, "" where there is none yet."""
    from agent_security.settings import user_settings_file

    path = user_settings_file()
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return path, file.read()
    except FileNotFoundError:
        return path, ""
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: not read: {error}") from error


def _validate(rule: str, action: str, path: Path) -> None:
    """Raises SettingsError for what is no rule, before anything is shown or written."""
    from agent_security.permissions import parse_rule

    if not rule.isprintable():
        raise SettingsError("a rule is one line of visible text")
    parsed = parse_rule(rule, action, str(path))
    if parsed.bound:
        raise SettingsError("a rule bound to a script's content is a session's grant: leave @sha256 out")


def _write(path: Path, old: str, new: str, *, dry_run: bool) -> None:
    """The difference first; what would not load is not written."""
    from agent_security.settings.edit import write_settings
    from agent_security.settings.files import check_text

    check_text(new, str(path))
    rows = difflib.unified_diff(old.splitlines(), new.splitlines(), str(path), str(path), n=2, lineterm="")
    for row in rows:
        click.echo(for_terminal(row))
    if dry_run:
        click.echo("nothing was written", err=True)
    else:
        write_settings(path, new)


# --- test ------------------------------------------------------------------------------------------


@command.command("test", context_settings={"ignore_unknown_options": True})
@click.argument("call")
@click.argument("args_json", metavar="[JSON]", default="")
@_HERE
@click.option("--mode", default="", help="Judge in this mode instead of the settings' own.")
@click.option("--walled", is_flag=True, help="As behind a proven wall.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def test(call: str, args_json: str, cwd: str, mode: str, walled: bool, as_json: bool) -> None:
    """Judge a command line, or a tool with its JSON arguments: which rule answers, and why.

    \b
    agent-security rules test 'git push origin main'
    agent-security rules test read_file '{"path": ".env"}'
    """
    from agent_security.calls import ToolCall
    from agent_security.frontends.check import as_json as decision_as_json
    from agent_security.frontends.explain import trail_lines
    from agent_security.gates import judge_call
    from agent_security.wiring.dry import answering_rules, dry_context

    name, args = (call, args_json) if args_json else ("run_bash", json.dumps({"command": call}))
    context = dry_context(_workspace(cwd), mode=mode, walled=walled)
    made = ToolCall("rules-test", name, args)
    decision = judge_call(made, context)
    speaking = answering_rules(made, context)
    if as_json:
        click.echo(json.dumps({**decision_as_json(decision), "rules": speaking}))
        return
    for line in [*_told(speaking), *trail_lines(decision, str(context.mode))]:
        click.echo(for_terminal(line))


def _told(speaking: list[dict[str, str]]) -> list[str]:
    """Deny before ask before allow: the first of them is the one that counts."""
    if not speaking:
        return ["no rule is about this call; the mode's table decides"]
    first = "answers" if speaking[0]["answers"] else "matches, but another gate is stricter"
    lines = [f"{row['action']} {row['rule']}  ({row['source']})" for row in speaking]
    return [f"{lines[0]}: {first}", *(f"{line}: comes after" for line in lines[1:])]
