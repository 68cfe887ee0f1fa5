"""Builtins that change what the rest of the line means: one table."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from agent_security.shell.fold import printed
from agent_security.shell.state import Flow, State, bounded
from agent_security.shell.words import HOME, RUN_TIME, UNKNOWN, Word

if TYPE_CHECKING:
    from agent_security.shell.run import Runner

Builtin = Callable[["Runner", tuple[Word, ...], State, Flow], None]


def _operands(argv: tuple[Word, ...]) -> list[Word]:
    words = list(argv[1:])
    while words and words[0].starts("-") and words[0].value not in ("-", "--"):
        words.pop(0)
    return words[1:] if words and words[0].value == "--" else words


def _cd(runner: Runner, argv: tuple[Word, ...], state: State, stdin: Flow) -> None:
    operands = _operands(argv)
    if operands and operands[0].value == "-":
        state.before, state.cwd = state.cwd, state.before
    else:
        state.change_dir(operands[0].value if operands else HOME)


def _pushd(runner: Runner, argv: tuple[Word, ...], state: State, stdin: Flow) -> None:
    if operands := _operands(argv):
        state.stack.append(state.cwd)
        state.change_dir(operands[0].value)


def _popd(runner: Runner, argv: tuple[Word, ...], state: State, stdin: Flow) -> None:
    state.cwd = state.stack.pop() if state.stack else state.cwd


def _declare(runner: Runner, argv: tuple[Word, ...], state: State, stdin: Flow) -> None:
    """`export A=1` behind `command` or `builtin`, where the grammar sees plain words."""
    for word in argv[1:]:
        if match := re.match(r"([A-Za-z_]\w*)=", word.value):
            state.put(match[1], [(word.value[match.end() :],)])
            runner.assigned([(match[1], word.cut(match.end()))])


def _unset(runner: Runner, argv: tuple[Word, ...], state: State, stdin: Flow) -> None:
    for word in _operands(argv):
        state.functions.pop(word.value, None)
        state.env[word.value] = [("",)]


def _read(runner: Runner, argv: tuple[Word, ...], state: State, stdin: Flow) -> None:
    """The lines of a known input are the values; several names share a line's fields."""
    names = [word.value for word in argv[1:] if re.fullmatch(r"[A-Za-z_]\w*", word.value)] or ["REPLY"]
    lines = None if stdin.text is None else stdin.text.splitlines()
    for place, name in enumerate(names):
        if lines is None or not lines:
            state.put(name, [(UNKNOWN,)])
        elif len(names) == 1:
            state.put(name, bounded([(line,) for line in lines]))
        else:
            parts = [line.split(None, len(names) - 1) for line in lines]
            state.put(name, bounded([(part[place] if place < len(part) else "",) for part in parts]))


def _mapfile(runner: Runner, argv: tuple[Word, ...], state: State, stdin: Flow) -> None:
    name = argv[-1].value if len(argv) > 1 and not argv[-1].starts("-") else "MAPFILE"
    state.put(name, [(UNKNOWN,) if stdin.text is None else tuple(stdin.text.splitlines())])


def _set(runner: Runner, argv: tuple[Word, ...], state: State, stdin: Flow) -> None:
    words = list(argv[1:])
    while words and words[0].starts("-", "+") and words[0].value != "--":
        words = (
            words[2:]
            if words[0].value in ("-o", "+o") or re.fullmatch(r"[-+]\w*o", words[0].value)
            else words[1:]
        )
    if words:
        state.put("@", [tuple(word.value for word in words if word.value != "--")])


def _shift(runner: Runner, argv: tuple[Word, ...], state: State, stdin: Flow) -> None:
    count = int(argv[1].value) if len(argv) > 1 and argv[1].value.isdigit() else 1
    state.env["@"] = [
        value if UNKNOWN in value else value[count:] for value in state.env.get("@", [(UNKNOWN,)])
    ]


def _eval(runner: Runner, argv: tuple[Word, ...], state: State, stdin: Flow) -> None:
    """A literal is judged by what it says; anything else is code that only the run knows."""
    operands = _operands(argv)
    text = " ".join(word.value for word in operands)
    if RUN_TIME & set(text):
        runner.note("run_time_code")
    if text:
        runner.code(Word(text), state, "code:eval")


def _trap(runner: Runner, argv: tuple[Word, ...], state: State, stdin: Flow) -> None:
    operands = _operands(argv)
    if len(operands) > 1 and operands[0].value not in ("-", ""):
        runner.code(operands[0], state.copy(), "code:trap")


def _alias(runner: Runner, argv: tuple[Word, ...], state: State, stdin: Flow) -> None:
    for word in argv[1:]:
        _, equals, value = word.value.partition("=")
        if equals and value.strip():
            runner.code(Word(value), state.copy(), "code:alias")


def _printf(runner: Runner, argv: tuple[Word, ...], state: State, stdin: Flow) -> None:
    if len(argv) > 3 and argv[1].value == "-v":
        flow = printed("printf", (argv[0], *argv[3:]), state.cwd, stdin)
        state.put(argv[2].value, [(UNKNOWN if flow.text is None else flow.text,)])


def _number(runner: Runner, argv: tuple[Word, ...], state: State, stdin: Flow) -> None:
    for word in argv[1:]:
        if re.fullmatch(r"[A-Za-z_]\w*", word.value):
            state.put(word.value, [(UNKNOWN,)])


BUILTINS: dict[str, Builtin] = {
    "cd": _cd,
    "chdir": _cd,
    "pushd": _pushd,
    "popd": _popd,
    "export": _declare,
    "declare": _declare,
    "typeset": _declare,
    "local": _declare,
    "readonly": _declare,
    "unset": _unset,
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "set": _set,
    "shift": _shift,
    "eval": _eval,
    "trap": _trap,
    "alias": _alias,
    "printf": _printf,
    "getopts": _number,
}
