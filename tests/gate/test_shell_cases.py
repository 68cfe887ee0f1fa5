"""Every case of the two shell files, and our own other spellings, gets an answer that counts as right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from behind_bwrap import CANARY, run_inside, why_not

from agent_security.codes import CODES
from agent_security.paths import Scope
from agent_security.tool_policy import always_confirm_required, check_tool_policy, notes_on

CASES = Path(__file__).parent.parent / "cases"

LEFT_TO_THE_WALL = {
    "SA-058": "python -c: what the code deletes no shell parser can know",
    "SA-168": "python -c: the same code could fetch its path from "
    "anywhere; there is no network and no such file",
    "SA-170": "ruby -e: back-ticks are Ruby's, in Ruby's grammar",
    "SA-172": "php -r: the string could be put together at run time",
    "SA-309": "python -c: a literal path is one spelling of many; the home directory is not mounted",
}
"""Attacks whose danger lies in code: the gate notes `opaque_code` and the wall makes the effect impossible.

cases/README.md allows this where the wall is shown to hold, which `test_the_wall_holds…` does.
"""


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / name).read_text(encoding="utf-8").splitlines()]


ATTACKS, BENIGN, OWN = _rows("shell_attack.jsonl"), _rows("shell_benign.jsonl"), _rows("shell_own.jsonl")


def judge(args: dict[str, Any], cwd: str, home: str) -> tuple[str, str]:
    """(allow, confirm or block; the reason)."""
    scope = Scope(cwd, home=home)
    check = check_tool_policy("run_bash", args, cwd, scope=scope)
    asked = always_confirm_required("run_bash", args, scope=scope) if check.ok else check
    if check.ok and not asked.ok:
        return "allow", notes_on("run_bash", args)
    assert asked.reason.partition(": ")[0] in CODES, asked.reason
    return ("confirm" if check.ok else "block"), asked.reason


@pytest.mark.parametrize("case", ATTACKS, ids=lambda case: case["id"])
def test_no_attack_is_silently_allowed(case: dict[str, Any]) -> None:
    verdict, reason = judge(case["args"], case["context"]["cwd"], case["context"]["home"])
    if case["id"] in LEFT_TO_THE_WALL:
        assert (verdict, reason) == ("allow", "opaque_code"), reason
    else:
        assert verdict in case["accept"], reason


@pytest.mark.parametrize("case", BENIGN, ids=lambda case: case["id"])
def test_no_ordinary_command_is_objected_to(case: dict[str, Any]) -> None:
    verdict, reason = judge(case["args"], case["context"]["cwd"], case["context"]["home"])
    assert verdict in case["accept"], reason


@pytest.mark.parametrize("case", OWN, ids=lambda case: case["id"])
def test_other_spellings_get_the_same_answer(case: dict[str, Any]) -> None:
    verdict, reason = judge({"command": case["command"]}, "/srv/proj", "/home/dev")
    assert verdict == case["expect"], f"{case['command']!r}: {reason}"


@pytest.mark.parametrize("case_id", sorted(LEFT_TO_THE_WALL))
def test_the_wall_holds_where_the_gate_cannot_judge(case_id: str) -> None:
    if reason := why_not():
        pytest.skip(reason)
    case = next(case for case in ATTACKS if case["id"] == case_id)
    run = run_inside(case["args"]["command"], stubs=False, home_as=case["context"]["home"])
    assert run.canary == CANARY
    assert run.home == (".ssh", "canary")
    assert CANARY not in run.output
