"""What applying and undoing answer."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of one change set: path -> kind of change, code it is held for, why it was left alone."""

    changed: dict[str, str] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    conflicts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo did: path -> "restored", "removed" or "mode"; what it left alone, and why.

    True where there was a call to take back.
    """

    calls: tuple[str, ...] = ()
    restored: dict[str, str] = field(default_factory=dict)
    conflicts: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.calls)


@dataclass(frozen=True, slots=True)
class Past:
    """One applied call, for a list: when (seconds since 1970), which paths, whether it is undone."""

    call_id: str
    at_s: float
    paths: tuple[str, ...]
    undone: bool
