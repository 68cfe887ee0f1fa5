"""`--help` tells everything, imports almost nothing, and a command that is not built says so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from agent_security.frontends.cli import main
from agent_security.frontends.table import COMMANDS

SOURCE = Path(__file__).parents[2] / "src"
HEAVY = ("openai", "rich", "prompt_toolkit", "httpx2", "jsonschema_rs", "cryptography", "pydantic", "yaml")

DEFAULTS = {
    # the specification's flags
    "--tools": "all", "--tool-timeout": "120", "--llm-timeout": "120", "--max-turns": "40",
    "--max-tool-calls": "200", "--max-context-tokens": "24000", "--max-cost-usd": "5",
    "--approve-plan": "off",
    # CONTRACTS §2
    "--mode": "default", "--profile": "none", "--model": "none", "--base-url": "none", "--sandbox": "auto",
    "--require": "none", "--working-dir": "here", "--add-dir": "none", "--apply": "auto",
    "--allow-domain": "none", "--context": "none", "--output-format": "text", "--print": "off",
    "--deadline": "none", "--settings": "none", "--audit-log": "in the state directory",
    "--continue": None, "--resume": None, "--artifacts": None,
}  # fmt: skip


def help_text(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("flag", DEFAULTS)
def test_each_flag_is_told_with_its_default(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(help_text(capsys).split())
    after = re.search(rf"{flag}[ ,](.*?)(?= --[a-z]| Commands:)", text)
    assert after is not None, flag
    default = DEFAULTS[flag]
    assert (
        (f"[default: {default}]" in after[1] or f"(default: {default})" in after[1]) if default else after[1]
    )


def test_each_command_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    text = help_text(capsys)
    for row in COMMANDS[1:]:
        assert re.search(rf"^  {row.name} ", text, re.MULTILINE), row.name


def test_help_imports_click_and_nothing_heavy() -> None:
    script = (
        "import sys; from agent_security.frontends.cli import main; main(['--help']);"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(SOURCE)},
        check=True,
    )
    assert ran.stderr.strip() == "[]"


@pytest.mark.parametrize("name", [row.name for row in COMMANDS if not row.built])
def test_what_is_not_built_refuses_and_says_so(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "any", "--thing"]) == 2
    assert capsys.readouterr().err == f"agent-security: {name}: not built yet\n"


@pytest.mark.parametrize("row", [row for row in COMMANDS if row.built], ids=lambda row: row.name)
def test_every_built_row_leads_to_a_command_with_help(
    row: object, capsys: pytest.CaptureFixture[str]
) -> None:
    name = getattr(row, "name", "")
    assert main([name, "--help"]) == 0
    assert "Usage:" in capsys.readouterr().out


def test_python_p_m_is_the_same_program() -> None:
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "agent_security", "--version"],
        capture_output=True, text=True, env={"PYTHONPATH": str(SOURCE)}, check=True,
    )  # fmt: skip
    assert ran.stdout.startswith("agent-security ")


def test_a_click_py_in_the_working_directory_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise SystemExit('the trap fired')")
    ran = subprocess.run(
        [sys.executable, "-m", "agent_security", "--version"],
        capture_output=True, text=True, env={"PYTHONPATH": str(SOURCE)}, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_printed_for(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "_AGENT_SECURITY_COMPLETE" in capsys.readouterr().out
