"""When a failed request is tried again, and how long to wait before it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from agent_security.errors import Aborted

RETRYABLE_STATUSES = frozenset({408, 409, 425, 429})
_SLICE_S = 0.1
"""A wait is slept in slices this long, so that a stop interrupts it."""


def is_retryable(status: int) -> bool:
    """Whether a later try may succeed: too early, too many, in conflict, or the server's own fault."""
    return status in RETRYABLE_STATUSES or status >= 500


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The wait a server asks for (`retry-after-ms`, `Retry-After` as seconds or date), or None."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            wait_s = float(headers.get(name, "")) * scale
        except ValueError:
            continue
        return max(0.0, wait_s) if wait_s < float("inf") else None
    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential, with jitter, and bounded in number and length."""

    attempts: int = 4
    first_s: float = 0.5
    longest_s: float = 30.0
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random

    def wait_s(self, failures: int, asked_s: float | None) -> float:
        """The wait after so many failures: what the server asked for, or `first_s` doubling, +- a half."""
        if asked_s is not None:
            return asked_s + 0.1 * self.jitter()
        return float(min(self.longest_s, self.first_s * 2 ** (failures - 1)) * (0.5 + self.jitter()))

    def pause(self, wait_s: float, stop: Callable[[], bool] | None) -> None:
        """Sleep, in slices. Raises Aborted as soon as `stop()` turns true."""
        left_s = wait_s
        while left_s > 0:
            if stop is not None and stop():
                raise Aborted("stopped while waiting to try again")
            self.sleep(min(_SLICE_S, left_s))
            left_s -= _SLICE_S
