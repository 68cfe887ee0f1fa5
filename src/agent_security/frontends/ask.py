"""Questions to a person: what is asked, how an answer is read. Enter alone is no.

Input typed ahead never answers: the terminal's input is thrown away before each question, and
the line is read from the descriptor itself, so that no buffer of Python's or prompt_toolkit's
can hold an older one.
"""

from __future__ import annotations

import contextlib
import os
import termios
from collections.abc import Callable
from enum import Enum

from agent_security.calls import Effect
from agent_security.decision import Kind
from agent_security.frontends.interrupts import Interrupts
from agent_security.frontends.lines import title
from agent_security.frontends.questions import (
    details,
    explanation,
    heading,
    held_back_lines,
    shows_diff,
)
from agent_security.frontends.screen import Screen
from agent_security.ports import Answer, Question
from agent_security.session import Session

TRIES = 3
_BOUND = " @sha256:"
LINE_BYTES = 4096
RULE_CHARS = 60
"""A rule for one exact command is shown in words where it is longer: the command stands above."""


class Said(Enum):
    """What a typed line means."""

    YES = "y"
    NO = "n"
    ALWAYS = "a"
    EXPLAIN = "e"
    SANDBOXED = "s"
    UNCLEAR = ""


_WORDS = {
    "y": Said.YES, "yes": Said.YES,
    "": Said.NO, "n": Said.NO, "no": Said.NO,
    "a": Said.ALWAYS, "always": Said.ALWAYS,
    "e": Said.EXPLAIN, "explain": Said.EXPLAIN,
    "s": Said.SANDBOXED,
}  # fmt: skip


def read_answer(line: str | None, *, always: bool = False, sandboxed: bool = False) -> Said:
    """What one typed line means. End of input is no; a word that is not offered is unclear, never yes."""
    if line is None:
        return Said.NO
    said = _WORDS.get(line.strip().lower(), Said.UNCLEAR)
    if (said is Said.ALWAYS and not always) or (said is Said.SANDBOXED and not sandboxed):
        return Said.UNCLEAR
    return said


def read_width(line: str | None, offers: tuple[str, ...]) -> str:
    """The rule that a number chooses, or "" for anything else."""
    word = (line or "").strip()
    return offers[int(word) - 1] if word.isdecimal() and 1 <= int(word) <= len(offers) else ""


def read_fresh_line(fd: int = 0) -> str | None:
    """One line typed after this call began; None at the end of input, and where the terminal is gone."""
    data = b""
    with contextlib.suppress(termios.error):
        termios.tcflush(fd, termios.TCIFLUSH)
    with contextlib.suppress(OSError):
        while not data.endswith(b"\n") and len(data) < LINE_BYTES and (more := os.read(fd, LINE_BYTES)):
            data += more
    return data.decode("utf-8", "replace") if data else None


class TerminalApprover:
    """Asks the person at the terminal. `session` is set once it is built."""

    def __init__(self, screen: Screen, read_line: Callable[[], str | None] = read_fresh_line) -> None:
        self.session: Session | None = None
        self.interrupts: Interrupts | None = None
        self._screen = screen
        self._read_line = read_line
        self._offered_sandboxed = False

    def ask(self, question: Question) -> Answer:
        """Show it whole, then read an answer; three unclear ones are no."""
        sandboxed, diff = self._may_offer_sandboxed(question), shows_diff(question)
        shown = details(question, self.session)
        self._screen.question(heading(question), shown, diff=diff)
        if question.changes:
            self._screen.lines([f"  done by: {title(question.call)}"], "dim")
        self._screen.lines(held_back_lines(question.changes))
        if sandboxed:
            self._screen.lines(["  s: yes, and from now on run unasked every command that the wall confines"])
        for _ in range(TRIES):
            self._screen.prompt(_choices(question, sandboxed))
            match read_answer(self._line(), always=bool(question.offers), sandboxed=sandboxed):
                case Said.YES:
                    return Answer(yes=True, by="person")
                case Said.NO:
                    return Answer(by="person")
                case Said.ALWAYS:
                    if rule := self._choose_width(question.offers):
                        return Answer(yes=True, by="person", remember=rule)
                case Said.SANDBOXED:
                    return self._allow_sandboxed()
                case Said.EXPLAIN:
                    self._screen.lines(explanation(question, self.session), rest=" " * 18)
                    self._screen.details(shown, diff=diff)
                case Said.UNCLEAR:
                    self._screen.note("that is none of the answers; Enter alone is no")
        return Answer(by="person")

    def confirm(self, prompt: str, detail: str = "") -> bool:
        """A plain y/n; anything but a clear yes is no."""
        self._screen.question(prompt, detail, diff=detail.startswith(("--- ", "diff ")))
        self._screen.prompt("y(es) / n(o) [n] ")
        return read_answer(self._line()) is Said.YES

    def _line(self) -> str | None:
        """One answer; Ctrl-C may interrupt this read, and nothing else of a session."""
        ended = False
        if self.interrupts is not None:
            self.interrupts.asking = True
        try:
            line = self._read_line()
            ended = line is not None and line.endswith("\n")
            return line
        finally:
            if self.interrupts is not None:
                self.interrupts.asking = False
            if not ended:
                self._screen.line_break()

    def _choose_width(self, offers: tuple[str, ...]) -> str:
        self._screen.lines(
            (f"  {number}  {_shown_rule(rule)}" for number, rule in enumerate(offers, 1)), rest=" " * 5
        )
        self._screen.prompt("always allow which, for this session? number, or Enter for none: ")
        return read_width(self._line(), offers)

    def _may_offer_sandboxed(self, question: Question) -> bool:
        """Once a session, at the first question about a command that the wall confines (CONTRACTS §6)."""
        session = self.session
        if session is None or self._offered_sandboxed or question.changes or not session.wall_proven:
            return False
        tool = session.tools.get(question.call.name)
        fits = tool is not None and tool.effect is Effect.EXECUTE and question.asked.kind is Kind.QUESTION
        if fits and session.sandboxed == "ask":
            self._offered_sandboxed = True
            return True
        return False

    def _allow_sandboxed(self) -> Answer:
        if self.session is not None:
            self.session.audit.log(
                "settings_changed", key="permissions.sandboxed", value="allow", by="person"
            )
            self.session.sandboxed = "allow"
        return Answer(yes=True, by="person")


def _choices(question: Question, sandboxed: bool) -> str:
    always = " / a(lways)" if question.offers else ""
    return f"y(es) / n(o){always}{' / s' if sandboxed else ''} / e(xplain) [n] "


def _shown_rule(rule: str) -> str:
    """A rule, cut where the command stands above anyway, and in words how wide it is."""
    exact = rule.startswith("Bash(=") and len(rule) > RULE_CHARS
    bound = f"Bash(=…){_BOUND}…" if _BOUND in rule else "Bash(=…)"
    return f"{bound if exact else rule}{_width(rule)}"


def _width(rule: str) -> str:
    """In words, how wide a rule is; a rule alone would have to be read."""
    pattern = rule.partition("(")[2].partition(")")[0]
    if rule == "Bash":
        return "   (every command; the wall confines them)"
    if not pattern:
        return "   (every call of this tool)"
    wide = "every command that begins so" if rule.startswith("Bash") else "everything in this folder"
    exact = "this very line" if rule.startswith("Bash") else "this very file"
    return f"   ({wide if pattern.endswith((':*', '/**')) and not pattern.startswith('=') else exact})"


class NobodyApprover:
    """Headless: there is nobody to ask, and that is a no."""

    def ask(self, question: Question) -> Answer:
        return Answer()

    def confirm(self, prompt: str, detail: str = "") -> bool:
        return False
