"""The two answers of this package: a control's `Check` and the pipeline's `Decision`.

A control (§1 to §6) answers with a `Check`: the specification's `(ok, reason)`.
A gate turns it into a `Decision`, which knows three verdicts, and, where a person has to be
asked, what kind of question it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

from agent_security.codes import CODES, Kind

__all__ = ["Check", "Decision", "Kind", "Verdict", "allow", "ask", "deny", "strictest"]


class Check(NamedTuple):
    """A control's answer. Unpacks as `(ok, reason)`; true exactly when ok.

    A reason reads `code: sentence`; the code is a stable word that scripts may rely on.
    """

    ok: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.ok

    @property
    def code(self) -> str:
        """The stable word before the first colon, or "" where the reason carries none."""
        head, colon, _ = self.reason.partition(": ")
        return head if colon and head in CODES else ""

    @property
    def sentence(self) -> str:
        """The reason without its code."""
        return self.reason.removeprefix(f"{self.code}: ") if self.code else self.reason


class Verdict(IntEnum):
    """Ordered by strictness, so that `max` combines verdicts."""

    ALLOW = 0
    ASK = 1
    DENY = 2


@dataclass(frozen=True, slots=True)
class Decision:
    """One answer about one call; `trail` holds every gate's answer that led to it."""

    verdict: Verdict
    kind: Kind
    gate: str
    code: str
    reason: str = ""
    trail: tuple[Decision, ...] = ()

    @property
    def allowed(self) -> bool:
        return self.verdict is Verdict.ALLOW

    @property
    def word(self) -> str:
        """How the verdict is written in JSON: allow, ask or deny."""
        return self.verdict.name.lower()

    @property
    def questions(self) -> tuple[Decision, ...]:
        """The answers of the trail that ask, in the order of the gates."""
        return tuple(answer for answer in self.trail if answer.verdict is Verdict.ASK)

    def with_trail(self, trail: Iterable[Decision]) -> Decision:
        return replace(self, trail=tuple(trail))

    def __bool__(self) -> bool:
        raise TypeError("a Decision has three values: test .allowed or .verdict")


def allow(gate: str, code: str = "ok", reason: str = "") -> Decision:
    """This gate has no objection. The code may still carry a note, such as `opaque_code`."""
    return Decision(Verdict.ALLOW, Kind.NONE, gate, code, reason)


def ask(gate: str, code: str, reason: str) -> Decision:
    """A person decides; the kind of the question is the one `codes.py` gives this code."""
    return Decision(Verdict.ASK, CODES[code].kind, gate, code, reason)


def deny(gate: str, code: str, reason: str) -> Decision:
    """Refused. The code's kind, if any, says what it would have been where a person can answer."""
    return Decision(Verdict.DENY, CODES[code].kind, gate, code, reason)


def strictest(trail: Iterable[Decision]) -> Decision:
    """The strictest answer of a trail; among equals a `confirm`, then the earliest.

    No answer at all is a DENY: `strictest([])` refuses.
    """
    answers = tuple(trail)
    nobody = Decision(Verdict.DENY, Kind.NONE, "pipeline", "no_gate", "no gate answered")
    chosen = max(answers, key=lambda a: (a.verdict, a.kind is Kind.CONFIRM), default=nobody)
    return chosen.with_trail(answers)
