"""Rules are written as people already write them, judge every command, and lift nothing hard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gate_cases import judged

from agent_security.calls import ToolCall
from agent_security.decision import Verdict
from agent_security.errors import SettingsError
from agent_security.gates import judge_call, offers_for
from agent_security.judging import judge_context_for
from agent_security.paths import Scope
from agent_security.permissions import Rules, parse_rule


def rules(*, deny: tuple[str, ...] = (), ask: tuple[str, ...] = (), allow: tuple[str, ...] = ()) -> Rules:
    return Rules(
        deny=tuple(parse_rule(text, "deny", "test") for text in deny),
        ask=tuple(parse_rule(text, "ask", "test") for text in ask),
        allow=tuple(parse_rule(text, "allow", "test") for text in allow),
    )


def matches(text: str, tool: str, value: str, *, action: Any = "allow", cwd: str = "/nonexistent/ws") -> bool:
    pool = Rules(**{action: (parse_rule(text, action, "test"),)})
    args = {"command": value, "path": value, "url": value}
    return pool.first(action, tool, args, Scope(cwd, home="/nonexistent/home")) is not None


@pytest.mark.parametrize(
    ("rule", "command", "expected"),
    [
        ("Bash(git diff:*)", "git diff", True),
        ("Bash(git diff:*)", "git diff --stat HEAD", True),
        ("Bash(git diff:*)", "git difftool", False),
        ("Bash(git diff:*)", "git diff; rm x", False),
        ("Bash(git diff:*)", "git diff && git push", False),
        ("Bash(git diff:*)", "git diff $(touch x)", False),
        ("Bash(git diff:*)", "git diff | tee x", False),
        ("Bash(git diff:*)", "GIT_EXTERNAL_DIFF=./x git diff", False),
        ("Bash(git diff:*)", "NO_COLOR=1 git diff", True),
        ("Bash(git diff:*)", "./git diff", False),
        ("Bash(git diff:*)", "timeout 5 git diff", True),
        ("Bash(git diff:*)", "timeout 5 git push", False),
        ("Bash(git diff:*)", "git diff 'unclosed", False),
        ("Bash(npm run test)", "npm run test", True),
        ("Bash(npm run test)", "npm run test:e2e", False),
        ("Bash(npm run *)", "npm run build", True),
        ("Bash(npm run *)", "npm install x", False),
        ("Bash(=a && b | c)", "a && b | c", True),
        ("Bash(=a && b | c)", "a && b | d", False),
        ("run_bash(make:*)", "make test", True),
        ("Bash", "anything --at all | x", True),
    ],
)
def test_an_allow_rule_covers_a_line_only_where_every_command_is_covered(
    rule: str, command: str, expected: bool
) -> None:
    assert matches(rule, "run_bash", command) is expected


@pytest.mark.parametrize(
    "command",
    [
        "rm x",
        "ls; rm x",
        "ls && rm x",
        "ls || rm x",
        "ls | rm x",
        "ls & rm x",
        "ls\nrm x",
        "echo $(rm x)",
        "echo `rm x`",
        "/bin/rm x",
        "\\rm x",
        "env rm x",
        "env A=1 rm x",
        "timeout 5 rm x",
        "nice -n 5 rm x",
        "nohup rm x",
        "xargs rm < list",
        "find . -name x -exec rm {} +",
        "sh -c 'rm x'",
        "if true; then rm x; fi",
        "A=1 rm x",
        "(rm x)",
        "command rm x",
    ],
)
def test_a_deny_rule_holds_however_the_command_is_reached(command: str) -> None:
    assert matches("Bash(rm:*)", "run_bash", command, action="deny")


def test_a_mention_is_no_use() -> None:
    assert not matches("Bash(rm:*)", "run_bash", "grep -rn 'rm -rf' src", action="deny")
    assert not matches("Bash(curl:*)", "run_bash", "echo curl", action="deny")


@pytest.mark.parametrize(
    ("rule", "path", "expected"),
    [
        ("Read(./.env)", ".env", True),
        ("Read(./.env)", "sub/.env", False),
        ("Read(.env)", "sub/.env", True),
        ("Read(secrets)", "secrets/a/b", True),
        ("Read(secrets/)", "x/secrets/a", True),
        ("Read(/src/**)", "src/a/b.py", True),
        ("Read(/src/**)", "lib/src/a.py", False),
        ("Read(/src/*.py)", "src/a.py", True),
        ("Read(/src/*.py)", "src/sub/a.py", False),
        ("Read(**/*.key)", "a/b/c.key", True),
        ("Read(a?.txt)", "ab.txt", True),
        ("Read(a[!b].txt)", "ab.txt", False),
        ("Read(//etc/**)", "/etc/passwd", True),
        ("Read(~/notes/**)", "/nonexistent/home/notes/x", True),
        ("Read(/src/**)", "src/../other/a.py", False),
        ("Read", "anything", True),
    ],
)
def test_path_rules_read_patterns_as_gitignore_does(rule: str, path: str, expected: bool) -> None:
    assert matches(rule, "read_file", path) is expected
    assert matches(rule, "grep", path) is expected
    assert not matches(rule, "write_file", path)


def test_a_denied_path_is_denied_by_any_name_and_through_links(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("x")
    (tmp_path / "plain").symlink_to("secret.txt")
    for path in (
        "secret.txt",
        "./secret.txt",
        "x/../secret.txt",
        "plain",
        str(tmp_path / "secret.txt"),
        "SECRET.txt",
    ):
        assert matches("Read(./secret.txt)", "read_file", path, action="deny", cwd=str(tmp_path)), path


@pytest.mark.parametrize("command", ["cat secret.txt", "cat < secret.txt", "cd . && head -3 ./secret.txt"])
def test_a_denied_read_holds_for_plain_readers_too(command: str, tmp_path: Path) -> None:
    assert matches("Read(./secret.txt)", "run_bash", command, action="deny", cwd=str(tmp_path))
    assert not matches("Read(./other.txt)", "run_bash", command, action="deny", cwd=str(tmp_path))


@pytest.mark.parametrize(
    ("rule", "url", "expected"),
    [
        ("WebFetch(domain:docs.python.org)", "https://docs.python.org/3/", True),
        ("WebFetch(domain:docs.python.org)", "https://docs.python.org.evil.example/", False),
        ("WebFetch(domain:docs.python.org)", "https://evil.example/docs.python.org", False),
        ("WebFetch(domain:*.python.org)", "https://docs.python.org/", True),
        ("WebFetch(domain:*.python.org)", "https://python.org/", False),
        ("webfetch(domain:a.example)", "https://A.example./", True),
        ("WebFetch", "https://a.example/", True),
    ],
)
def test_web_rules_name_hosts(rule: str, url: str, expected: bool) -> None:
    assert matches(rule, "webfetch", url) is expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Bsh(git:*)", "did you mean Bash"),
        ("run_bsah", "run_bash"),
        ("Bash()", "empty pattern"),
        ("Bash(git:*", "no rule"),
        ("", "no rule"),
        ("Bash(git:* push)", ":\\*"),
        ("WebFetch(docs.python.org)", "domain:"),
        ("WebFetch(domain:https://x.example/)", "domain:"),
        ("todo_write(x)", "takes no pattern"),
    ],
)
def test_a_rule_that_cannot_be_obeyed_says_why(text: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        parse_rule(text, "allow", "user settings")


def test_examples_are_tried_when_a_rule_is_read() -> None:
    parse_rule(
        "Bash(git diff:*)", "allow", "user", match=["git diff HEAD"], not_match=["git difftool", "git push"]
    )
    parse_rule("Read(./.env)", "deny", "user", match=[".env"], not_match=[".env.example"])
    with pytest.raises(SettingsError, match="should match 'git push'"):
        parse_rule("Bash(git diff:*)", "allow", "user", match=["git push"])
    with pytest.raises(SettingsError, match="should not match"):
        parse_rule("Bash(git:*)", "deny", "user", not_match=["git push"])


def test_deny_goes_before_ask_and_ask_before_allow(tmp_path: Path) -> None:
    pool = rules(deny=("Bash(rm:*)",), ask=("Bash(git push:*)",), allow=("Bash",))
    assert judged("run_bash", {"command": "rm a"}, tmp_path, rules=pool).code == "rule_deny"
    for mode in ("default", "acceptEdits", "dangerouslySkipPermissions"):
        decision = judged("run_bash", {"command": "make && git push"}, tmp_path, rules=pool, mode=mode)
        assert decision.verdict is Verdict.ASK
        assert "rule_ask" in {question.code for question in decision.questions}
    assert judged("run_bash", {"command": "make"}, tmp_path, rules=pool).allowed


def test_an_allow_rule_lifts_neither_the_hard_policy_nor_a_confirm(tmp_path: Path) -> None:
    pool = rules(allow=("Bash", "Read", "Edit", "WebFetch(domain:169.254.169.254)", "WebFetch"))
    (tmp_path / ".env").write_text("x")
    assert judged("run_bash", {"command": "sudo id"}, tmp_path, rules=pool).verdict is Verdict.DENY
    assert (
        judged("webfetch", {"url": "http://169.254.169.254/"}, tmp_path, rules=pool).verdict is Verdict.DENY
    )
    assert judged("read_file", {"path": "/etc/passwd"}, tmp_path, rules=pool).verdict is Verdict.DENY
    assert (
        judged("read_file", {"path": ".env"}, tmp_path, rules=pool, goals=("read .env",)).code
        == "secret_file"
    )


def test_a_rule_answers_the_second_tier_question(tmp_path: Path) -> None:
    args = {"path": "package.json", "content": "{}"}
    assert judged("write_file", args, tmp_path, mode="acceptEdits").code == "second_tier"
    assert judged("write_file", args, tmp_path, rules=rules(allow=("Edit(/package.json)",))).allowed


def test_commands_that_change_nothing_need_no_rule_of_their_own(tmp_path: Path) -> None:
    pool = rules(allow=("Bash(pytest:*)",))
    assert judged("run_bash", {"command": "cd . && pytest -q | tail -5"}, tmp_path, rules=pool).allowed
    assert not judged("run_bash", {"command": "pytest -q | tail -5 > out"}, tmp_path, rules=pool).allowed


# --- "always" -------------------------------------------------------------------------------------


def asked(command: str, cwd: Path, **context: Any) -> tuple[ToolCall, Any, Any]:
    import json

    call = ToolCall("1", "run_bash", json.dumps({"command": command}))
    frame = judge_context_for(str(cwd), **context)
    return call, judge_call(call, frame), frame


def test_always_is_offered_in_three_widths_and_each_answers_the_call(tmp_path: Path) -> None:
    call, decision, context = asked("pytest -q tests", tmp_path, wall_proven=True)
    offers = offers_for(call, decision.questions[0], context)
    assert offers == ("Bash(=pytest -q tests)", "Bash(pytest:*)", "Bash")
    for offer in offers:
        granted = Rules().with_grant(offer, call)
        assert judged("run_bash", call.args, tmp_path, rules=granted).allowed


@pytest.mark.parametrize(
    ("command", "family"),
    [
        ("git commit -m x", "Bash(git commit:*)"),
        ("cargo --config x build", None),
        ("python3 x.py", None),
        ("bash -c 'pytest'", None),
        ("make a && make b", None),
    ],
)
def test_a_family_is_offered_only_where_its_words_say_what_runs(
    command: str, family: str | None, tmp_path: Path
) -> None:
    call, decision, context = asked(command, tmp_path)
    questions = [q for q in decision.questions if q.gate == "permission"]
    offers = offers_for(call, questions[0], context)
    assert [offer for offer in offers if offer.endswith(":*)")] == ([family] if family else [])


def test_always_is_not_offered_for_a_confirm_or_another_gate(tmp_path: Path) -> None:
    call, decision, context = asked("git push --force", tmp_path, goals=("git push --force",))
    confirm = next(q for q in decision.questions if q.gate == "always_confirm")
    assert offers_for(call, confirm, context) == ()


def test_a_grant_for_a_script_ends_when_its_content_differs(tmp_path: Path) -> None:
    (tmp_path / "build.sh").write_text("make\n")
    call, decision, context = asked("sh build.sh", tmp_path)
    offer = offers_for(call, decision.questions[0], context)[0]
    granted = Rules().with_grant(offer, call)
    assert judged("run_bash", call.args, tmp_path, rules=granted).allowed
    (tmp_path / "build.sh").write_text("make; echo more\n")
    assert not judged("run_bash", call.args, tmp_path, rules=granted).allowed


def test_a_grant_is_about_its_own_tool_only() -> None:
    with pytest.raises(SettingsError):
        Rules().with_grant("Edit", ToolCall("1", "run_bash", "{}"))


def test_a_write_is_offered_by_file_by_folder_and_for_all(tmp_path: Path) -> None:
    call = ToolCall("1", "write_file", '{"path": "src/a.py", "content": "x"}')
    context = judge_context_for(str(tmp_path))
    decision = judge_call(call, context)
    assert offers_for(call, decision, context) == ("Edit(/src/a.py)", "Edit(/src/**)", "Edit")


@pytest.mark.parametrize(
    "command",
    [
        "python3.11 run.py",
        "bash -o pipefail run.py",
        "python -W ignore run.py",
        "bash run.py -e prod",
        "python run.py -m smoke",
        "python -u run.py",
    ],
)
def test_a_grant_for_a_script_is_bound_whatever_stands_around_it(command: str, tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text("print(1)")
    call, decision, context = asked(command, tmp_path)
    offers = offers_for(call, decision.questions[0], context)
    assert "@sha256:" in offers[0]
    assert not any(":*" in offer for offer in offers), "an interpreter has no family"
    granted = Rules().with_grant(offers[0], call)
    assert judged("run_bash", call.args, tmp_path, rules=granted).allowed
    script.write_text("print(2)")
    assert not judged("run_bash", call.args, tmp_path, rules=granted).allowed
