"""What the planning tools write into: the scratchpad and the todo list. Nothing of it leaves the process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

TODO_STATUSES = ("pending", "in_progress", "completed")
_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


@dataclass(slots=True)
class ScratchpadState:
    """The model's notes. What stood there before anything untrusted was read may explain a call (D6)."""

    _content: str = ""
    _trusted: str = ""

    def read(self) -> str:
        """The notes as they stand."""
        return self._content

    def trusted(self) -> str:
        """The newest notes written while nothing untrusted had been read; these alone count as intent."""
        return self._trusted

    def write(self, content: str, trusted: bool = False) -> None:
        """Replace the notes. `trusted` is the host's word, never the model's."""
        self._content = content
        if trusted:
            self._trusted = content


@dataclass(slots=True)
class TodoState:
    """The model's list of steps."""

    _todos: list[tuple[str, str]] = field(default_factory=list)

    def read(self) -> list[dict[str, str]]:
        """The steps as `{content, status}`."""
        return [{"content": content, "status": status} for content, status in self._todos]

    def write(self, todos: Sequence[Mapping[str, str]]) -> None:
        """Replace the list. Raises KeyError for a step without content or status (the schema wants both)."""
        self._todos = [(todo["content"], todo["status"]) for todo in todos]

    def as_text(self) -> str:
        """One line a step: `[x] done`, `[>] under way`, `[ ] to do`."""
        return "\n".join(f"{_MARKS.get(status, '[ ]')} {content}" for content, status in self._todos)


scratchpad_state = ScratchpadState()
"""The specification's name (§1.4), for code that embeds one session; a `Session` carries its own."""
