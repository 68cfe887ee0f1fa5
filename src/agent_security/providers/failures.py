"""Foreign errors to one clear line each, once, at the border. No line ever holds the key."""

from __future__ import annotations

import json
from collections.abc import Mapping

from agent_security.errors import ContextLengthError, ProviderError
from agent_security.providers.replies import error_text
from agent_security.providers.retries import is_retryable, retry_after_s

_TOO_LONG = ("context_length_exceeded", "maximum context length", "context window", "prompt is too long")


class HttpFailure(ProviderError):
    """The endpoint answered with a status that is no success."""

    def __init__(self, message: str, *, status: int, asked_s: float | None = None) -> None:
        super().__init__(message, retryable=is_retryable(status))
        self.status = status
        self.asked_s = asked_s
        """The wait the server asked for, in seconds."""


def failure_of(status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
    """What a status that is no success means, as one line."""
    if 300 <= status < 400:
        return HttpFailure(
            f"the endpoint redirects (HTTP {status}); redirects are not followed", status=status
        )
    if status in (401, 403):
        return HttpFailure(f"the endpoint refused the API key (HTTP {status})", status=status)
    if status == 400 or status == 413:
        text = body[:20_000].decode("utf-8", errors="replace").lower()
        if any(sign in text for sign in _TOO_LONG):
            return ContextLengthError("the messages do not fit the model's context window")
    detail = _detail(headers, body)
    return HttpFailure(
        f"the endpoint answered HTTP {status}: {detail}", status=status, asked_s=retry_after_s(headers)
    )


def _detail(headers: Mapping[str, str], body: bytes) -> str:
    if is_html(headers, body):
        return "an HTML page instead of JSON"
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return error_text(body[:1_000].decode("utf-8", errors="replace")) or "no message"
    return error_text(answer.get("error", answer) if isinstance(answer, Mapping) else "no message")


def is_html(headers: Mapping[str, str], body: bytes) -> bool:
    """Whether a server sent a page, as gateways and mistyped addresses do."""
    return "html" in headers.get("content-type", "").lower() or body.lstrip()[:1] == b"<"


def without(text: str, key: str) -> str:
    """The text without the key: servers like to quote what they refuse."""
    return text.replace(key, "[key]") if key else text
