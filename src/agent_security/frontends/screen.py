"""The terminal session's output: streamed text, one line a call, questions. The one sink of foreign text.

Nothing is printed that did not pass `text.for_terminal` or `text.for_question`; rich is given
`Text` objects only, so no `[markup]` of a model or a file is ever read as markup. NO_COLOR is
obeyed by rich itself.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from agent_security.calls import Status, ToolCall, ToolOutput, ToolResult
from agent_security.changes import Applied
from agent_security.frontends.layout import INDENT, Flow, cut_rows, elapsed, took, word_rows
from agent_security.frontends.lines import outcome, recovered, recovery_failed, title
from agent_security.text import for_question, for_terminal

SHOWN_LINES = 120
"""A diff longer than this is cut on the screen, with the count of what is not shown. A command never is."""

_WORD_END = re.compile(r".*[\s\u3000-\u9fff\uac00-\ud7a3]", re.DOTALL)
"""Text up to its last blank, or up to its last letter of a script that is written without blanks."""

_DIFF_STYLES = (("+++", "bold"), ("---", "bold"), ("@@", "cyan"), ("+", "green"), ("-", "red"))
_DOT_STYLES = {Status.OK: "green", Status.REFUSED: "yellow"}
_MARKS = ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "-\\|/")
"""What turns while something runs; the second for a terminal that shows ASCII alone."""
_OUTCOME_STYLES = {Status.OK: "dim", Status.REFUSED: "yellow"}


class Screen:
    """A Listener that draws. It decides nothing and never raises."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or _console()
        self._live: Live | None = None
        self._held = ""
        """The end of the streamed text that may be the first half of a character sequence."""
        self._flow = Flow(lambda: self._width)
        self._started_s = 0.0
        self._ran_s: float | None = None
        """How long the call under way ran before a question about its effect stopped the clock."""

    @classmethod
    def on_stderr(cls) -> Screen:
        """For commands whose stdout is somebody else's."""
        return cls(_console(stderr=True))

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
        cut = match.end() if (match := _WORD_END.match(self._held)) else 0
        self._stream(self._held[:cut])
        self._held = self._held[cut:]

    def _on_assistant(self, **data: Any) -> None:
        self._idle()
        self._end_text()

    def _on_tool_start(self, call: ToolCall, **data: Any) -> None:
        self._end_text()
        self._started_s, self._ran_s = time.monotonic(), None
        self._busy(title(call))

    def _on_tool_end(self, result: ToolResult, output: ToolOutput, applied: Applied, **data: Any) -> None:
        self._idle()
        self._end_text()
        self._stop_clock()
        ran, self._started_s, self._ran_s = took(self._ran_s or 0.0), 0.0, None
        told = " · ".join(filter(None, (outcome(result, output, applied), ran)))
        body = Text(_flat(title(result.call)))
        if told:
            body.append(f" · {_flat(told)}", _OUTCOME_STYLES.get(result.status, "red"))
        self._hanging(Text("● ", _DOT_STYLES.get(result.status, "red")), body)

    def _on_question(self, **data: Any) -> None:
        self._stop_clock()
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
        self.lines([line], "yellow")

    def lines(self, lines: Iterable[str], style: str = "", *, rest: str = INDENT * 2) -> None:
        """Several lines, each foreign until shown otherwise; `rest` begins the rows a long one goes on in."""
        self._idle()
        self._end_text()
        for line in lines:
            for row in word_rows(_flat(line), self._width, "", rest):
                self.console.print(Text(row, style))

    def question(self, heading: str, details: str, *, diff: bool = False) -> None:
        """A question's heading, then what it is about with everything invisible made visible."""
        self._idle()
        self._end_text()
        self.console.print()
        for row in word_rows(_flat(heading), self._width, "? ", INDENT):
            self.console.print(Text(row, "bold yellow"))
        self.details(details, diff=diff, limit=SHOWN_LINES if diff else None)

    def details(self, text: str, *, diff: bool = False, limit: int | None = None) -> None:
        """A command whole, a diff in colours. A bar of ours stands before each row of it."""
        if not text:
            return
        first, rest = ("| ", ": ") if self.console.options.ascii_only else ("│ ", "┆ ")
        shown, lines = 0, for_question(text.removesuffix("\n")).split("\n")
        for number, line in enumerate(lines):
            rows = list(cut_rows(line, self._width, first, rest))
            if limit is not None and shown + len(rows) > limit:
                self.console.print(
                    Text(f"{INDENT}… {len(lines) - number} more lines: e shows them all", "yellow")
                )
                return
            shown += len(rows)
            style = _diff_style(line) if diff else "bold"
            for row in rows:
                self.console.print(Text.assemble((row[:2], "dim"), (row[2:], style)))

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

    def line_break(self) -> None:
        """After an answer that did not end its own line: Ctrl-C, Ctrl-D."""
        self.console.print()

    def close(self) -> None:
        self._idle()
        self._end_text()

    # --- inside -----------------------------------------------------------------------------------

    @property
    def _width(self) -> int:
        """Columns to fill; off a terminal nothing is wrapped."""
        if not self.console.is_terminal:
            return sys.maxsize
        try:  # the terminal itself: rich says 80 for TERM=dumb, and believes an old COLUMNS
            return os.get_terminal_size(self.console.file.fileno()).columns or self.console.width
        except (OSError, ValueError):
            return self.console.width

    def _hanging(self, mark: Text, body: Text) -> None:
        """One line under a mark: what does not fit goes on beneath, indented."""
        rows = body.wrap(self.console, self._width - 2) if self.console.is_terminal else [body]
        for number, row in enumerate(rows):
            self.console.print(Text.assemble(INDENT if number else mark, row))

    def _stream(self, text: str) -> None:
        if text:
            self.console.print(Text(self._flow.feed(for_terminal(text))), end="")

    def _end_text(self) -> None:
        self._stream(self._held)
        self._held = ""
        if ended := self._flow.end_line():
            self.console.print(Text(ended), end="")

    def _stop_clock(self) -> None:
        if self._ran_s is None and self._started_s:
            self._ran_s = time.monotonic() - self._started_s

    def _busy(self, what: str) -> None:
        """A spinner with the time since it began."""
        self._idle()
        if self.console.is_terminal:
            since, marks = time.monotonic(), _MARKS[self.console.options.ascii_only]
            shown = _flat(what)[: max(8, self._width - 24)]

            def drawn() -> RenderableType:
                now = time.monotonic()
                waited = elapsed(now - since) if now - since >= 1 else ""
                return Text(f"{marks[int(now * 8) % len(marks)]} {shown} {waited}", "dim")

            self._live = Live(
                get_renderable=drawn, console=self.console, transient=True, refresh_per_second=8
            )
            self._live.start()

    def _idle(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def _console(*, stderr: bool = False) -> Console:
    """What a stream cannot encode is shown as an escape; it never ends a session."""
    stream = sys.stderr if stderr else sys.stdout
    if callable(reconfigure := getattr(stream, "reconfigure", None)):
        reconfigure(errors="backslashreplace")
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def _flat(line: str) -> str:
    """One line stays one line, whatever a name in it holds."""
    return for_terminal(line).replace("\n", " ⏎ ")


def _diff_style(row: str) -> str:
    return next((style for prefix, style in _DIFF_STYLES if row.startswith(prefix)), "")
