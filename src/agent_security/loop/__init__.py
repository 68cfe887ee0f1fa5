"""The agent loop (§4): one user turn at a time; every call goes through `pipeline.run_tool_call`."""

from __future__ import annotations

from agent_security.loop.running import Agent

__all__ = ["Agent"]
