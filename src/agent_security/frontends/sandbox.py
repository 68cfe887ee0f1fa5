"""`agent-security sandbox exec | test | build-image`: the wall by itself, without a model."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING

import click

from agent_security.errors import NotBuiltError
from agent_security.frontends.exits import Exit

if TYPE_CHECKING:
    pass

_DIRECTORY = click.option(
    "-C", "--working-dir", "working_dir", default=".", show_default=True, help="The project."
)
_BACKEND = click.option("--sandbox", "backend", default=None, help="The wall's kind. [default: auto]")
_REQUIRE = click.option(
    "--require", multiple=True, help="Guarantees without which nothing runs, e.g. fs,net,env."
)


@click.group("sandbox", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Run one command behind the wall, or test the wall."""


@command.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@_DIRECTORY
@_BACKEND
@_REQUIRE
@click.option(
    "--apply",
    "apply",
    type=click.Choice(("auto", "ask", "never")),
    default=None,
    help="How its changes reach the project. [default: ask at a terminal, else never]",
)
@click.option("--tool-timeout", default=None, help="Seconds it may take. [default: 120]")
@click.argument("words", metavar="-- CMD [ARGS]...", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_command(
    working_dir: str,
    backend: str | None,
    require: tuple[str, ...],
    apply: str | None,
    tool_timeout: str | None,
    words: tuple[str, ...],
) -> int:
    """Run one command behind the wall; its exit code is passed on.

    CMD is run as it stands, word by word; for a pipe or a list say: -- bash -c 'a | b'.
    """
    flags = {"working_dir": working_dir, "apply": apply or ("ask" if _at_terminal() else "never")}
    flags |= {"sandbox": backend} if backend else {}
    flags |= {"tool_timeout": tool_timeout} if tool_timeout else {}
    from agent_security.frontends.sandbox_exec import run_behind_wall

    return run_behind_wall({**flags, **({"require": require} if require else {})}, shlex.join(words))


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


@command.command("test")
@_DIRECTORY
@_BACKEND
@_REQUIRE
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def test_command(working_dir: str, backend: str | None, require: tuple[str, ...], as_json: bool) -> int:
    """Try to get out of the wall, harmlessly, and print what is really enforced."""
    from agent_security.frontends.walls import look_at_walls, wall_lines

    look = look_at_walls(working_dir, backend or "auto")
    needed = [name for names in require for name in names.split(",") if name]
    missing = look.guarantees.missing(needed)
    if as_json:
        click.echo(json.dumps(look.as_object() | {"missing": list(missing)}))
    else:
        for line in wall_lines(look):
            click.echo(line)
    return Exit.SANDBOX if missing or not look.backend else Exit.DONE


@command.command("build-image", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def build_image_command(words: tuple[str, ...]) -> int:
    """Build the base image of the Docker backend (not built yet)."""
    raise NotBuiltError("sandbox build-image: not built yet")
