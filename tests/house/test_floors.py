"""The house of ARCHITECTURE.md: who may import whom, and who alone may do what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "src" / "agent_security"

# One line a floor; a name covers the module or package of that name.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("codes", "decision", "changeset", "calls", "errors", "ports"),
    ("descriptors", "history", "paths", "protected_paths", "shell", "net", "text", "settings"),
    (
        "prompt_safety",
        "provenance",
        "tool_policy",
        "permissions",
        "resource_limits",
        "secret_management",
        "changes",
        "session_control",
        "tools.validators",
        "tools.audit",
    ),
    (
        "tools.registry",
        "tools.schemas",
        "tools.memory",
        "tools.runners",
        "tools.runner",
        "tools.sandbox",
        "sandboxes",
        "providers",
    ),
    ("session", "gates", "steps", "pipeline", "judging"),
    ("agent", "loop"),
    ("wiring",),
    ("frontends", "testing", "demo", "__main__"),
)
CONTROLS = FLOORS[2]

_NETWORK = (
    "socket socketserver ssl http.client http.server urllib.request asyncio httpx httpx2 httpcore2 requests"
)
_PROCESSES = (
    "subprocess pty multiprocessing asyncio os.system os.popen os.fork os.forkpty os.posix_spawn "
    "os.posix_spawnp os.execv os.execve os.execvp os.execvpe os.execl os.execle os.execlp "
    "os.spawnv os.spawnve os.spawnl"
)
_TERMINALS = "click rich prompt_toolkit readline curses getpass print input"
_ENVIRONMENT = "os.environ os.getenv os.environb os.putenv os.unsetenv"

# What -> (the names that do it, who alone may use them).
MONOPOLIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "sockets and DNS": (_NETWORK, ("net", "sandboxes", "providers", "tools.runner", "demo")),
    "starting processes": (_PROCESSES, ("sandboxes", "session_control", "shell", "tools.runner")),
    "vendor SDKs": ("openai anthropic litellm google", ("providers",)),
    "terminals": (_TERMINALS, ("frontends", "demo", "tools.runner")),
    "the environment": (_ENVIRONMENT, ("settings", "secret_management", "tools.runner")),
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        yield name, ast.parse(path.read_text(encoding="utf-8"))


def unit_of(module: str) -> str | None:
    """The row of FLOORS a module belongs to: itself, the package it lies in, or its family's head."""
    known = [name for floor in FLOORS for name in floor]
    return max(
        (name for name in known if module == name or module.startswith(f"{name}.")), key=len, default=None
    )


def floor_of(unit: str) -> int:
    return next(i for i, floor in enumerate(FLOORS) if unit in floor)


def imports_of(tree: ast.Module) -> Iterator[str]:
    """Every import but those of a main guard: there the module is the program, not a part of it."""
    guarded = {id(inner) for node in tree.body if is_main_guard(node) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in guarded:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_main_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"


def own_imports(tree: ast.Module) -> set[str]:
    found = set()
    for name in imports_of(tree):
        if name.startswith("agent_security."):
            unit = unit_of(name.removeprefix("agent_security."))
            if unit:
                found.add(unit)
    return found


MODULES = dict(modules())


@pytest.mark.parametrize("module", [m for m in MODULES if m])
def test_every_module_has_a_floor(module: str) -> None:
    if module in ("tools",):
        return
    assert unit_of(module), f"{module} stands on no floor: give it one in FLOORS and ARCHITECTURE.md"


@pytest.mark.parametrize("module", [m for m in MODULES if m and m != "tools"])
def test_no_module_imports_from_a_higher_floor(module: str) -> None:
    unit = unit_of(module)
    assert unit
    assert {other for other in own_imports(MODULES[module]) if floor_of(other) > floor_of(unit)} == set()


@pytest.mark.parametrize("module", [m for m in MODULES if m and unit_of(m) in CONTROLS])
def test_controls_never_import_one_another(module: str) -> None:
    unit = unit_of(module)
    others = own_imports(MODULES[module]) & set(CONTROLS) - {unit}
    assert others == set()


def uses_of(tree: ast.Module) -> set[str]:
    """Dotted imports, `os.x` attributes and calls of the built-ins that print or prompt."""
    used = set(imports_of(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used.add(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            used.add(node.func.id)
    return used | {name.split(".")[0] for name in used if not name.startswith("os.")}


@pytest.mark.parametrize("what", MONOPOLIES)
def test_monopoly(what: str) -> None:
    names, holders = MONOPOLIES[what]
    breaches = {
        (module, name)
        for module, tree in MODULES.items()
        if unit_of(module) not in holders
        for name in uses_of(tree) & set(names.split())
    }
    assert breaches == set(), f"{what} belong to {holders}"


def test_permits_are_made_in_the_pipeline_alone() -> None:
    makers = {
        module
        for module, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Permit"
    }
    assert makers == {"pipeline"}


def test_what_runs_inside_the_sandbox_imports_the_standard_library_alone() -> None:
    import sys

    foreign = {
        (module, name)
        for module, tree in MODULES.items()
        if module.startswith("tools.runner.")
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""])
        if name.split(".")[0] not in sys.stdlib_module_names and not getattr(node, "level", 0)
    }
    own = {m.rsplit(".", 1)[1] for m in MODULES if m.startswith("tools.runner.")}
    assert {(m, n) for m, n in foreign if n.split(".")[0] not in own} == set()


def test_no_module_checks_with_assert() -> None:
    asserting = {m for m, tree in MODULES.items() for node in ast.walk(tree) if isinstance(node, ast.Assert)}
    assert asserting == set()


def test_every_code_used_is_in_the_table() -> None:
    from agent_security.codes import CODES

    makers = {"allow", "ask", "deny"}
    used = {
        (module, node.args[1].value)
        for module, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in makers
        and len(node.args) > 1
        and isinstance(node.args[1], ast.Constant)
    }
    assert {(m, code) for m, code in used if code not in CODES} == set()
