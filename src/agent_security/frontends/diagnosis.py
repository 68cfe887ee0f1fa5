"""What `doctor` looks at besides the wall itself. Reads only; runs nothing and connects to nothing."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent_security.errors import AgentSecurityError
from agent_security.secret_management import check_credential_mounts, scan_environment_for_secrets
from agent_security.settings import load_settings, provider_env, state_dir

_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
_PROGRAMS = (
    ("git", "the model's git commands need it", "apt-get install -y git"),
    ("rg", "grep is faster with it; without it the worker searches itself", "apt-get install -y ripgrep"),
)
_FORBIDDERS = (
    ("kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    ("user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. `remedy` is the line to type, "" where nothing is to be done."""

    name: str
    ok: bool
    text: str
    remedy: str = ""

    @property
    def lines(self) -> list[str]:
        mark = "ok " if self.ok else "-- "
        return [
            f"{mark} {self.name:<12} {self.text}",
            *([f"    {'':<12} {self.remedy}"] if self.remedy else []),
        ]


def examine() -> list[Finding]:
    """Every finding, in the order they are printed."""
    return [
        _machine(),
        *_namespaces(),
        *_programs(),
        _state(),
        _settings(),
        _model(),
        _environment(),
        _credentials(),
    ]


def _machine() -> Finding:
    libc, version = platform.libc_ver()
    text = (
        f"{platform.system()} {platform.release()} {platform.machine()}, Python {platform.python_version()}"
    )
    if libc == "glibc":
        return Finding("machine", True, f"{text}, glibc {version}")
    remedy = "install the system's bubblewrap and shfmt: their wheels need glibc"
    return Finding("machine", False, f"{text}, no glibc (musl?)", remedy)


def _namespaces() -> Iterator[Finding]:
    """Which setting forbids user namespaces, where one does. Root needs none of them."""
    if os.geteuid() == 0:
        return
    for name, bad, remedy in _FORBIDDERS:
        try:
            value = Path("/proc/sys", name).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            continue
        if value == bad:
            setting = name.replace("/", ".")
            yield Finding(
                "namespaces", False, f"{setting} = {value} forbids user namespaces", f"as root: {remedy}"
            )


def _programs() -> Iterator[Finding]:
    for name, why, remedy in _PROGRAMS:
        found = shutil.which(name, path=_SYSTEM_PATH)
        yield Finding(name, True, found) if found else Finding(name, False, f"not found: {why}", remedy)


def _state() -> Finding:
    try:
        path = state_dir()
    except AgentSecurityError as error:
        return Finding("state", False, str(error))
    nearest = next(folder for folder in (path, *path.parents) if folder.exists())
    writable = os.access(nearest, os.W_OK)
    return Finding("state", writable, str(path) if writable else f"{path} cannot be written")


def _settings() -> Finding:
    try:
        settings = load_settings(flags={}, workspace=None)
    except AgentSecurityError as error:
        return Finding("settings", False, str(error))
    own = sorted({source for source in settings.sources.values() if source != "default"})
    return Finding("settings", True, ", ".join(own) or "the defaults")


def _model() -> Finding:
    env = provider_env()
    key = "a key is set" if env.api_key else "no OPENAI_API_KEY"
    where = env.base_url or "OPENAI_BASE_URL is not set"
    remedy = (
        ""
        if env.api_key or env.base_url
        else "export OPENAI_API_KEY=…, or start Ollama, or --model script:FILE"
    )
    return Finding("model", not remedy, f"{where}; {key}", remedy)


def _environment() -> Finding:
    names = scan_environment_for_secrets()
    text = f"{len(names)} variables look like secrets; none of them enters the sandbox"
    return Finding("environment", True, f"{text}: {', '.join(sorted(names))}" if names else text)


def _credentials() -> Finding:
    found = check_credential_mounts()
    return Finding("credentials", True, f"never mounted: {', '.join(found) or 'none found here'}")
