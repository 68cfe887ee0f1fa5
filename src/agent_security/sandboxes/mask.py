"""The mask layer (DESIGN §3.2): what stands in the tree and is not shown as it is.

A folder that lies above the workspace in the view. Untracked secret files stand in it empty, git's
configurations without credentials. Its folders carry the modes of the real ones, because the topmost
layer's mode is what a command sees.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field

from agent_security.changes import mask_config
from agent_security.descriptors import lstat, open_root, parent_of, read_regular
from agent_security.sandboxes.place import Place

MOST_CONFIG_BYTES = 4 * 1024 * 1024
Stamp = tuple[int, int, int, int]
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass
class Mask:
    """`empty` are paths that read empty, `configs` git configurations that are cleaned where they need it.

    `contents` is what is in force now: path -> the bytes shown. `version` counts its changes.
    """

    place: Place
    workspace_fd: int
    empty: tuple[str, ...]
    configs: tuple[str, ...]
    contents: dict[str, bytes] = field(default_factory=dict)
    version: int = 0
    _stamps: dict[str, Stamp] = field(default_factory=dict)
    _layer_fd: int = -1

    def __post_init__(self) -> None:
        self._layer_fd = open_root(self.place.mask)

    def close(self) -> None:
        os.close(self._layer_fd)

    def refresh(self) -> None:
        """Bring the layer up to date with the tree; cheap where nothing changed. Before each call."""
        before = dict(self.contents)
        for path in self.empty:
            self._keep_empty(path)
        for path in self.configs:
            self._keep_config(path)
        self._same_modes()
        self.version += before != self.contents

    @property
    def layer(self) -> str:
        """The layer's folder, or "" while nothing is masked."""
        return self.place.mask if self.contents else ""

    def source(self, path: str) -> str:
        return os.path.join(self.place.mask, path)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secret files in force: they read empty."""
        return tuple(path for path in self.empty if path in self.contents)

    def _keep_empty(self, path: str) -> None:
        found = _look(self.workspace_fd, path)
        if found is None or not stat.S_ISREG(found.st_mode):
            self._drop(path)
        elif path not in self.contents:
            self._put(path, b"", found.st_mode)

    def _keep_config(self, path: str) -> None:
        found = _look(self.workspace_fd, path)
        if found is None or not stat.S_ISREG(found.st_mode):
            self._drop(path)
            return
        stamp = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        if self._stamps.get(path) == stamp:
            return
        self._stamps[path] = stamp
        shown = _cleaned(self.workspace_fd, path)
        self._drop(path)
        if shown is not None:
            self._put(path, shown, found.st_mode)

    def _put(self, path: str, content: bytes, mode: int) -> None:
        """Write one file of the layer, by descriptors: the layer belongs to the sandbox's user."""
        for folder in _ancestors(path):
            self._make_folder(folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with parent_of(self._layer_fd, path) as (parent, name):
            fd = os.open(name, flags, 0o600, dir_fd=parent)
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            self._own(fd, stat.S_IMODE(mode))
        self.contents[path] = content

    def _make_folder(self, folder: str) -> None:
        with parent_of(self._layer_fd, folder) as (parent, name):
            if _look(self._layer_fd, folder) is None:
                os.mkdir(name, 0o700, dir_fd=parent)
                fd = os.open(name, _FOLDER, dir_fd=parent)
                self._own(fd, 0o700)
                os.close(fd)

    def _own(self, fd: int, mode: int) -> None:
        identity = self.place.identity
        if identity.switch:
            os.fchown(fd, identity.uid, identity.gid)
        os.fchmod(fd, mode & 0o777)

    def _drop(self, path: str) -> None:
        """Take one file out of the layer, and the folders that stood there for it alone."""
        if self.contents.pop(path, None) is None:
            return
        with parent_of(self._layer_fd, path) as (parent, name):
            os.unlink(name, dir_fd=parent)
        for folder in reversed(_ancestors(path)):
            try:
                with parent_of(self._layer_fd, folder) as (parent, name):
                    os.rmdir(name, dir_fd=parent)
            except OSError:
                return  # another masked file is in it

    def _same_modes(self) -> None:
        folders = {ancestor for path in self.contents for ancestor in _ancestors(path)}
        os.fchmod(self._layer_fd, stat.S_IMODE(os.fstat(self.workspace_fd).st_mode) & 0o777)
        for folder in folders:
            found, own = _look(self.workspace_fd, folder), _look(self._layer_fd, folder)
            if found is not None and own is not None and found.st_mode != own.st_mode:
                with parent_of(self._layer_fd, folder + "/x") as (fd, _):
                    os.fchmod(fd, stat.S_IMODE(found.st_mode))


def _look(root_fd: int, path: str) -> os.stat_result | None:
    """What stands there; a link on the way counts as nothing."""
    try:
        return lstat(root_fd, path)
    except OSError:
        return None


def _cleaned(workspace_fd: int, path: str) -> bytes | None:
    """The configuration without credentials; None where it holds none and needs no mask.

    One that is too large to look through is shown empty.
    """
    try:
        raw = read_regular(workspace_fd, path, MOST_CONFIG_BYTES)
    except (OSError, ValueError):
        return b""
    shown = mask_config(raw)
    return None if shown == raw else shown


def _ancestors(path: str) -> list[str]:
    """The folders above, outermost first, without the root."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: index + 1]) for index in range(len(parts))]
