"""What a project's file may not do, and what nobody below a managed file may."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_security.errors import SettingsError
from agent_security.settings import (
    KEYS,
    Level,
    Settings,
)

Load = Callable[..., Settings]


# --- a project only tightens ------------------------------------------------------------------------


@pytest.mark.parametrize("key", sorted(set(KEYS) - {n for n, k in KEYS.items() if Level.PROJECT in k.levels}))
def test_a_project_may_set_no_other_key_and_the_message_names_it(load: Load, key: str) -> None:
    with pytest.raises(
        SettingsError, match=rf"\.agent-security\.toml: line 1: {key}: a project's file may only"
    ):
        load(project=f'{key} = "x"\n')


def test_a_project_may_hold_no_allow_rule(load: Load) -> None:
    with pytest.raises(SettingsError, match=r"permissions\.allow: a project's file may only"):
        load(project='[permissions]\nallow = ["Bash(curl:*)"]\n')


@pytest.mark.parametrize(
    "text", ["max_turns = 41", "max_cost_usd = 5.01", 'max_context_tokens = "auto"', "tool_timeout = 121"]
)
def test_a_project_may_not_raise_a_limit(load: Load, text: str) -> None:
    with pytest.raises(SettingsError, match=f"{text.split()[0]}: .* would raise a limit"):
        load(project=text)


def test_a_project_may_set_a_deadline_and_lower_what_a_person_raised(load: Load) -> None:
    assert load(project="deadline = 600\n").deadline == 600
    assert load({"max_turns": 100}, project="max_turns = 80\n").max_turns == 100


def test_a_project_takes_tools_away_and_gives_none(load: Load) -> None:
    assert load(project='tools = ["read_file", "grep"]\n').tools == ("read_file", "grep")
    assert load({"tools": "grep,run_bash"}, project='tools = ["read_file", "grep"]\n').tools == ("grep",)
    with pytest.raises(SettingsError, match="leaves no tool"):
        load({"tools": "run_bash"}, project='tools = ["grep"]\n')


def test_a_projects_file_that_is_a_link_a_fifo_or_too_large_is_refused(load: Load, tmp_path: Path) -> None:
    place = tmp_path / "workspace" / ".agent-security.toml"
    place.symlink_to("/dev/zero")
    with pytest.raises(SettingsError, match="not read"):
        load()
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(SettingsError, match="not read"):
        load()
    place.unlink()
    with pytest.raises(SettingsError, match="larger than"):
        load(project="#" * 300_000)


# --- ceilings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ceiling", "flags", "user", "named"),
    [
        ('modes = ["default", "acceptEdits"]', {"mode": "dangerouslySkipPermissions"}, "", "--mode: managed"),
        (
            'providers = ["https://a.example/v1"]',
            {"base_url": "https://b.example/v1"},
            "",
            "--base-url: managed",
        ),
        ('providers = ["https://a.example/v1"]', {}, "", "provider.base_url: managed"),
        ('sandboxes = ["bubblewrap"]', {"sandbox": "external"}, "", "--sandbox: managed"),
        (
            "permit = []",
            {},
            '[shell]\npermit = ["curl"]',
            "user.toml: shell.permit: managed settings allow only none",
        ),
        ('add_dirs = ["/srv"]', {"add_dir": ("/srv/../etc",)}, "", "--add-dir: managed"),
        ('domains = ["*.x.io"]', {"allow_domain": ("y.io",)}, "", "--allow-domain: managed"),
        ('sandboxed = "ask"', {"profile": "ci"}, "", "profile ci: permissions.sandboxed: managed"),
        ("max_turns = 30", {"max_turns": 31}, "", "--max-turns: 31 is more than managed settings allow"),
        (
            "max_context_tokens = 9000",
            {"max_context_tokens": "auto"},
            "",
            "--max-context-tokens: auto is more",
        ),
    ],
)
def test_nobody_exceeds_a_ceiling(
    load: Load, ceiling: str, flags: dict[str, Any], user: str, named: str
) -> None:
    with pytest.raises(SettingsError) as raised:
        load(flags, user=user, managed=f"[ceiling]\n{ceiling}\n")
    assert named in str(raised.value)


def test_what_stays_under_a_ceiling_passes_and_defaults_move_under_it(load: Load) -> None:
    managed = (
        '[ceiling]\nmodes = ["default"]\nproviders = ["https://a.example/v1/"]\nsandboxes = ["podman"]\n'
        'require = ["kill"]\npermit = ["curl"]\nadd_dirs = ["/srv"]\n'
        'domains = ["*.x.io"]\nmax_turns = 30\ndeadline = 60\n'
    )
    flags = {
        "base_url": "https://a.example/v1",
        "add_dir": ("/srv/data",),
        "allow_domain": ("a.x.io", "*.b.x.io"),
    }
    found = load(flags, managed=managed, user='[shell]\npermit = ["curl"]\n')
    assert (found.max_turns, found.deadline, found.sandbox, found.require) == (30, 60, "podman", ("kill",))
    assert found.shell_permit == ("curl",)


@pytest.mark.parametrize("level", ["user", "project"])
def test_only_the_managed_file_holds_ceilings(load: Load, level: str) -> None:
    with pytest.raises(SettingsError, match=r"ceiling\.max_turns: no such key"):
        load(**{level: "[ceiling]\nmax_turns = 1\n"})


def test_an_unknown_ceiling_names_the_nearest(load: Load) -> None:
    with pytest.raises(SettingsError, match=r"ceiling\.mode: no such key; did you mean modes\?"):
        load(managed='[ceiling]\nmode = ["default"]\n')
