"""How rules are written and read (CONTRACTS §6): `Bash(git diff:*)`, `Read(./.env)`, `WebFetch(domain:x)`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from agent_security.errors import SettingsError

__all__ = ["OWN_TOOLS", "TOOL_GROUPS", "Action", "Rule", "read_rule", "tools_of"]

Action = Literal["allow", "ask", "deny"]

TOOL_GROUPS: dict[str, tuple[str, ...]] = {
    "Bash": ("run_bash",),
    "Read": ("read_file", "grep", "glob_files"),
    "Edit": ("write_file", "edit_file"),
    "Write": ("write_file", "edit_file"),
    "MultiEdit": ("edit_file", "write_file"),
    "Glob": ("glob_files",),
    "Grep": ("grep",),
    "WebFetch": ("webfetch",),
}
"""The names people already write → the tools a rule of that name is about."""

OWN_TOOLS: tuple[str, ...] = (
    "read_file",
    "glob_files",
    "grep",
    "write_file",
    "edit_file",
    "run_bash",
    "webfetch",
    "scratchpad_read",
    "scratchpad_write",
    "todo_read",
    "todo_write",
)

_RULE = re.compile(
    r"\s*(?P<tool>[A-Za-z_][\w.*-]*)\s*(?:\((?P<pattern>.*)\))?\s*(?:@sha256:(?P<bound>[0-9a-f]{64}))?\s*",
    re.S,
)
_DOMAIN = re.compile(r"domain:(\*\.)?[^\s:/*?#@]+(:[0-9]{1,5})?")
_TAKES_PATTERN = frozenset(
    {"run_bash", "read_file", "grep", "glob_files", "write_file", "edit_file", "webfetch"}
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `pattern` "" stands for every call of its tools; `source` says who wrote it.

    `bound` is the digest of the workspace scripts that the grant was given for, or "": once their
    content differs, the rule does not match.
    """

    text: str
    tool: str
    pattern: str
    action: Action
    source: str
    bound: str = ""


def tools_of(name: str) -> tuple[str, ...]:
    """The tools that a rule's name is about; a name that is no group is a tool itself."""
    return TOOL_GROUPS.get(name, (name,))


def read_rule(text: str, action: str, source: str, known: Collection[str] = OWN_TOOLS) -> Rule:
    """Read one rule without trying its examples. Raises SettingsError; the message names text and source."""
    if action not in ("allow", "ask", "deny"):
        raise SettingsError(f"{source}: a rule allows, asks or denies; {action!r} is none of these")
    match = _RULE.fullmatch(text)
    if match is None:
        raise SettingsError(f"{source}: {text!r} is no rule; write Tool or Tool(pattern)")
    tool, pattern = match["tool"], (match["pattern"] or "").strip()
    _check_name(tool, text, source, known)
    if match["pattern"] is not None and not pattern:
        raise SettingsError(f"{source}: {text!r} has an empty pattern; write {tool} alone for every call")
    _check_pattern(tool, pattern, text, source)
    whole = "" if pattern in ("*", "**", ":*") else pattern
    return Rule(text.strip(), tool, whole, action, source, match["bound"] or "")  # type: ignore[arg-type]


def _check_name(tool: str, text: str, source: str, known: Collection[str]) -> None:
    names = {*TOOL_GROUPS, *OWN_TOOLS, *known}
    if tool in names or re.fullmatch(r"mcp__\w[\w-]*(__(\*|\w[\w-]*))?", tool):
        return
    near = difflib.get_close_matches(tool, names, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise SettingsError(f"{source}: {text!r}: no tool is called {tool!r}{hint}")


def _check_pattern(tool: str, pattern: str, text: str, source: str) -> None:
    tools = tools_of(tool)
    if not pattern or pattern in ("*", "**"):
        return
    if not _TAKES_PATTERN.intersection(tools):
        raise SettingsError(f"{source}: {text!r}: {tool} takes no pattern")
    if "webfetch" in tools and not _DOMAIN.fullmatch(pattern):
        raise SettingsError(
            f"{source}: {text!r}: write {tool}(domain:example.org) or {tool}(domain:*.example.org)"
        )
    if "run_bash" in tools and ":*" in pattern[:-2] and not pattern.startswith("="):
        raise SettingsError(f"{source}: {text!r}: :* stands at the end of a command's first words")
