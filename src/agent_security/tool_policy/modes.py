"""`chmod` by its mode (D2): owner-only runs, `+x` and readable are asked about, open and set-id refused."""

from __future__ import annotations

import re
from enum import IntEnum

from agent_security.decision import Check
from agent_security.shell.getopt import names, read
from agent_security.shell.words import Command, Word


class Openness(IntEnum):
    """How far a mode opens a file."""

    OWNER = 0
    SHARED = 1
    """Others may read or run it, or it becomes executable."""
    OPEN = 2
    """Others may write it, or it carries a set-id bit."""


_CLAUSE = re.compile(r"([ugoa]*)((?:[-+=][rwxXstugo]*)+)")


def openness(mode: str) -> Openness:
    """Of an octal or symbolic mode. What cannot be read is OPEN."""
    if re.fullmatch(r"[0-7]{1,5}", mode):
        return _octal(int(mode, 8))
    worst = Openness.OWNER
    for clause in mode.split(","):
        match = _CLAUSE.fullmatch(clause)
        if match is None:
            return Openness.OPEN
        for sign, bits in re.findall(r"([-+=])([rwxXstugo]*)", match[2]):
            worst = max(worst, _symbolic(match[1], sign, bits))
    return worst


def _octal(bits: int) -> Openness:
    if bits & 0o6002:
        return Openness.OPEN
    return Openness.SHARED if bits & 0o077 else Openness.OWNER


def _symbolic(who: str, sign: str, bits: str) -> Openness:
    if sign == "-" or not bits:
        return Openness.OWNER
    others = "o" in who or "a" in who
    if ("w" in bits and others) or "s" in bits:
        return Openness.OPEN
    if set(bits) & set("ugo") and others:
        return Openness.OPEN if "u" in bits else Openness.SHARED
    only_owner = who != "" and set(who) <= {"u"}
    return Openness.OWNER if only_owner else Openness.SHARED


def mode_of(command: Command) -> Word | None:
    """The mode a command sets: `chmod MODE`, `install -m MODE`, `mkdir -m MODE`."""
    if command.name == "chmod":
        words = [w for w in command.args if not re.fullmatch(r"-[cfvRHLP]+|--(?!ref)\S*", w.value)]
        return words[0] if words and not words[0].starts("--reference") else None
    if command.name in ("install", "mkdir", "mkfifo"):
        return next(iter(read(command.args, names("-m --mode -o -g -t")).values("-m", "--mode")), None)
    return None


def check_mode(command: Command) -> Check:
    """Refused: everybody may write, set-id, or a mode that only the run knows."""
    mode = mode_of(command)
    if mode is None:
        return Check(True)
    level = openness(mode.value) if mode.known else Openness.OPEN
    if command.name != "chmod":
        level = level if re.fullmatch(r"[0-7]+", mode.value) or "s" in mode.value else Openness.OWNER
    if level is Openness.OPEN:
        return Check(False, f"chmod_open: mode {mode.text} lets everybody write, or sets an id bit")
    return Check(True)


def ask_mode(command: Command) -> Check:
    """ok=True: a question. Modes that let others read, or make a file executable."""
    mode = mode_of(command)
    if (
        command.name != "chmod"
        or mode is None
        or not mode.known
        or openness(mode.value) is not Openness.SHARED
    ):
        return Check(False)
    return Check(True, f"chmod_mode: chmod {mode.text} opens the file to others, or makes it executable")
