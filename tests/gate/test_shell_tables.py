"""Every row of every table does what its examples say."""

from __future__ import annotations

import re

import pytest

from agent_security.shell import opaque as shell_opaque
from agent_security.shell import option_rows as shell_option_rows
from agent_security.shell import parse_line
from agent_security.shell import wrapper_rows as shell_wrapper_rows
from agent_security.tool_policy import SHELL_DENYLIST_BINARIES, SHELL_DENYLIST_PATTERNS, check_shell_policy
from agent_security.tool_policy.install import FROM_ADDRESS
from agent_security.tool_policy.lists import DOCUMENT_BINARIES
from agent_security.tool_policy.programs import PROGRAMS
from agent_security.tool_policy.services import CREDENTIALS, DESTRUCTIVE_REMOTE, UPLOADS

WRAPPER_MATCH = sorted({line for row in shell_wrapper_rows.WRAPPERS for line in row.match})
WRAPPER_NOT = sorted({line for row in shell_wrapper_rows.WRAPPERS for line in row.not_match})
OPTION_MATCH = sorted({line for row in shell_option_rows.ROWS for line in row.match})
OPTION_NOT = sorted({line for row in shell_option_rows.ROWS for line in row.not_match})
OPAQUE_MATCH = sorted({line for row in shell_opaque.INTERPRETERS for line in row.match})
OPAQUE_NOT = sorted({line for row in shell_opaque.INTERPRETERS for line in row.not_match})


@pytest.mark.parametrize("line", WRAPPER_MATCH)
def test_a_wrapper_is_unwrapped(line: str) -> None:
    assert any(command.name == "id" and command.where != "direct" for command in parse_line(line).commands)


@pytest.mark.parametrize("line", WRAPPER_NOT)
def test_a_wrapper_without_a_command_is_itself_alone(line: str) -> None:
    assert [command.where for command in parse_line(line).commands] == ["direct"]


@pytest.mark.parametrize("line", OPTION_MATCH)
def test_an_option_that_executes_is_found(line: str) -> None:
    assert any(command.where.startswith("option:") for command in parse_line(line).commands)
    assert not check_shell_policy(line).ok


@pytest.mark.parametrize("line", OPTION_NOT)
def test_an_option_that_does_not_execute_is_left_alone(line: str) -> None:
    assert not any(command.where.startswith("option:") for command in parse_line(line).commands)


@pytest.mark.parametrize("line", OPAQUE_MATCH)
def test_code_that_cannot_be_judged_is_noted(line: str) -> None:
    assert parse_line(line).opaque


@pytest.mark.parametrize("line", OPAQUE_NOT)
def test_an_interpreter_without_code_is_not_opaque(line: str) -> None:
    assert not parse_line(line).opaque


@pytest.mark.parametrize("name", sorted(SHELL_DENYLIST_BINARIES - {"chmod"}))
def test_a_binary_of_the_denylist_is_refused(name: str) -> None:
    assert not check_shell_policy(f"{name} x y").ok


def test_the_documents_entries_are_kept() -> None:
    assert DOCUMENT_BINARIES <= SHELL_DENYLIST_BINARIES
    assert len(DOCUMENT_BINARIES) == 20


def test_every_pattern_compiles_and_every_program_has_known_roles() -> None:
    tables = (SHELL_DENYLIST_PATTERNS, CREDENTIALS, DESTRUCTIVE_REMOTE, UPLOADS, FROM_ADDRESS)
    assert all(re.compile(row[0]) for table in tables for row in table)
    assert {role for program in PROGRAMS.values() for role in program.options.values()} <= {
        "r", "w", "n", "-", "!", "!r", "2", "-r",
    }  # fmt: skip
