"""Signals, sockets and the environment: what a command does to processes and with what they hold."""

from __future__ import annotations

from agent_security.decision import Check
from agent_security.paths import Scope
from agent_security.shell import Command, Word
from agent_security.shell.getopt import names
from agent_security.shell.scripts import awk
from agent_security.shell.words import PARENT
from agent_security.tool_policy.places import OK

_ENCODERS = names(
    "base64 base32 xxd od hexdump hd gzip xz bzip2 zstd openssl gpg gpg2 uuencode basenc tr zip"
)


def check_process(command: Command, scope: Scope | None) -> Check:
    """Signals to the harness; `exec` of what only the run knows; scripts that open sockets."""
    if command.name == "kill" and any(word.value in ("-1", "0", "1", PARENT) for word in _signalled(command)):
        return Check(False, "kill_outside: the signal would reach the harness or every process")
    if command.name == "pkill" and any(word.value == PARENT for word in command.args):
        return Check(False, "kill_outside: the signal would reach the harness")
    if command.name in ("exec", "eval") and command.args and not command.args[0].settled:
        return Check(False, f"run_time_code: {command.name} of what only the run knows")
    if command.name in ("awk", "gawk", "mawk") and any(awk(word.value).network for word in command.args):
        return Check(False, "shell_network: the awk program opens a connection")
    return OK


def _signalled(command: Command) -> list[Word]:
    """The processes a `kill` names; its first `-9` or `-s KILL` is the signal."""
    words = list(command.args)
    if len(words) > 1 and words[0].starts("-"):
        words = words[2:] if words[0].value in ("-s", "-n") else words[1:]
    return [word for word in words if word.value != "--"]


def check_environment_leak(command: Command, scope: Scope | None) -> Check:
    """The whole environment, encoded or stored."""
    if prints_environment(command) and (
        command.feeds in _ENCODERS or any(r.writes for r in command.redirects)
    ):
        return Check(False, "environment_leak: the whole environment would be encoded or stored")
    return OK


def prints_environment(command: Command) -> bool:
    """`env`, `printenv`, `set`, `export -p`, `declare -x` with nothing to narrow them."""
    texts = [word.value for word in command.args]
    if command.name in ("env", "printenv", "set"):
        return not texts or texts in (["-0"], ["--null"])
    return command.name in ("export", "declare", "typeset") and texts in (
        [],
        ["-p"],
        ["-x"],
        ["-px"],
        ["-xp"],
    )
