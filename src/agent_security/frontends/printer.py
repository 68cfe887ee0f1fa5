"""Headless output: the chosen format on stdout, one plain line a call on stderr.

Off a terminal the workflow commands of CI systems are broken in whatever is printed: in text by
`break_ci_commands`, in JSON by an escape that a reader of the JSON does not see.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from agent_security.calls import ToolCall, ToolOutput, ToolResult
from agent_security.changes import Applied
from agent_security.decision import Decision
from agent_security.errors import UsageError
from agent_security.frontends.banner import undo_word
from agent_security.frontends.lines import outcome, recovered, recovery_failed, title
from agent_security.frontends.result import denial, scrubbed_with
from agent_security.loop.toolcalls import ReadCall
from agent_security.ports import Reply
from agent_security.session import Session
from agent_security.text import break_ci_commands, for_terminal


def printer_for(output_format: str) -> Printer:
    """The printer of one `--output-format`. Raises UsageError for a word it does not know."""
    kinds = {"text": TextPrinter, "json": JsonPrinter, "stream-json": StreamPrinter}
    if output_format not in kinds:
        raise UsageError(f"--output-format: {output_format!r} is none of {', '.join(kinds)}")
    return kinds[output_format]()


class Printer:
    """A Listener that prints progress. Each format adds what it puts on stdout."""

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._out, self._err = out or sys.stdout, err or sys.stderr
        self._session: Session | None = None
        self.audit_log = ""

    def begin(self, session: Session, model: str) -> None:
        """The session is built."""
        self._session = session
        self.audit_log = str(getattr(session.audit, "path", ""))

    def result(self, found: dict[str, Any]) -> None:
        """The end of the run."""
        raise NotImplementedError

    def notice(self, event: str, **data: Any) -> None:
        """A closed pipe, or an event that is not as expected, stops no call (ports.Listener)."""
        handler = getattr(self, f"_on_{event}", None)
        if handler is not None:
            with contextlib.suppress(Exception):
                handler(**data)

    def progress(self, line: str) -> None:
        """One line on stderr."""
        shown = for_terminal(line).replace("\n", " ⏎ ")
        with contextlib.suppress(OSError):
            print(shown if self._err.isatty() else break_ci_commands(shown), file=self._err, flush=True)

    def progress_lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.progress(line)

    def _on_tool_end(self, result: ToolResult, output: ToolOutput, applied: Applied, **data: Any) -> None:
        line = f"● {title(result.call)} · {outcome(result, output, applied)}"
        self.progress(self._redacted(line))

    def _on_llm_retry(self, error: str, wait_s: float, **data: Any) -> None:
        self.progress(self._redacted(f"the model's endpoint failed, next try in {wait_s:.1f} s: {error}"))

    def _on_recovered(self, session_id: str, **data: Any) -> None:
        self.progress(recovered(session_id))

    def _on_recovery_failed(self, session_id: str, reason: str, **data: Any) -> None:
        self.progress(recovery_failed(session_id, reason))

    def _redacted(self, text: str) -> str:
        return self._session.redactor.redact(text) if self._session is not None else text

    def _json(self, found: dict[str, Any]) -> None:
        print(json_line(found, in_ci=not self._out.isatty()), file=self._out, flush=True)


class TextPrinter(Printer):
    """The answer's text alone."""

    def result(self, found: dict[str, Any]) -> None:
        text = for_terminal(str(found["result"]))
        if text:
            print(text if self._out.isatty() else break_ci_commands(text), file=self._out, flush=True)


class JsonPrinter(Printer):
    """One object at the end."""

    def result(self, found: dict[str, Any]) -> None:
        self._json(found)


class StreamPrinter(Printer):
    """One object a line: system/init, assistant, user, permission_denied, then the result."""

    def begin(self, session: Session, model: str) -> None:
        super().begin(session, model)
        walls = session.sandbox.guarantees
        self._event(
            "system",
            subtype="init",
            cwd=session.working_dir,
            model=model,
            permission_mode=str(session.mode),
            tools=list(session.tools),
            undo=undo_word(walls),
            sandbox={"backend": session.sandbox.backend, "guarantees": asdict(walls)},
            audit_log=self.audit_log,
        )

    def result(self, found: dict[str, Any]) -> None:
        self._json(found)

    def _on_assistant(self, reply: Reply, calls: Sequence[ReadCall], **data: Any) -> None:
        parts = [call.as_message_part() for call in calls]
        self._event("assistant", message={"role": "assistant", "content": reply.content, "tool_calls": parts})

    def _on_tool_end(self, result: ToolResult, output: ToolOutput, applied: Applied, **data: Any) -> None:
        super()._on_tool_end(result, output, applied, **data)
        message = {"role": "tool", "tool_call_id": result.call.id, "content": result.content}
        self._event("user", message=message, status=str(result.status), exit_code=result.exit_code)

    def _on_permission_denied(self, call: ToolCall, decision: Decision, **data: Any) -> None:
        self._event("permission_denied", **denial(call, decision))

    def _event(self, event: str, /, **fields: Any) -> None:
        session_id = self._session.session_id if self._session is not None else ""
        self._json({"type": event, **scrubbed_with(self._redacted, fields), "session_id": session_id})


def json_line(found: dict[str, Any], *, in_ci: bool) -> str:
    """One line of JSON. `##` becomes an escape that means the same, so that no CI reads a command in it."""
    text = json.dumps(found, ensure_ascii=True)
    return re.sub(r"#(?=#)", r"\\u0023", text) if in_ci else text
