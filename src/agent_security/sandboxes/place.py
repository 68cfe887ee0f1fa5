"""The session's private folders: where they lie, who owns them, and which bwrap their owner can start."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass

from agent_security.descriptors import open_root, parent_of
from agent_security.sandboxes.binary import Bwrap
from agent_security.sandboxes.etc import make_etc
from agent_security.sandboxes.identity import Identity
from agent_security.sandboxes.removal import measured_bytes, remove_tree

FALLBACK_BASE = "/var/tmp"
_PREFIX, _NOTE = "agent-security-", "elsewhere"
MOST_BYTES = 2 * 1024**3
"""What the session's home and /tmp may hold between commands, together."""


@dataclass(frozen=True, slots=True)
class Place:
    """`root` holds all of it: `calls` (one folder a command), `mask`, `staged`,
    `etc`, `home` and `tmp`."""

    root: str
    identity: Identity
    hidden: tuple[str, ...] = ()
    """Folders of the person that lie in a system folder (`/usr/local/google/home/me`): covered."""
    note: str = ""
    """The file of the session's folder that says where `root` is, where it lies elsewhere."""

    @property
    def calls(self) -> str:
        return os.path.join(self.root, "calls")

    @property
    def mask(self) -> str:
        return os.path.join(self.root, "mask")

    @property
    def staged(self) -> str:
        return os.path.join(self.root, "staged")

    @property
    def home(self) -> str:
        return os.path.join(self.root, "home")

    @property
    def etc(self) -> str:
        return os.path.join(self.root, "etc")

    @property
    def empty(self) -> str:
        return os.path.join(self.root, "empty")

    @property
    def tmp(self) -> str:
        return os.path.join(self.root, "tmp")

    def remove(self) -> None:
        remove_tree(self.root)
        if self.note:
            with suppress(FileNotFoundError):
                os.unlink(self.note)

    def new_call(self) -> str:
        """A fresh folder for one call, never reused; its user passes through it and changes nothing in it."""
        path = tempfile.mkdtemp(prefix="call-", dir=self.calls)
        self.pass_through(path)
        return path

    def owned(self, path: str, mode: int = 0o700) -> None:
        """Make a folder that belongs to the sandbox's user. Its parent must be one of ours."""
        os.mkdir(path, 0o700)
        self.identity.own(path)
        os.chmod(path, mode)

    def pass_through(self, path: str) -> None:
        """Let the sandbox's user go through a folder that stays ours, so that nobody swaps what is in it."""
        if self.identity.switch:
            os.chown(path, -1, self.identity.gid)
            os.chmod(path, 0o710)

    def empty_private(self) -> None:
        """Start home and /tmp afresh."""
        for path in (self.home, self.tmp):
            remove_tree(path)
            self.owned(path)

    def too_full(self) -> bool:
        return measured_bytes(self.home) + measured_bytes(self.tmp) > MOST_BYTES


def make_place(
    folder: str, identity: Identity, hidden: tuple[str, ...] = (), *, elsewhere: bool = False
) -> Place:
    """The private folders: in the session's folder where the sandbox's user reaches it, else in /var/tmp.

    What is made in /var/tmp is noted in the session's folder, for `remove_leftovers`.
    """
    os.makedirs(folder, mode=0o700, exist_ok=True)
    elsewhere = elsewhere or (identity.switch and not identity.can_reach(folder))
    made = tempfile.mkdtemp(prefix=_PREFIX, dir=FALLBACK_BASE if elsewhere else folder)
    note = os.path.join(folder, _NOTE) if elsewhere else ""
    if note:
        with open(note, "a", encoding="utf-8") as file:
            file.write(f"{made}\n")
    place = Place(made, identity, hidden, note)
    place.pass_through(made)
    os.mkdir(place.staged, 0o700)
    os.mkdir(place.calls, 0o700)
    place.pass_through(place.calls)
    for path in (place.mask, place.home, place.tmp):
        place.owned(path)
    place.owned(place.empty, 0o500)
    make_etc(place.etc, identity)
    return place


def remove_leftovers(folder: str) -> None:
    """Remove the private folders that a session which was killed left behind. Nothing there is no error."""
    with suppress(FileNotFoundError):
        for name in os.listdir(folder):
            if name.startswith(_PREFIX):
                remove_tree(os.path.join(folder, name))
    with suppress(FileNotFoundError), open(os.path.join(folder, _NOTE), encoding="utf-8") as file:
        for path in file.read().splitlines():
            if os.path.dirname(path) == FALLBACK_BASE and os.path.basename(path).startswith(_PREFIX):
                _remove_own(path)


def _remove_own(path: str) -> None:
    """The fallback's parent is everybody's: what somebody else put there by this name stays."""
    with suppress(FileNotFoundError):
        if os.lstat(path).st_uid == os.geteuid():
            remove_tree(path)


def reachable_bwrap(bwrap: Bwrap, place: Place) -> Bwrap:
    """The binary itself, or a copy that the sandbox's user reaches but cannot change."""
    if place.identity.can_reach(bwrap.path):
        return bwrap
    folder = os.path.join(place.root, "bin")
    os.makedirs(folder, mode=0o755, exist_ok=True)
    return bwrap.copy_to(folder)


def ensure_mount_points(private: str, inside: str, targets: tuple[str, ...]) -> bool:
    """Make the folders that `targets` need below the private folder mounted at `inside`; all plain folders.

    A command may have put a link in their place, and a mount would follow it. False where one stands
    in the way: the private folder has to be emptied then.
    """
    root = open_root(private)
    try:
        for target in targets:
            if target.startswith(inside + "/"):
                with parent_of(root, target[len(inside) + 1 :] + "/x", create=True, mode=0o755):
                    pass
    except OSError:
        return False
    finally:
        os.close(root)
    return True
