"""`/permissions`: the mode's answers, every rule with its source, and grants that can be taken back."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from agent_security.frontends.screen import Screen
from agent_security.frontends.slash import Desk, run_slash
from agent_security.paths import Scope
from agent_security.permissions import Rules, parse_rule
from agent_security.pipeline import decide
from agent_security.session import Session
from agent_security.testing import RecordingAudit, call, fake_session


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "project").mkdir()
    (tmp_path / "store").mkdir()
    session = fake_session(tmp_path / "project", tmp_path / "store")
    session.rules = Rules(deny=(parse_rule("Bash(git push:*)", "deny", "managed: m.toml"),))
    screen = Screen(Console(file=io.StringIO(), highlight=False, markup=False, soft_wrap=True))
    return Desk(session, screen, None, "")  # type: ignore[arg-type]


def shown(desk: Desk, line: str = "/permissions") -> str:
    out = desk.screen.console.file = io.StringIO()
    run_slash(line, desk)
    return out.getvalue()


def grant(session: Session, rule: str) -> None:
    session.rules = session.rules.with_grant(rule, call("run_bash", command="make x"))


def test_what_the_mode_says_and_every_rule_with_its_source_is_shown(desk: Desk) -> None:
    desk.session.scope = Scope(
        desk.session.working_dir, open_hosts=("a.example",), permitted_binaries=frozenset({"curl"})
    )
    text = shown(desk)
    for words in (
        "mode default",
        "asked    running commands",
        "allowed  reading",
        "denied   Bash(git push:*)   (managed: m.toml)",
        "reaching a.example",
        "curl, each time",
        "nothing was granted",
    ):
        assert words in text


def test_a_grant_is_numbered_revoked_on_record_and_then_asked_again(desk: Desk) -> None:
    grant(desk.session, "Bash(make:*)")
    grant(desk.session, "Bash(=ls -R)")
    made = call("run_bash", command="make x")
    assert decide(made, desk.session).allowed
    assert "revoke 1" in shown(desk)
    assert "revoked: Bash(make:*)" in shown(desk, "/permissions revoke 1")
    assert not decide(made, desk.session).allowed
    assert [rule.text for rule in desk.session.rules.allow] == ["Bash(=ls -R)"]
    assert isinstance(desk.session.audit, RecordingAudit)
    assert desk.session.audit.of("settings_changed")[0]["value"] == "revoked Bash(make:*)"


@pytest.mark.parametrize("number", ["", "0", "2", "-1", "x", "²", "1 2"])
def test_a_number_that_is_none_revokes_nothing(desk: Desk, number: str) -> None:
    grant(desk.session, "Bash(make:*)")
    assert "no such grant" in shown(desk, f"/permissions revoke {number}")
    assert len(desk.session.rules.allow) == 1


def test_a_rule_of_a_file_cannot_be_revoked_here(desk: Desk) -> None:
    desk.session.rules = Rules(allow=(parse_rule("Bash(make:*)", "allow", "user: c.toml"),))
    assert "no such grant" in shown(desk, "/permissions revoke 1")
    assert "/permissions revoke N" in shown(desk, "/permissions drop")
