"""The session as a person meets it, in a real terminal. Every wait is for something on the screen."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from terminals import Terminal, alive, below, missing, terminal

pytestmark = [pytest.mark.terminal, pytest.mark.skipif(bool(missing()), reason=missing())]

CHOICES = "[n]"
LONG = {"call": {"run_bash": {"command": "touch made.txt; sleep 61"}}}
UNASKED = {"AGENT_SECURITY_PERMISSIONS_SANDBOXED": "allow"}
HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202egnp[bold]x[/bold]"


def write(path: str, text: str) -> dict[str, Any]:
    return {"call": {"write_file": {"path": path, "content": text}}}


def run(command: str) -> dict[str, Any]:
    return {"call": {"run_bash": {"command": command}}}


def begin(opened: Terminal, message: str = "go") -> None:
    opened.wait_for("\n>")
    opened.type(message)


def until(holds: Callable[[], bool]) -> bool:
    ends_at = time.monotonic() + 15
    while not holds() and time.monotonic() < ends_at:
        time.sleep(0.02)
    return holds()


def test_an_ordinary_session() -> None:
    turns = [
        {"say": f"Let me look. {HOSTILE}", "call": {"read_file": {"path": "README.md"}}},
        write("notes.txt", "first\n"),
        {"say": "You said no."},
        {"call": {"edit_file": {"path": "README.md", "old_string": "Title", "new_string": "Better"}}},
        {"say": "The title is better now."},
    ]
    then = "as sessions; yes | as rollback -y $(as sessions | cut -d' ' -f1); "
    with terminal(turns, then=then) as opened:
        begin(opened)
        shown = opened.wait_for(CHOICES)
        assert all(word in shown for word in ("mode ", "sandbox ", "undo ", "limits ", "/help"))
        assert "● read_file README.md · 1 line\n" in shown
        assert "[bold]x[/bold]" in shown
        assert "owned" not in opened.title()
        assert "│ +first" in shown
        opened.type("")
        shown = opened.wait_for(" tokens\n")
        assert "You said no." in shown
        assert not (opened.project / "notes.txt").exists(), "Enter alone is no"
        opened.type("better")
        opened.wait_for("│ +# Better")
        assert re.search(r"\[32m\S*\+# Better", opened.screen("-e"))
        assert re.search(r"\[31m\S*-# Title", opened.screen("-e"))
        opened.type("e")
        opened.wait_for("no objection")
        opened.wait_for(CHOICES, count=3)
        opened.type("what")
        opened.wait_for("none of the answers")
        opened.type("y")
        opened.wait_for("The title is better now.")
        assert (opened.project / "README.md").read_text() == "# Better\n"
        opened.type("/quit")
        opened.wait_for("Revert all changes?")
        opened.type("")
        shown = opened.wait_for("all done")
        assert "changes kept" in shown
        assert "exit code: 0" in shown
        assert "1 changed" in shown
        assert "put back: README.md" in shown
        assert (opened.project / "README.md").read_text() == "# Title\n"


def test_what_a_command_did_is_asked_about_and_held_back() -> None:
    hook = "mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit"
    with terminal(
        [run(f"python3 -c \"import os; os.system('{hook}; touch ok')\""), {"say": "Done."}]
    ) as opened:
        begin(opened)
        shown = opened.wait_for(CHOICES)
        assert f"os.system('{hook}; touch ok')" in re.sub(r"\n┆ ", "", shown)
        opened.type("a")
        shown = opened.wait_for("Enter for none")
        assert "this very line" in shown
        opened.type("1")
        shown = opened.wait_for(CHOICES, count=2)
        assert "│ +evil" in shown
        assert "done by: run_bash python3" in shown
        opened.type("n")
        opened.wait_for("Done.")
        opened.type("/held")
        shown = opened.wait_for("\n  .git/hooks/pre-commit (first_tier)")
        assert (opened.project / "ok").exists()
        assert not (opened.project / ".git").exists()


def test_slash_commands_complete_and_a_slip_names_the_nearest() -> None:
    with terminal([{"say": "Hello."}]) as opened:
        begin(opened, "hi")
        opened.wait_for(" tokens\n")
        opened.type("/hlep")
        opened.wait_for("did you mean /help?")
        opened.press("/", "c", "o", "Tab")
        opened.wait_for("\n> /cost")
        opened.press("Enter")
        opened.wait_for("tool calls 0 of 200")
        opened.press("Up", "Up", "Up")
        opened.wait_for("\n> hi")
        opened.press("C-c")
        opened.wait_for("Ctrl-C once more ends the session")
        opened.type("/mode acceptEdits")
        opened.wait_for("switch to acceptEdits?")
        opened.type("y")
        opened.wait_for("mode acceptEdits")
        opened.press("C-d")
        assert "exit code: 0" in opened.wait_for("exit code")


def test_input_typed_ahead_answers_nothing() -> None:
    with terminal([run("sleep 1"), write("notes.txt", "x"), {"say": "Over."}], **UNASKED) as opened:
        begin(opened)
        opened.wait_for("run_bash sleep 1")
        opened.type("y")
        opened.wait_for(CHOICES)
        opened.type("")
        opened.wait_for("Over.")
        assert not (opened.project / "notes.txt").exists()


def test_ctrl_c_stops_the_step_and_twice_ends_the_session() -> None:
    with terminal([LONG, {"say": "Still here."}, LONG], **UNASKED) as opened:
        begin(opened)
        opened.wait_for("sleep 61 1 s")
        opened.press("C-c")
        assert "Still here." not in opened.wait_for("aborted: the person stopped")
        opened.type("again")
        opened.wait_for("Still here.")
        opened.press("C-c")
        opened.wait_for("once more")
        opened.press("C-c")
        assert "exit code: 130" in opened.wait_for("exit code")
        assert not (opened.project / "made.txt").exists()


def test_ctrl_c_at_a_question_is_no() -> None:
    with terminal([LONG]) as opened:
        begin(opened)
        opened.wait_for(CHOICES)
        opened.press("C-c")
        shown = opened.wait_for("aborted: the person stopped")
        assert "\n● run_bash" in shown


@pytest.fixture(params=["running", "asking", "waiting"])
def busy(request: pytest.FixtureRequest) -> Iterator[Terminal]:
    """A session with a command under way, at a question, and at its prompt."""
    with terminal([LONG], **(UNASKED if request.param == "running" else {})) as opened:
        opened.wait_for("\n>")
        if request.param != "waiting":
            opened.type("go")
            opened.wait_for(CHOICES if request.param == "asking" else "sleep 61 1 s")
        yield opened


def test_sigterm_ends_it_whatever_it_does(busy: Terminal) -> None:
    inside = below(busy.pid())
    os.kill(busy.pid(), signal.SIGTERM)
    assert "exit code: 143" in busy.wait_for("exit code")
    assert until(lambda: not any(map(alive, inside)))
    assert busy.events()[-1] == "session_end"


def test_a_closed_terminal_ends_it_and_its_sandboxes_and_seals_the_log(busy: Terminal) -> None:
    family = [busy.pid(), *below(busy.pid())]
    busy.hang_up()
    assert until(lambda: not any(map(alive, family)))
    assert busy.events()[-1] == "session_end"


@pytest.mark.parametrize(
    ("width", "env"),
    [
        (60, {"NO_COLOR": "1"}),
        (60, {"TERM": "dumb"}),
        (100, {"LANG": "C", "LC_ALL": "C"}),
        (100, {"PYTHONIOENCODING": "ascii"}),
        (200, {}),
    ],
)
def test_any_terminal_shows_a_hostile_question_whole(width: int, env: dict[str, str]) -> None:
    text = "word " * 60 + HOSTILE
    with terminal([{"say": HOSTILE * 3 + "\n? fake", **write("x.txt", text)}], width=width, **env) as opened:
        begin(opened)
        shown = opened.wait_for(CHOICES)
        rows = re.findall(r"^(?:[│┆|:_] )(.*)$", shown, re.MULTILINE)
        assert all(len(row) <= width - 2 for row in rows)
        assert "".join(rows).replace(" ", "").count("word") == 60
        assert "\\u{1b}]0;owned" in "".join(rows)
        assert "\n? fake" not in shown
        assert bool(re.search(r"\[(\d+;)*3[1-6]m", opened.screen("-e"))) is (
            not env.keys() & {"NO_COLOR", "TERM"}
        )
        opened.type("n")
        opened.wait_for("refused by permission")
