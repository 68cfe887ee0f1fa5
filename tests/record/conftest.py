"""Settings of a machine that exists in a temporary folder only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agent_security.settings import Settings, load_settings

Load = Callable[..., Settings]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """load("--max-turns 3"-like flags, env, user=, project=, managed= TOML texts) -> Settings."""
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    home.mkdir()
    workspace.mkdir()
    files = {
        "user": home / "user.toml",
        "project": workspace / ".agent-security.toml",
        "managed": tmp_path / "managed.toml",
    }

    def load(
        flags: dict[str, object] | None = None, env: dict[str, str] | None = None, **texts: str
    ) -> Settings:
        for name, text in texts.items():
            files[name].write_text(text)
        return load_settings(
            flags=flags or {},
            workspace=str(workspace),
            env={"HOME": str(home), **(env or {})},
            user_file=str(files["user"]),
            managed_file=str(files["managed"]),
        )

    return load
