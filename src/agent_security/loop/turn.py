"""How a turn of the conversation ended, and the words for it."""

from __future__ import annotations

from dataclasses import dataclass

CUT = "Your last answer was cut at its length limit, so its calls may be cut too. Send smaller pieces."


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """One user turn's end. `kind` is the `subtype` of CONTRACTS §4; `text` is what the person reads."""

    kind: str
    text: str
    reason: str = ""
    """Why it is no success, as one sentence; "" for a success."""
    retryable: bool = False
    requests: int = 0
    """How many answers the model gave in this turn."""
    notices: tuple[str, ...] = ()
    """What the person should know beside the text: a cut answer, a filter."""

    @property
    def is_error(self) -> bool:
        return self.kind != "success"
