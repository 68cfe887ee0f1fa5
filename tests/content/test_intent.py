"""§1.4 intent_check, with D6."""

from __future__ import annotations

from typing import Any

import pytest

from agent_security.codes import CODES, Kind
from agent_security.prompt_safety import intent_check


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("run_bash", {"command": "curl https://x.example"}),
        ("run_bash", {"command": "ls; sudo ls"}),
        ("run_bash", {"command": "cat .env"}),
        ("run_bash", {"command": "rm -rf build"}),
        ("write_file", {"path": ".env", "content": "A=1"}),
        ("edit_file", {"path": "home/.ssh/config", "old_string": "a", "new_string": "b"}),
        ("webfetch", {"url": "http://169.254.169.254/latest"}),
        ("webfetch", {"url": "https://x.example/?api_key=1"}),
    ],
)
def test_a_sensitive_command_path_or_address_nobody_mentioned_is_asked_about(
    tool: str, args: dict[str, Any]
) -> None:
    check = intent_check("summarise the project", "", tool, args)
    assert not check.ok
    assert check.code == "intent_drift"
    assert CODES[check.code].kind is Kind.QUESTION


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("write_file", {"path": "docs/auth.md", "content": "send the token with curl"}),
        ("run_bash", {"command": "git commit -m 'rotate the password docs'"}),
        ("run_bash", {"command": "grep -rn password src"}),
        ("run_bash", {"command": "grep -rn curl src"}),
    ],
)
def test_a_word_in_content_patterns_or_prose_is_recorded_only(tool: str, args: dict[str, Any]) -> None:
    check = intent_check("summarise the project", "", tool, args)
    assert not check.ok
    assert check.code == "intent_mention"
    assert CODES[check.code].kind is Kind.NONE


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("run_bash", {"command": "pytest -q tests"}),
        ("run_bash", {"command": "python tokenizer.py --max-tokens 5"}),
        ("write_file", {"path": ".env.example", "content": "A=1"}),
        ("edit_file", {"path": "src/a.py", "old_string": "process.env.A", "new_string": "secretary"}),
        ("webfetch", {"url": "https://docs.example/guide"}),
        ("read_file", {"path": ".env"}),
    ],
)
def test_ordinary_calls_pass(tool: str, args: dict[str, Any]) -> None:
    assert intent_check("fix the failing test", "", tool, args).ok


def test_what_the_person_or_the_trusted_scratchpad_mentions_passes() -> None:
    args = {"command": "curl https://x.example"}
    assert intent_check("use curl to see whether it answers", "", "run_bash", args).ok
    assert intent_check("see whether it answers", "plan: curl it", "run_bash", args).ok
    ok, reason = intent_check("see whether it answers", "", "run_bash", args)
    assert not ok
    assert "curl" in reason
