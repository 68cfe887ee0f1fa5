"""The bwrap lines of each kind of sandbox: a command, the file worker, a throwaway, a question to git."""

from __future__ import annotations

import os

from agent_security.sandboxes.etc import HOME
from agent_security.sandboxes.line import Line, inside_env
from agent_security.sandboxes.mounts import add_system
from agent_security.sandboxes.parts import Parts
from agent_security.sandboxes.place import Place
from agent_security.sandboxes.python import add_runner, start
from agent_security.sandboxes.view import CallView

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
COMMAND_ENV = {
    "CI": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    # looking at a repository is no change of it: no refreshed index in the change sets
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": f"{HOME}/.gitconfig",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "DEBIAN_FRONTEND": "noninteractive",
    # its leak search attaches to the program by ptrace, which the filter refuses: the program would fail
    "ASAN_OPTIONS": "detect_leaks=0",
    # compiled files stay out of the tree, and so out of the change sets, and last for the session
    "PYTHONPYCACHEPREFIX": "/tmp/.pycache",
}
SMALL_TMP_BYTES = 64 * 1024 * 1024


def bare_line(place: Place) -> Line:
    """A sandbox with the system folders and a small /tmp, and nothing else."""
    line = Line(place.identity)
    add_system(line, place)
    line.add("--size", str(SMALL_TMP_BYTES), "--tmpfs", "/tmp")
    return line


def bare_env() -> dict[str, str]:
    return inside_env({}, {}, PATH, "/tmp")


# --- commands -------------------------------------------------------------------------------------


def for_command(parts: Parts, view: CallView | None) -> Line:
    """The sandbox of one shell command: the session's home and /tmp, and the view of the workspace."""
    line = Line(parts.identity)
    add_system(line, parts.place)
    line.add("--bind", parts.place.tmp, "/tmp", "--bind", parts.place.tmp, "/var/tmp")
    line.add("--bind", parts.place.home, HOME)
    for folder, name in parts.toolchains.stores:
        _add_store(line, folder, f"{HOME}/{name}", overlay=parts.overlay)
    _add_beside(line, parts, overlay=parts.overlay)
    if view is not None:
        view.mount(line, parts.workspace, parts.mask.layer)
    else:
        _add_tree_itself(line, parts)
    line.add("--chdir", parts.workspace)
    return line


def command_env(parts: Parts) -> dict[str, str]:
    path = ":".join((*parts.toolchains.path, PATH))
    return inside_env(COMMAND_ENV, parts.request.container_env, path, HOME)


def mount_targets(parts: Parts) -> tuple[str, ...]:
    """Where mounts land that may lie below /tmp or the home inside."""
    stores = tuple(f"{HOME}/{name}" for _, name in parts.toolchains.stores)
    common = (parts.gitdir.common,) if parts.gitdir is not None else ()
    return (parts.workspace, *parts.request.added_dirs, *parts.toolchains.mounts, *stores, *common)


def _add_store(line: Line, folder: str, dest: str, *, overlay: bool) -> None:
    """Readable; a package manager's locks and new entries go to memory and vanish with the call."""
    if overlay:
        line.add("--overlay-src", folder, "--tmp-overlay", dest)
    else:
        line.read_only(folder, dest)


def _add_beside(line: Line, parts: Parts, *, overlay: bool = False) -> None:
    """The folders beside the workspace, read-only.

    A read-only mount still lets a socket be connected to and a FIFO be written; below an overlay
    both are other objects than the host's, and lead nowhere.
    """
    common = (parts.gitdir.common,) if parts.gitdir is not None else ()
    for folder in (*parts.toolchains.mounts, *parts.request.added_dirs, *common):
        if overlay:
            line.add("--overlay-src", folder, "--overlay-src", parts.place.empty, "--ro-overlay", folder)
        else:
            line.read_only(folder)
    if parts.gitdir is not None:
        for path, cleaned in parts.gitdir.configs:
            line.add("--ro-bind-data", line.data(cleaned), path)


def _add_tree_itself(line: Line, parts: Parts) -> None:
    """Without a view (notes/sandbox.md): the tree, writable, with what runs on the host held read-only.

    `.git` is a mount of its own, else it could be moved away and another planted.
    """
    workspace = parts.workspace
    line.add("--bind", workspace, workspace)
    git_folders = {before + ".git" for path in parts.run_later for before, _ in _parted_at_git(path)}
    for folder in sorted(git_folders):
        line.add("--bind", f"{workspace}/{folder}", f"{workspace}/{folder}")
    for path in parts.run_later:
        if path not in parts.mask.contents and path != ".git" and os.path.exists(f"{workspace}/{path}"):
            line.read_only(f"{workspace}/{path}")
    _add_masked_files(line, parts)


def _parted_at_git(path: str) -> list[tuple[str, str]]:
    """`sub/.git/hooks` as [("sub/", "hooks")]; [] for a path outside any repository's own folder."""
    before, found, after = f"/{path}".partition("/.git/")
    return [(before[1:] + "/" if before else "", after)] if found else []


def _add_masked_files(line: Line, parts: Parts) -> None:
    for path in parts.mask.contents:
        line.read_only(parts.mask.source(path), f"{parts.workspace}/{path}")


# --- the file worker, the throwaway, git ----------------------------------------------------------


def for_worker(parts: Parts) -> Line:
    """The workspace read-only, masked files covered. Not an overlay: one that lives on while the tree
    below it changes goes on showing the old files (tried)."""
    line = bare_line(parts.place)
    _add_beside(line, parts)
    line.read_only(parts.workspace)
    _add_masked_files(line, parts)
    add_runner(line, parts.python[1])
    line.add("--chdir", parts.workspace)
    return line


def worker_command(parts: Parts) -> list[str]:
    return start(parts.python[0], "worker", parts.workspace, list(parts.request.added_dirs))


def for_html(parts: Parts) -> Line:
    line = bare_line(parts.place)
    add_runner(line, parts.python[1])
    line.add("--chdir", "/tmp")
    return line


def html_command(parts: Parts) -> list[str]:
    return start(parts.python[0], "html_text")


def for_git(place: Place, workspace: str, beside: str) -> Line:
    """For a question to git about the tree as it is: read-only, no mask, nothing kept."""
    line = bare_line(place)
    if beside:
        line.read_only(beside)
    line.read_only(workspace)
    line.add("--ro-bind-data", line.data(git_identity(workspace, (), "", "").encode()), "/run/gitconfig")
    line.add("--chdir", workspace)
    return line


def git_env() -> dict[str, str]:
    return bare_env() | COMMAND_ENV | {"GIT_CONFIG_GLOBAL": "/run/gitconfig"}


# --- the home inside --------------------------------------------------------------------------------


def fill_home(parts: Parts) -> None:
    """The private git configuration: who commits, and that this workspace is the person's own."""
    request = parts.request
    text = git_identity(request.workspace, request.added_dirs, request.user_name, request.user_email)
    path = os.path.join(parts.place.home, ".gitconfig")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path, flags, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
        if parts.identity.switch:
            os.fchown(fd, parts.identity.uid, parts.identity.gid)


def git_identity(workspace: str, added: tuple[str, ...], name: str, email: str) -> str:
    safe = "".join(f"\tdirectory = {_quoted(path)}\n" for path in (workspace, *added))
    who = f"[user]\n\tname = {_quoted(name)}\n\temail = {_quoted(email)}\n" if name and email else ""
    return f"[safe]\n{safe}[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n{who}"


def _quoted(value: str) -> str:
    """A git configuration value. Line breaks would start another key."""
    value = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "")
    return f'"{value}"'
