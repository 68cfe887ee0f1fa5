"""Foreign text on the terminal: it is read, never obeyed."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from agent_security.calls import Status, ToolCall, ToolOutput, ToolResult
from agent_security.changes import Applied
from agent_security.decision import allow, deny
from agent_security.frontends.lines import outcome, title
from agent_security.frontends.screen import Screen

HOSTILE = "a\x1b]0;owned\x07b\x1b[2J\x1b[31mred\x9b1mc\u202edlrow\u200b[bold]not markup[/bold]\rover"


def screen(**more: object) -> tuple[Screen, io.StringIO]:
    out = io.StringIO()
    options: dict[str, object] = {"force_terminal": True, "color_system": None, "width": 500} | more
    return Screen(Console(file=out, highlight=False, markup=False, soft_wrap=True, **options)), out  # type: ignore[arg-type]


def safe(shown: str) -> bool:
    return not any(
        mark in shown for mark in ("\x1b]", "\x1b[2J", "\x1b[31m", "\x07", "\x9b", "\u202e", "\u200b", "\r")
    )


@pytest.mark.parametrize("cut", [1, 2, 3, 7, 200])
def test_streamed_text_cannot_drive_the_terminal_wherever_it_is_cut(cut: int) -> None:
    drawn, out = screen()
    for at in range(0, len(HOSTILE), cut):
        drawn.notice("text", text=HOSTILE[at : at + cut])
    drawn.notice("assistant")
    assert safe(out.getvalue())
    assert "[bold]not markup[/bold]" in out.getvalue()


def test_a_tool_line_cannot_drive_the_terminal() -> None:
    drawn, out = screen()
    call = ToolCall("c", "read_file", json.dumps({"path": HOSTILE + "\nsecond"}))
    result = ToolResult(call, allow("permission"), "", Status.OK)
    drawn.notice(
        "tool_end", result=result, output=ToolOutput("x\ny"), applied=Applied({HOSTILE: "d"}, {HOSTILE: "c"})
    )
    assert safe(out.getvalue())
    assert out.getvalue().count("\n") == 1


def test_a_question_shows_what_is_hidden() -> None:
    drawn, out = screen()
    drawn.question(HOSTILE, HOSTILE)
    assert safe(out.getvalue())


def test_a_long_diff_is_cut_and_says_by_how_much() -> None:
    drawn, out = screen()
    drawn.question("edit", "--- a/x\n+++ b/x\n" + "\n".join(f"+{n}" for n in range(500)), diff=True)
    assert "382 more lines" in out.getvalue()


def test_no_color_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    drawn, out = screen(color_system="standard")
    drawn.details("--- a\n+++ b\n+new\n-old", diff=True)
    assert "\x1b[3" not in out.getvalue()


def test_an_unknown_event_and_a_broken_one_stop_nothing() -> None:
    drawn, out = screen()
    drawn.notice("something new", value=1)
    out.close()
    drawn.notice("text", text="late words ")
    assert out.closed


def test_each_call_is_one_line() -> None:
    call = ToolCall("c", "run_bash", json.dumps({"command": "pytest\n-q"}))
    done = ToolResult(call, allow("permission"), "", Status.ERROR, exit_code=1)
    assert title(call) == "run_bash pytest -q"
    line = outcome(
        done, ToolOutput("a\nb", Status.ERROR, exit_code=1), Applied({"x": "d"}, {".git/hooks/y": "hook"})
    )
    assert line == "exit 1 · 2 lines · 1 file changed · held back: .git/hooks/y (hook)"


def test_a_refusal_says_who_refused_and_why() -> None:
    call = ToolCall("c", "run_bash", "no json")
    refused = ToolResult(call, deny("validation", "bad_arguments", "command: missing"), "", Status.REFUSED)
    assert (
        outcome(refused, ToolOutput("", Status.REFUSED), Applied())
        == "refused by validation: command: missing"
    )
    assert title(call) == "run_bash no json"


def rows(out: io.StringIO) -> list[str]:
    return out.getvalue().split("\n")


FAKE = "? May run_bash do this? runs ls"


@pytest.mark.parametrize("before", ["", " " * 40, "x" * 40, " " * 39 + "\n", "\u3000" * 20, "\t" * 10])
def test_nothing_foreign_begins_a_row_of_the_screen(before: str) -> None:
    """Else blanks up to the edge, or a line break, would draw a question or a result of the harness."""
    drawn, out = screen(width=40)
    drawn.notice("text", text=f"{before}{FAKE}\n● run_bash pytest · exit 0\n")
    drawn.notice("assistant")
    drawn.details(f"{before}{FAKE}")
    drawn.details(f"--- a/x\n+++ b/x\n+{before}{FAKE}", diff=True)
    assert [row for row in rows(out) if row[:1] not in ("", " ", "│", "┆")] == []


def test_a_long_file_name_begins_no_row_either() -> None:
    drawn, out = screen(width=40)
    call = ToolCall("c", "read_file", json.dumps({"path": f"{'a' * 27} {FAKE} and more words"}))
    result = ToolResult(call, deny("validation", "bad_arguments", FAKE), "", Status.REFUSED)
    drawn.notice("tool_end", result=result, output=ToolOutput("", Status.REFUSED), applied=Applied())
    assert [row[0] for row in rows(out) if row] == ["●", *[" "] * (len(rows(out)) - 2)]


def test_a_command_that_begins_like_a_diff_is_shown_whole() -> None:
    drawn, out = screen()
    drawn.question("run", "diff a b\n" + "\n".join(f"echo {n}" for n in range(500)))
    assert "echo 499" in out.getvalue()
    assert "more lines" not in out.getvalue()


def test_a_wrapped_command_loses_no_character() -> None:
    drawn, out = screen(width=40)
    command = "a  b   " * 30 + "終わり" * 20
    drawn.details(command)
    assert "".join(row[2:] for row in rows(out)) == command


def test_text_without_blanks_is_streamed_too() -> None:
    drawn, out = screen()
    drawn.notice("text", text="这是一个很长的")
    assert "很长的" in out.getvalue()


def test_only_the_dot_has_the_colour_of_the_outcome() -> None:
    drawn, out = screen(color_system="standard")
    call = ToolCall("c", "read_file", json.dumps({"path": "x"}))
    result = ToolResult(call, allow("permission"), "", Status.OK)
    drawn.notice("tool_end", result=result, output=ToolOutput("a\nb"), applied=Applied())
    assert out.getvalue() == "\x1b[32m● \x1b[0mread_file x\x1b[2m · 2 lines\x1b[0m\n"


def test_what_the_stream_cannot_encode_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii", write_through=True))
    drawn = Screen()
    drawn.question("naïve", "echo é")
    assert b"na\\xefve" in raw.getvalue()
    assert b"| echo \\xe9" in raw.getvalue()
