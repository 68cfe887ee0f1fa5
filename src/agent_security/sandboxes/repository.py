"""What the workspace's git held at session start: asked of git inside the wall, proven on the host.

The refs are read through descriptors when the session begins. What git says later is believed only by
digest, from a ref's commit down through every tree to the file: whatever a command did to the repository
since, an object that is not the one the refs named has another digest.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent_security.descriptors import open_root, parent_of, read_regular
from agent_security.errors import AgentSecurityError
from agent_security.sandboxes import lines
from agent_security.sandboxes.output import HEAD_BYTES
from agent_security.sandboxes.parts import Parts
from agent_security.sandboxes.process import Stop, run
from agent_security.sandboxes.running import Running

DEADLINE_S = 10.0
MOST_TIPS = 64
_MOST_REF_FILES = 5000
_PACKED_BYTES = 8 * 1024 * 1024
_OID = re.compile(r"[0-9a-f]{64}|[0-9a-f]{40}")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_MODES = (b"100644", b"100755", b"100664")


def at_start(parts: Parts) -> StartOfSession | None:
    """The repository as it stands now; None where there is none whose refs can be read."""
    try:
        if parts.gitdir is not None:
            fd = open_root(parts.gitdir.common)
        else:
            fd = os.open(".git", _FOLDER, dir_fd=parts.workspace_fd)
    except OSError:
        return None
    try:
        return None if _exists(fd, "reftable") else StartOfSession(parts, tips_of(fd))
    finally:
        os.close(fd)


def tips_of(git_fd: int) -> tuple[str, ...]:
    """The commits that HEAD and the refs of a git folder name: HEAD's first, then branches, then the rest."""
    refs = dict(_packed(git_fd)) | dict(_loose(git_fd))
    head = _text(git_fd, "HEAD").strip()
    first = refs.get(head.removeprefix("ref: ")) or head
    rest = sorted(refs, key=lambda name: (not name.startswith("refs/heads/"), name))
    named = dict.fromkeys(oid for oid in (first, *(refs[name] for name in rest)) if _OID.fullmatch(oid))
    return tuple(named)[:MOST_TIPS]


def _text(fd: int, path: str) -> str:
    try:
        return read_regular(fd, path, _PACKED_BYTES).decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return ""


def _exists(fd: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=fd, follow_symlinks=False)
    except OSError:
        return False
    return True


def _packed(fd: int) -> Iterator[tuple[str, str]]:
    """`OID NAME` lines; `^OID` gives the commit of the annotated tag before it."""
    name = ""
    for row in _text(fd, "packed-refs").splitlines():
        oid, _, named = row.partition(" ")
        if row.startswith("^") and name:
            yield f"{name}^", row[1:]
        elif _OID.fullmatch(oid):
            name = named
            yield name, oid


def _loose(fd: int) -> Iterator[tuple[str, str]]:
    folders, left = ["refs"], _MOST_REF_FILES
    while folders and left > 0:
        folder = folders.pop()
        for name, is_folder in _entries(fd, folder):
            left -= 1
            path = f"{folder}/{name}"
            if is_folder:
                folders.append(path)
            elif left > 0:
                yield path, _text(fd, path).strip()


def _entries(fd: int, folder: str) -> list[tuple[str, bool]]:
    try:
        with parent_of(fd, f"{folder}/x") as (inside, _), os.scandir(inside) as found:
            return sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in found)
    except (OSError, ValueError):
        return []


# --- what is asked later ---------------------------------------------------------------------------


class StartOfSession:
    """`ports.Repository` over the refs as they were. Reads only; an answer that fails is "not held"."""

    def __init__(self, parts: Parts, tips: Sequence[str]) -> None:
        self._parts, self._tips = parts, tuple(tips)

    def blob_id(self, data: bytes) -> str:
        return _digest(b"blob", data, len(self._tips[0]) if self._tips else 40)

    def holds(self, wanted: Mapping[str, str]) -> frozenset[str]:
        asked = {path: blob for path, blob in wanted.items() if "\n" not in path}
        claimed = self._claimed(asked)
        names = [name for path, tip in claimed.items() for name in _chain(tip, path)]
        objects = self._objects(list(dict.fromkeys(names)))
        return frozenset(path for path, tip in claimed.items() if _proven(objects, tip, path, asked[path]))

    def ignored(self, paths: Sequence[str]) -> frozenset[str]:
        text = self._git(["check-ignore", "-z", "--stdin"], "".join(f"{path}\0" for path in paths))
        found = text.decode("utf-8", "surrogateescape").split("\0")
        return frozenset(found).intersection(paths)

    def _claimed(self, asked: Mapping[str, str]) -> dict[str, str]:
        """Path -> the first ref's commit that, as git says, has the wanted file there."""
        pairs = [(path, tip) for path in asked for tip in self._tips]
        text = self._git(
            ["cat-file", "--batch-check=%(objectname)"], "".join(f"{tip}:{path}\n" for path, tip in pairs)
        )
        found: dict[str, str] = {}
        for (path, tip), said in zip(pairs, text.decode("ascii", "replace").split("\n"), strict=False):
            if said == asked[path]:
                found.setdefault(path, tip)
        return found

    def _objects(self, names: Sequence[str]) -> dict[str, _Object]:
        if not names:
            return {}
        data = self._git(["cat-file", "--batch"], "".join(f"{name}\n" for name in names))
        return dict(zip(names, _batch(data), strict=False))

    def _git(self, words: list[str], asked: str) -> bytes:
        """What git says inside, "" where it does not answer."""
        parts, stop = self._parts, Stop()
        common = parts.gitdir.common if parts.gitdir is not None else ""
        command = ["/usr/bin/git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", *words]
        env = lines.git_env() | {"GIT_NO_REPLACE_OBJECTS": "1"}
        try:
            with lines.for_git(parts.place, parts.workspace, common) as line:
                running = Running(line, parts.bwrap, command, env, piped_stdin=True)
                stdin = asked.encode("utf-8", "surrogateescape")
                finished = run(running, timeout_s=DEADLINE_S, stop=stop, stdin=stdin)
        except AgentSecurityError:
            return b""
        finally:
            stop.close()
        return bytes(finished.output.head) if finished.output.total <= HEAD_BYTES else b""


# --- the proof -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Object:
    kind: bytes
    data: bytes

    def is_named(self, oid: str) -> bool:
        return _digest(self.kind, self.data, len(oid)) == oid


def _digest(kind: bytes, data: bytes, length: int) -> str:
    hashing = hashlib.sha256 if length == 64 else hashlib.sha1
    return hashing(b"%s %d\0" % (kind, len(data)) + data).hexdigest()


def _chain(tip: str, path: str) -> Iterator[str]:
    """The names of the commit and of every tree on the way to `path`."""
    yield tip
    yield f"{tip}^{{tree}}"
    folders = path.split("/")[:-1]
    for depth in range(1, len(folders) + 1):
        yield f"{tip}:{'/'.join(folders[:depth])}"


def _batch(data: bytes) -> Iterator[_Object]:
    """The objects of `git cat-file --batch`, up to the first that cannot be read."""
    at = 0
    while at < len(data):
        head, found, _ = data[at : at + 200].partition(b"\n")
        words = head.split(b" ")
        if not found or len(words) != 3 or not words[2].isdigit():
            return
        start = at + len(head) + 1
        end = start + int(words[2])
        if data[end : end + 1] != b"\n":
            return
        yield _Object(words[1], data[start:end])
        at = end + 1


def _proven(objects: Mapping[str, _Object], tip: str, path: str, blob: str) -> bool:
    """Whether commit, trees and file follow from one another by digest."""
    commit_name, *trees = _chain(tip, path)
    commit = objects.get(commit_name)
    if commit is None or commit.kind != b"commit" or not commit.is_named(tip):
        return False
    oid = commit.data.partition(b"\n")[0].removeprefix(b"tree ").decode("ascii", "replace")
    for name, part in zip(trees, path.split("/"), strict=True):
        tree = objects.get(name)
        if tree is None or tree.kind != b"tree" or not tree.is_named(oid):
            return False
        mode, oid = _entry(tree.data, os.fsencode(part), len(tip) // 2)
    return oid == blob and mode in _FILE_MODES


def _entry(tree: bytes, name: bytes, width: int) -> tuple[bytes, str]:
    """The mode and object of one name of a tree."""
    for mode, found, oid in _rows(tree, width):
        if found == name:
            return mode, oid
    return b"", ""


def _rows(tree: bytes, width: int) -> Iterable[tuple[bytes, bytes, str]]:
    at = 0
    while at < len(tree):
        nul = tree.find(b"\0", at)
        if nul < 0:
            return
        mode, _, name = tree[at:nul].partition(b" ")
        yield mode, name, tree[nul + 1 : nul + 1 + width].hex()
        at = nul + 1 + width
