"""`check` and `explain` judge change sets too, and under the person's settings, as a session would."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from agent_security.frontends import check, explain


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "home/.config/agent-security").mkdir(parents=True)
    (tmp_path / "project/.git/hooks").mkdir(parents=True)
    return tmp_path / "project"


def configure(project: Path, text: str) -> None:
    (project.parent / "home/.config/agent-security/config.toml").write_text(text)


def answer(project: Path, tool: str, args: Any, *, own: bool = True, **more: Any) -> dict[str, Any]:
    out = io.StringIO()
    walled = more.pop("walled", False)
    line = json.dumps({"id": 1, "tool": tool, "args": args, "cwd": str(project), **more})
    check.run([line], out, own_settings=own, walled=walled)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def changes(project: Path, *listed: dict[str, Any], **more: Any) -> tuple[str, str, str]:
    found = answer(project, "change_set", {"changes": list(listed)}, **more)
    return found["decision"], found["kind"], found["code"]


# --- change sets ------------------------------------------------------------------------------------

HOOK = {"path": ".git/hooks/pre-commit", "kind": "created", "mode": "0755", "content": "x"}
MAKEFILE = {"path": "Makefile", "kind": "created", "content": "x"}
PLAIN = {"path": "src/a.py", "kind": "created", "content": "x"}


@pytest.mark.parametrize(
    ("listed", "wanted"),
    [
        ([], ("allow", "", "ok")),
        ([PLAIN], ("allow", "", "ok")),
        ([HOOK], ("ask", "confirm", "first_tier")),
        ([MAKEFILE], ("ask", "question", "second_tier")),
        ([PLAIN, MAKEFILE, HOOK], ("ask", "confirm", "first_tier")),
        ([{"path": "x", "kind": "created", "target": "/etc/passwd"}], ("deny", "", "link_out")),
        ([{"path": "x", "kind": "created", "target": "src"}], ("allow", "", "ok")),
        ([{"path": "x", "kind": "created", "mode": 0o4755, "content": ""}], ("deny", "", "set_id")),
        ([{"path": "x", "kind": "created", "mode": "104755"}], ("deny", "", "set_id")),
        ([{"path": ".env", "kind": "changed", "content": "A=1"}], ("ask", "confirm", "secret_file")),
        ([{"path": "../x", "kind": "created"}], ("deny", "", "path_outside")),
        ([{"path": "/etc/x", "kind": "created"}], ("deny", "", "path_outside")),
        ([{"path": ".", "kind": "deleted"}], ("deny", "", "path_outside")),
        (
            [{"path": f"f{n}", "kind": "deleted"} for n in range(21)],
            ("ask", "question", "many_deletions"),
        ),
        (
            [{"path": ".git/config", "kind": "changed", "content": "[user]\n\tname = x\n"}],
            ("allow", "", "ok"),
        ),
        (
            [{"path": ".git/config", "kind": "changed", "content": "[core]\n\tfsmonitor = ./x\n"}],
            ("ask", "confirm", "first_tier"),
        ),
        ([{"path": ".git/config", "kind": "changed"}], ("ask", "confirm", "first_tier")),
    ],
)
def test_a_change_set_is_judged_by_its_effect(
    listed: list[dict[str, Any]], wanted: tuple[str, str, str], project: Path
) -> None:
    assert changes(project, *listed) == wanted


def test_modes_and_rules_count_for_change_sets(project: Path) -> None:
    skip = {"mode": "dangerouslySkipPermissions"}
    assert changes(project, HOOK, **skip)[0] == "deny"
    assert changes(project, MAKEFILE, **skip)[0] == "allow"
    configure(project, '[permissions]\nallow = ["Edit(Makefile)"]\ndeny = ["Edit(src/**)"]\n')
    assert changes(project, MAKEFILE)[0] == "allow"
    assert changes(project, PLAIN) == ("deny", "", "rule_deny")
    assert changes(project, PLAIN, own=False)[0] == "allow"


def test_an_absolute_path_in_the_workspace_is_that_file(project: Path) -> None:
    assert changes(project, HOOK | {"path": f"{project}/.git/hooks/x"})[2] == "first_tier"


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"changes": 1},
        {"changes": [1]},
        {"changes": [], "x": 1},
        {"changes": [{"path": "a"}]},
        {"changes": [{"path": "a", "kind": "grown"}]},
        {"changes": [{"path": "", "kind": "created"}]},
        {"changes": [{"path": "a\0", "kind": "created"}]},
        {"changes": [{"path": 1, "kind": "created"}]},
        {"changes": [{"path": "a", "kind": "created", "mode": True}]},
        {"changes": [{"path": "a", "kind": "created", "mode": "rwx"}]},
        {"changes": [{"path": "a", "kind": "created", "content": "", "target": "b"}]},
        {"changes": [{"path": "a", "kind": "created", "more": 1}]},
        {"changes": [{"path": "a", "kind": "created"}, {"path": "./a", "kind": "deleted"}]},
    ],
)
def test_what_is_no_change_set_is_refused(args: Any, project: Path) -> None:
    found = answer(project, "change_set", args)
    assert (found["decision"], found["code"], found["gate"]) == ("deny", "bad_arguments", "validation")


def test_nothing_of_a_dry_judgement_is_applied(project: Path) -> None:
    changes(project, HOOK, MAKEFILE, PLAIN)
    assert sorted(path.name for path in project.rglob("*")) == [".git", "hooks"]


def test_the_bounds_of_the_settings_count(project: Path) -> None:
    gone = [{"path": f"f{n}", "kind": "deleted"} for n in range(3)]
    assert changes(project, *gone)[0] == "allow"
    configure(project, "[changes]\ndeletions = 2\nmax_file_bytes = 2\nmax_files = 4\n")
    assert changes(project, *gone)[2] == "many_deletions"
    assert changes(project, PLAIN | {"content": "xxx"}) == ("deny", "", "too_large")
    assert changes(project, *({"path": f"n{n}", "kind": "created"} for n in range(5)))[2] == "too_large"


# --- the person's settings --------------------------------------------------------------------------


def test_check_reads_the_settings_of_the_person_and_the_project(project: Path) -> None:
    call = ("run_bash", {"command": "make x"})
    assert answer(project, *call)["decision"] == "ask"
    configure(project, '[permissions]\nallow = ["Bash(make:*)"]\n')
    assert answer(project, *call)["decision"] == "allow"
    assert answer(project, *call, own=False)["decision"] == "ask"
    (project / ".agent-security.toml").write_text('[permissions]\ndeny = ["Bash(make:*)"]\n')
    assert answer(project, *call)["code"] == "rule_deny"


def test_mode_tools_lifted_programs_and_domains_come_from_the_settings(project: Path) -> None:
    configure(
        project,
        'mode = "acceptEdits"\ntools = ["write_file", "run_bash", "webfetch"]\nallow_domain = ["a.example"]\n'
        '[shell]\npermit = ["curl"]\n',
    )
    assert answer(project, "write_file", {"path": "n", "content": "x"})["decision"] == "allow"
    assert answer(project, "read_file", {"path": "n"})["code"] == "unknown_tool"
    assert answer(project, "webfetch", {"url": "https://a.example/"})["decision"] == "allow"
    lifted = answer(project, "run_bash", {"command": "curl -o x https://a.example/x"})
    assert (lifted["decision"], lifted["kind"]) == ("ask", "confirm")
    assert answer(project, "write_file", {"path": "n", "content": "x"}, mode="default")["decision"] == "ask"


def test_sandboxed_counts_only_behind_a_wall(project: Path) -> None:
    configure(project, '[permissions]\nsandboxed = "allow"\n')
    call = ("run_bash", {"command": "make x"})
    assert answer(project, *call)["decision"] == "ask"
    assert answer(project, *call, walled=True)["decision"] == "allow"


def test_a_settings_file_that_cannot_be_obeyed_is_an_error_of_the_line(project: Path) -> None:
    configure(project, 'mode = "nope"\n')
    assert set(answer(project, "todo_read", {})) == {"id", "error"}


def test_explain_shows_change_sets_and_reads_the_settings(project: Path) -> None:
    configure(project, '[permissions]\ndeny = ["Bash(ls:*)"]\n')
    out = io.StringIO()
    assert explain.run("run_bash", '{"command": "ls"}', out, cwd=str(project), own_settings=True) == 0
    assert explain.run("change_set", json.dumps({"changes": [HOOK]}), out, cwd=str(project)) == 0
    assert explain.run("change_set", '{"changes": 1, "changes": 2}', out, cwd=str(project)) == 0
    assert "rule_deny" in out.getvalue()
    assert "first_tier" in out.getvalue()
    assert "bad_arguments" in out.getvalue()
