"""Which directory may be worked on, and what the program refuses to start in."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from agent_security.errors import UsageError
from agent_security.wiring.records import SessionRecord, new_record, process_started, read_records, record_of
from agent_security.wiring.workspace import (
    added_dirs_at,
    private_folder,
    refuse_log_inside,
    refuse_own_code_under,
    workspace_at,
)


def test_a_project_is_named_by_its_real_path(own_home: Path) -> None:
    (own_home / "alias").symlink_to(own_home / "project")
    assert workspace_at(str(own_home / "alias")) == os.path.realpath(own_home / "project")


@pytest.mark.parametrize("where", [".", "..", "../..", ".ssh", ".ssh/keys", ".aws"])
def test_home_what_holds_it_and_credentials_are_refused(where: str, own_home: Path) -> None:
    (own_home / ".ssh" / "keys").mkdir(parents=True)
    (own_home / ".aws").mkdir()
    with pytest.raises(UsageError):
        workspace_at(str(own_home / where))


def test_the_state_directory_is_refused_from_both_sides(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = own_home / "project" / "deep" / "state"
    (state / "sessions").mkdir(parents=True)
    monkeypatch.setenv("AGENT_SECURITY_STATE", str(state))
    for where in (own_home / "project", state, state / "sessions"):
        with pytest.raises(UsageError, match="state"):
            workspace_at(str(where))


def test_a_file_is_no_workspace(own_home: Path) -> None:
    (own_home / "project" / "x").write_text("")
    with pytest.raises(UsageError, match="not a directory"):
        added_dirs_at([str(own_home / "project" / "x")])


def test_a_module_under_the_workspace_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = ModuleType("a_trap_of_the_workspace")
    trap.__file__ = str(tmp_path / "a_trap.py")
    monkeypatch.setitem(sys.modules, trap.__name__, trap)
    with pytest.raises(UsageError, match="own code"):
        refuse_own_code_under(str(tmp_path))


def test_an_import_path_under_the_workspace_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "lib")])
    with pytest.raises(UsageError, match="imports from the workspace"):
        refuse_own_code_under(str(tmp_path))


def test_the_log_lies_outside(tmp_path: Path) -> None:
    refuse_log_inside(str(tmp_path / "log"), [str(tmp_path / "project")])
    with pytest.raises(UsageError, match="audit-log"):
        refuse_log_inside(str(tmp_path / "project" / "log"), [str(tmp_path / "project")])


# --- what is known of earlier sessions --------------------------------------------------------------


def record(session_id: str, **more: object) -> SessionRecord:
    fields: dict[str, object] = {
        "session_id": session_id, "working_dir": "/p", "audit_log": "/l", "pid": os.getpid(),
        "pid_started": process_started(os.getpid()), "started_s": 1.0,
    }  # fmt: skip
    return SessionRecord(**(fields | more))  # type: ignore[arg-type]


def test_a_session_runs_ends_or_has_crashed() -> None:
    assert record("a").word == "running"
    assert record("a", ended_s=2.0).word == "ended"
    assert record("a", pid_started="1").word == "crashed"


def test_a_session_is_found_by_a_beginning_that_fits_only_one(own_home: Path) -> None:
    for name in ("abc1", "abd2"):
        private_folder(record(name).folder)
        new_record(name, "/p", "/l")
    assert record_of("abc").session_id == "abc1"
    assert {found.session_id for found in read_records()} == {"abc1", "abd2"}
    for unclear in ("ab", "x"):
        with pytest.raises(UsageError, match="sessions"):
            record_of(unclear)
