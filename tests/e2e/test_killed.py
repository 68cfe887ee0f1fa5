"""A session that is killed outright: nothing of it lives on, and what it did can be put back."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from agent_security.settings import state_dir
from agent_security.tools.audit import verify_log

from .conftest import Here
from .program import alive_with, script, started, the_log, wait_until


@pytest.fixture
def killed(home: Path) -> str:
    """The id of a session that wrote one file and was killed in the middle of a command."""
    marker = f"32{home.stat().st_ino}7"
    (home / "project" / "a.txt").write_text("before\n")
    (home / "project" / "b.txt").write_text("before\n")
    model = script(
        {"call": {"write_file": {"path": "a.txt", "content": "after\n"}}},
        {"call": {"run_bash": {"command": "echo after > b.txt; echo new > c.txt"}}},
        {"call": {"run_bash": {"command": f"(setsid sleep {marker} &); echo half > b.txt; sleep {marker}"}}},
        {"say": "never said"},
    )
    run = started("-p", "--mode", "dangerouslySkipPermissions", "--model", model, "x")
    wait_until(lambda: len(alive_with(f"sleep\0{marker}")) > 1, "the command under way")
    run.send_signal(signal.SIGKILL)
    run.communicate(timeout=30)
    wait_until(lambda: not alive_with(marker), "the end of every process it started", within_s=10)
    return the_log().parent.name


def test_no_process_lives_on_and_the_half_done_command_changed_nothing(killed: str) -> None:
    wait_until(lambda: not alive_with(str(state_dir())), "the end of every process of its wall")
    assert Path("a.txt").read_text() == "after\n"
    assert Path("b.txt").read_text() == "after\n"


def test_its_log_is_unclosed_and_says_so(killed: str, here: Here) -> None:
    assert verify_log(the_log()).status == "unclosed"
    assert here("audit", "verify", killed).code == 3


def test_sessions_calls_it_crashed_and_rollback_puts_everything_back(killed: str, here: Here) -> None:
    assert f"{killed:<18}crashed" in here("sessions").out
    ran = here("rollback", killed, "--yes")
    assert ran.code == 0
    assert (Path("a.txt").read_text(), Path("b.txt").read_text()) == ("before\n", "before\n")
    assert not Path("c.txt").exists()


def test_the_next_session_of_the_project_works_and_says_how_to_put_it_back(killed: str, here: Here) -> None:
    ran = here("-p", "--model", script({"call": {"read_file": {"path": "a.txt"}}}, {"say": "Here."}), "x")
    assert (ran.code, ran.out) == (0, "Here.\n")
    assert killed in ran.err
    assert here("rollback", killed, "--yes").code == 0
    assert Path("a.txt").read_text() == "before\n"
