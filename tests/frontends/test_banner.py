"""What a session says of itself before it begins."""

from __future__ import annotations

from pathlib import Path

from agent_security.frontends.banner import banner
from agent_security.testing import FakeSandbox, fake_session


def lines(tmp_path: Path, sandbox: FakeSandbox) -> str:
    for name in ("project", "store"):
        (tmp_path / name).mkdir()
    session = fake_session(tmp_path / "project", tmp_path / "store", sandbox=sandbox)
    return "\n".join(banner(session, model="m", audit_log="log"))


def test_secret_files_that_git_tracks_are_named_as_not_masked(tmp_path: Path) -> None:
    assert "not masked: git tracks conf/.env" in lines(tmp_path, FakeSandbox(tracked_secrets=("conf/.env",)))


def test_nothing_is_said_of_masks_where_git_tracks_no_secret(tmp_path: Path) -> None:
    assert "not masked" not in lines(tmp_path, FakeSandbox())
