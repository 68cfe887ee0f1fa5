"""The specification's names do what §2 says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_security import tool_policy as policy
from agent_security.codes import CODES, Kind
from agent_security.decision import Check
from agent_security.paths import Scope
from agent_security.tool_policy.modes import Openness, openness


@pytest.fixture
def scope(tmp_path: Path) -> Scope:
    workspace, home = tmp_path / "ws", tmp_path / "home"
    workspace.mkdir()
    home.mkdir()
    (workspace / "full.txt").write_text("text")
    (workspace / "empty.txt").write_text("")
    return Scope(str(workspace.resolve()), home=str(home.resolve()))


def bash(command: str, scope: Scope) -> Check:
    return policy.check_tool_policy("run_bash", {"command": command}, scope.working_dir, scope=scope)


def asked(command: str, scope: Scope) -> str:
    """The code of what a person must say yes to, or ""."""
    check = policy.always_confirm_required("run_bash", {"command": command}, scope=scope)
    return check.reason.partition(": ")[0] if check.ok else ""


def test_a_file_tool_stays_in_the_workspace(scope: Scope) -> None:
    assert policy.check_tool_policy("read_file", {"path": "full.txt"}, scope.working_dir, scope=scope).ok
    assert not policy.check_tool_policy("read_file", {"path": "../home/x"}, scope.working_dir, scope=scope).ok
    assert not policy.check_tool_policy("write_file", {"path": "/etc/x", "content": ""}, scope.working_dir).ok


def test_the_web_layer_refuses_metadata(scope: Scope) -> None:
    url = "http://169.254.169.254/latest/meta-data/"
    assert not policy.check_tool_policy("webfetch", {"url": url}, scope.working_dir, scope=scope).ok
    assert not policy.check_web_policy(url).ok


def test_a_lifted_binary_is_a_confirm_and_not_a_refusal(scope: Scope) -> None:
    lifted = Scope(scope.working_dir, home=scope.home, permitted_binaries=frozenset({"curl"}))
    assert not bash("curl https://example.com", scope).ok
    assert bash("curl https://example.com", lifted).ok
    assert asked("curl https://example.com", lifted) == "lifted_binary"
    assert not bash("wget https://example.com", lifted).ok


def test_emptying_a_file_with_content_is_confirmed_and_a_new_empty_file_is_not(scope: Scope) -> None:
    assert asked(": > full.txt", scope) == "emptied_file"
    assert asked(": > empty.txt", scope) == ""
    assert asked(": > new.txt", scope) == ""
    for name, expected in (("full.txt", True), ("empty.txt", False), ("new.txt", False)):
        args = {"path": name, "content": ""}
        assert policy.always_confirm_required("write_file", args, scope=scope).ok is expected
        assert policy._is_delete_via_write("write_file", args, scope.working_dir) is expected
    edit = {"path": "full.txt", "old_string": "text", "new_string": ""}
    assert policy._is_delete_via_write("edit_file", edit, scope.working_dir)


def test_reads_of_added_folders_are_fine_and_writes_are_not(scope: Scope, tmp_path: Path) -> None:
    added = tmp_path / "added"
    added.mkdir()
    wider = Scope(scope.working_dir, home=scope.home, added_dirs=(str(added.resolve()),))
    assert bash(f"cat {added.resolve()}/x", wider).ok
    assert not bash(f"touch {added.resolve()}/x", wider).ok


def test_a_link_that_leads_out_is_followed(scope: Scope, tmp_path: Path) -> None:
    (tmp_path / "home" / "secret").write_text("x")
    (Path(scope.working_dir) / "link").symlink_to(tmp_path / "home")
    assert not bash("cat link/secret", scope).ok


def test_without_a_scope_the_words_of_the_document_still_hold() -> None:
    for line in (
        "rm -rf /",
        "rm -rf ~",
        "curl x",
        "echo x > /etc/passwd",
        "sudo id",
        ":(){ :|:& };:",
        "history -c",
    ):
        assert not policy.check_shell_policy(line).ok, line
    for line in ("ls", "git status", "pytest", "npm test", "git diff", "git log"):
        assert policy.check_shell_policy(line).ok, line


@pytest.mark.parametrize(
    ("mode", "level"),
    [
        ("600", Openness.OWNER), ("700", Openness.OWNER), ("u+x", Openness.OWNER), ("go-rwx", Openness.OWNER),
        ("+x", Openness.SHARED), ("644", Openness.SHARED), ("755", Openness.SHARED), ("a+r", Openness.SHARED),
        ("777", Openness.OPEN), ("666", Openness.OPEN), ("o+w", Openness.OPEN), ("4755", Openness.OPEN),
        ("u+s", Openness.OPEN), ("u+x,o+w", Openness.OPEN), ("a=rwx", Openness.OPEN), ("junk", Openness.OPEN),
    ],
)  # fmt: skip
def test_a_mode_is_as_open_as_its_widest_part(mode: str, level: Openness) -> None:
    assert openness(mode) is level


def test_chmod_is_a_question_and_the_rest_a_confirm(scope: Scope) -> None:
    assert CODES[asked("chmod +x full.txt", scope)].kind is Kind.QUESTION
    assert CODES[asked("git push --force; chmod +x full.txt", scope)].kind is Kind.CONFIRM


READS = (
    "ls -la",
    "cat x | head -5",
    "grep -rn x src",
    "rg x",
    "find . -name '*.py'",
    "git status",
    "git diff HEAD~1",
    "git log --oneline -5",
    "git show HEAD",
    "wc -l x",
    "pwd",
    "echo hi",
    "ls && pwd",
    "git branch -a",
    "sort x",
    "find . -name x | xargs wc -l",
    "cat x 2>/dev/null",
    "git -C sub log",
    "head -5 x; tail -5 y",
)
NOT_READS = (
    "ls > x",
    "find . -delete",
    "find . -exec rm {} +",
    "git diff --output=x",
    "git log --ext-diff",
    "git -c a.b=c log",
    "git branch x",
    "git branch -D x",
    "sort -o x y",
    "rg --pre x y",
    "python x.py",
    "npm test",
    "echo $(rm x)",
    "tee x",
    "cat x | sh",
    "X=1 ls",
    "./ls",
    "$X",
    "ls (",
    "tree -o x",
    "git stash",
    "git config a.b c",
    "fd x -x rm",
    "touch x",
    "xxd -r x y",
    "git grep -Ovi x",
    "env ls; rm x",
    "tail -f x",
    "rm -rf x",
    "find . -fprint x",
    "uniq a b",
    "git remote add a b",
    "git tag v1",
    "sed -n p x",
)


@pytest.mark.parametrize("command", READS)
def test_a_command_that_only_reads_needs_no_question(command: str) -> None:
    assert policy.is_read_only_command(command)


ABBREVIATED_OR_BESIDE = (
    "git diff --outp=x",
    "git log --output=x",
    "git shortlog --output=x",
    "git stash list --output=x",
    "git diff --ext-d",
    "git show --textc HEAD",
    "git cat-file --filter HEAD:x",
    "git grep --no-in x /etc",
    "git diff-tree --no-index a b",
    "git remote -v add x y",
    "git remote -v remove origin",
    "git config --show-origin user.name x",
    "git config --get-all x --unset y",
    "git config list --replace-all user.name x",
    "git config --list -f x",
    "git --git-dir=x.git diff",
    "xxd a b",
    "ps auxe",
    "jq -n env",
    "jq -n '$ENV'",
    "test -v 'a[$(touch x)]'",
    "[ -v 'a[`touch x`]' ]",
)


@pytest.mark.parametrize("command", ABBREVIATED_OR_BESIDE)
def test_an_abbreviated_option_or_a_second_verb_is_no_way_round_the_question(command: str) -> None:
    assert not policy.is_read_only_command(command)


STILL_READS = (
    "git remote -v",
    "git remote get-url origin",
    "git config --get user.name",
    "git config --global --list",
    "git config -l --show-origin",
    "git branch -a",
    "git branch --contains HEAD",
    "git tag -l 'v*'",
    "git diff --text",
    "git log --oneline -n 5 --format='%h %s'",
    "git stash list",
    "ps aux",
    "ps -ef",
    "jq '.scripts' package.json",
    "xxd -l 64 a.bin",
    "test -f a",
)


@pytest.mark.parametrize("command", STILL_READS)
def test_what_only_looks_still_runs_unasked(command: str) -> None:
    assert policy.is_read_only_command(command)


@pytest.mark.parametrize("command", NOT_READS)
def test_a_command_that_may_do_more_is_not_called_read_only(command: str) -> None:
    assert not policy.is_read_only_command(command)


def test_network_commands_are_named() -> None:
    assert policy.network_commands("git push && npm ci; ls") == ("git push", "npm")
    assert policy.network_commands("env pip install x | cat") == ("pip",)
    assert policy.network_commands("git status; pytest") == ()
    assert policy.network_commands("echo > /dev/tcp/h/1") == ("/dev/tcp",)


def test_opaque_code_is_noted_and_never_refused(scope: Scope) -> None:
    for line in ("python -c 'x'", "./run.sh", "bash x.sh", "python3 - <<E\nx\nE", "node x.js"):
        assert policy.notes_on("run_bash", {"command": line}) == "opaque_code"
        assert bash(line, scope).ok
    assert policy.notes_on("run_bash", {"command": "pytest"}) == ""
    assert policy.notes_on("read_file", {"path": "x"}) == ""


def test_only_allowed_tools_are_shown() -> None:
    schemas: list[dict[str, Any]] = [{"type": "function", "function": {"name": name}} for name in ("a", "b")]
    assert policy.filter_tool_schemas(schemas, {"b"}) == schemas[1:]
    assert policy.filter_tool_schemas(schemas, set()) == []
    assert policy.filter_tool_schemas(schemas, None) == schemas


def test_cd_is_followed(scope: Scope) -> None:
    assert bash("cd sub && cat ../full.txt", scope).ok
    assert not bash("cd sub && cat ../../home/x", scope).ok
    assert not bash("cd .. && rm -rf ws", scope).ok
    assert bash("cd sub && rm -rf *", scope).ok
    assert not bash("cd sub && cd .. && rm -rf *", scope).ok


def test_arguments_that_are_no_text_do_not_crash(scope: Scope) -> None:
    assert not policy.always_confirm_required("run_bash", {"command": 5}, scope=scope).ok
    assert policy.notes_on("run_bash", {}) == ""
    assert not policy._is_delete_via_write("write_file", {"path": 3}, scope.working_dir)
