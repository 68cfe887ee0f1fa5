"""`rules list|add|remove|test`: the person's file keeps its comments, a bad rule changes nothing."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from agent_security.errors import SettingsError
from agent_security.frontends.rules import command
from agent_security.settings.edit import with_rule, without_rule

FILES = [
    "",
    "# nothing yet",
    'mode = "default" # mine\n',
    "[permissions]\n",
    '[permissions]\nallow = []\n\n[shell]\npermit = ["curl"]\n',
    '[permissions]\nallow = ["Read(a)"] # first\ndeny = ["Bash(x)"]\n',
    "[permissions] # rules\nallow = [\n    'Read(a)', # why ]\n    # a comment, with \"quotes\"\n]\n",
    '[permissions]\nallow = [\n  "Read(a)",\n  { rule = "Bash(make:*)", match = ["make x"] }\n]\n',
    'permissions.deny = ["Read(b)"]\nmode = "default"\n[shell]\npermit = []\n',
    '[shell]\npermit = [\n"a", # allow = ["no"]\n]\n\n[permissions]\nask = ["Bash(ls)"]',
    '[permissions]\r\nallow = [\r\n  "Read(a)"\r\n]\r\n',
]


@pytest.mark.parametrize("text", FILES)
@pytest.mark.parametrize("action", ["allow", "ask", "deny"])
def test_a_rule_comes_and_goes_and_nothing_else_moves(text: str, action: str) -> None:
    added = with_rule(text, action, 'Bash(say "hi" #1)')
    assert tomllib.loads(added)["permissions"][action][-1] == 'Bash(say "hi" #1)'
    assert comments(added) == comments(text)
    gone = tomllib.loads(without_rule(added, action, 'Bash(say "hi" #1)'))
    assert gone.get("permissions", {}).pop(action, []) == (
        tomllib.loads(text).get("permissions", {}).get(action, [])
    )
    assert comments(without_rule(added, action, 'Bash(say "hi" #1)')) == comments(text)


def comments(text: str) -> list[str]:
    words = ("mine", "nothing yet", "first", "why ]", "a comment", "rules", '"a", # allow')
    return [word for word in words if word in text]


def test_each_of_several_can_be_taken_out() -> None:
    text = '[permissions]\nallow = ["A(1)", "B(2)", "C(3)"]\n'
    for rule in ("A(1)", "B(2)", "C(3)"):
        left = tomllib.loads(without_rule(text, "allow", rule))["permissions"]["allow"]
        assert left == [one for one in ("A(1)", "B(2)", "C(3)") if one != rule]


def test_a_rule_with_examples_goes_with_them() -> None:
    gone = without_rule(FILES[7], "allow", "Bash(make:*)")
    assert tomllib.loads(gone) == {"permissions": {"allow": ["Read(a)"]}}


@pytest.mark.parametrize(
    "text",
    ['permissions = { allow = ["Read(a)"] }', "[permissions]\nallow = 3", "permissions = 1", "a = [", "= 1"],
)
def test_what_cannot_be_edited_surely_is_refused(text: str) -> None:
    with pytest.raises(SettingsError):
        with_rule(text, "allow", "Bash(x)")


@given(st.text(max_size=80), st.sampled_from(FILES), st.sampled_from(["allow", "ask", "deny"]))
def test_any_text_is_edited_rightly_or_refused(rule: str, text: str, action: str) -> None:
    try:
        added = with_rule(text, action, rule)
    except SettingsError:
        return
    assert tomllib.loads(added)["permissions"][action][-1] == rule


@given(st.text(alphabet="[]{}\"'=,.#\n abpermissionsallow\\", max_size=60))
def test_any_file_is_edited_rightly_or_refused(text: str) -> None:
    for edit in (with_rule, without_rule):
        try:
            tomllib.loads(edit(text, "allow", "Bash(x)"))
        except SettingsError:
            continue


# --- the command -----------------------------------------------------------------------------------


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "home/.config/agent-security/config.toml"


def run(*words: str) -> Result:
    return CliRunner().invoke(command, list(words))


def test_the_first_rule_makes_a_private_file_and_is_shown(config: Path) -> None:
    done = run("add", "deny", "Bash(git push:*)")
    assert done.exit_code == 0
    assert '+deny = ["Bash(git push:*)"]' in done.output
    assert config.stat().st_mode & 0o777 == 0o600
    assert tomllib.loads(config.read_text()) == {"permissions": {"deny": ["Bash(git push:*)"]}}


def test_a_link_stays_a_link_and_the_mode_stays(config: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("# mine\n")
    real.chmod(0o640)
    config.parent.mkdir(parents=True)
    config.symlink_to(real)
    assert run("add", "allow", "Bash(make:*)").exit_code == 0
    assert config.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert real.read_text().startswith("# mine\n")


@pytest.mark.parametrize("rule", ["Bassh(x)", "Bash(", "WebFetch(x)", "Bash(a\nb)", "", "Bash()"])
def test_what_is_no_rule_changes_nothing(rule: str, config: Path) -> None:
    done = run("add", "allow", rule)
    assert isinstance(done.exception, SettingsError)
    assert not config.exists()


def test_a_dry_run_shows_and_writes_nothing(config: Path) -> None:
    assert '+allow = ["Bash(ls)"]' in run("add", "allow", "Bash(ls)", "-n").output
    assert not config.exists()


def test_every_rule_is_listed_with_action_level_and_file(config: Path) -> None:
    run("add", "allow", "Bash(make:*)")
    project = Path(os.getcwd()) / ".agent-security.toml"
    project.write_text('[permissions]\ndeny = ["Read(./x)"]\n')
    rows = [json.loads(line) for line in run("list", "--json").output.splitlines()]
    assert rows == [
        {"action": "deny", "rule": "Read(./x)", "level": "project", "source": str(project)},
        {"action": "allow", "rule": "Bash(make:*)", "level": "user", "source": str(config)},
    ]
    assert "Read(./x)" in run().output


@pytest.mark.parametrize(
    ("words", "decision", "code", "rules"),
    [
        (["make x"], "allow", "rule_allow", [("allow", True)]),
        (["make x && git push"], "deny", "rule_deny", [("deny", True)]),
        (["pytest"], "ask", "ask_execute", []),
        (["sudo make"], "deny", "denied_binary", []),
        (["read_file", '{"path": "secret.txt"}'], "deny", "rule_deny", [("deny", True)]),
        (["read_file", "{"], "deny", "bad_arguments", []),
    ],
)
def test_a_call_is_judged_and_the_rule_that_answers_is_named(
    words: list[str], decision: str, code: str, rules: list[tuple[str, bool]], config: Path
) -> None:
    for action, rule in (
        ("allow", "Bash(make:*)"),
        ("deny", "Bash(git push:*)"),
        ("deny", "Read(secret.txt)"),
    ):
        assert run("add", action, rule).exit_code == 0
    found = json.loads(run("test", *words, "--json").output)
    assert found["decision"] == decision
    assert code in {step["code"] for step in found["trail"]}
    assert [(rule["action"], rule["answers"]) for rule in found["rules"]] == rules
    assert run("test", *words).output.strip()
