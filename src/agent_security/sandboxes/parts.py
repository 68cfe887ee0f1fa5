"""What one session's wall is made of, put together once by `choose.py`."""

from __future__ import annotations

import os
from dataclasses import dataclass

from agent_security.sandboxes.binary import Bwrap
from agent_security.sandboxes.gitdir import GitDir
from agent_security.sandboxes.identity import Identity
from agent_security.sandboxes.mask import Mask
from agent_security.sandboxes.place import Place
from agent_security.sandboxes.request import SandboxRequest
from agent_security.sandboxes.toolchains import Toolchains


@dataclass(frozen=True, slots=True)
class Parts:
    """Built once a session; nothing in it changes but the mask's content."""

    request: SandboxRequest
    identity: Identity
    place: Place
    bwrap: Bwrap
    workspace_fd: int
    mask: Mask
    toolchains: Toolchains
    python: tuple[str, str]
    gitdir: GitDir | None
    overlay: bool
    """Whether this bwrap and this kernel gave an overlay in the self-check."""
    tracked: tuple[str, ...] = ()
    """Secret files that git tracks as they stand: masking them would hide what its objects show."""
    run_later: tuple[str, ...] = ()
    """First-tier paths that exist, where there is no view: they become read-only mounts."""

    @property
    def workspace(self) -> str:
        return self.request.workspace

    def close(self) -> None:
        self.mask.close()
        os.close(self.workspace_fd)
        self.place.remove()
