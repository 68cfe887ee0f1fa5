"""Slash commands: a table, told by /help, and nothing of them reaches the model."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from agent_security.calls import Effect, Mode
from agent_security.changes import Applied, Past, Undone
from agent_security.frontends.screen import Screen
from agent_security.frontends.slash import SLASHES, Desk, is_slash, run_slash


class Asked:
    """Answers every confirmation the same way, and keeps the prompts."""

    def __init__(self, yes: bool) -> None:
        self.yes, self.prompts = yes, []

    def confirm(self, prompt: str, detail: str = "") -> bool:
        self.prompts.append(prompt)
        return self.yes


class Store:
    """One applied call of `a`, one held change of `b`."""

    undone = False

    def undo(self) -> Undone:
        self.undone = True
        return Undone(("c1",), {"a": "restored"}, {"c": "it was changed since"})

    def history(self) -> tuple[Past, ...]:
        return (Past("c1", 0.0, ("a",), self.undone),)

    def held_changes(self) -> object:
        return object()

    def diff(self, changes: object, *, max_bytes: int | None = 0) -> str:
        return "--- a/b\n+++ b/b\n+held"

    def apply_held(self, paths: list[str]) -> Applied:
        return Applied(dict.fromkeys(paths, "changed"))


def desk(session: Any, *, yes: bool = False) -> tuple[Desk, io.StringIO]:
    out = io.StringIO()
    session.changes = Store()
    screen = Screen(Console(file=out, highlight=False, markup=False, soft_wrap=True))
    return Desk(session, screen, Asked(yes), "/state/audit.jsonl"), out  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "slash"),
    [
        ("/help", True),
        ("/mode x", True),
        ("/nope", True),
        ("/usr/bin/x is old", False),
        ("fix /help", False),
        ("", False),
    ],
)
def test_a_path_is_no_command(line: str, slash: bool) -> None:
    assert is_slash(line) is slash


def test_help_tells_every_row(session: Any) -> None:
    at, out = desk(session)
    run_slash("/help", at)
    assert all(row.name in out.getvalue() for row in SLASHES)


def test_an_unknown_one_is_told(session: Any) -> None:
    at, out = desk(session)
    run_slash("/nope", at)
    assert "no such command: /nope" in out.getvalue()


def test_a_wider_mode_needs_a_yes_and_is_put_on_record(session: Any) -> None:
    at, _ = desk(session, yes=False)
    run_slash("/mode dangerouslySkipPermissions", at)
    assert session.mode is Mode.DEFAULT
    at, _ = desk(session, yes=True)
    run_slash("/mode acceptEdits", at)
    assert session.mode is Mode.ACCEPT_EDITS
    assert session.audit.events == [
        ("settings_changed", {"key": "mode", "value": "acceptEdits", "by": "person"})
    ]


def test_a_narrower_mode_needs_none(session: Any) -> None:
    session.mode = Mode.SKIP
    at, _ = desk(session, yes=False)
    run_slash("/mode default", at)
    assert session.mode is Mode.DEFAULT
    assert at.approver.prompts == []  # type: ignore[attr-defined]


def test_undo_tells_what_was_left_alone_and_forgets_what_was_put_back(session: Any) -> None:
    at, out = desk(session)
    session.tally.files_changed["a"] = "changed"
    run_slash("/undo", at)
    assert "put back: a" in out.getvalue()
    assert "left alone: c" in out.getvalue()
    assert session.tally.files_changed == {}
    assert session.audit.events[0][0] == "undo"


def test_what_is_held_back_is_applied_only_with_a_yes(session: Any) -> None:
    session.tally.held_back["b"] = "first_tier"
    at, _ = desk(session, yes=False)
    run_slash("/held apply", at)
    assert session.tally.held_back == {"b": "first_tier"}
    at, _ = desk(session, yes=True)
    run_slash("/held apply", at)
    assert session.tally.held_back == {}
    assert "b" in session.tally.files_changed


def test_the_rest_of_the_table_answers(session: Any) -> None:
    session.tools = {"read_file": SimpleNamespace(name="read_file", effect=Effect.READ)}
    at, out = desk(session)
    for line in ("/tools", "/cost", "/diff", "/log", "/mode"):
        run_slash(line, at)
    for word in ("read_file", "tool calls 0 of 200", "c1: a", "/state/audit.jsonl", "mode default"):
        assert word in out.getvalue()
    run_slash("/quit", at)
    assert at.leaving
