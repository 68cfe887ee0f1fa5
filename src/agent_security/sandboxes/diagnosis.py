"""Why this machine gives no sandbox, and the line that changes it."""

from __future__ import annotations

from collections.abc import Callable

SETTINGS = (
    ("kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    ("user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=15000"),
)
"""(file below /proc/sys, the value that forbids user namespaces, the line that allows them)"""


def read_setting(name: str) -> str:
    """A kernel setting's value, "" where this kernel has none of that name."""
    try:
        with open(f"/proc/sys/{name}", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def explain(problem: str, read: Callable[[str], str] = read_setting) -> tuple[str, str]:
    """(what is wrong, the line to type or ""), from bwrap's words and the kernel's settings."""
    for name, forbidding, remedy in SETTINGS:
        if read(name) == forbidding:
            setting = name.replace("/", ".")
            return f"user namespaces are forbidden here: {setting} = {forbidding}", remedy
    lowered = problem.lower()
    if "namespace" in lowered or "operation not permitted" in lowered or "setting up uid map" in lowered:
        return (
            f"user namespaces are forbidden here, perhaps by the container around this process ({problem})",
            "start the container with --security-opt seccomp=unconfined "
            "--security-opt systempaths=unconfined",
        )
    return f"bubblewrap does not give the walls here ({problem or 'the self-check failed'})", ""
