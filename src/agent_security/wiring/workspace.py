"""Which directory may be worked on (DESIGN §3.4, §3.5), judged once, before anything is opened in it.

A workspace or added directory that is, lies in, or contains a credential folder or the state
directory is refused, and so are home itself and everything above it. The program refuses to
start where its own code, or a folder Python imports from, lies under the workspace: the model
could rewrite it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from agent_security.errors import UsageError
from agent_security.secret_management import CREDENTIAL_MOUNT_PATHS
from agent_security.settings import home_dir, state_dir


def workspace_at(path: str) -> str:
    """The workspace's absolute path with its links followed. Raises UsageError with one clear line."""
    return _judged(path, "the workspace")


def added_dirs_at(paths: Sequence[str]) -> tuple[str, ...]:
    """The `--add-dir` directories, judged alike."""
    return tuple(_judged(path, "an added directory") for path in paths)


def _judged(path: str, what: str) -> str:
    real = os.path.realpath(os.path.expanduser(path))
    if not os.path.exists(real):
        raise UsageError(f"no such directory: {path}")
    if not os.path.isdir(real):
        raise UsageError(f"not a directory: {path}")
    if real == "/":
        raise UsageError(f"{what} cannot be / itself: name a project's directory (-C DIR)")
    own_home = os.path.realpath(str(home_dir()))
    if real == own_home:
        raise UsageError(f"{what} cannot be your home directory: name a project's directory (-C DIR)")
    if _beneath(own_home, real):
        raise UsageError(f"{what} cannot contain your home directory: {real}")
    _refuse_private(real, own_home, what)
    return real


def _refuse_private(real: str, own_home: str, what: str) -> None:
    """Credential folders and the state directory: neither around nor inside one."""
    credentials = (os.path.realpath(name.replace("~", own_home, 1)) for name in CREDENTIAL_MOUNT_PATHS)
    for private, why in [
        *((path, "credentials") for path in credentials),
        (_state(), "the harness's own state"),
    ]:
        if real == private or _beneath(real, private):
            raise UsageError(f"{what} lies in {private}, which holds {why}")
        if _beneath(private, real) and os.path.lexists(private):
            raise UsageError(f"{what} contains {private}, which holds {why}")


def _state() -> str:
    return os.path.realpath(str(state_dir()))


def _beneath(path: str, root: str) -> bool:
    return path.startswith(root.rstrip("/") + "/")


def refuse_own_code_under(workspace: str) -> None:
    """Raises UsageError where a module that was imported, or will be, lies under the workspace."""
    if found := next(_under(workspace, _module_files()), ""):
        raise UsageError(
            f"this program's own code lies in the workspace ({found}): "
            "work on another folder (-C DIR), or install the program outside of it"
        )
    if found := next(_under(workspace, (entry or os.getcwd() for entry in sys.path)), ""):
        raise UsageError(
            f"Python imports from the workspace ({found}): start without it, e.g. with python -P"
        )


def refuse_log_inside(path: str, folders: Sequence[str]) -> None:
    """The audit log never lies where a tool could see it (CONTRACTS §5). Raises UsageError."""
    if inside := next((folder for folder in folders if _beneath(path, folder)), ""):
        raise UsageError(f"--audit-log: {path} lies inside {inside}, where the model's tools work")


def _module_files() -> Iterable[str]:
    return [file for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None))]


def _under(workspace: str, paths: Iterable[str]) -> Iterator[str]:
    """Both as written and with links followed: either way in is a way in."""
    for path in paths:
        for spelling in {os.path.abspath(path), os.path.realpath(path)}:
            if spelling == workspace or _beneath(spelling, workspace):
                yield path


def private_folder(path: Path) -> Path:
    """A folder of mode 0700, made with its parents. Raises UsageError where it cannot be made."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
    except OSError as error:
        raise UsageError(f"the state directory cannot be written: {path}: {error.strerror}") from error
    return path
