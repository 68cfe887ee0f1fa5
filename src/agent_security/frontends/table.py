"""The table of commands: a name, where its code is, one line of help, and whether it is built.

`agent-security --help` and shell completion read this table alone; a command's module is
imported when that command is run.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One command. `where` is "module:attribute" of a click command, "" where nothing is built."""

    name: str
    where: str
    help: str

    @property
    def built(self) -> bool:
        return bool(self.where)


SESSION = "session"
"""The default command: what runs where the first word names no other row."""

DASHES = "agent_security.dashes"
"""Key of click's `ctx.meta`: whether "--" stood on the command line."""

_HERE = "agent_security.frontends"

COMMANDS: tuple[Row, ...] = (
    Row(SESSION, f"{_HERE}.start:command", "Open a session in the terminal, or run headless with -p."),
    Row("demo", f"{_HERE}.demo:command", "Watch a hostile scripted model attack a sample project and fail."),
    Row("check", f"{_HERE}.check:command", "Judge tool calls without running them: JSON lines in and out."),
    Row("explain", f"{_HERE}.explain:command", "Show every gate's answer to one tool call."),
    Row("preview", f"{_HERE}.preview:command", "Show content exactly as the model would see it."),
    Row("secrets", f"{_HERE}.secrets:command", "Find secrets in files, folders, stdin or the environment."),
    Row("sandbox", f"{_HERE}.sandbox:command", "Run one command behind the wall, or test the wall."),
    Row("audit", f"{_HERE}.audit:command", "Read and verify a session's audit log."),
    Row("sessions", f"{_HERE}.sessions:command", "List the sessions kept on this machine."),
    Row("rollback", f"{_HERE}.rollback:command", "Put back what a session changed, after a crash too."),
    Row("doctor", f"{_HERE}.doctor:command", "Tell what this machine can enforce, and what is missing."),
    Row("completion", f"{_HERE}.completion:command", "Print the completion script of bash, zsh or fish."),
    Row("rules", f"{_HERE}.rules:command", "List, add, remove and test permission rules."),
    Row("redteam", "", "Run the attack suite against your own settings."),
    Row("hook", "", "Put the gates in front of another agent's tool calls."),
    Row("stop", "", "Stop a running session from another terminal."),
    Row("pause", "", "Pause a running session from another terminal."),
    Row("resume", "", "Let a paused session go on."),
)

BY_NAME: dict[str, Row] = {row.name: row for row in COMMANDS}
