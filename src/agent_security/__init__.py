"""agent-security: run an LLM coding agent on a real project, and stay safe even when the model does not."""

from __future__ import annotations

__version__ = "0.1.0"
