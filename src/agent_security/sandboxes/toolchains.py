"""The project's toolchains and the person's dependency stores, found by reading and never by running.

What hostile data names (a `pyvenv.cfg`, a `.nvmrc`, a `rust-toolchain`) only chooses among what lies
under system folders, the known toolchain roots of this table, or the roots of the person's settings;
home itself and credential folders are never mounted (DESIGN §3.5).
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agent_security.descriptors import read_regular
from agent_security.sandboxes.identity import Identity
from agent_security.sandboxes.request import credential_folders, is_beneath

SYSTEM_PREFIXES = ("/usr", "/opt", "/nix/store")
INSTALL_ROOTS = (
    *(
        ".pyenv/versions",
        ".local/share/uv/python",
        ".local/share/mise/installs/python",
        ".asdf/installs/python",
    ),
    *(".rustup/toolchains", ".nvm/versions/node", ".local/share/mise/installs/node", ".asdf/installs/nodejs"),
    *(".volta/tools/image/node", ".sdkman/candidates/java"),
)
"""Folders of home that hold one installation a sub-folder; single installations are mounted, never these."""
STORES = (
    *(".cargo/registry", "go/pkg/mod", ".m2/repository", ".npm/_cacache", ".cache/pip", ".cache/pre-commit"),
)
"""Dependency stores of home (DESIGN §3.2); each tool's credential files lie beside, not in them."""
VENV_NAMES = (".venv", "venv", "env")
_SMALL = 64 * 1024
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")


@dataclass(frozen=True, slots=True)
class Toolchains:
    """`mounts` are folders to show read-only at their own place, `path` what $PATH gains,
    `stores` pairs (real folder, place relative to the home inside)."""

    mounts: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    stores: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Finder:
    """Looks for one workspace. `home` is the person's, "" where there is none to look in."""

    workspace_fd: int
    home: str
    readable: tuple[str, ...]
    identity: Identity

    def find(self) -> Toolchains:
        pythons = [found for name in VENV_NAMES if (found := self._python_of(name))]
        others = [found for found in (self._rust(), self._node()) if found]
        chosen = dict.fromkeys((*pythons, *others, *self._settings()))
        mounts = tuple(folder for folder in chosen if not _in_system(folder))
        path = tuple(os.path.join(folder, "bin") for folder in others)
        return Toolchains(mounts, path, tuple(self._stores()))

    def _settings(self) -> Iterator[str]:
        for root in self.readable:
            folder = os.path.realpath(root)
            if self._may_show(folder):
                yield folder

    def _python_of(self, venv: str) -> str:
        """The installation that a virtual environment of the workspace was made from, or ""."""
        home = _venv_home(self._text(f"{venv}/pyvenv.cfg"))
        return self._installation(os.path.realpath(home)) if home.startswith("/") else ""

    def _installation(self, path: str) -> str:
        """The installation folder that `path` lies in, if it is under a root we know; else ""."""
        if _in_system(path):
            return path
        for root in self._roots():
            if is_beneath(path, root) and path != root:
                folder = os.path.join(root, path[len(root) + 1 :].split("/")[0])
                return folder if self._may_show(folder) else ""
        return next((root for root in self._settings() if is_beneath(path, root)), "")

    def _roots(self) -> list[str]:
        return (
            [os.path.realpath(os.path.join(self.home, root)) for root in INSTALL_ROOTS] if self.home else []
        )

    def _rust(self) -> str:
        named = self._rust_named() or self._rust_default()
        root = os.path.join(self.home, ".rustup/toolchains")
        return self._pick(root, (name for name in _listed(root) if name == named or _rust_alias(name, named)))

    def _rust_named(self) -> str:
        text = self._text("rust-toolchain.toml") or self._text("rust-toolchain")
        try:
            channel = tomllib.loads(text).get("toolchain", {}).get("channel", "")
        except (tomllib.TOMLDecodeError, AttributeError):
            channel = text.strip()
        return channel if isinstance(channel, str) and _NAME.fullmatch(channel) else ""

    def _rust_default(self) -> str:
        try:
            with open(os.path.join(self.home, ".rustup/settings.toml"), "rb") as file:
                name = tomllib.load(file).get("default_toolchain", "")
        except (OSError, tomllib.TOMLDecodeError):
            return ""
        return name if isinstance(name, str) else ""

    def _node(self) -> str:
        """The Node version the project names among those of nvm; the newest where it names none."""
        root = os.path.join(self.home, ".nvm/versions/node")
        named = (self._text(".nvmrc") or self._text(".node-version")).strip().lstrip("v")
        names = sorted(_listed(root), key=_version, reverse=True)
        if _NAME.fullmatch(named) and any(name.lstrip("v").startswith(named) for name in names):
            names = [name for name in names if name.lstrip("v").startswith(named)]
        return self._pick(root, names)

    def _pick(self, root: str, names: Iterable[str]) -> str:
        if not self.home:
            return ""
        folders = (os.path.realpath(os.path.join(root, name)) for name in names)
        return next((one for one in folders if os.path.isdir(one) and self._may_show(one)), "")

    def _stores(self) -> Iterator[tuple[str, str]]:
        for name in STORES if self.home else ():
            folder = os.path.realpath(os.path.join(self.home, name))
            if os.path.isdir(folder) and self._may_show(folder):
                yield folder, name

    def _may_show(self, folder: str) -> bool:
        """Never home or what holds it, never credentials or what holds them; and only what can be read."""
        guarded = (self.home, *credential_folders(self.home)) if self.home else ()
        if any(is_beneath(one, folder) for one in guarded) or folder == "/":
            return False
        if any(is_beneath(folder, one) for one in guarded[1:]):
            return False
        return self.identity.can_reach(folder)

    def _text(self, path: str) -> str:
        """A small file of the workspace, by descriptor; "" where there is none."""
        try:
            return read_regular(self.workspace_fd, path, _SMALL).decode("utf-8", "replace")
        except (OSError, ValueError):
            return ""


def _venv_home(text: str) -> str:
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and key.strip() == "home":
            return value.strip() if "\0" not in value else ""
    return ""


def _in_system(path: str) -> bool:
    return any(is_beneath(path, prefix) for prefix in SYSTEM_PREFIXES)


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _rust_alias(name: str, named: str) -> bool:
    """`stable` stands for `stable-x86_64-unknown-linux-gnu`."""
    return bool(named) and name.startswith(f"{named}-")


def _version(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", name)[:3])
