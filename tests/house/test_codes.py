"""The table of codes has no dead row, and every code is used as the kind it is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from agent_security.codes import CODES, Kind

SOURCE = Path(__file__).resolve().parents[2] / "src" / "agent_security"
_PREFIX = re.compile(r"([a-z][a-z_]*): ")


def constants() -> dict[str, set[str]]:
    """Every text of the source, and the codes it stands for: `code` alone, or `code: sentence`."""
    found: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        if path.name == "codes.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                prefix = _PREFIX.match(node.value)
                for word in {node.value, prefix[1] if prefix else ""} & CODES.keys():
                    found.setdefault(word, set()).add(str(path.relative_to(SOURCE)))
    return found


USED = constants()


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_of_the_table_is_given_by_some_line_of_the_source(code: str) -> None:
    assert code in USED, f"{code}: nothing gives it; take the row out"


def calls_of(name: str) -> set[str]:
    """The codes that stand as the second argument of `ask(…)` or `deny(…)`."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name):
                continue
            if len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
                found.add(str(node.args[1].value))
    return found


def test_what_is_asked_has_a_kind_and_what_is_given_is_in_the_table() -> None:
    asked, denied = calls_of("ask"), calls_of("deny")
    assert asked <= CODES.keys()
    assert {code for code in asked if CODES[code].kind is Kind.NONE} == set()
    assert {code for code in denied if code not in CODES} == set()


def test_a_code_is_one_stable_word_and_its_meaning_one_line() -> None:
    for code, row in CODES.items():
        assert re.fullmatch(r"[a-z][a-z_]*", code)
        assert row.meaning
        assert "\n" not in row.meaning
