"""Ask the real provider, against the loopback server."""

from __future__ import annotations

from typing import Any

from agent_security.ports import Reply
from agent_security.providers import Backoff, OpenAIProvider

KEY = "key-" + "x" * 12
ASK = [{"role": "user", "content": "hello"}]
TOOLS = [{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}]


class Waits:
    """Remembers what was slept instead of sleeping."""

    def __init__(self) -> None:
        self.total_s = 0.0

    def __call__(self, seconds: float) -> None:
        self.total_s += seconds


def provider_for(server: Any, **how: Any) -> OpenAIProvider:
    how.setdefault("backoff", Backoff(sleep=Waits(), jitter=lambda: 0.5))
    return OpenAIProvider("loopback", base_url=server.base_url, api_key=KEY, **how)


def ask(provider: OpenAIProvider, *, stream: bool = False, timeout_s: float = 20.0, **how: Any) -> Reply:
    shown = how.pop("shown", [])
    return provider.complete(ASK, TOOLS, timeout_s=timeout_s, on_text=shown.append if stream else None, **how)
