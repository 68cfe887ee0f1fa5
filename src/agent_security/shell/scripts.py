"""Small languages that can start programs or write files: sed and awk scripts, editors' commands.

Each reader returns what the script would run (shell text) and which files it would read or write.
Strings and patterns are skipped, so that `sed 's/exec/x/'` and `awk '/system/'` say nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_security.shell.words import UNKNOWN


@dataclass(frozen=True, slots=True)
class Script:
    """`code`: shell lines. `network`: the script opens a socket itself."""

    code: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    network: bool = False


_ADDRESS = re.compile(r"\s*(?:\d+|\$|\+\d+|~\d+)\s*(?:~\s*\d+)?")


def sed(script: str) -> Script:
    """Reads commands `e`, `w`, `W`, `r`, `R` and the flags `e` and `w` of `s`."""
    code: list[str] = []
    reads: list[str] = []
    writes: list[str] = []
    position = 0
    while position < len(script):
        position = _skip_addresses(script, position)
        if position >= len(script):
            break
        command, position = script[position], position + 1
        if command in "sy":
            position = _sed_substitute(script, position, command, code, writes)
        elif command in "aicbt:TrRwWelqQvLD":
            end = script.find("\n", position)
            end = len(script) if end < 0 else end
            text = script[position:end].strip()
            if command in "btTqQlLD:v":
                end = min(
                    (i for i in (script.find(c, position) for c in ";}\n") if i >= 0), default=len(script)
                )
            elif command == "e":
                code.append(text or UNKNOWN)
            elif command in "wW":
                writes.append(text)
            elif command in "rR":
                reads.append(text)
            elif command in "aic":
                end = _end_of_text(script, position)
            position = end
    return Script(tuple(code), tuple(reads), tuple(writes))


def _end_of_text(script: str, position: int) -> int:
    """Text of a, i, c goes on over lines that end in a backslash."""
    while (end := script.find("\n", position)) >= 0:
        if script[end - 1] != "\\":
            return end
        position = end + 1
    return len(script)


def _skip_addresses(script: str, position: int) -> int:
    while position < len(script):
        char = script[position]
        if char in " \t\n;{},!" or char.isdigit() or char in "$~+":
            position += 1
        elif char == "/":
            position = _after_delimiter(script, position + 1, "/")
            while script[position : position + 1] in ("I", "M"):
                position += 1
        elif char == "\\" and position + 1 < len(script):
            position = _after_delimiter(script, position + 2, script[position + 1])
        elif char == "#":
            end = script.find("\n", position)
            position = len(script) if end < 0 else end
        else:
            break
    return position


def _after_delimiter(script: str, position: int, delimiter: str) -> int:
    in_class = False
    while position < len(script):
        char = script[position]
        if char == "\\":
            position += 1
        elif char == "[" and not in_class:
            in_class = "]" in script[position + 2 :].split(delimiter, 1)[0]
        elif char == "]":
            in_class = False
        elif char == delimiter and not in_class:
            return position + 1
        position += 1
    return len(script)


def _sed_substitute(script: str, position: int, command: str, code: list[str], writes: list[str]) -> int:
    delimiter = script[position : position + 1]
    middle = _after_delimiter(script, position + 1, delimiter)
    end = _after_replacement(script, middle, delimiter)
    if command == "y":
        return end
    while end < len(script) and script[end] not in ";\n}":
        if script[end] == "e":
            code.append(f"{UNKNOWN} # {script[middle : end - 1]}")
        if script[end] == "w":
            stop = script.find("\n", end)
            stop = len(script) if stop < 0 else stop
            writes.append(script[end + 1 : stop].strip())
            return stop
        end += 1
    return end


def _after_replacement(script: str, position: int, delimiter: str) -> int:
    while position < len(script):
        if script[position] == "\\":
            position += 1
        elif script[position] == delimiter:
            return position + 1
        position += 1
    return len(script)


_AWK_TOKEN = re.compile(
    r'"(?P<string>(?:[^"\\]|\\.)*)"|#[^\n]*|(?P<name>[A-Za-z_]\w*)|(?P<pipe>\|&|\|\||\|)|(?P<redirect>>>|>)|(?P<other>\S)|\s+',
    re.DOTALL,
)
_AWK_VALUE_BEFORE = re.compile(r"[\w)\]$\"]\s*$")


def awk(program: str) -> Script:
    """Reads `system(…)`, `… | "cmd"`, `"cmd" | getline`, `> "file"`, `getline < "file"` and `/inet/`."""
    tokens = _awk_tokens(program)
    code: list[str] = []
    reads: list[str] = []
    writes: list[str] = []
    for index, (kind, text) in enumerate(tokens):
        before = tokens[index - 1] if index else ("", "")
        after = tokens[index + 1] if index + 1 < len(tokens) else ("", "")
        if kind == "name" and text == "system" and after == ("other", "("):
            following = tokens[index + 2] if index + 2 < len(tokens) else ("", "")
            closes = tokens[index + 3 : index + 4] == [("other", ")")]
            code.append(following[1] if following[0] == "string" and closes else UNKNOWN)
        elif kind == "pipe" and text != "||":
            code.append(_awk_command(before, after))
        elif kind == "redirect" and _is_print(tokens[:index]):
            writes.append(after[1] if after[0] == "string" else UNKNOWN)
        elif (kind, text) == ("other", "<") and _is_getline(tokens[:index]):
            reads.append(after[1] if after[0] == "string" else UNKNOWN)
    return Script(tuple(code), tuple(reads), tuple(writes), "/inet" in program)


def _awk_command(before: tuple[str, str], after: tuple[str, str]) -> str:
    if after == ("name", "getline"):
        return before[1] if before[0] == "string" else UNKNOWN
    return after[1] if after[0] == "string" else UNKNOWN


def _is_getline(tokens: list[tuple[str, str]]) -> bool:
    """Whether a `<` here reads a file: `getline <`, `getline line <`, `getline a[1] <`, `getline $2 <`."""
    for kind, text in reversed(tokens):
        if (kind, text) == ("name", "getline"):
            return True
        if kind not in ("name", "string") and not (text.isdigit() or text in ("$", "[", "]")):
            return False
    return False


def _is_print(tokens: list[tuple[str, str]]) -> bool:
    """Whether a `>` here redirects: the statement began with print, and no bracket is open."""
    depth = 0
    for kind, text in reversed(tokens):
        if kind == "other" and text in ")]":
            depth += 1
        elif kind == "other" and text in "([":
            depth -= 1
            if depth < 0:
                return False
        elif kind == "other" and text in ";{}" and depth == 0:
            return False
        elif kind == "name" and text in ("print", "printf") and depth == 0:
            return True
    return False


def _awk_tokens(program: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    position = 0
    while position < len(program):
        if program[position] == "/" and not _AWK_VALUE_BEFORE.search(
            program[max(0, position - 40) : position]
        ):
            position = _after_delimiter(program, position + 1, "/")
            tokens.append(("regex", ""))
            continue
        match = _AWK_TOKEN.match(program, position)
        if match is None:
            position += 1
            continue
        if match.lastgroup:
            tokens.append((match.lastgroup, match[match.lastgroup]))
        position = match.end()
    return tokens


_EDITOR_RUNS = re.compile(
    r"^[\s:]*(?:silent!?\s*)?(?:[%\d,$.']*\s*)?(?:r(?:ead)?\s*|w(?:rite)?\s+)?!\s*(.*)", re.DOTALL
)
_EDITOR_CALLS = re.compile(
    r"system\s*\(|jobstart|termopen|:?\s*te(rm|rminal)?\b|\bpy(thon|x|3)?f?(ile)?\b|\blua\b|\bperl\b|\bruby\b|\bso(urce)?\b"
)


def editor(command: str) -> Script:
    """A command of vi, vim, ex or less."""
    found: list[str] = []
    for part in re.split(r"\|(?!\|)|\n", command):
        if match := _EDITOR_RUNS.match(part):
            found.append(match[1] or UNKNOWN)
        elif _EDITOR_CALLS.search(part):
            found.append(UNKNOWN)
    return Script(tuple(found))
