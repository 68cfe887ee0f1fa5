"""The whole program in a temporary home: front end, road, wall and log are real; the model is scripted."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_security.frontends.cli import main
from loop.conftest import loopback

from .program import Ran

__all__ = ["loopback"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """HOME and the state directory in a temporary folder; the working directory a project in it."""
    home = tmp_path / "home"
    project = home / "project"
    project.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "OPENAI_BASE_URL", "OPENAI_API_KEY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENT_SECURITY_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(project)
    return home


class Here:
    """`here("-p", …)` runs the program in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *args: str) -> Ran:
        self._capsys.readouterr()
        code = main(list(args))
        captured = self._capsys.readouterr()
        return Ran(code, captured.out, captured.err)


@pytest.fixture
def here(home: Path, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(capsys)
