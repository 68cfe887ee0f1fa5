"""The copy-on-write view of one command (DESIGN §3.2): the tree, the mask above it, this call on top."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from agent_security.descriptors import lstat, open_root
from agent_security.sandboxes.line import Line
from agent_security.sandboxes.place import Place
from agent_security.sandboxes.removal import remove_tree


@dataclass(frozen=True, slots=True)
class CallView:
    """The folder of one call. `upper` afterwards is the list of what the command did."""

    folder: str
    since_ns: int

    @property
    def upper(self) -> str:
        return os.path.join(self.folder, "upper")

    @property
    def work(self) -> str:
        return os.path.join(self.folder, "work")

    @property
    def untouched(self) -> bool:
        return not os.listdir(self.upper)

    def holds(self, path: str) -> bool:
        """Whether the command wrote a file there."""
        root = open_root(self.upper)
        try:
            found = lstat(root, path)
        except OSError:
            return False
        finally:
            os.close(root)
        return found is not None and stat.S_ISREG(found.st_mode)

    def mount(self, line: Line, workspace: str, mask: str) -> None:
        """Put the view at the workspace's own path. `mask` is the mask layer's folder, "" for none."""
        line.add("--overlay-src", workspace)
        if mask:
            line.add("--overlay-src", mask)
        line.add("--overlay", self.upper, self.work, workspace)

    def remove(self) -> None:
        remove_tree(self.folder)


def new_view(place: Place, workspace: str) -> CallView:
    """A fresh view. The upper folder's mode is what the workspace's root shows inside.

    `since_ns` is read off the new folder itself, so it is the file system's own clock.
    """
    view = CallView(place.new_call(), 0)
    place.owned(view.upper, stat.S_IMODE(os.stat(workspace).st_mode))
    place.owned(view.work)
    return CallView(view.folder, os.stat(view.upper).st_ctime_ns)
