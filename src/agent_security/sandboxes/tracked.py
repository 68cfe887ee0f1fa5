"""Which secret files git keeps anyway: asked of git inside a sandbox, believed only by content.

A file counts as tracked where the index holds exactly the bytes that lie in the tree: then they stand
in `.git/objects`, and a mask would hide nothing. A tracked name alone proves nothing: a command of an
earlier session may have added an empty file of that name.
"""

from __future__ import annotations

import hashlib

from agent_security.descriptors import lstat, read_regular
from agent_security.errors import AgentSecurityError
from agent_security.sandboxes import lines
from agent_security.sandboxes.binary import Bwrap
from agent_security.sandboxes.gitdir import GitDir
from agent_security.sandboxes.place import Place
from agent_security.sandboxes.process import Stop, run
from agent_security.sandboxes.running import Running

DEADLINE_S = 10.0
MOST_SECRET_BYTES = 1024 * 1024
MOST_ASKED = 500


def tracked_as_they_are(
    paths: list[str],
    workspace: str,
    workspace_fd: int,
    place: Place,
    bwrap: Bwrap,
    gitdir: GitDir | None,
) -> frozenset[str]:
    """Those of `paths` whose bytes git holds. Where git does not answer: none, so all are masked."""
    if not paths or _no_repository(workspace_fd):
        return frozenset()
    asked = paths[:MOST_ASKED]
    command = ["/usr/bin/git", "-c", "core.fsmonitor=false", "ls-files", "--stage", "-z", "--", *asked]
    stop = Stop()
    try:
        with lines.for_git(place, workspace, gitdir.common if gitdir is not None else "") as line:
            running = Running(
                line, bwrap, ["/usr/bin/env", "GIT_LITERAL_PATHSPECS=1", *command], lines.git_env()
            )
            finished = run(running, timeout_s=DEADLINE_S, stop=stop)
    except AgentSecurityError:
        return frozenset()
    finally:
        stop.close()
    listed = _listed(finished.output.head.decode("utf-8", "surrogateescape"))
    return frozenset(path for path in asked if _same_bytes(workspace_fd, path, listed.get(path, "")))


def _no_repository(workspace_fd: int) -> bool:
    return lstat(workspace_fd, ".git") is None


def _listed(text: str) -> dict[str, str]:
    """`mode blob stage TAB path NUL`, as path -> blob."""
    found: dict[str, str] = {}
    for record in text.split("\0"):
        head, tab, path = record.partition("\t")
        words = head.split(" ")
        if tab and len(words) == 3:
            found[path] = words[1]
    return found


def _same_bytes(workspace_fd: int, path: str, blob: str) -> bool:
    hashing = {40: hashlib.sha1, 64: hashlib.sha256}.get(len(blob))
    if hashing is None:
        return False
    try:
        data = read_regular(workspace_fd, path, MOST_SECRET_BYTES)
    except (OSError, ValueError):
        return False
    return hashing(b"blob %d\0" % len(data) + data).hexdigest() == blob
