"""What "always" may mean: three widths, narrowest first, shown before any is added (CONTRACTS §6)."""

from __future__ import annotations

import posixpath

from agent_security import paths
from agent_security.calls import Effect, ToolCall
from agent_security.codes import Kind
from agent_security.decision import Decision
from agent_security.gates.permission import changes_nothing
from agent_security.permissions import scripts_digest
from agent_security.permissions.match import transparent
from agent_security.session import JudgeContext
from agent_security.shell import Command, interpreter, parse_line

__all__ = ["offers_for"]

_TWO_WORDS = frozenset(
    {"git", "npm", "pnpm", "yarn", "cargo", "go", "uv", "poetry", "pip", "make", "just", "dotnet", "bundle"}
    | {"mvn", "gradle", "rails", "deno", "bun", "hatch", "pdm", "nox", "tox"}
)
"""Programs whose first operand says what they do: a family is two words of these."""

_ANY_CODE = frozenset(
    {"sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl", "php", "env", "xargs", "eval"}
    | {"exec", "npx", "uvx", "pipx", "ssh", "find", "awk", "sed", "parallel", "watch"}
)
"""Programs that run whatever they are given: no family of theirs is offered."""


def offers_for(call: ToolCall, asked: Decision, context: JudgeContext) -> tuple[str, ...]:
    """Rules that a person may keep for the session; none but for questions of the permission gate."""
    if asked.gate != "permission" or asked.kind is not Kind.QUESTION or asked.code == "rule_ask":
        return ()
    spec = context.tools[call.name]
    if call.name == "run_bash":
        return _command_offers(str(call.args["command"]), context)
    if spec.effect is Effect.WRITE and spec.path_args:
        return _write_offers(str(call.args[spec.path_args[0]]), asked, context)
    return (call.name,)


def _command_offers(text: str, context: JudgeContext) -> tuple[str, ...]:
    line = parse_line(text)
    if line.problem:
        return ()
    digest = scripts_digest(line, context.scope)
    bound = f" @sha256:{digest}" if digest else ""
    offers = [f"Bash(={line.text.strip()}){bound}"]
    acting = [c for c in line.commands if not changes_nothing(c) and not transparent(c, line)]
    if len(acting) == 1 and (family := _family(acting[0])):
        offers.append(f"Bash({family}:*){bound}")
    if context.wall_proven:
        offers.append("Bash")
    return tuple(offers)


def _family(command: Command) -> str:
    """The words that name what a command does, or "" where no such words are safe to keep."""
    if not command.name or command.assignments or command.name in _ANY_CODE or interpreter(command.name):
        return ""
    words = [word.text for word in command.argv if word.known]
    if len(words) != len(command.argv) or any(c in words[0] for c in "*=()' \""):
        return ""
    if command.name in _TWO_WORDS and len(words) > 1:
        plain = words[1].replace("-", "").replace(":", "").replace("_", "").isalnum()
        return f"{words[0]} {words[1]}" if plain and not words[1].startswith("-") else ""
    return words[0]


def _write_offers(path: str, asked: Decision, context: JudgeContext) -> tuple[str, ...]:
    names = paths.relative_names(path, context.scope.look(path), context.scope)
    if len(names) != 1 or any(c in names[0] for c in "*?[]()\n"):
        return ()
    folder = posixpath.dirname(names[0])
    if asked.code == "second_tier":
        return (f"Edit(/{names[0]})",)
    widths = (f"Edit(/{names[0]})", f"Edit(/{folder}/**)" if folder else "", "Edit")
    return tuple(filter(None, widths))
