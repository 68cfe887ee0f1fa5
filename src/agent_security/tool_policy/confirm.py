"""§2.2: what a person must say yes to, whatever the mode; and notes on what only the wall can judge."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agent_security.decision import Check
from agent_security.paths import Scope
from agent_security.shell import Command, Line, Word, parse_line
from agent_security.shell.getopt import names, read
from agent_security.tool_policy.git import destructive_git
from agent_security.tool_policy.install import ask_install
from agent_security.tool_policy.lists import (
    ALWAYS_CONFIRM_ARG_PATTERNS,
    ALWAYS_CONFIRM_TOOLS,
    JUDGED_BY_ARGUMENTS,
    SHELL_DENYLIST_BINARIES,
)
from agent_security.tool_policy.modes import ask_mode
from agent_security.tool_policy.places import (
    exists,
    is_document,
    is_first_tier,
    resolve,
    secret_named,
    within,
)
from agent_security.tool_policy.processes import prints_environment
from agent_security.tool_policy.programs import places
from agent_security.tool_policy.services import ask_service, named_text
from agent_security.tool_policy.shell import denied_name

NO = Check(False)
_SHOWS = frozenset({"", "cat", "tee", "less", "more", "head", "tail"})
_BASH_PATTERNS = tuple(
    # a broad `rm -rf` is refused before anything is asked, by what its words really name
    re.compile(pattern)
    for tool, pattern in ALWAYS_CONFIRM_ARG_PATTERNS
    if tool == "run_bash" and not pattern.startswith("^rm")
)
_ENDLESS = frozenset({"yes"})


def always_confirm_required(tool_name: str, args: Mapping[str, Any], *, scope: Scope | None = None) -> Check:
    """ok=True: a person must say yes; the reason carries the code, `codes.py` its kind (D2)."""
    if tool_name in ALWAYS_CONFIRM_TOOLS:
        return Check(True, f"always_confirm: any call of {tool_name} needs a yes")
    if tool_name == "run_bash":
        return _shell(args.get("command"), scope or Scope("/"), scoped=scope is not None)
    if tool_name in ("write_file", "edit_file") and scope is not None and empties(tool_name, args, scope):
        return Check(
            True, f"emptied_file: [DELETE-via-empty] {args.get('path')} has content and would be emptied"
        )
    return _by_pattern(tool_name, args, scope)


def _by_pattern(tool_name: str, args: Mapping[str, Any], scope: Scope | None) -> Check:
    """The document's patterns for other tools, where no scope says whether the file is new."""
    text = json.dumps(dict(args), default=str)
    for tool, pattern in ALWAYS_CONFIRM_ARG_PATTERNS:
        if tool == tool_name != "run_bash" and re.search(pattern, text) and scope is None:
            return Check(True, "emptied_file: [DELETE-via-empty] the file would be left without content")
    return NO


def _shell(command: object, scope: Scope, *, scoped: bool) -> Check:
    if not isinstance(command, str):
        return NO
    line = parse_line(command)
    answers = [check for check in _questions(line, scope, scoped=scoped) if check.ok]
    # a confirm before a question: the stricter one is asked
    return min(answers, key=lambda check: check.reason.startswith("chmod_mode"), default=NO)


def _questions(line: Line, scope: Scope, *, scoped: bool) -> Iterator[Check]:
    if line.problem and not line.problem.startswith("hidden_text"):
        yield Check(True, line.problem)
    for command in line.commands:
        for ask in QUESTIONS:
            yield ask(command, scope)
        if scoped:
            yield secret_file(command, scope)
            yield emptied(command, scope)
            yield first_tier(command, scope)


def dynamic(command: Command, scope: Scope) -> Check:
    if command.name or command.where.startswith("option:"):
        return NO
    shown = command.argv[0].text if command.argv else ""
    return Check(True, f"dynamic_command: which command {shown!r} is, is known only at run time")


def git(command: Command, scope: Scope) -> Check:
    return destructive_git(command) if command.name == "git" else git_folder(command, scope)


def git_folder(command: Command, scope: Scope) -> Check:
    """Deleting `.git` deletes the history."""
    if command.name not in ("rm", "mv", "shred") or not command.args:
        return NO
    targets = command.args[:-1] if command.name == "mv" else command.args
    gone = any(re.search(r"(^|/)\.git/?(objects|refs|HEAD)?/?$", word.value) for word in targets)
    return Check(True, "destructive_git: the repository's history would be removed") if gone else NO


def install(command: Command, scope: Scope) -> Check:
    return ask_install(command)


def service(command: Command, scope: Scope) -> Check:
    return ask_service(command)


def documented(command: Command, scope: Scope) -> Check:
    """The document's own patterns, each against one command that would run (D1)."""
    text = named_text(command)
    if command.name in SHELL_DENYLIST_BINARIES - JUDGED_BY_ARGUMENTS and not denied_name(command):
        return NO  # a form that only looks, such as `curl --version`
    for pattern in _BASH_PATTERNS:
        if pattern.search(text):
            return Check(True, f"always_confirm: {command.name} as written needs a yes")
    return NO


def mode(command: Command, scope: Scope) -> Check:
    return ask_mode(command)


def lifted(command: Command, scope: Scope) -> Check:
    """A binary of the denylist that the settings lifted."""
    name = denied_name(command)
    if name and name in scope.permitted_binaries:
        return Check(True, f"lifted_binary: {name} is lifted off the denylist by the settings")
    return NO


def environment(command: Command, scope: Scope) -> Check:
    if prints_environment(command) and command.feeds in _SHOWS:
        return Check(True, "environment_shown: the whole environment would be printed")
    return NO


def unbounded(command: Command, scope: Scope) -> Check:
    """`yes > file`, `cat /dev/zero > file`."""
    endless = command.name in _ENDLESS or (
        command.name == "cat"
        and any(re.fullmatch(r"/dev/(zero|u?random|full)", word.value) for word in command.args)
    )
    stored = any(redirect.writes and redirect.target.value != "/dev/null" for redirect in command.redirects)
    if endless and (stored or command.feeds in ("tee", "sponge", "dd")):
        return Check(True, f"unbounded_output: {command.name} writes to a file without end")
    return NO


def mirror(command: Command, scope: Scope) -> Check:
    """`rsync --delete` makes the target like its source, by deleting."""
    deletes = any(re.match(r"--del(ete\S*)?$", word.value) for word in command.args)
    if (
        command.name == "rsync"
        and deletes
        and not any(re.match(r"-\w*n|--dry-run", w.value) for w in command.args)
    ):
        return Check(True, "mirror_delete: rsync would delete what its source does not have")
    return NO


QUESTIONS: tuple[Callable[[Command, Scope], Check], ...] = (
    dynamic,
    git,
    install,
    service,
    lifted,
    documented,
    environment,
    unbounded,
    mirror,
    mode,
)


def secret_file(command: Command, scope: Scope) -> Check:
    """A known reader reads a secret file of the workspace, or copies it elsewhere."""
    known = places(command.name, command.args) or ()
    words = [place.word for place in known if place.content and not place.write]
    if command.name in ("mv", "gzip", "zip", "tar", "code"):
        words += [place.word for place in known if place.content]
    words += [redirect.target for redirect in command.redirects if redirect.reads]
    if command.name in ("git", "python", "python3", "node", "rm"):
        words = [redirect.target for redirect in command.redirects if redirect.reads]
    for word in words:
        if name := secret_named(word, command.cwd, scope):
            return Check(True, f"secret_file: {name} holds secrets")
    return NO


def emptied(command: Command, scope: Scope) -> Check:
    """A file with content that is left with none."""
    for word in emptied_words(command):
        path = resolve(word, command.cwd, scope)
        if (
            path is not None
            and within(path, scope.working_dir)
            and exists(word, command.cwd, scope) is not False
        ):
            return Check(True, f"emptied_file: [DELETE-via-empty] {word.text} would be left without content")
    return NO


def emptied_words(command: Command) -> list[Word]:
    """`truncate -s 0 x`, `: > x`, `cp /dev/null x`, `cat /dev/null > x`."""
    args = command.args
    if command.name == "truncate":
        got = read(args, names("-s --size -r --reference"))
        size = next(iter(got.values("-s", "--size")), None)
        return list(got.operands) if size is not None and re.fullmatch(r"[<]?0+[A-Za-z]*", size.value) else []
    if command.name in ("cp", "install", "dd") and len(args) > 1 and args[-2].value == "/dev/null":
        return [args[-1]]
    # a compound's redirection stands as `:` too; what it prints is not known here
    silent = command.name in (":", "true") and command.where != "compound"
    silent |= command.name == "cat" and [word.value for word in args] == ["/dev/null"]
    silent |= command.name in ("echo", "printf") and [w.value for w in args] in (["-n"], ["-n", ""], [""])
    if not silent:
        return []
    return [r.target for r in command.redirects if r.empties and r.target.value != "/dev/null"]


def first_tier(command: Command, scope: Scope) -> Check:
    """Instructions for agents (AGENTS.md, CLAUDE.md): written by a command, they are asked about."""
    words = [place.word for place in places(command.name, command.args) or () if place.write]
    words += [redirect.target for redirect in command.redirects if redirect.writes]
    for word in words:
        path = resolve(word, command.cwd, scope)
        if path is not None and within(path, scope.working_dir):
            name = path[len(scope.working_dir.rstrip("/")) + 1 :]
            if name and is_document(name) and is_first_tier(name):
                return Check(True, f"first_tier: {name} is read by coding agents as instructions")
    return NO


def empties(tool_name: str, args: Mapping[str, Any], scope: Scope) -> bool:
    """Whether a file tool leaves an existing file with content empty (D2)."""
    path = args.get("path")
    if not isinstance(path, str) or not path:
        return False
    if tool_name == "write_file":
        return args.get("content") == "" and exists(Word(path), ".", scope) is not False
    if args.get("new_string") != "" or not args.get("old_string"):
        return False
    fact = scope.look(path)
    return fact.exists and 0 < fact.size_bytes <= len(
        str(args["old_string"]).encode("utf-8", "surrogatepass")
    )


def notes_on(tool_name: str, args: Mapping[str, Any]) -> str:
    """`opaque_code` where the line runs code that only the wall and its effect can judge, else ""."""
    command = args.get("command")
    if tool_name != "run_bash" or not isinstance(command, str):
        return ""
    return "opaque_code" if parse_line(command).opaque else ""
