"""§2.3 layer 2: what a shell line may not do, judged command by command (D1, D3).

    parse_line → for each command: denylists, deletes, modes, git, services, variables, places

The first refusal stands. A line that cannot be parsed is asked about (`confirm.py`), and here still
held against the document's own words, so that a syntax error hides nothing.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator

from agent_security.decision import Check
from agent_security.paths import Scope
from agent_security.shell import UNKNOWN, Command, Line, Word, parse_line
from agent_security.shell.getopt import names
from agent_security.tool_policy.deletes import check_delete
from agent_security.tool_policy.environment import PATH_VARIABLES, check_variable
from agent_security.tool_policy.git import check_git
from agent_security.tool_policy.install import check_install
from agent_security.tool_policy.lists import (
    BROAD_DELETE,
    HARMLESS_FORMS,
    JUDGED_BY_ARGUMENTS,
    SHELL_DENYLIST_BINARIES,
    SHELL_DENYLIST_PATTERNS,
    why_denied,
)
from agent_security.tool_policy.modes import check_mode
from agent_security.tool_policy.places import OK, judge_place, looks_like_place, resolve
from agent_security.tool_policy.processes import check_environment_leak, check_process
from agent_security.tool_policy.program_places import Place
from agent_security.tool_policy.programs import places
from agent_security.tool_policy.readonly import is_read_only
from agent_security.tool_policy.services import check_service, named_text

_PATTERNS = tuple((re.compile(pattern), what) for pattern, what in SHELL_DENYLIST_PATTERNS)
_HARMLESS_FORMS = {name: re.compile(form) for name, form in HARMLESS_FORMS.items()}
_INERT = names(
    "cat less more head tail true : gzip bzip2 xz zstd zstdmt lz4 "
    "lzop pigz pbzip2 lbzip2 unzstd gunzip bunzip2 unxz"
    " plzip lzip lzma brotli compress id-none nano col delta diff-so-fancy bat"
)
"""Programs that an option may name without being refused."""
_WORKS_ANYWHERE = names("cd pushd popd pwd echo printf true false : exit set export unset test [ git-none")
_REMOVERS = names("rm rmdir unlink shred find")
_LOOKERS = names("ls dir stat df test [ readlink realpath")
_BY_SYSTEM_PATTERN = re.compile(r"(.+?)[\d.]+$")


def check_shell_policy(command: str, *, scope: Scope | None = None) -> Check:
    """Whether a command line may be run at all; a refusal holds in every mode.

    Without a `scope` the places that a command reads and writes are not judged.
    """
    line = parse_line(command)
    if line.problem.startswith("hidden_text"):
        return Check(False, line.problem)
    return next((check for check in _judgements(line, scope) if not check.ok), OK)


def _judgements(line: Line, scope: Scope | None) -> Iterator[Check]:
    yield check_shape(line)
    for name, value in line.assignments:
        yield check_variable(name, value)
        if scope is not None and name in PATH_VARIABLES:
            yield judge_place(value, ".", scope, write=True)
    for command in line.commands:
        for check in COMMAND_CHECKS:
            yield check(command, scope)
    if line.problem:
        yield literal_rule(line.text)


def check_shape(line: Line) -> Check:
    """What the line as a whole shows."""
    if line.notes & {"fork_bomb", "endless_spawn"}:
        return Check(False, "fork_bomb: the line starts processes without end")
    if "run_time_code" in line.notes:
        return Check(
            False, "run_time_code: shell code that only the run knows would be run: write the command out"
        )
    return OK


# --- one check a concern ------------------------------------------------------------------------


def check_option(command: Command, scope: Scope | None) -> Check:
    """What an option starts. Pagers and packers that only pass data on are harmless."""
    if not command.where.startswith("option:"):
        return OK
    submodule = command.where.endswith("git submodule foreach") and is_read_only(command)
    alias = command.where.endswith("git alias") and command.name == "git"
    inert = command.name in _INERT and all(word.starts("-") for word in command.args)
    if inert or submodule or alias or (command.name == "ssh" and command.where.startswith("option:rsync")):
        return OK
    label = command.where.removeprefix("option:")
    return Check(
        False, f"hidden_execution: {label} would start {command.text or 'a program'!r}: run it openly"
    )


def check_binary(command: Command, scope: Scope | None) -> Check:
    """The denylist of binaries, a lifted one excepted; then it is a confirm."""
    name = denied_name(command)
    if not name or (scope is not None and name in scope.permitted_binaries):
        return OK
    why = why_denied(name)
    code = "shell_network" if "network" in why else "denied_binary"
    return Check(False, f"{code}: {name} {why}")


def _likely_name(command: Command) -> str:
    """What a command word with globs, or with variables that nobody set, may stand for on the denylist."""
    value = command.argv[0].value.rsplit("/", 1)[-1].replace(UNKNOWN, "") if command.argv else ""
    word = Word(value)
    if not word.settled or sum(char.isalnum() for char in value) < 2:
        return ""
    if not word.has_glob:
        return value
    return next(
        (name for name in sorted(SHELL_DENYLIST_BINARIES) if fnmatch.fnmatchcase(name, word.text)), ""
    )


def denied_name(command: Command) -> str:
    """The denylist's name for this command's program, or ""."""
    name = command.name or _likely_name(command)
    if name in JUDGED_BY_ARGUMENTS or command.where.startswith("option:rsync"):
        return ""
    if name not in SHELL_DENYLIST_BINARIES:
        versioned = _BY_SYSTEM_PATTERN.fullmatch(name)
        name = versioned[1] if versioned and versioned[1] in SHELL_DENYLIST_BINARIES else ""
    if not name or re.fullmatch(r"\S+ (--version|--help)", named_text(command)):
        return ""
    form = _HARMLESS_FORMS.get(name)
    return "" if form and form.match(named_text(command)) else name


def check_pattern(command: Command, scope: Scope | None) -> Check:
    """The document's patterns, against the command and each redirection."""
    texts = [named_text(command), *(redirect.op + redirect.target.text for redirect in command.redirects)]
    for pattern, what in _PATTERNS:
        if what == BROAD_DELETE and scope is not None:
            continue
        if any(pattern.search(text) for text in texts):
            permitted = scope is not None and command.name in scope.permitted_binaries
            if not permitted:
                return Check(False, f"denied_pattern: {what}")
    return OK


def check_places(command: Command, scope: Scope | None) -> Check:
    """Redirections always; a known program's paths; of any other program what looks like a way out."""
    if scope is None:
        return OK
    for word, cwd, write in command_places(command):
        if command.name in _LOOKERS and not write and _only_listed(word, cwd, command, scope):
            continue
        if not (check := judge_place(word, cwd, scope, write=write, removes=command.name in _REMOVERS)).ok:
            return check
    return _works_here(command, scope)


def _only_listed(word: Word, cwd: str | None, command: Command, scope: Scope) -> bool:
    """The names in `/` and in the session's own home are no secret; what lies deeper is not shown."""
    deep = any(re.fullmatch(r"-\w*R\w*|--recursive", each.value) for each in command.args)
    return not deep and resolve(word, cwd, scope) in ("/", posixpath.normpath(scope.home_dir))


def command_places(command: Command) -> Iterable[tuple[Word, str | None, bool]]:
    """(word, directory, written) for everything a command reads or writes by name."""
    for redirect in command.redirects:
        if redirect.writes or redirect.reads:
            yield redirect.target, command.cwd, redirect.writes
    known = places(command.name, command.args)
    for place in _guessed(command) if known is None else known:
        yield place.word, command.cwd, place.write


def _guessed(command: Command) -> Iterable[Place]:
    """Words of a program that the table does not describe."""
    for word in command.args:
        text = word.value
        if looks_like_place(word):
            yield Place(word, False)
        elif match := re.match(r"(?:--?[\w-]+|[A-Za-z_]\w*)=|-[A-Za-z](?=[/~\ufdd0])|@", text):
            value = word.cut(match.end())
            if looks_like_place(value):
                yield Place(value, False)


def _works_here(command: Command, scope: Scope) -> Check:
    """A command that runs in a folder outside works on that folder."""
    if command.cwd in (".", None) or command.name in _WORKS_ANYWHERE:
        return OK
    if command.name in _LOOKERS and _only_listed(Word(command.cwd), ".", command, scope):
        return OK
    return judge_place(Word(command.cwd or "."), ".", scope, write=False)


def _unsafe_tar(command: Command, scope: Scope | None) -> Check:
    """`tar -P` writes where the archive says."""
    if command.name not in ("tar", "gtar", "bsdtar"):
        return OK
    texts = [word.value for word in command.args]
    bundled = texts[:1] and re.fullmatch(r"[A-Za-z]*P[A-Za-z]*", texts[0])
    if bundled or any(
        re.fullmatch(r"-[A-Za-eg-zA-Z]*P\w*|--absolute-n\w*|--absolute-p\w*", text) for text in texts
    ):
        return Check(False, "shell_path: tar -P writes to whatever path the archive names")
    return OK


COMMAND_CHECKS: tuple[Callable[[Command, Scope | None], Check], ...] = (
    check_option,
    check_binary,
    check_pattern,
    lambda command, scope: check_delete(command, scope) if scope is not None else OK,
    lambda command, scope: check_mode(command),
    lambda command, scope: check_git(command) if command.name == "git" else OK,
    lambda command, scope: check_service(command),
    lambda command, scope: check_install(command),
    check_process,
    check_environment_leak,
    _unsafe_tar,
    check_places,
)

_TOKEN = re.compile(r"[^\s;|&()<>`\"'$]+")


def literal_rule(text: str) -> Check:
    """The document's own rule over tokens, for a line that no grammar reads."""
    for token in _TOKEN.findall(text):
        name = token.rsplit("/", 1)[-1].replace("\\", "")
        if name in SHELL_DENYLIST_BINARIES and name not in (
            "at",
            "service",
            "init",
            "ip",
            "host",
            "links",
            "lt",
            "fetch",
        ):
            return Check(False, f"denied_binary: the line cannot be parsed and names {name}")
    if re.search(r"\brm\s+-\w*[rR]\w*\s+(-\w+\s+)*(/|~|\*|\$HOME|\.\.)", text):
        return Check(False, "denied_pattern: the line cannot be parsed and holds a broad delete")
    return OK
