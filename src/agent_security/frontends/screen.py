"""The terminal session's output: streamed text, one line a call, questions. The one sink of foreign text.

Nothing is printed that did not pass `text.for_terminal` or `text.for_question`; rich is given
`Text` objects only, so no `[markup]` of a model or a file is ever read as markup. NO_COLOR is
obeyed by rich itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rich.console import Console
from rich.status import Status as Spinner
from rich.text import Text

from agent_security.calls import Status, ToolCall, ToolOutput, ToolResult
from agent_security.changes import Applied
from agent_security.frontends.lines import outcome, recovered, recovery_failed, title
from agent_security.text import for_question, for_terminal

SHOWN_LINES = 120
"""A diff longer than this is cut on the screen, with the count of what is not shown."""

_DIFF_STYLES = (("+++", "bold"), ("---", "bold"), ("@@", "cyan"), ("+", "green"), ("-", "red"))
_DOT_STYLES = {Status.OK: "green", Status.REFUSED: "yellow"}


class Screen:
    """A Listener that draws. It decides nothing and never raises."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
        self._spinner: Spinner | None = None
        self._held = ""
        """The end of the streamed text that may be the first half of a character sequence."""
        self._mid_line = False

    @classmethod
    def on_stderr(cls) -> Screen:
        """For commands whose stdout is somebody else's."""
        return cls(Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True))

    # --- the Listener port ------------------------------------------------------------------------

    def notice(self, event: str, **data: Any) -> None:
        """Draw one event. What it does not know is not drawn, what cannot be drawn stops no call."""
        handler: Callable[..., None] | None = getattr(self, f"_on_{event}", None)
        if handler is not None:
            with contextlib.suppress(Exception):
                handler(**data)

    def _on_llm_request(self, **data: Any) -> None:
        self._busy("thinking")

    def _on_text(self, text: str = "", **data: Any) -> None:
        """Whole words at once: a sequence that is cut in two would not be recognised."""
        self._idle()
        self._held += text
        cut = max(self._held.rfind(" "), self._held.rfind("\n")) + 1
        self._stream(self._held[:cut])
        self._held = self._held[cut:]

    def _on_assistant(self, **data: Any) -> None:
        self._idle()
        self._end_text()

    def _on_tool_start(self, call: ToolCall, **data: Any) -> None:
        self._end_text()
        self._busy(title(call))

    def _on_tool_end(self, result: ToolResult, output: ToolOutput, applied: Applied, **data: Any) -> None:
        self._idle()
        self._end_text()
        self.console.print(
            Text.assemble(
                ("● ", _DOT_STYLES.get(result.status, "red")),
                _flat(title(result.call)),
                (f" · {_flat(outcome(result, output, applied))}", "dim"),
            )
        )

    def _on_question(self, **data: Any) -> None:
        self._idle()
        self._end_text()

    def _on_llm_retry(self, error: str, wait_s: float, **data: Any) -> None:
        self.note(f"the model's endpoint failed, next try in {wait_s:.1f} s: {error}")

    def _on_recovered(self, session_id: str, **data: Any) -> None:
        self.note(recovered(session_id))

    def _on_recovery_failed(self, session_id: str, reason: str, **data: Any) -> None:
        self.note(recovery_failed(session_id, reason))

    def _on_turn_end(self, **data: Any) -> None:
        self._idle()
        self._end_text()

    # --- what the front end prints itself ---------------------------------------------------------

    def note(self, line: str) -> None:
        """One line of the harness."""
        self._idle()
        self._end_text()
        self.console.print(Text(_flat(line), "yellow"))

    def lines(self, lines: Iterable[str], style: str = "") -> None:
        """Several lines, each foreign until shown otherwise."""
        self._idle()
        self._end_text()
        for line in lines:
            self.console.print(Text(_flat(line), style))

    def question(self, heading: str, details: str) -> None:
        """A question's heading, then what it is about with everything invisible made visible."""
        self._idle()
        self._end_text()
        self.console.print(Text(f"\n? {_flat(heading)}", "bold yellow"))
        self.details(details, limit=SHOWN_LINES if is_diff(details) else None)

    def details(self, text: str, *, limit: int | None = None) -> None:
        """A command whole, a diff in colours."""
        if not text:
            return
        diff = is_diff(text)
        rows = for_question(text).split("\n")
        for row in rows[:limit]:
            self.console.print(Text(f"  {row}", _diff_style(row) if diff else "bold"))
        if limit is not None and len(rows) > limit:
            self.console.print(Text(f"  … {len(rows) - limit} more lines: e shows them all", "yellow"))

    @contextlib.contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """A spinner around something that takes its time."""
        self._busy(what)
        try:
            yield
        finally:
            self._idle()

    def prompt(self, text: str) -> None:
        """The words before an answer; the cursor stays on the line."""
        self.console.print(Text(text, "bold"), end="")
        self.console.file.flush()

    def close(self) -> None:
        self._idle()
        self._end_text()

    # --- inside -----------------------------------------------------------------------------------

    def _stream(self, text: str) -> None:
        if text:
            self.console.print(Text(for_terminal(text)), end="")
            self._mid_line = not text.endswith("\n")

    def _end_text(self) -> None:
        self._stream(self._held)
        self._held = ""
        if self._mid_line:
            self.console.print()
            self._mid_line = False

    def _busy(self, what: str) -> None:
        self._idle()
        if self.console.is_terminal:
            self._spinner = self.console.status(Text(_flat(what), "dim"))
            self._spinner.start()

    def _idle(self) -> None:
        if self._spinner is not None:
            self._spinner.stop()
            self._spinner = None


def _flat(line: str) -> str:
    """One line stays one line, whatever a name in it holds."""
    return for_terminal(line).replace("\n", " ⏎ ")


def is_diff(text: str) -> bool:
    """Whether a question's details are a unified diff."""
    return text.startswith(("--- ", "diff "))


def _diff_style(row: str) -> str:
    return next((style for prefix, style in _DIFF_STYLES if row.startswith(prefix)), "")
