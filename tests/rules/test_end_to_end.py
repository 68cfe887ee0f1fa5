"""Ceilings, profiles and `permissions.sandboxed` hold from the files through the wiring to the gates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_security import settings as settings_module
from agent_security.calls import Mode
from agent_security.errors import AgentSecurityError, SettingsError
from agent_security.gates import judge_effects
from agent_security.pipeline import decide, permit_for_person
from agent_security.session import Session
from agent_security.testing import FakeApprover, call
from agent_security.wiring import build_session, close_session, settings_for

Open = Callable[..., Session]


@pytest.fixture
def managed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings_module, "MANAGED_FILE", str(tmp_path / "managed.toml"))
    return tmp_path / "managed.toml"


@pytest.fixture
def open_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """A real session, wall and all, under a HOME and state of its own."""
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    tmp_path.chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("AGENT_SECURITY_STATE", str(tmp_path / "state"))
    opened: list[Session] = []

    def open_session(user: str = "", **flags: Any) -> Session:
        config = home / ".config/agent-security/config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(user)
        project = str(home / "project")
        session, _ = build_session(
            settings_for(project, flags), working_dir=project, approver=FakeApprover(), needs_model=False
        )
        opened.append(session)
        return session

    yield open_session
    for session in opened:
        close_session(session)


MAKE = call("run_bash", command="make x")


def test_profile_ci_runs_what_it_promises_and_still_confirms(open_it: Open) -> None:
    session = open_it(profile="ci")
    assert (session.mode, session.sandboxed, session.runs_later) == (Mode.ACCEPT_EDITS, "allow", "list")
    assert session.wall_proven
    assert not session.sandbox.guarantees.missing(("fs", "net", "env", "kill"))
    assert decide(MAKE, session).allowed
    assert decide(call("write_file", path="Makefile", content="x"), session).allowed
    assert decide(call("run_bash", command="git push --force"), session).word == "ask"
    changes = _staged("Makefile")
    judged = judge_effects(changes, session.judge_context(), session.apply)
    assert [(one.decision.word, one.runs_later) for one in judged] == [("allow", True)]
    hooks = judge_effects(_staged(".git/hooks/x"), session.judge_context(), session.apply)
    assert [one.decision.word for one in hooks] == ["ask"]


def _staged(path: str) -> Any:
    from agent_security.changeset import Change, ChangeKind, ChangeSet

    return ChangeSet((Change(path, ChangeKind.CREATED),))


def test_sandboxed_allow_answers_commands_only_where_the_wall_is_proven(open_it: Open) -> None:
    session = open_it('[permissions]\nsandboxed = "allow"\n')
    assert decide(MAKE, session).allowed
    assert decide(call("write_file", path="n", content="x"), session).word == "ask"
    session.wall_proven = False
    assert decide(MAKE, session).word == "ask"


def test_the_bounds_of_change_sets_reach_the_judgement(open_it: Open) -> None:
    session = open_it("[changes]\nmax_files = 1\n")
    assert session.judge_context().limits.max_changes == 1


CEILINGS = [
    ('modes = ["default"]', "", {"mode": "acceptEdits"}),
    ('modes = ["default"]', 'mode = "dangerouslySkipPermissions"', {}),
    ('modes = ["default"]', 'profile = "ci"', {}),
    ('providers = ["https://models.example/v1"]', "", {"base_url": "https://other.example/v1"}),
    ("permit = []", '[shell]\npermit = ["curl"]', {}),
    ("add_dirs = []", 'add_dir = ["/srv"]', {}),
    ('add_dirs = ["/srv/a"]', "", {"add_dir": ("/srv/ab",)}),
    ('domains = ["*.example"]', 'allow_domain = ["a.example.org"]', {}),
    ('sandboxed = "ask"', '[permissions]\nsandboxed = "allow"', {}),
    ('sandboxed = "ask"', "", {"profile": "ci"}),
    ('sandboxes = ["bubblewrap"]', "", {"sandbox": "external"}),
    ("max_turns = 3", "", {"max_turns": 4}),
    ("max_cost_usd = 1", "max_cost_usd = 2", {}),
]


@pytest.mark.parametrize(("ceiling", "user", "flags"), CEILINGS)
def test_nobody_below_exceeds_a_ceiling(
    ceiling: str, user: str, flags: dict[str, Any], managed: Path, open_it: Open
) -> None:
    managed.write_text(f"[ceiling]\n{ceiling}\n")
    if "providers" in ceiling:
        with pytest.raises(SettingsError):
            settings_for(None, flags)
        return
    with pytest.raises(SettingsError):
        open_it(user, **flags)


def test_a_required_wall_of_the_ceiling_is_required_whatever_is_asked(managed: Path, open_it: Open) -> None:
    managed.write_text('[ceiling]\nrequire = ["fs", "view"]\nmax_turns = 3\n')
    session = open_it('require = ["net"]\n')
    assert not session.sandbox.guarantees.missing(("fs", "view", "net"))
    assert session.caps.max_turns == 3


def test_a_managed_deny_stands_above_every_allow_of_the_person(managed: Path, open_it: Open) -> None:
    managed.write_text('[permissions]\ndeny = ["Bash(make:*)"]\n')
    session = open_it('[permissions]\nallow = ["Bash"]\n')
    decision = decide(MAKE, session)
    assert (decision.word, decision.code) == ("deny", "rule_deny")
    assert str(managed) in decision.reason


def test_a_ceiling_that_cannot_be_read_stops_the_start(managed: Path, open_it: Open) -> None:
    managed.write_text('[ceiling]\nmodes = ["defualt"]\n')
    with pytest.raises(AgentSecurityError):
        open_it()


def _secrets(tmp_path: Path) -> None:
    project = tmp_path / "home/project"
    (project / ".env").write_text("A=1\n")
    (project / "notes.txt").write_text("private\n")


def _shown(session: Session, path: str) -> str:
    probe = call("run_bash", command=f"cat {path}")
    return session.sandbox.run_command(permit_for_person(probe, session), timeout_s=30).text


def test_a_read_rule_grants_a_secret_file_and_another_hides_a_plain_one(
    open_it: Open, tmp_path: Path
) -> None:
    _secrets(tmp_path)
    session = open_it('[permissions]\nallow = ["Read(./.env)"]\ndeny = ["Read(./notes.txt)"]\n')
    assert (_shown(session, ".env"), _shown(session, "notes.txt")) == ("A=1\n", "")


def test_a_bare_read_rule_is_about_questions_and_grants_no_secret(open_it: Open, tmp_path: Path) -> None:
    _secrets(tmp_path)
    session = open_it('[permissions]\nallow = ["Read"]\n')
    assert (_shown(session, ".env"), _shown(session, "notes.txt")) == ("", "private\n")
