"""What a session asks of its wall, and the refusal of workspaces that would put the person inside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from agent_security.errors import SandboxUnavailable
from agent_security.secret_management import CREDENTIAL_MOUNT_PATHS

SYSTEM_FOLDERS = (
    *("/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/media", "/mnt", "/opt", "/proc", "/root"),
    *(
        "/run",
        "/sbin",
        "/srv",
        "/sys",
        "/tmp",
        "/usr",
        "/usr/bin",
        "/usr/lib",
        "/usr/local",
        "/var",
        "/var/tmp",
    ),
)
"""Never a workspace themselves; what lies beneath may be one."""
OWN_FOLDER = "start in a project's own folder"
KERNEL_FOLDERS = ("/proc", "/sys", "/dev")


@dataclass(frozen=True, slots=True)
class SandboxRequest:
    """One session's wall, as the wiring asks for it. Paths are absolute.

    `folder` is the session's private folder outside the workspace, `home` the person's home ("" is
    the one of the password database), `readable` the toolchain roots of the person's settings.
    `granted` says of a secret file (a path relative to the workspace) whether a person let it be
    read, `hidden` of any path whether a rule hides it.
    """

    workspace: str
    folder: str
    added_dirs: tuple[str, ...] = ()
    container_env: Mapping[str, str] = field(default_factory=dict)
    backend: str = "auto"
    require: tuple[str, ...] = ()
    exec_timeout_s: float = 120.0
    home: str = ""
    readable: tuple[str, ...] = ()
    granted: Callable[[str], bool] | None = None
    hidden: Callable[[str], bool] | None = None
    user_name: str = ""
    user_email: str = ""
    state_dir: str = ""


def is_beneath(path: str, root: str) -> bool:
    """Whether `path` is `root` or lies under it. Both absolute, links resolved."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def credential_folders(home: str) -> tuple[str, ...]:
    """`CREDENTIAL_MOUNT_PATHS` (§5.2) as absolute paths of this home, links resolved."""
    return tuple(os.path.realpath(path.replace("~", home, 1)) for path in CREDENTIAL_MOUNT_PATHS)


def refuse_unsafe_places(request: SandboxRequest, home: str) -> None:
    """A workspace or added folder that is or holds home, `/`, the state folder or credentials refuses.

    Raises SandboxUnavailable, and names what is in the way (DESIGN §3.5).
    """
    for what, path in _named(request):
        if not os.path.isdir(path):
            raise SandboxUnavailable(f"the {what} {path} is not a directory")
        if os.path.realpath(path) != path:
            raise SandboxUnavailable(f"the {what} {path} is not absolute with its links resolved")
        if path == "/" or path in SYSTEM_FOLDERS or any(is_beneath(path, root) for root in KERNEL_FOLDERS):
            raise SandboxUnavailable(f"the {what} {path} is a system folder", OWN_FOLDER)
        for guarded, label in _guarded(request, home):
            _refuse_overlap(what, path, guarded, label)


def _named(request: SandboxRequest) -> Iterator[tuple[str, str]]:
    yield "workspace", request.workspace
    for path in request.added_dirs:
        yield "added folder", path


def _guarded(request: SandboxRequest, home: str) -> Iterator[tuple[str, str]]:
    yield home, "home"
    for path in (request.folder, request.state_dir):
        if path:
            yield os.path.realpath(path), "the state folder"
    for path in credential_folders(home):
        yield path, "credentials"


def guarded_folders(request: SandboxRequest, *homes: str) -> tuple[str, ...]:
    """What must be seen from nowhere: homes, their credentials, the state folder, links resolved."""
    found = [path for home in homes if home for path, _ in _guarded(request, home)]
    return tuple(dict.fromkeys(path for path in found if path != "/"))


def _refuse_overlap(what: str, path: str, guarded: str, label: str) -> None:
    if is_beneath(guarded, path):
        held = "is" if guarded == path else "contains"
        raise SandboxUnavailable(f"the {what} {path} {held} {label} ({guarded})", OWN_FOLDER)
    if label != "home" and is_beneath(path, guarded):
        raise SandboxUnavailable(f"the {what} {path} lies in {label} ({guarded})")
