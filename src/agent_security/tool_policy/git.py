"""What a git call destroys, sends or touches, read from its verb and options (D2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from agent_security.decision import Check
from agent_security.shell.getopt import names, read
from agent_security.shell.git import Git, parse
from agent_security.shell.words import Command, Word

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[\w.-]+@[\w.-]+:|[\w.-]+\.[a-z]{2,}:(?!\\)")


def _has(*options: str, letters: str = "") -> Callable[[Git], bool]:
    """Any of these long options (abbreviated too), or a cluster with one of the letters."""

    def test(call: Git) -> bool:
        for word in call.args:
            text = word.value.split("=")[0]
            if text == "--":
                return False
            if text.startswith("--"):
                if any(option == text or (len(text) > 4 and option.startswith(text)) for option in options):
                    return True
            elif re.fullmatch(r"-[A-Za-z]+", text) and set(letters) & set(text):
                return True
        return False

    return test


def _push(call: Git) -> bool:
    refs = [word.value for word in call.args if not word.starts("-")]
    forced = any(ref.startswith("+") or re.match(r":[^/]", ref) for ref in refs[1:])
    return forced or _has("--force", "--force-with-lease", "--mirror", "--delete", "--prune", letters="fd")(
        call
    )


def _clean(call: Git) -> bool:
    return not _has("--dry-run", letters="n")(call) and _has("--force", letters="f")(call)


def _operands(call: Git) -> list[str]:
    return [word.value for word in call.args if not word.starts("-")]


def _checkout(call: Git) -> bool:
    """`-f`, or paths: they lose what was not committed. A branch's name alone switches."""
    texts = [word.value for word in call.args]
    if _has("--force", "--ours", "--theirs", letters="f")(call) and not _has("--help")(call):
        return True
    creates = _has("--orphan", "--detach", "--track", letters="bBt")(call)
    return not creates and ("--" in texts or "." in texts or "./" in texts)


def _restore(call: Git) -> bool:
    staged_only = _has("--staged", letters="S")(call) and not _has("--worktree", letters="W")(call)
    return not staged_only


def _first(*verbs: str) -> Callable[[Git], bool]:
    return lambda call: _operands(call)[:1] != [] and _operands(call)[0] in verbs


def _gc(call: Git) -> bool:
    return any(re.fullmatch(r"--prune=(now|all|0.*)", word.value) for word in call.args)


def _always(call: Git) -> bool:
    return True


DESTRUCTIVE: dict[str, tuple[Callable[[Git], bool], str]] = {
    "push": (_push, "rewrites or removes what stands on the remote"),
    "reset": (_has("--hard", "--merge", "--keep"), "throws uncommitted work away"),
    "clean": (_clean, "deletes untracked files for good"),
    "checkout": (_checkout, "throws uncommitted work away"),
    "switch": (_has("--force", "--discard-changes", letters="f"), "throws uncommitted work away"),
    "restore": (_restore, "throws uncommitted work away"),
    "branch": (_has("--force", letters="Df"), "removes or moves a branch that may not be merged"),
    "tag": (_has("--force", "--delete", letters="fd"), "removes or moves a tag"),
    "reflog": (_first("expire", "delete"), "removes the way back"),
    "gc": (_gc, "removes the way back"),
    "prune": (_always, "removes the way back"),
    "filter-branch": (_always, "rewrites history"),
    "filter-repo": (_always, "rewrites history"),
    "update-ref": (_has("--stdin", letters="d"), "removes a reference"),
    "stash": (_first("drop", "clear"), "throws stashed work away"),
    "worktree": (
        lambda call: _first("remove")(call) and _has("--force", letters="f")(call),
        "throws work away",
    ),
    "read-tree": (_has("--reset"), "throws uncommitted work away"),
    "checkout-index": (_has("--force", letters="f"), "throws uncommitted work away"),
    "replace": (_always, "rewrites history"),
    "remote": (_first("prune"), "removes references"),
}
"""Verbs that destroy what cannot be had again, each with its condition. `push --dry-run` counts too."""

NETWORK_VERBS = names("push fetch pull clone ls-remote remote-update send-pack fetch-pack submodule")


def destructive_git(command: Command) -> Check:
    """ok=True: a person must say yes."""
    call = parse(command.args)
    row = DESTRUCTIVE.get(call.verb)
    if row and row[0](call):
        return Check(True, f"destructive_git: git {call.verb} as written {row[1]}")
    return Check(False)


def check_git(command: Command) -> Check:
    """What git may not do at all."""
    call = parse(command.args)
    operands = _operands(call)
    if (
        call.verb in ("push", "send-pack")
        and operands
        and (_ADDRESS.match(operands[0]) or operands[0].startswith("/"))
    ):
        return Check(False, "foreign_remote: the push goes to an address, not to a remote of this repository")
    if call.verb in ("push",) and (addresses := _repo_option(call)):
        return Check(False, f"foreign_remote: --repo={addresses[0]} is an address")
    if call.verb in ("apply", "am") and _has("--unsafe-paths")(call):
        return Check(False, "shell_path: --unsafe-paths lets a patch write outside the workspace")
    if call.verb == "credential" or call.verb.startswith("credential-"):
        return Check(False, "credential_command: git credential prints or stores passwords")
    if call.verb == "send-email":
        return Check(False, "upload: git send-email sends the work to an address")
    return Check(True)


def _repo_option(call: Git) -> list[str]:
    return [w.value[7:] for w in call.args if w.value.startswith("--repo=") and _ADDRESS.match(w.value[7:])]


_PATH_VERBS = names(
    "diff init worktree bundle apply am hash-object blame add rm mv show clone archive format-patch"
)
_WRITES = {
    "init": True,
    "worktree": True,
    "clone": True,
    "mv": True,
    "rm": True,
    "add": False,
    "apply": False,
}
_OUTPUT = names(
    "-o --output --output-directory --directory --separate-git-dir --reference -F --file --pathspec-from-file"
    " --template --export-marks --import-marks"
)
_ONLY_READ = names("-F --file --reference --pathspec-from-file --template --import-marks")


def git_places(args: Sequence[Word]) -> Iterable[tuple[Word, bool]]:
    """(word, written) for the paths of a git call that could leave the workspace."""
    call = parse(args)
    for word in call.paths:
        yield word, False
    got = read(call.args, _OUTPUT | names("-m --message -b -B --depth --branch --format --author --date"))
    for name, value in got.options:
        if name in _OUTPUT and value is not None and not (call.verb == "commit" and name == "-o"):
            yield value, name not in _ONLY_READ
    for word in got.operands if call.verb in _PATH_VERBS else ():
        if word.starts("/", "../", "\ufdd0", "\ufdd1") or word.value == ".." or "/../" in word.value:
            yield word, _WRITES.get(call.verb, False)
