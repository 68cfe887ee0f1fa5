"""What of the machine stands inside: system folders read-only, and nothing of the person.

Everything here is data for the bwrap line. The order matters: a later mount covers an earlier one.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable

from agent_security.sandboxes.etc import etc_words
from agent_security.sandboxes.line import Line
from agent_security.sandboxes.place import Place

SHM_BYTES = 256 * 1024 * 1024
COVER_BYTES = 64 * 1024
SYSTEM = ("/usr", "/opt", "/nix/store")
LINKED = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Links into /usr on most systems, folders on the others."""
ROOT_READS = ("keys", "kpagecount", "kpageflags", "kpagecgroup", "slabinfo", "timer_list", "vmallocinfo")
"""Files of /proc that the kernel shows to root's user id, capabilities or not."""


def add_system(line: Line, place: Place) -> None:
    """System folders, accounts, /proc, /dev: what every sandbox of any kind stands on."""
    line.add(*_system_words(), *etc_words(place.etc))
    for folder in place.hidden:
        line.add("--size", str(COVER_BYTES), "--tmpfs", folder)
    # Read-only: as root, /proc/sys/kernel/core_pattern could be opened for writing inside bwrap's own
    # /proc, because the kernel asks for root's user id there and for no capability.
    line.add("--proc", "/proc", *_hidden_from_root(place), "--remount-ro", "/proc")
    line.add("--dev", "/dev", "--size", str(SHM_BYTES), "--tmpfs", "/dev/shm", "--remount-ro", "/dev")
    line.add("--dir", "/run", "--dir", "/var")


def within_system(folders: Iterable[str]) -> tuple[str, ...]:
    """Those of `folders` that exist and would be shown with a system folder, outermost ones only."""
    shown = (*SYSTEM, *(folder for folder in LINKED if not os.path.islink(folder)))
    inside = [
        one for one in folders if os.path.isdir(one) and any(one.startswith(f"{root}/") for root in shown)
    ]
    return tuple(dict.fromkeys(one for one in inside if not any(one.startswith(f"{top}/") for top in inside)))


@functools.cache
def _system_words() -> tuple[str, ...]:
    """Looked up once a process: what exists of the system folders, as bwrap words."""
    words: list[str] = []
    for folder in SYSTEM:
        if os.path.isdir(folder):
            words += ["--ro-bind", folder, folder]
    for folder in LINKED:
        if os.path.islink(folder):
            words += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            words += ["--ro-bind", folder, folder]
    return tuple(words)


def _hidden_from_root(place: Place) -> list[str]:
    if place.identity.uid != 0:
        return []
    files = [f"/proc/{name}" for name in ROOT_READS if os.path.exists(f"/proc/{name}")]
    return [word for path in files for word in ("--ro-bind", "/dev/null", path)]
