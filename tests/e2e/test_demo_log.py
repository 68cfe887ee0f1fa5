"""The demo ends well, and its log gives every changed byte away, with the line it stands in."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from agent_security.tools.audit import verify_log

from .program import program

POSITIONS, SEED = 200, 20_250_101


@pytest.fixture(scope="module")
def demo_log(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The log of one demo, run as a person runs it."""
    path = tmp_path_factory.mktemp("demo") / "audit.jsonl"
    ran = program("demo", "--log", str(path), timeout_s=120)
    assert ran.code == 0, ran.out + ran.err
    return path.read_bytes()


def line_at(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


def flipped(data: bytes, at: int, bit: int) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 1 << bit
    return bytes(changed)


def test_the_demo_ends_with_0_and_its_log_verifies(demo_log: bytes, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(demo_log)
    assert verify_log(tmp_path / "log").status == "ok"


def test_any_flipped_bit_is_found_and_its_line_named(demo_log: bytes, tmp_path: Path) -> None:
    chance, path = random.Random(SEED), tmp_path / "log"
    last_bytes = [len(demo_log) - 1, len(demo_log) - 2, 0]
    for at in [*last_bytes, *(chance.randrange(len(demo_log)) for _ in range(POSITIONS))]:
        path.write_bytes(flipped(demo_log, at, chance.randrange(8)))
        found = verify_log(path)
        assert (found.status, found.line) == ("broken", line_at(demo_log, at)), at


@pytest.mark.parametrize("share", [0.0, 0.31, 0.77, 1.0])
def test_the_command_ends_with_1_and_names_the_line(share: float, demo_log: bytes, tmp_path: Path) -> None:
    at, path = int(share * (len(demo_log) - 1)), tmp_path / "log"
    path.write_bytes(flipped(demo_log, at, 0))
    ran = program("audit", "verify", str(path))
    assert ran.code == 1
    assert f"line {line_at(demo_log, at)} " in ran.out


@pytest.mark.parametrize("what", ["removed", "doubled", "swapped"])
def test_a_whole_line_that_is_moved_is_found(what: str, demo_log: bytes, tmp_path: Path) -> None:
    lines = demo_log.splitlines(keepends=True)
    middle = len(lines) // 2
    if what == "removed":
        lines[middle : middle + 1] = []
    elif what == "doubled":
        lines[middle:middle] = [lines[middle]]
    else:
        lines[middle], lines[middle + 1] = lines[middle + 1], lines[middle]
    (tmp_path / "log").write_bytes(b"".join(lines))
    assert verify_log(tmp_path / "log").status == "broken"
