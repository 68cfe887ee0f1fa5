"""Whether a rule is about a call: by commands, by paths or by hosts (CONTRACTS §6)."""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from agent_security.net import host_matches, host_of
from agent_security.paths import Scope, lies_within
from agent_security.permissions.rules import Rule, tools_of
from agent_security.shell import Command, Line, parse_line

__all__ = ["Free", "covers_command", "line_rule_matches", "matches", "transparent"]

Free = Callable[[Command], bool]
"""Says of a command that no allow rule need cover it: it is known to change nothing."""

_WRAPPERS = frozenset({"timeout", "nice", "nohup", "stdbuf", "time", "command", "builtin"})
"""Change how a command runs, never what: an allow rule for the wrapped command is enough."""

_HARMLESS_VARIABLES = frozenset(
    {"CI", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "COLUMNS", "NO_COLOR", "FORCE_COLOR"}
    | {"CLICOLOR", "NODE_ENV", "DEBUG", "RUST_BACKTRACE", "RUST_LOG", "VERBOSE", "PYTHONDONTWRITEBYTECODE"}
    | {"PYTHONUNBUFFERED", "PYTHONHASHSEED"}
)
"""Variables before a command that cannot change what it runs."""

_READERS = frozenset(
    {"cat", "tac", "head", "tail", "less", "more", "nl", "bat", "strings", "xxd", "od", "base64"}
    | {"cp", "mv", "source", "."}
)
_WRITERS = frozenset({"tee", "touch", "truncate", "rm", "mv", "cp", "ln", "install"})


def matches(rule: Rule, tool: str, args: Mapping[str, Any], scope: Scope) -> bool:
    """Whether a deny or ask rule is about this call: any command, any name of the path, the host."""
    if tool == "run_bash":
        return _any_command(rule, str(args.get("command", "")), scope)
    if not _names_tool(rule.tool, tool):
        return False
    if not rule.pattern:
        return True
    if tool == "webfetch":
        return host_matches(host_of(str(args.get("url", ""))), (rule.pattern.removeprefix("domain:"),))
    names = path_names(str(args.get("path", ".") or "."), scope)
    fold = rule.action != "allow"
    found = [_path_matches(rule.pattern, name, scope, fold=fold) for name in names]
    return any(found) if fold else bool(found) and all(found)


def _names_tool(name: str, tool: str) -> bool:
    """`mcp__server` and `mcp__server__*` are about every tool of that server."""
    if name.startswith("mcp__") and (name.endswith("__*") or name.count("__") == 1):
        return tool.startswith(f"{name.removesuffix('__*')}__")
    return tool in tools_of(name)


# --- commands -----------------------------------------------------------------------------------


def _any_command(rule: Rule, text: str, scope: Scope) -> bool:
    line = parse_line(text)
    if "run_bash" in tools_of(rule.tool):
        return line_rule_matches(rule, line) or any(
            _command_matches(rule.pattern, c, bare=True) for c in line.commands
        )
    return any(_touches(rule, command, scope) for command in line.commands)


def line_rule_matches(rule: Rule, line: Line) -> bool:
    """A rule for everything, or for this very line (`=…`)."""
    return not rule.pattern or (
        rule.pattern.startswith("=") and rule.pattern[1:].strip() == line.text.strip()
    )


def covers_command(rule: Rule, command: Command) -> bool:
    """Whether an allow rule covers one command: as it was typed, with no variable that changes what runs."""
    if any(name not in _HARMLESS_VARIABLES for name, _ in command.assignments):
        return False
    return _command_matches(rule.pattern, command, bare=False)


def transparent(command: Command, line: Line) -> bool:
    """A wrapper whose wrapped command stands in the line as a command of its own."""
    return command.name in _WRAPPERS and any(c.where == f"wrapper:{command.name}" for c in line.commands)


def _command_matches(pattern: str, command: Command, *, bare: bool) -> bool:
    """`bare`: the base name counts too, so that `Bash(rm:*)` denies /bin/rm."""
    if not pattern:
        return True
    if pattern.startswith("=") or not command.argv:
        return False
    words = [word.text for word in command.argv]
    if bare and command.name and _words_match(pattern, [command.name, *words[1:]]):
        return True
    return bool(command.name) and _words_match(pattern, words)


def _words_match(pattern: str, words: list[str]) -> bool:
    if pattern.endswith(":*"):
        wanted = _words_of(pattern[:-2])
        return words[: len(wanted)] == wanted
    if "*" in pattern:
        return fnmatch.fnmatchcase(" ".join(words), pattern)
    return words == _words_of(pattern)


@lru_cache(maxsize=512)
def _words_of(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _touches(rule: Rule, command: Command, scope: Scope) -> bool:
    """A denied `Read` or `Edit` holds for commands that plainly read or write the file; masks do the rest."""
    tools = tools_of(rule.tool)
    reads, writes = "read_file" in tools, "write_file" in tools
    if not (reads or writes) or not rule.pattern:
        return False
    texts = [r.target.text for r in command.redirects if (reads and "<" in r.op) or (writes and ">" in r.op)]
    if (reads and command.name in _READERS) or (writes and command.name in _WRITERS):
        texts += [word.text for word in command.argv[1:] if not word.text.startswith("-")]
    base = command.cwd or "."
    names = [name for text in texts if text for name in path_names(os.path.join(base, text), scope)]
    return any(_path_matches(rule.pattern, name, scope, fold=True) for name in names)


# --- paths --------------------------------------------------------------------------------------


def path_names(path: str, scope: Scope) -> tuple[str, ...]:
    """Absolute names of a path: as it is written, and where it really leads."""
    full = os.path.normpath(path if path.startswith("/") else f"{scope.working_dir}/{path}")
    return tuple(dict.fromkeys((full, scope.look(path).real)))


def _path_matches(pattern: str, full: str, scope: Scope, *, fold: bool) -> bool:
    """As `.gitignore` reads patterns: no slash = at any depth, a folder covers what lies in it."""
    base, pattern = _anchor(pattern, scope)
    if base is None:
        roots = (scope.working_dir, *scope.added_dirs, *scope.real_roots)
        return any(_below(pattern, full, root, fold=fold, anywhere=True) for root in roots)
    roots = (base,) if base != scope.working_dir else (base, scope.real_roots[0])
    return any(_below(pattern, full, root, fold=fold, anywhere=False) for root in roots)


def _anchor(pattern: str, scope: Scope) -> tuple[str | None, str]:
    """(folder, rest): `//x` from the very root, `~/x` from home, `/x` and `./x` from the workspace."""
    if pattern.startswith("//"):
        return "/", pattern[2:]
    if pattern.startswith("~/"):
        return scope.home_dir, pattern[2:]
    plain = pattern.removeprefix("./") if pattern.startswith("./") else pattern.removeprefix("/")
    anchored = plain != pattern or "/" in pattern.rstrip("/")
    return (scope.working_dir if anchored else None), plain


def _below(pattern: str, full: str, root: str, *, fold: bool, anywhere: bool) -> bool:
    if not lies_within(full, root):
        return False
    name = os.path.relpath(full, root)
    regex = _path_regex(pattern.casefold() if fold else pattern, anywhere)
    return regex.fullmatch(name.casefold() if fold else name) is not None


@lru_cache(maxsize=512)
def _path_regex(pattern: str, anywhere: bool) -> re.Pattern[str]:
    tokens = re.findall(r"\*\*/|/\*\*$|\*\*|\*|\?|\[[^\]]+\]|.", pattern.rstrip("/"), re.S)
    special = {"**/": "(?:.*/)?", "/**": "/.+", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(special.get(t) or (_class(t) if len(t) > 1 else re.escape(t)) for t in tokens)
    return re.compile(f"{'(?:.*/)?' if anywhere else ''}{body}(?:/.*)?", re.S)


def _class(token: str) -> str:
    inner = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
    return f"[^{inner[1:]}]" if inner.startswith(("!", "^")) else f"[{inner}]"
