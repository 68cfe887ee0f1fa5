"""Every wrong use is one clear line on stderr and the right exit code, never a traceback."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from agent_security.frontends import cli
from agent_security.frontends.cli import main


def wrong(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    code = main(list(args))
    err = capsys.readouterr().err
    assert err.startswith("agent-security: ")
    assert err.count("\n") == 1
    return code, err


def test_an_unknown_flag(capsys: pytest.CaptureFixture[str]) -> None:
    code, err = wrong(capsys, "--nope")
    assert code == 2
    assert "--nope" in err


def test_a_flag_with_a_wrong_value(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, err = wrong(capsys, "-p", "--max-turns", "many", "x")
    assert code == 2
    assert "--max-turns" in err


def test_a_directory_that_is_not_there(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert wrong(capsys, "-C", "no/such", "-p", "x") == (2, "agent-security: no such directory: no/such\n")


def test_home_as_the_workspace(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, err = wrong(capsys, "-C", str(own_home), "-p", "x")
    assert code == 2
    assert "home" in err


def test_the_root_as_the_workspace(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, err = wrong(capsys, "-C", "/", "-p", "x")
    assert code == 2
    assert " / " in err


def test_an_unknown_tool_lists_the_valid_ones(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = own_home / "script.yaml"
    script.write_text("turns: [{say: hello}]")
    code, err = wrong(capsys, "-p", "--model", f"script:{script}", "--tools", "read_file,teleport", "x")
    assert code == 2
    assert "teleport" in err
    assert "run_bash" in err


def test_no_prompt_for_a_headless_run(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, err = wrong(capsys, "-p")
    assert code == 2
    assert "PROMPT" in err


def test_a_session_without_a_terminal(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, err = wrong(capsys, "hello")
    assert code == 2
    assert "-p" in err


def test_a_command_that_comes_too_late(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, err = wrong(capsys, "-p", "doctor")
    assert code == 2
    assert "agent-security doctor" in err


def test_an_endpoint_that_nobody_answers(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    args = ("--base-url", f"http://127.0.0.1:{port}/v1", "--model", "m", "--llm-timeout", "4", "-p", "x")
    assert main(list(args)) == 6
    err = capsys.readouterr().err
    assert f"127.0.0.1:{port}" in err
    assert "Traceback" not in err


def test_what_nobody_expected_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*args: object, **more: object) -> None:
        raise RuntimeError("boom\nand more")

    monkeypatch.delenv("AGENT_SECURITY_DEBUG", raising=False)
    monkeypatch.setattr(cli.program, "main", broken)
    code, err = wrong(capsys, "sessions")
    assert code == 1
    assert "RuntimeError: boom and more" in err


def test_the_traceback_is_shown_when_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*args: object, **more: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setenv("AGENT_SECURITY_DEBUG", "1")
    monkeypatch.setattr(cli.program, "main", broken)
    assert main(["sessions"]) == 1
    assert "Traceback" in capsys.readouterr().err
