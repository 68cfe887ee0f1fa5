"""The program: finds a command through the table, and turns every error into one line and a code.

Only click is imported here; `--help` and completion import nothing of the session (a test holds it).
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from agent_security import __version__
from agent_security.errors import AgentSecurityError, NotBuiltError
from agent_security.frontends.exits import Exit, exit_of, line_of
from agent_security.frontends.table import BY_NAME, COMMANDS, DASHES, SESSION, Row

_DEBUG = click.Option(["--debug"], envvar="AGENT_SECURITY_DEBUG")
_ROOT_WORDS = ("--help", "-h", "--version")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code. Never raises."""
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        code = program.main(args, prog_name="agent-security", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else Exit.DONE
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        return _say(f"agent-security: {' '.join(error.format_message().split())}", Exit.USAGE)
    except AgentSecurityError as error:
        return _say(line_of(error), exit_of(error))
    except BrokenPipeError:
        return _quiet_pipe()
    except SystemExit as ended:  # click's own way out of a broken pipe, with 1
        return ended.code if isinstance(ended.code, int) else Exit.INTERNAL
    except (KeyboardInterrupt, click.Abort):
        return _say("agent-security: interrupted", Exit.SIGINT)
    except Exception as error:
        return _unexpected(error)


def _say(line: str, code: Exit) -> int:
    """The last line on stderr; foreign text in it (a file's name, a server's words) is made visible."""
    from agent_security.text import for_terminal

    try:
        click.echo(for_terminal(line).replace("\n", " "), err=True)
    except BrokenPipeError:
        return _quiet_pipe()
    return code


def _quiet_pipe() -> int:
    """The reader went away: what Python would still flush goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Exit.INTERNAL


def _unexpected(error: Exception) -> int:
    if _DEBUG.resolve_envvar_value(click.Context(program)) not in (None, "0"):
        import traceback

        traceback.print_exception(error)
    name = type(error).__name__
    hint = "AGENT_SECURITY_DEBUG=1 shows where"
    return _say(
        f"agent-security: internal failure: {name}: {' '.join(str(error).split())} ({hint})", Exit.INTERNAL
    )


class Program(click.Group):
    """The table as a click group; a line that names no command belongs to the session."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [row.name for row in COMMANDS if row.name != SESSION]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        row = BY_NAME.get(cmd_name)
        if row is None:
            return None
        return _load(row) if row.built else _not_built(row)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[DASHES] = "--" in args
        completing_first_word = ctx.resilient_parsing and not args
        if completing_first_word or (args and (args[0] in BY_NAME or args[0] in _ROOT_WORDS)):
            return super().parse_args(ctx, args)
        return super().parse_args(ctx, [SESSION, *args])

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage("agent-security", "[OPTIONS] [PROMPT]")
        formatter.write_usage("agent-security", "COMMAND [ARGS]...")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The session's options, then the table, read without importing one command."""
        from agent_security.frontends.options import session_parameters

        options = [p for p in session_parameters() if isinstance(p, click.Option)]
        shown = [p.get_help_record(ctx) for p in [*options, *self.get_params(ctx)]]
        with formatter.section("Options"):
            formatter.write_dl([record for record in shown if record])
        with formatter.section("Commands"):
            formatter.write_dl([(row.name, _help_line(row)) for row in COMMANDS if row.name != SESSION])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Before any word: the names of the table, and the session's options."""
        from click.shell_completion import CompletionItem

        from agent_security.frontends.options import session_parameters

        names = [
            CompletionItem(row.name, help=row.help) for row in COMMANDS if row.name.startswith(incomplete)
        ]
        if not incomplete.startswith("-"):
            return [item for item in names if item.value != SESSION]
        flags = [flag for p in session_parameters() if isinstance(p, click.Option) for flag in p.opts]
        return [CompletionItem(flag) for flag in flags if flag.startswith(incomplete)]


def _help_line(row: Row) -> str:
    return row.help if row.built else f"{row.help} (not built yet)"


def _load(row: Row) -> click.Command:
    module, _, attribute = row.where.partition(":")
    command: click.Command = getattr(importlib.import_module(module), attribute)
    return command


def _not_built(row: Row) -> click.Command:
    """Takes any arguments, and refuses."""

    def refuse(words: tuple[str, ...]) -> None:
        raise NotBuiltError(f"{row.name}: not built yet")

    return click.Command(
        row.name,
        callback=refuse,
        params=[click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True},
        help=_help_line(row),
    )


program = Program(
    "agent-security",
    help="Runs an LLM coding agent on your project, and stays safe even when the model does not.",
    params=[
        click.Option(["--version"], is_flag=True, expose_value=False, help="Print the version and exit.")
    ],
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=False,
)


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"agent-security {__version__}")
        ctx.exit()


program.params[0].callback = _version
program.params[0].is_eager = True
