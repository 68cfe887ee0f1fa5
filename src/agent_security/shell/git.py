"""git: where its subcommand begins, and which of its options and keys start a program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent_security.shell.getopt import names
from agent_security.shell.options import Hidden, both, option
from agent_security.shell.words import UNKNOWN, Word

_GLOBAL_VALUED = names(
    "-C -c --git-dir --work-tree --namespace --super-prefix --config-env --exec-path --attr-source"
)
EXECUTING_KEY = re.compile(
    r"(?i)^(?:core\.(?:pager|editor|sshcommand|fsmonitor|hookspath|gitproxy|askpass|alternaterefscommand)"
    r"|alias\..+|pager\..+|sequence\.editor|diff\.external|diff\..+\.(?:command|textconv)"
    r"|filter\..+\.(?:clean|smudge|process)|merge\..+\.driver|(?:merge|diff)tool\..+\.(?:cmd|path)"
    r"|(?:merge|diff)\.(?:tool|guitool)|credential(?:\..+)?\.helper|gpg(?:\..+)?\.(?:program|defaultkeycommand)"
    r"|uploadpack\.packobjectshook|remote\..+\.(?:uploadpack|receivepack|vcs|proxy)|include\.path|includeif\..+"
    r"|init\.templatedir|interactive\.difffilter|browser\..+\.(?:cmd|path)|man\..+\.(?:cmd|path)|web\.browser"
    r"|sendemail\..*(?:cmd|smtpserver)|submodule\..+\.update|trailer\..+\.(?:cmd|command)|protocol\..*allow"
    r"|core\.worktree|url\..+\.(?:pushinsteadof|insteadof)|http\.(?:proxy|sslverify|cookiefile)|imap\.tunnel"
    r"|hook\..+|safe\.(?:directory|barerepository))$"
)
"""Keys of a git configuration that start a program, or lead git elsewhere."""


@dataclass(frozen=True, slots=True)
class Git:
    """One git call, its global options taken apart."""

    verb: str
    args: tuple[Word, ...]
    directory: Word | None
    options: tuple[tuple[str, Word], ...]
    paths: tuple[Word, ...]
    """Values of -C, --git-dir, --work-tree and --exec-path."""


def parse(args: Sequence[Word]) -> Git:
    """`args` without the word `git`. The verb is "" where there is none."""
    index, options, paths = 0, [], []
    directory: Word | None = None
    while index < len(args) and args[index].starts("-"):
        name, equals, _ = args[index].value.partition("=")
        value = args[index].cut(len(name) + 1) if equals else None
        if value is None and name in _GLOBAL_VALUED:
            index += 1
            value = args[index] if index < len(args) else Word(UNKNOWN)
        if value is not None:
            options.append((name, value))
            directory = value if name == "-C" else directory
            if name in ("-C", "--git-dir", "--work-tree", "--exec-path"):
                paths.append(value)
        index += 1
    verb = args[index].value if index < len(args) else ""
    return Git(verb, tuple(args[index + 1 :]), directory, tuple(options), tuple(paths))


_BY_VERB = {
    "fetch": option("--upload-pack"),
    "pull": option("--upload-pack"),
    "ls-remote": option("--upload-pack --exec"),
    "fetch-pack": option("--upload-pack --exec"),
    "clone": both(option("--upload-pack -u --template", valued="bojc"), option("--config -c", valued="boju")),
    "init": option("--template"),
    "push": option("--receive-pack --exec"),
    "send-pack": option("--receive-pack --exec"),
    "archive": option("--exec", valued="o"),
    "rebase": option("-x --exec", valued="sXCmS"),
    "difftool": option("-x --extcmd", valued="tgd"),
    "grep": option("-O --open-files-in-pager", valued="efmABC"),
    "send-email": option("--smtp-server --to-cmd --cc-cmd --sendmail-cmd"),
    "daemon": option("--access-hook"),
}


def git(args: Sequence[Word]) -> Iterable[Hidden]:
    """Everything a git call would start."""
    call = parse(args)
    for name, value in call.options:
        if name == "-c":
            yield from _setting(*value.value.partition("=")[::2])
        elif name == "--config-env":
            yield from _setting(value.value.partition("=")[0], UNKNOWN)
        elif name == "--exec-path":
            yield Hidden("git --exec-path", Word(UNKNOWN))
    yield from _by_verb(call)


def _by_verb(call: Git) -> Iterable[Hidden]:
    for hidden in _BY_VERB[call.verb](call.args) if call.verb in _BY_VERB else ():
        if hidden.label in ("--config", "-c"):
            yield from _setting(*hidden.code.value.partition("=")[::2])
        else:
            yield Hidden(f"git {call.verb} {hidden.label}", hidden.code)
    operands = [word for word in call.args if not word.starts("-")]
    if call.verb == "submodule" and operands and operands[0].value == "foreach":
        yield Hidden("git submodule foreach", Word(" ".join(word.value for word in operands[1:])))
    if call.verb == "config":
        yield from _config(operands)
    for word in call.args:
        if match := re.match(r"ext::(.*)", word.value, re.DOTALL):
            yield Hidden("git ext::", Word(match[1]))


def _config(operands: Sequence[Word]) -> Iterable[Hidden]:
    """`git config KEY VALUE` and `git config set KEY VALUE`; reading a key runs nothing."""
    words = (
        operands[1:]
        if operands and operands[0].value in ("set", "get", "unset", "list", "edit")
        else operands
    )
    if len(words) >= 2 and operands[0].value not in ("get", "unset", "list"):
        yield from _setting(words[0].value, words[1].value)


def _setting(key: str, value: str) -> Iterable[Hidden]:
    if not EXECUTING_KEY.match(key):
        return
    alias = key.lower().startswith("alias.")
    if alias and not value.startswith(("!", UNKNOWN)):
        yield Hidden("git alias", Word(f"git {value}"))
    else:
        yield Hidden(f"git config {key}", Word(value.removeprefix("!") or UNKNOWN))
