"""What a session costs, and the two brakes on it: after a request, and before the next one (§4.4).

Prices are USD per 1,000 tokens (D18). Usage that a server does not report, or reports as
nonsense, is estimated and marked; no report makes the cost go down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_MOST_TOKENS = 10**12


class CostTracker:
    """Adds up tokens and spend. A price of 0 for both means: unknown, or free."""

    def __init__(self, max_cost_usd: float = 5.0, price_in: float = 0.0, price_out: float = 0.0) -> None:
        self.max_cost_usd = max_cost_usd
        self.price_in = price_in
        self.price_out = price_out
        self.calls = 0
        self.total_tokens_in = 0
        self.total_tokens_out = 0
        self.total_cost_usd = 0.0
        self.estimated = False
        """Some of the tokens were estimated, because the server did not report them."""
        self.reserved_usd = 0.0
        """The worst case of the request that `reserve` last refused; 0.0 where it refused none."""

    @property
    def priced(self) -> bool:
        """Whether a cap can mean anything: some price is known."""
        return self.price_in > 0 or self.price_out > 0

    def cost_of(self, tokens_in: int, tokens_out: int) -> float:
        """USD for so many tokens."""
        return tokens_in / 1000 * self.price_in + tokens_out / 1000 * self.price_out

    def record_usage(self, usage: object | None, *, estimated_in: int = 0, estimated_out: int = 0) -> None:
        """Count one response. `usage` is a mapping or an object with `prompt_tokens` and
        `completion_tokens`, or None; the estimates stand in for what it does not say."""
        told_in, told_out = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
        if told_in is None or told_out is None:
            self.estimated = True
        tokens_in = max(0, estimated_in) if told_in is None else told_in
        tokens_out = max(0, estimated_out) if told_out is None else told_out
        self.calls += 1
        self.total_tokens_in += tokens_in
        self.total_tokens_out += tokens_out
        self.total_cost_usd += self.cost_of(tokens_in, tokens_out)

    def check(self) -> str | None:
        """Why no further request may be sent, once spend has reached the cap; else None.

        A cap of 0 lets free models through and stops at the first cent.
        """
        if self.total_cost_usd >= self.max_cost_usd and self.total_cost_usd > 0:
            return f"cost cap reached: ${self.total_cost_usd:.4f} spent of ${self.max_cost_usd:.2f}"
        return None

    def reserve(self, worst_case_in: int, worst_case_out: int) -> str:
        """Why a request of at most so many tokens could pass the cap, or "" where it cannot."""
        worst_usd = self.cost_of(max(0, worst_case_in), max(0, worst_case_out))
        fits = worst_usd == 0 or self.total_cost_usd + worst_usd <= self.max_cost_usd
        self.reserved_usd = 0.0 if fits else worst_usd
        if fits:
            return ""
        return (
            f"the next request could cost ${worst_usd:.4f}, and ${self.total_cost_usd:.4f} "
            f"of ${self.max_cost_usd:.2f} is spent"
        )

    def limit_fields(self) -> dict[str, Any]:
        """The fields of a `cost_limit_hit` event; `reserved_usd` where `reserve` made the stop."""
        fields: dict[str, Any] = {
            "cost_usd": self.total_cost_usd,
            "cap_usd": self.max_cost_usd,
            "tokens_in": self.total_tokens_in,
            "tokens_out": self.total_tokens_out,
            "calls": self.calls,
        }
        return fields | ({"reserved_usd": self.reserved_usd} if self.reserved_usd else {})

    def summary(self) -> str:
        """The breakdown for the session's end, one line."""
        mark = " (partly estimated)" if self.estimated else ""
        cost = (
            f"${self.total_cost_usd:.4f} of ${self.max_cost_usd:.2f}"
            if self.priced
            else "unknown (no price set)"
        )
        return (
            f"calls: {self.calls} · tokens in: {self.total_tokens_in:,} · "
            f"tokens out: {self.total_tokens_out:,}{mark} · cost: {cost}"
        )


def _count(usage: object | None, name: str) -> int | None:
    """A reported number of tokens: whole, not negative, not absurd; None where there is none."""
    value = usage.get(name) if isinstance(usage, Mapping) else getattr(usage, name, None)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return int(value) if 0 <= value <= _MOST_TOKENS else None
