"""What holds for every line: no crash, no hang, one verdict a meaning, nothing denied slips through."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_security.paths import Scope
from agent_security.shell import parse_line
from agent_security.shell import wrapper_rows as shell_wrapper_rows
from agent_security.tool_policy import (
    always_confirm_required,
    check_shell_policy,
    is_read_only_command,
    network_commands,
    notes_on,
)

SCOPE = Scope("/srv/proj", home="/home/dev")
DENIED = (
    "curl http://x",
    "rm -rf /",
    "sudo id",
    "docker run x",
    "cat /etc/passwd",
    "chmod 777 x",
    "git push --force",
)
FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


def silent(line: str) -> bool:
    """Whether the gate lets the line through without a word."""
    asked = always_confirm_required("run_bash", {"command": line}, scope=SCOPE)
    return check_shell_policy(line, scope=SCOPE).ok and not asked.ok


@pytest.mark.parametrize("denied", DENIED)
@pytest.mark.parametrize(
    "before", ["ls; ", "ls && ", "ls || ", "ls | ", "ls & ", "ls\n", "! ", "time ", "X=1 ", "( ", "{ "]
)
def test_a_denied_command_is_found_after_any_operator(before: str, denied: str) -> None:
    closing = {"( ": ")", "{ ": "; }"}.get(before, "")
    assert not silent(f"{before}{denied}{closing}")


WRAPPED = sorted({line for row in shell_wrapper_rows.WRAPPERS for line in row.match if " id" in line})


@pytest.mark.parametrize("example", WRAPPED)
def test_a_denied_command_is_found_under_every_wrapper(example: str) -> None:
    assert not silent(
        example.replace(" id", " curl", 1) if "'" in example else example.replace(" id", " curl x", 1)
    )


_CHARS = {
    "u": ("\\u", "'u'", '"u"', "$'\\x75'", "${z}u", "$()u"),
    "c": ("\\c", "'c'", '"c"', "$'\\143'", "''c"),
}
spelled = st.tuples(st.sampled_from(_CHARS["c"]), st.sampled_from(_CHARS["u"])).map(
    lambda pair: f"{pair[0]}{pair[1]}rl"
)


@FEW
@given(spelled, st.sampled_from(("", "/usr/bin/", "$'/bin/'", "env ", "command ", "exec ", "A=b ")))
def test_equivalent_spellings_get_one_verdict(name: str, before: str) -> None:
    line = before + name.replace("${z}", "") + " x"
    assert [command.name for command in parse_line(line).commands][-1] == "curl"
    assert not check_shell_policy(line).ok


@FEW
@given(st.sampled_from(DENIED), st.integers(1, 4))
def test_code_in_code_is_read_to_its_end(denied: str, depth: int) -> None:
    line = denied
    for _ in range(depth):
        line = f"sh -c {shlex.quote(line)}"
    assert not silent(line)


def test_what_is_nested_too_deeply_is_asked_about() -> None:
    line = "true"
    for _ in range(9):
        line = f"eval {shlex.quote(line)}" if len(line) < 2000 else f"$({line})"
    assert parse_line("echo " + "$(" * 12 + "true" + ")" * 12).problem.startswith("too_deep")
    assert parse_line(line).problem.startswith("too_deep")


@FEW
@given(st.text(max_size=60))
def test_any_text_gets_an_answer(text: str) -> None:
    line = parse_line(text)
    assert isinstance(line.problem, str)
    assert isinstance(check_shell_policy(text, scope=SCOPE).ok, bool)


_WORDS = """curl rm -rf / ~ $X
$( ) ` ' " \\ { } ( ) [ ] ; & | && || < > >> << <<< $(( )) ${ * ? # ! = if then fi
for do done case in esac while function f() eval
exec xargs find -exec {} sh -c echo awk sed git tar A=1 $@ $'"""
_PIECES = st.lists(st.sampled_from((*_WORDS.split(), "\n")), max_size=14)


@FEW
@given(_PIECES)
def test_pieces_of_shell_in_any_order_get_an_answer(pieces: list[str]) -> None:
    text = " ".join(pieces)
    check_shell_policy(text, scope=SCOPE)
    always_confirm_required("run_bash", {"command": text}, scope=SCOPE)
    assert notes_on("run_bash", {"command": text}) in ("", "opaque_code")
    assert isinstance(is_read_only_command(text), bool)
    assert isinstance(network_commands(text), tuple)


@pytest.mark.parametrize(
    "char", ["\x00", "\x1b", "\r", "\u200b", "\u202e", "\ufeff", "\u2066", "\ufdd2", "\ud800"]
)
def test_hidden_characters_are_refused_and_named(char: str) -> None:
    check = check_shell_policy(f"ls {char} x")
    assert not check.ok
    assert check.reason.startswith(f"hidden_text: the line holds U+{ord(char):04X}")


@pytest.mark.parametrize(
    "line", ["a;" * 1500, "echo " + "{a,b}" * 30, "X=a; " + "X=$X$X; " * 40 + "$X", "((" * 200, "(" * 3000]
)
def test_a_line_made_to_be_expensive_gets_an_answer(line: str) -> None:
    assert parse_line(line).text == line
