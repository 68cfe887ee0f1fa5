"""One table of tools: what each is called, takes, does to the world, and where it runs.

The gates read effect, path arguments and sinks from here, so a new tool is a new row and no
new code in any gate. Runners are the only code that takes a `Permit` to a sandbox.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_security.calls import Effect, Origin, Permit, ToolOutput

if TYPE_CHECKING:
    from agent_security.session import Session

Runner = Callable[[Permit, "Session", float], ToolOutput]
"""(permit, session, timeout_s) -> output. Called by pipeline.py alone."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One row. `sinks` maps an argument to the role it plays when it leaves (DESIGN D5)."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    effect: Effect
    runner: Runner
    ran_on: str = "sandbox"
    path_args: tuple[str, ...] = ()
    sinks: tuple[tuple[str, str], ...] = ()
    result: Origin = Origin.WORKSPACE

    @property
    def schema(self) -> dict[str, Any]:
        """As chat.completions wants it."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": dict(self.parameters),
            },
        }
