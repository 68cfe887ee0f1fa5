"""How an answer is read: Enter is no, what was typed ahead never answers, always is offered in widths."""

from __future__ import annotations

import io
import os
import pty
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from agent_security.calls import Effect, ToolCall
from agent_security.decision import Decision, Kind, Verdict
from agent_security.frontends.ask import (
    NobodyApprover,
    Said,
    TerminalApprover,
    read_answer,
    read_fresh_line,
    read_width,
)
from agent_security.frontends.screen import Screen
from agent_security.ports import Answer, Question

ASKED = Decision(Verdict.ASK, Kind.QUESTION, "permission", "plan_first", "a command would run")


def question(*offers: str, command: str = "pytest -q") -> Question:
    return Question(ToolCall("c1", "run_bash", f'{{"command": "{command}"}}'), ASKED, offers=offers)


def approver(*lines: str | None) -> tuple[TerminalApprover, io.StringIO]:
    out, typed = io.StringIO(), iter(lines)
    screen = Screen(Console(file=out, highlight=False, markup=False, soft_wrap=True))
    return TerminalApprover(screen, lambda: next(typed)), out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("\n", Said.NO),
        ("n\n", Said.NO),
        (None, Said.NO),
        ("y\n", Said.YES),
        ("YES \n", Said.YES),
        ("e\n", Said.EXPLAIN),
        ("yess\n", Said.UNCLEAR),
        ("a\n", Said.UNCLEAR),
        ("s\n", Said.UNCLEAR),
        ("please run the tests\n", Said.UNCLEAR),
    ],
)
def test_only_a_clear_word_that_was_offered_counts(line: str | None, said: Said) -> None:
    assert read_answer(line) is said


def test_always_counts_only_where_it_is_offered() -> None:
    assert read_answer("a\n", always=True) is Said.ALWAYS


@pytest.mark.parametrize(
    ("line", "rule"), [("1\n", "one"), ("2", "two"), ("\n", ""), ("3", ""), ("0", ""), (None, "")]
)
def test_a_width_is_chosen_by_its_number(line: str | None, rule: str) -> None:
    assert read_width(line, ("one", "two")) == rule


def test_enter_alone_is_no() -> None:
    assert approver("\n")[0].ask(question()) == Answer(by="person")


def test_three_unclear_answers_are_no() -> None:
    assert approver("what", "hm", "ok")[0].ask(question()) == Answer(by="person")


def test_always_remembers_the_width_that_was_chosen() -> None:
    asking, out = approver("a\n", "2\n")
    assert asking.ask(question("Bash(pytest -q)", "Bash(pytest:*)")) == Answer(
        yes=True, by="person", remember="Bash(pytest:*)"
    )
    assert "Bash(pytest:*)" in out.getvalue()


def test_always_without_a_width_asks_again() -> None:
    assert approver("a\n", "\n", "n\n")[0].ask(question("Bash(pytest -q)")).yes is False


def test_the_command_is_shown_whole_with_its_hidden_characters_visible() -> None:
    asking, out = approver("n\n")
    hidden = "\\u202e"
    asking.ask(question(command="x" * 3000 + hidden + " end"))
    shown = out.getvalue()
    assert "x" * 3000 in shown
    assert " end" in shown
    assert "\u202e" not in shown


def test_what_the_wall_confines_is_offered_once_and_put_on_record(session: Any) -> None:
    session.tools = {"run_bash": SimpleNamespace(effect=Effect.EXECUTE)}
    asking, out = approver("s\n", "n\n")
    asking.session = session
    assert asking.ask(question()).yes
    assert session.sandboxed == "allow"
    assert session.audit.events[0][0] == "settings_changed"
    session.sandboxed = "ask"
    asking.ask(question())
    assert out.getvalue().count("/ s /") == 1


def test_what_the_wall_confines_is_not_offered_without_a_proven_wall(session: Any) -> None:
    session.tools = {"run_bash": SimpleNamespace(effect=Effect.EXECUTE)}
    session.wall_proven = False
    asking, _ = approver("s\n", "s\n", "s\n")
    asking.session = session
    assert asking.ask(question()) == Answer(by="person")
    assert session.sandboxed == "ask"


@pytest.mark.parametrize(("line", "yes"), [("y\n", True), ("\n", False), (None, False), ("sure\n", False)])
def test_a_plain_confirmation_is_a_clear_yes_or_no(line: str | None, yes: bool) -> None:
    assert approver(line)[0].confirm("undo?") is yes


def test_nobody_is_no() -> None:
    assert NobodyApprover().ask(question()) == Answer()
    assert NobodyApprover().confirm("undo?") is False


def test_what_was_typed_ahead_does_not_answer() -> None:
    person, terminal = pty.openpty()
    try:
        os.write(person, b"y\n")
        os.read(person, 16)  # the echo: the terminal has taken it
        read: list[str | None] = []
        waiting = threading.Thread(target=lambda: read.append(read_fresh_line(terminal)))
        waiting.start()
        while waiting.is_alive():
            os.write(person, b"\n")
            waiting.join(0.05)
        assert read_answer(read[0]) is Said.NO
    finally:
        os.close(person)
        os.close(terminal)
