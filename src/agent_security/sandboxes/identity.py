"""Who the sandbox runs as, and what that user can reach (DESIGN §3.8)."""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from typing import Any

from agent_security.errors import SandboxUnavailable

_CAP_CHOWN, _CAP_SETGID, _CAP_SETUID = 0, 6, 7


@dataclass(frozen=True, slots=True)
class Identity:
    """A user the sandbox runs as. `switch` says that this process has to become it first."""

    uid: int
    gid: int
    switch: bool = False

    def popen_options(self) -> dict[str, Any]:
        """For `subprocess.Popen`: nothing at all where there is nothing to change."""
        if not self.switch:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def can_reach(self, path: str) -> bool:
        """Whether this user can read `path`, by the mode bits of every folder on the way."""
        if not self.switch:
            return os.access(path, os.R_OK)
        path = os.path.realpath(path)
        folders = [path[:index] or "/" for index, letter in enumerate(path) if letter == "/"]
        try:
            return all(self._has(os.stat(folder), 1) for folder in folders) and self._has(os.stat(path), 4)
        except OSError:
            return False

    def _has(self, found: os.stat_result, bit: int) -> bool:
        shift = 6 if found.st_uid == self.uid else 3 if found.st_gid == self.gid else 0
        return bool(stat.S_IMODE(found.st_mode) >> shift & bit)

    def own(self, path: str, *, follow_symlinks: bool = True) -> None:
        """Hand a path this process made to this user."""
        if self.switch:
            os.chown(path, self.uid, self.gid, follow_symlinks=follow_symlinks)


def identity_for(workspace: str) -> Identity:
    """The workspace's owner. Raises SandboxUnavailable where this process cannot become it."""
    found = os.stat(workspace)
    if found.st_uid == os.geteuid():
        return Identity(found.st_uid, os.getegid())
    if os.geteuid() != 0:
        raise SandboxUnavailable(
            f"{workspace} belongs to uid {found.st_uid}, and this session runs as uid {os.geteuid()}",
            f"run it as the owner, or: sudo chown -R {os.geteuid()} {workspace}",
        )
    if not _may_switch():
        raise SandboxUnavailable(
            f"{workspace} belongs to uid {found.st_uid}, and this root may not become another user",
            "give the container CAP_SETUID, CAP_SETGID and CAP_CHOWN, or start it as the owner",
        )
    return Identity(found.st_uid, _group_of(found), switch=True)


def _may_switch() -> bool:
    """Whether root here has the three capabilities that becoming an owner takes."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        effective = next((int(line.split()[1], 16) for line in file if line.startswith("CapEff:")), 0)
    return all(effective >> bit & 1 for bit in (_CAP_CHOWN, _CAP_SETGID, _CAP_SETUID))


def _group_of(found: os.stat_result) -> int:
    """The folder's group where its owner belongs to it, so that files of that group can be changed."""
    try:
        account = pwd.getpwuid(found.st_uid)
    except KeyError:
        return found.st_gid
    groups = os.getgrouplist(account.pw_name, account.pw_gid)
    return found.st_gid if found.st_gid in groups else account.pw_gid


def home_of(uid: int) -> str:
    """The home of the password database, links resolved; "" where there is none."""
    try:
        return os.path.realpath(pwd.getpwuid(uid).pw_dir)
    except KeyError:
        return ""
