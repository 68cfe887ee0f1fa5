"""Walls: `open_sandbox` gives one session's wall, proven by effect (DESIGN §3)."""

from __future__ import annotations

from agent_security.sandboxes.choose import open_sandbox, self_check
from agent_security.sandboxes.place import remove_leftovers
from agent_security.sandboxes.request import SandboxRequest

__all__ = ["SandboxRequest", "open_sandbox", "remove_leftovers", "self_check"]
