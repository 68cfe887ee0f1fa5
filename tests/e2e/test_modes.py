"""The three modes end to end: what runs, what is refused, and what it comes to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import Here
from .program import script

CALLS: dict[str, dict[str, Any]] = {
    "read": {"read_file": {"path": "old.txt"}},
    "look": {"run_bash": {"command": "ls"}},
    "plan": {"todo_write": {"todos": [{"content": "x", "status": "pending"}]}},
    "write": {"write_file": {"path": "new.txt", "content": "new\n"}},
    "run": {"run_bash": {"command": "touch ran.txt"}},
    "empty": {"write_file": {"path": "old.txt", "content": ""}},
    "sudo": {"run_bash": {"command": "sudo id"}},
    "leave": {"read_file": {"path": "/etc/shadow"}},
}
RUNS = {
    "default": {"read", "look", "plan"},
    "acceptEdits": {"read", "look", "plan", "write"},
    "dangerouslySkipPermissions": {"read", "look", "plan", "write", "run"},
}


@pytest.mark.parametrize("mode", RUNS)
def test_what_runs_unasked_in_a_mode(mode: str, here: Here) -> None:
    Path("old.txt").write_text("old\n")
    model = script(*({"call": call} for call in CALLS.values()), {"say": "Done."})
    ran = here("-p", "--mode", mode, "--model", model, "--output-format", "json", "x")
    assert len(ran.json["permission_denials"]) == len(CALLS) - len(RUNS[mode])
    assert Path("new.txt").exists() is ("write" in RUNS[mode])
    assert Path("ran.txt").exists() is ("run" in RUNS[mode])
    assert Path("old.txt").read_text() == "old\n"
    # a refusal by policy is none that a person could have lifted: only a question gives 5
    assert ran.code == (0 if mode == "dangerouslySkipPermissions" else 5)


@pytest.mark.parametrize("mode", RUNS)
def test_a_plan_that_nobody_approves_stops_every_action_in_every_mode(mode: str, here: Here) -> None:
    model = script({"call": CALLS["plan"]}, {"call": CALLS["write"]}, {"say": "Done."})
    ran = here("-p", "--mode", mode, "--approve-plan", "--model", model, "--output-format", "json", "x")
    assert not Path("new.txt").exists()
    assert [denial["gate"] for denial in ran.json["permission_denials"]] == ["plan"]
    if mode != "dangerouslySkipPermissions":
        assert ran.code == 5


def test_tools_that_were_not_allowed_are_neither_shown_nor_run(here: Here, loopback: Any) -> None:
    server = loopback({"call": CALLS["write"]}, "Done.")
    flags = ("--mode", "dangerouslySkipPermissions", "--tools", "read_file,grep", "--model", "m")
    ran = here("-p", *flags, "--base-url", server.base_url, "x")
    assert ran.code == 0
    shown = [tool["function"]["name"] for tool in server.requests[0]["tools"]]
    assert sorted(shown) == ["grep", "read_file"]
    assert not Path("new.txt").exists()


def test_a_look_that_changes_something_after_all_is_held_back(here: Here) -> None:
    """A repository can make `git status` run its own program: behind the wall, and to no effect."""
    build = "git init -q . && echo x > kept.txt"
    model = script({"call": {"run_bash": {"command": build}}}, {"say": "Built."})
    assert here("-p", "--mode", "dangerouslySkipPermissions", "--model", model, "x").code == 0
    config = Path(".git/config")
    config.write_text(config.read_text() + '\tfsmonitor = "touch planted.txt #"\n')
    look = script({"call": {"run_bash": {"command": "git status --short"}}}, {"say": "Looked."})
    ran = here("-p", "--model", look, "--output-format", "json", "x")
    assert (ran.code, ran.json["permission_denials"]) == (0, [])
    assert ran.json["held_back"] == ["planted.txt"]
    assert ran.json["files_changed"] == []
    assert not Path("planted.txt").exists()


def test_git_itself_looks_at_a_repository_without_changing_it(here: Here) -> None:
    build = "git init -q . && echo x > a && git add a && echo y > a"
    model = script({"call": {"run_bash": {"command": build}}}, {"say": "Built."})
    assert here("-p", "--mode", "dangerouslySkipPermissions", "--model", model, "x").code == 0
    looks = [{"run_bash": {"command": f"git {verb}"}} for verb in ("status", "diff", "log --oneline")]
    ran = here("-p", "--model", script({"calls": looks}, {"say": "x"}), "--output-format", "json", "x")
    assert (ran.json["permission_denials"], ran.json["held_back"], ran.json["files_changed"]) == ([], [], [])
