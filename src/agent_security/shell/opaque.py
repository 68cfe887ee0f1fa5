"""Code that no shell parser can judge: interpreters with a program in hand, scripts, here-documents.

What runs there is recorded and left to the wall. One table of interpreters; scripts go by their path.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_security.shell.getopt import names
from agent_security.shell.state import EMPTY, Flow
from agent_security.shell.words import Word
from agent_security.shell.wrappers import SHELLS


@dataclass(frozen=True, slots=True)
class Interpreter:
    """`code`: options that hold a program. `module`: options that run an installed module. `valued`: others
    that take a value. With none of them, the first operand is a script, or standard input is the program."""

    programs: frozenset[str]
    code: frozenset[str]
    module: frozenset[str]
    valued: frozenset[str]
    match: tuple[str, ...]
    not_match: tuple[str, ...]


def _row(
    programs: str, code: str, match: str, not_match: str, *, module: str = "", valued: str = ""
) -> Interpreter:
    lines = [tuple(text.split(" ;; ")) for text in (match, not_match)]
    return Interpreter(names(programs), names(code), names(module), names(valued), *lines)


INTERPRETERS: tuple[Interpreter, ...] = (
    _row(
        "python python2 python3 pypy pypy3 ipython",
        "-c",
        "python -c x ;; python3 x.py ;; python -Ic x ;; python3 -",
        "python --version ;; python -m pytest -c x",
        module="-m",
        valued="-W -X -Q",
    ),
    _row(
        "node nodejs bun deno tsx ts-node",
        "-e --eval -p --print -pe",
        "node -e x ;; node x.js ;; node -p 1",
        "node --version",
        valued="-r --require --import --loader -C --conditions",
    ),
    _row(
        "perl",
        "-e -E",
        "perl -e x ;; perl -ne x f ;; perl -pi -e x f ;; perl x.pl",
        "perl -v",
        valued="-I -M -m",
    ),
    _row("ruby jruby irb", "-e", "ruby -e x ;; ruby x.rb", "ruby --version", valued="-I -r -C -E"),
    _row("php", "-r -B -R -E", "php -r x ;; php x.php", "php -v", valued="-d -c -z"),
    _row("lua luajit", "-e", "lua -e x ;; lua x.lua", "lua -v", valued="-l"),
    _row(
        "Rscript R octave julia groovy scala elixir swift crystal",
        "-e --eval -E",
        "julia -e x ;; Rscript x.R",
        "julia --version",
    ),
    _row("tclsh wish expect", "-c", "expect -c x ;; tclsh x.tcl", "expect -v"),
    _row("osascript pwsh powershell", "-e -Command -c -EncodedCommand", "pwsh -c x", "pwsh --version"),
    _row(
        "emacs emacsclient",
        "--eval -e --execute -f --funcall -l --load --script -eval",
        "emacs --batch --eval x",
        "emacs --version",
    ),
    _row(
        "java kotlin",
        "",
        "java x.java",
        "java -version",
        valued="-cp -classpath --class-path -jar -p --add-modules",
    ),
)
BY_NAME = {name: row for row in INTERPRETERS for name in row.programs}
_VERSIONED = re.compile(r"(python|pypy|ruby|perl|php|lua|node|tclsh)[\d.]+(?:-config)?$")
_BUILD = names("sed gsed awk gawk mawk nawk")


def interpreter(name: str) -> str:
    """The interpreter or shell a program is (`python3.11` is `python`), or ""."""
    versioned = _VERSIONED.fullmatch(name)
    plain = versioned[1] if versioned else name
    return plain if plain in BY_NAME or plain in SHELLS else ""


def reason(name: str, argv: Sequence[Word], stdin: Flow) -> str:
    """Why this command runs code that cannot be judged, or ""."""
    args = argv[1:]
    if name in ("source", "."):
        return f"sources {args[0].text}" if args and not args[0].starts("-") else ""
    if name in SHELLS:
        return _shell(name, args, stdin)
    if row := BY_NAME.get(interpreter(name)):
        return _interpreter(name, row, args, stdin)
    if name in _BUILD and any(re.match(r"-f.*|--file(=.*)?$", word.value) for word in args):
        return f"{name} runs a script file"
    return f"runs the file {argv[0].text}" if _is_file(argv[0]) else ""


def _is_file(word: Word) -> bool:
    """A command given by a path that is no system program."""
    path = word.value
    return "/" in path and not re.match(r"/(usr/(local/)?)?s?bin/[\w.+-]+$", path)


def _interpreter(name: str, row: Interpreter, args: Sequence[Word], stdin: Flow) -> str:
    index = 0
    while index < len(args):
        word = args[index].value
        if not word.startswith("-"):
            return f"{name} runs the file {args[index].text}"
        if word == "-":
            return f"{name} reads its program from standard input"
        if _holds(word, row.code):
            return f"{name} {word.split('=')[0]} runs code given on the line"
        if _holds(word, row.module) or re.fullmatch(r"--?v(ersion)?|-V|-h|--help", word):
            return ""
        index += 2 if word in row.valued else 1
    return "" if stdin is EMPTY else f"{name} reads its program from standard input"


def _holds(word: str, options: frozenset[str]) -> bool:
    """`-c`, a cluster that has it (`-Ic`, `-pe`), `--eval` or `--eval=…`."""
    if word.startswith("--"):
        return word.split("=")[0] in options
    letters = {option[1] for option in options if len(option) == 2}
    return word in options or bool(re.fullmatch(r"-[A-Za-z0-9.]+", word) and letters & set(word[1:]))


def _shell(name: str, args: Sequence[Word], stdin: Flow) -> str:
    """A shell with a script file. Code in `-c` and literal input are read, so they are not opaque."""
    skip = False
    for word in args:
        if skip or word.starts("--"):
            skip = not skip and word.value in ("--rcfile", "--init-file")
            continue
        if word.starts("-", "+"):
            if not word.starts("--") and {"c", "s"} & set(word.value[1:]):
                return ""
            skip = word.value[-1] in "oO"
            continue
        return "" if word.starts("\ufdd8") else f"{name} runs the file {word.text}"
    return f"{name} reads a file as its program" if stdin.text is None and stdin.origin == "file" else ""
