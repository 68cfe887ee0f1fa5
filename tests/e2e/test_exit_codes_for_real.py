"""Every exit code of CONTRACTS §3, each provoked for real, each with one clear line and no traceback."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_security.settings import state_dir
from agent_security.tools.audit import verify_log
from agent_security.tools.registry import TOOLS

from .conftest import Here
from .program import Ran, alive_with, events, script, started, the_log, wait_until

WRITE = {"call": {"write_file": {"path": "a.txt", "content": "x"}}}
LOOK = {"call": {"todo_read": {}}}


def test_0_done(here: Here) -> None:
    ran = here("-p", "--model", script({"say": "Done."}), "x")
    assert (ran.code, ran.out) == (0, "Done.\n")


def test_1_a_log_that_cannot_be_made_stops_the_session(here: Here, home: Path) -> None:
    (home / "log").write_text("")
    ran = here("-p", "--model", script(WRITE), "--audit-log", str(home / "log"), "x")
    assert (ran.code, str(home / "log") in ran.clear_line) == (1, True)


WRONG_USE: dict[str, tuple[tuple[str, ...], str]] = {
    "an unknown flag": (("-p", "--nope", "x"), "--nope"),
    "a value that is no number": (("-p", "--max-turns", "many", "x"), "--max-turns"),
    "a limit of nothing": (("-p", "--max-tool-calls", "0", "x"), "--max-tool-calls"),
    "an unknown mode": (("-p", "--mode", "yolo", "x"), "acceptEdits"),
    "an unknown sandbox": (("-p", "--sandbox", "chroot", "x"), "bubblewrap"),
    "an unknown guarantee": (("-p", "--require", "luck", "x"), "limits"),
    "a missing directory": (("-p", "-C", "no/such", "x"), "no such directory: no/such"),
    "a file for a directory": (("-p", "-C", "file.txt", "x"), "not a directory: file.txt"),
    "home as the workspace": (("-p", "-C", "..", "x"), "home"),
    "/ as the workspace": (("-p", "-C", "/", "x"), "/ itself"),
    "an added directory that is not there": (("-p", "--add-dir", "no/such", "x"), "no/such"),
    "no prompt": (("-p",), "PROMPT"),
    "a command that is none": (("-p", "doctor"), "agent-security doctor"),
    "no terminal": (("x",), "-p"),
    "a script that is not there": (("-p", "--model", "script:no.json", "x"), "no.json"),
    "a --context that is not there": (("-p", "--context", "no.md", "x"), "no.md"),
    "an address that is none": (("-p", "--model", "m", "--base-url", "ftp://x", "x"), "--base-url"),
    "settings that are not there": (("-p", "--settings", "../no.toml", "x"), "no.toml"),
}


@pytest.mark.parametrize("what", WRONG_USE)
def test_2_wrong_use_names_what_is_wrong(what: str, here: Here) -> None:
    Path("file.txt").write_text("")
    args, word = WRONG_USE[what]
    model = () if "--model" in args else ("--model", script({"say": "no"}))
    ran = here(*args[:-1], *model, args[-1])
    assert ran.code == 2
    assert word in ran.clear_line
    assert ran.out == ""


def test_2_an_unknown_tool_lists_every_valid_one(here: Here) -> None:
    ran = here("-p", "--model", script({"say": "no"}), "--tools", "read_file,teleport", "x")
    assert ran.code == 2
    assert all(name in ran.clear_line for name in [*TOOLS, "teleport"])


def test_2_no_model_no_endpoint_and_no_ollama_says_what_to_type(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody_listens_at(monkeypatch)
    ran = here("-p", "x")
    assert ran.code == 2
    for word in ("--model NAME", "--base-url URL", "OPENAI_API_KEY", "agent-security demo"):
        assert word in ran.clear_line


def test_2_a_model_without_a_key_says_what_to_set(here: Here) -> None:
    ran = here("-p", "--model", "m", "x")
    assert (ran.code, "OPENAI_API_KEY" in ran.clear_line) == (2, True)


@pytest.mark.parametrize(
    ("flags", "subtype"),
    [
        (("--max-turns", "2"), "error_max_turns"),
        (("--max-tool-calls", "1"), "error_max_tool_calls"),
    ],
)
def test_3_a_limit(flags: tuple[str, ...], subtype: str, here: Here) -> None:
    ran = here("-p", "--model", script(*[LOOK] * 5), *flags, "--output-format", "json", "x")
    assert (ran.code, ran.json["subtype"], ran.json["is_error"]) == (3, subtype, True)
    assert ran.clear_line.startswith(subtype)


def test_3_the_deadline(here: Here) -> None:
    slow = {"call": {"run_bash": {"command": "sleep 1.1"}}}
    args = ("--mode", "dangerouslySkipPermissions", "--deadline", "1", "--output-format", "json", "x")
    ran = here("-p", "--model", script(slow, {"say": "too late"}), *args)
    assert (ran.code, ran.json["subtype"]) == (3, "error_deadline")
    assert ran.clear_line.startswith("error_deadline")


@pytest.mark.parametrize("backend", ["docker", "podman", "landlock", "external"])
def test_4_a_wall_that_is_not_to_be_had(backend: str, here: Here) -> None:
    ran = here("-p", "--model", script({"say": "no"}), "--sandbox", backend, "--output-format", "json", "x")
    if ran.code == 0:
        pytest.skip(f"{backend} is built, and works here")
    assert (ran.code, ran.json["subtype"]) == (4, "error_sandbox")
    assert backend in ran.clear_line


def test_4_a_guarantee_that_this_machine_does_not_give(here: Here) -> None:
    model = script({"say": "hi"})
    given = here("-p", "--model", model, "--output-format", "json", "x").json["sandbox"]["guarantees"]
    if all(given.values()):
        pytest.skip("this machine gives every guarantee")
    missing = next(name for name, held in given.items() if not held)
    ran = here("-p", "--model", model, "--require", missing, "--output-format", "json", "x")
    assert (ran.code, ran.json["subtype"]) == (4, "error_sandbox")
    assert missing in ran.clear_line
    assert "doctor" in ran.clear_line


def test_5_an_approval_that_nobody_could_give(here: Here) -> None:
    ran = here("-p", "--model", script(WRITE, {"say": "Not done."}), "--output-format", "json", "x")
    assert (ran.code, ran.json["subtype"], ran.json["result"]) == (5, "error_approval_required", "Not done.")
    assert "write_file" in ran.clear_line
    assert not Path("a.txt").exists()


def test_6_an_endpoint_that_nobody_answers(here: Here) -> None:
    url = closed_port()
    ran = here("-p", "--base-url", url, "--model", "m", "--output-format", "json", "x")
    assert (ran.code, ran.json["subtype"], ran.json["retryable"]) == (6, "error_provider", True)
    assert url.split("/")[2] in ran.clear_line


FAULTS: dict[str, tuple[list[Any], str]] = {
    "HTML in place of an answer": ([{"fault": "html"}] * 6, "HTML"),
    "500 again and again": ([{"fault": "500"}] * 6, "500"),
    "a gateway's HTML page": ([{"fault": "502"}] * 6, "502"),
    "a wrong key": ([{"fault": "401"}], "401"),
    "half a JSON object": ([{"fault": "no_json"}] * 6, ""),
}


@pytest.mark.parametrize("what", FAULTS)
def test_6_an_endpoint_that_fails(what: str, here: Here, loopback: Callable[..., Any]) -> None:
    acts, word = FAULTS[what]
    server = loopback(*acts)
    ran = here("-p", "--base-url", server.base_url, "--model", "m", "--output-format", "json", "x")
    assert (ran.code, ran.json["subtype"]) == (6, "error_provider")
    assert word in ran.clear_line
    assert "<" not in ran.clear_line
    assert verify_log(the_log()).status == "ok"


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_130_and_143_by_signal(signum: signal.Signals, code: int, home: Path) -> None:
    marker = f"31{home.stat().st_ino}7"
    model = script({"call": {"run_bash": {"command": f"sleep {marker}"}}}, {"say": "no"})
    run = started("-p", "--mode", "dangerouslySkipPermissions", "--model", model, "x")
    wait_until(lambda: alive_with(f"sleep\0{marker}"), "the command under way")
    run.send_signal(signum)
    out, err = run.communicate(timeout=30)
    ran = Ran(run.returncode, out.decode(), err.decode())
    assert (ran.code, ran.clear_line.startswith("aborted")) == (code, True)
    assert alive_with(marker) == []
    assert events("session_abort")[0]["reason"] == signum.name
    assert verify_log(the_log()).status == "ok"


def closed_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/v1"


def nobody_listens_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """No Ollama here, whatever this machine runs."""
    from agent_security import providers

    monkeypatch.setattr(providers, "ollama_models", lambda url: ())


def test_a_start_that_fails_leaves_no_session_half_open(here: Here) -> None:
    here("-p", "--model", script({"say": "no"}), "--sandbox", "external", "x")
    records = (state_dir() / "sessions").glob("*/session.json")
    assert all('"ended_s": 0.0' not in path.read_text() for path in records)
