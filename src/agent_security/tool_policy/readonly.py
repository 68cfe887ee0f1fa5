"""Commands that change nothing, with the options under which they do not: they run unasked.

One table: a program, and the words that may follow it. A word that the row does not know makes the
command one that is asked about. git runs without pager, external diff, filters and fsmonitor there.
"""

from __future__ import annotations

import re

from agent_security.shell import Command, parse_line
from agent_security.shell.getopt import names
from agent_security.shell.git import parse
from agent_security.tool_policy.programs import places

HARMLESS = names(
    "ls dir vdir cat tac nl head tail wc pwd echo printf true false : test "
    "[ stat file du df basename dirname realpath readlink"
    " grep egrep fgrep zgrep cut paste comm join column fold fmt expand "
    "unexpand cmp diff md5sum sha1sum sha256sum sha512sum"
    " b2sum cksum sum strings od xxd hexdump rev tr seq uname id whoami "
    "groups date nproc uptime free which type hash tty"
    " locale arch zcat bzcat xzcat jq numfmt factor expr sleep tree "
    "lsattr getconf shellcheck cloc tokei cd printenv-none ps"
)
"""Programs none of whose ordinary options writes a file or starts a program."""

FORBIDDEN: dict[str, str] = {
    "tree": r"-o.*|--output.*",
    "file": r"-C|--compile|-\w*C\w*",
    "date": r"-s.*|--set.*|--s.*",
    "xxd": r"-r|-\w*r\w*",
    "ps": r"[a-zA-Z]*[eE][a-zA-Z]*|-\w*E\w*|.*\benviron\b.*",
    "hash": r"-p.*|-d.*|-t",
    "printf": r"-v.*",
    "echo": r"$^",
    "type": r"$^",
    "column": r"$^",
    "jq": r"(?s).*(\$ENV|\benv\b|\$__prog_args|\binclude\b|\bimport\b).*",
    "tail": r"-\w*[fF]\w*|--follow.*|--retry",
    "sort": r"-\w*o.*|--o.*|--compress.*|--co.*|-\w*T.*|--temp.*|--tem.*",
    "uniq": r"$^",
    "rg": r"--pre.*|--hostname-bin.*|-\w*z\w*|--search-zip|--pre-glob.*",
    "find": r"-delete|-exec|-execdir|-ok|-okdir|-fprint.*|-fls|-files0-from",
    "fd": r"-\w*[xX]\w*|--exec.*|--ex.*",
    "sleep": r"$^",
    "cloc": r"--(vcs|config|out|report|diff.*|extract.*|sum.*|write.*).*",
    "shellcheck": r"$^",
    "env": r".*",
}
"""Options that are not harmless after all; `$^` matches nothing."""

_MORE = names("sort uniq rg find gfind fd fdfind")

WRAPPERS = names("xargs timeout nice command time stdbuf ionice")
"""Programs that only run another, which is judged by itself."""

GIT_ACTING = names(
    "--ext-diff --output --output-directory --textconv --no-index --filters --open-files-in-pager --contents"
    " --exclude-existing --batch-command --orderfile --unset --unset-all --replace-all --add --edit"
    " --rename-section --remove-section --delete --move --copy --force --file --blob --ignore-revs-file"
)
"""git's long options that write, run something or read other files, under whatever verb; git takes
abbreviations, so what begins one of them counts as it."""
_HARMLESS_PREFIXES = names("--text --filter")
"""Options of their own that begin like one of these."""

GIT_VERBS: dict[str, str] = {
    "status": r"",
    "log": r"--ext-diff|--output.*|-O.*|--textconv",
    "diff": r"--ext-diff|--output.*|-O.*|--textconv|--no-index",
    "show": r"--ext-diff|--output.*|-O.*|--textconv",
    "blame": r"--contents.*",
    "rev-parse": r"",
    "rev-list": r"",
    "ls-files": r"",
    "ls-tree": r"",
    "cat-file": r"--te.*|--fi.*|--batch.*",
    "describe": r"",
    "shortlog": r"",
    "merge-base": r"",
    "name-rev": r"",
    "cherry": r"",
    "count-objects": r"",
    "whatchanged": r"-O.*",
    "grep": r"-O.*|--open-files.*|--textconv|--no-index|-\w*O.*",
    "version": r"",
    "check-ignore": r"",
    "var": r".*",
    "for-each-ref": r"",
    "show-ref": r"--exclude-existing.*",
    "diff-tree": r"--ext-diff|--output.*",
    "help": r".*",
}
"""Verbs that only look, with the options under which they do more."""

_GIT_LISTS: dict[str, str] = {
    "branch": r"(-a|-r|-v|-vv|--all|--remotes|--list|--show-current|--contains"
    r"|--merged|--no-merged|--verbose|--sort=\S+|--format=\S+)",
    "tag": r"(-l|--list|-n\d*|--sort=\S+|--contains|--points-at)",
    "stash": r"(list|show)",
    "worktree": r"(list)",
    "submodule": r"(status)",
    "reflog": r"(show)",
    "notes": r"(list|show)",
    "bisect": r"(log)",
}
"""Verbs that list with this first word, or with none where that lists."""
_CONFIG_BESIDE = r"(--(global|local|system|worktree|show-origin|show-scope|name-only|null|type=\w+) |-z )*"
_GIT_WHOLE: dict[str, str] = {
    "remote": r"-v|--verbose|(show|get-url)( .*)?",
    "config": _CONFIG_BESIDE + r"(--get|--get-all|--get-regexp|--list|-l|get|list)(?!.* -f)( .*)?",
}
"""Verbs that change with the same first words: all their words together."""
_LISTING = names("-l --list --contains --merged --no-merged")
_BARE_LISTS = frozenset({"branch", "tag", "remote", "reflog", "submodule"})
_GIT_GLOBALS = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "-C"})


_COMPILED = {name: re.compile(pattern) for name, pattern in FORBIDDEN.items()}


def is_read_only_command(command: str) -> bool:
    """Whether every command of the line only reads, so that no mode needs to ask."""
    line = parse_line(command)
    if line.problem or line.opaque or line.notes or line.assignments or not line.commands:
        return False
    reached = {each.where for each in line.commands}
    return all(
        is_read_only(each) or (_only_wraps(each) and f"wrapper:{each.name}" in reached)
        for each in line.commands
    )


def _only_wraps(command: Command) -> bool:
    """A wrapper that adds nothing of its own; what it runs stands in the line beside it."""
    return command.name in WRAPPERS and command.argv[0].value == command.name and not command.redirects


def is_read_only(command: Command) -> bool:
    """One command: its program, its options, its redirections."""
    if any(
        r.writes and r.target.value not in ("/dev/null", "/dev/stderr", "/dev/stdout")
        for r in command.redirects
    ):
        return False
    if command.assignments or command.argv[0].value != command.name or not _settled(command):
        return False
    if command.name == "git":
        return _git(command)
    if command.name not in HARMLESS and command.name not in _MORE:
        return False
    if any(place.write for place in places(command.name, command.args) or ()):
        return False
    forbidden = _COMPILED.get(command.name)
    return forbidden is None or not any(forbidden.fullmatch(word.value) for word in command.args)


def _settled(command: Command) -> bool:
    """No option is known only at run time."""
    return all(word.settled or (word.starts("./") and command.where != "direct") for word in command.args)


def _git(command: Command) -> bool:
    call = parse(command.args)
    if any(name not in _GIT_GLOBALS for name, _ in call.options):
        return False
    texts = [word.value for word in call.args]
    if any(map(_acts, texts)):
        return False
    if call.verb in GIT_VERBS:
        forbidden = GIT_VERBS[call.verb]
        return not forbidden or not any(re.fullmatch(forbidden, text) for text in texts)
    return (call.verb in _GIT_LISTS or call.verb in _GIT_WHOLE) and _lists(call.verb, texts)


def _acts(text: str) -> bool:
    name = text.split("=")[0]
    if len(name) < 4 or not name.startswith("--") or name in _HARMLESS_PREFIXES:
        return False
    return any(known.startswith(name) for known in GIT_ACTING)


def _lists(verb: str, texts: list[str]) -> bool:
    """A verb that both lists and changes: it lists where its words say so."""
    if not texts:
        return verb in _BARE_LISTS
    if verb in _GIT_WHOLE:
        return re.fullmatch(_GIT_WHOLE[verb], " ".join(texts)) is not None
    if not re.fullmatch(_GIT_LISTS[verb], texts[0]):
        return False
    if verb not in ("branch", "tag"):
        return True
    if any(re.fullmatch(r"-\w*[dDmMcCfuF]\w*", text) for text in texts):
        return False
    return bool(_LISTING & set(texts)) or all(text.startswith("-") for text in texts)
