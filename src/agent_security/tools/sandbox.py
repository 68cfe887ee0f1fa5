"""The specification's names for the wall (§4.3, §5.2, D9): kept, and answered by `sandboxes/`.

`DockerSandbox` is importable and says that it is not built yet when it is started.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent_security.calls import Permit, ToolOutput
from agent_security.errors import DockerSandboxError, NotBuiltError, SandboxTimeout
from agent_security.ports import Sandbox
from agent_security.sandboxes import SandboxRequest, open_sandbox

EXEC_TIMEOUT_S = 120
"""Seconds a tool call may take (§4.3); `--tool-timeout` sets another value."""

__all__ = [
    "EXEC_TIMEOUT_S",
    "DockerSandbox",
    "DockerSandboxError",
    "SandboxRequest",
    "SandboxTimeout",
    "open_sandbox",
    "run_tool",
]


def run_tool(sandbox: Sandbox, permit: Permit, *, timeout_s: float = EXEC_TIMEOUT_S) -> ToolOutput:
    """Run one permitted call behind a wall. Raises SandboxTimeout or DockerSandboxError."""
    if permit.call.name == "run_bash":
        return sandbox.run_command(permit, timeout_s=timeout_s)
    return sandbox.run_file_tool(permit, timeout_s=timeout_s)


class DockerSandbox:
    """The wall as a container of a Docker engine. Holds its settings; refuses to start until it is built."""

    def __init__(
        self,
        project_root: str = ".",
        *,
        exec_timeout: float = EXEC_TIMEOUT_S,
        container_env: Mapping[str, str] | None = None,
    ) -> None:
        self.project_root = project_root
        self.exec_timeout = exec_timeout
        self.container_env = dict(container_env or {})

    def _start_container(self) -> None:
        """Would run `docker run` with each of `container_env` as `-e NAME=VALUE`. Raises NotBuiltError."""
        raise NotBuiltError("the docker sandbox: not built yet")

    def start(self) -> None:
        """Raises NotBuiltError."""
        self._start_container()

    def run_tool(self, permit: Permit) -> ToolOutput:
        """Raises NotBuiltError: there is no container to run anything in."""
        self._start_container()
        raise NotBuiltError(f"{permit.call.name} in the docker sandbox: not built yet")
