"""Programs that run another command: one table, each row with lines that it does and does not unwrap.

A row says how to find the command behind the program's own options. Where an option is not in the
row, both readings are followed: with and without a value after it. Finding one command too many is
a question at worst; missing one is a hole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_security.shell.getopt import names, read
from agent_security.shell.words import Word


@dataclass(frozen=True, slots=True)
class Inner:
    """A command behind another: its words, or the text of a shell line (`code`)."""

    argv: tuple[Word, ...] = ()
    code: Word | None = None
    params: tuple[Word, ...] = ()
    """Positional parameters of the code, `$0` first."""
    assignments: tuple[tuple[str, Word], ...] = ()
    chdir: Word | None = None


Unwrap = Callable[[Sequence[Word]], list[Inner]]


@dataclass(frozen=True, slots=True)
class Wrapper:
    """One row. `match` unwraps to the command `id`; `not_match` unwraps to nothing."""

    programs: frozenset[str]
    unwrap: Unwrap
    match: tuple[str, ...]
    not_match: tuple[str, ...] = ()


def rest(valued: str = "", flags: str = "", skip: int = 0, chdir: str = "", code: str = "") -> Unwrap:
    """Options, then `skip` operands, then the command. `code` options hold a shell line."""
    taking, plain = names(f"{valued} {chdir} {code}"), names(flags)

    def unwrap(args: Sequence[Word]) -> list[Inner]:
        options = read(args, taking, flags=plain, stop=True)
        move = next(iter(options.values(*names(chdir))), None)
        anywhere = read(args, taking, flags=plain) if code else options
        found = [Inner(code=value, chdir=move) for value in anywhere.values(*names(code))]
        starts = {len(args) - len(options.operands)}
        starts |= {index + 1 for index in options.uncertain if index < len(args)}
        for start in sorted(starts):
            argv = tuple(args[start:])[skip:]
            if argv and not argv[0].starts("-"):
                found.append(Inner(argv, chdir=move))
        return found

    return unwrap


def env(args: Sequence[Word]) -> list[Inner]:
    """`env`: options, assignments, then the command; `-S` splits a text into all of these."""
    valued = names("-u --unset -C --chdir -S --split-string -a --argv0")
    flags = names(
        "-i --ignore-environment -0 --null -v --debug"
        " --block-signal --default-signal --ignore-signal --list-signal-handling"
    )
    options = read(args, valued, flags=flags, stop=True)
    move = next(iter(options.values("-C", "--chdir")), None)
    words = list(options.operands)
    for text in options.values("-S", "--split-string"):
        words = [Word(part) for part in text.value.replace("\\_", " ").split()] + words
        return env(words)
    if words and words[0].value == "-":  # `env -` is `env -i`
        return env(words[1:])
    assigned = []
    while words and (match := re.match(r"[A-Za-z_]\w*=", words[0].value)):
        assigned.append((match[0][:-1], words.pop(0).cut(match.end())))
    return [Inner(tuple(words), assignments=tuple(assigned), chdir=move)]


SHELLS = names("sh bash dash zsh ksh mksh ash rbash busybox-sh yash posh fish")
_SHELL_VALUED = names("-o -O +o +O --rcfile --init-file")


def shell(args: Sequence[Word]) -> list[Inner]:
    """`sh -c CODE [NAME ARGS…]`. Scripts and standard input are read elsewhere."""
    index, wants_code = 0, False
    while index < len(args) and args[index].starts("-", "+") and args[index].value not in ("-", "--"):
        word = args[index].value
        wants_code |= not word.startswith("--") and word.startswith("-") and "c" in word[1:]
        takes = word in _SHELL_VALUED or (not word.startswith("--") and word[-1] in "oO" and len(word) > 1)
        index += 2 if takes else 1
    index += index < len(args) and args[index].value in ("-", "--")
    if not wants_code or index >= len(args):
        return []
    return [Inner(code=args[index], params=tuple(args[index + 1 :]))]


def joined(valued: str = "", flags: str = "", skip: int = 0) -> Unwrap:
    """Operands are put together and given to a shell, as `watch` and `ssh` do."""
    behind = rest(valued, flags, skip)

    def unwrap(args: Sequence[Word]) -> list[Inner]:
        return [
            Inner(code=Word(" ".join(word.value for word in inner.argv))) if inner.code is None else inner
            for inner in behind(args)
        ]

    return unwrap


def each_code(valued: str = "", options: str = "") -> Unwrap:
    """Every operand, and the value of some options, is a shell line of its own (`hyperfine`)."""

    def unwrap(args: Sequence[Word]) -> list[Inner]:
        got = read(args, names(f"{valued} {options}"))
        return [Inner(code=word) for word in (*got.values(*names(options)), *got.operands)]

    return unwrap


def find(args: Sequence[Word]) -> list[Inner]:
    """`find … -exec CMD {} ;`. Files found stand as what lies below the starting points."""
    found = []
    for index, word in enumerate(args):
        if word.value in ("-exec", "-execdir", "-ok", "-okdir"):
            body: list[Word] = []
            for part in args[index + 1 :]:
                if part.value == ";" or (part.value == "+" and body and body[-1].value == "{}"):
                    break
                body.append(part)
            found.append(Inner(tuple(body)))
    return found


def fd(args: Sequence[Word]) -> list[Inner]:
    """`fd … -x CMD ;`, `--exec`, `-X`, `--exec-batch`."""
    found = []
    for index, word in enumerate(args):
        if re.fullmatch(r"-[HIsuapL0]*[xX]|--exec(?:-batch)?", word.value):
            body = list(args[index + 1 :])
            cut = next((i for i, part in enumerate(body) if part.value == ";"), len(body))
            found.append(Inner(tuple(body[:cut])))
    return found


def npx(args: Sequence[Word]) -> list[Inner]:
    """A package's program that itself runs commands (`npx nodemon -x …`); of others the name says nothing."""
    operands = read(args, names("-p --package -c --call -w"), stop=True).operands
    runs = operands and operands[0].value in (
        "nodemon",
        "concurrently",
        "dotenv",
        "cross-env",
        "env-cmd",
        "watchexec",
    )
    return [Inner(operands)] if runs else []


def parallel(args: Sequence[Word]) -> list[Inner]:
    """GNU parallel: a command with `{}`, or, where there is none, each argument is a line."""
    valued = names(
        "-j --jobs -a --arg-file -S --sshlogin --joblog --results "
        "--tmpdir -I -n -N -L -d --delimiter --colsep"
        " --timeout --delay --retries --load --nice --workdir --wd "
        "--tagstring --block --memfree -C -P --max-procs"
    )
    operands = read(args, valued, stop=True).operands
    cut = next(
        (i for i, word in enumerate(operands) if re.fullmatch(r":::\+?|::::\+?", word.value)), len(operands)
    )
    template, inputs = operands[:cut], [word for word in operands[cut:] if not word.starts(":::")]
    if not template:
        return [Inner(code=word) for word in inputs]
    line = " ".join(word.value for word in template)
    lines = [
        re.sub(r"\{[^}\s]*\}", word.value, line) if "{" in line else f"{line} {word.value}" for word in inputs
    ]
    return [Inner(code=Word(text)) for text in lines or [line]]


def applet(args: Sequence[Word]) -> list[Inner]:
    words = tuple(word for word in args if not word.starts("--"))
    return [Inner(words)] if words else []


def after(marker: str, command_option: str = "") -> Unwrap:
    """The command stands behind a marker word, its program in an option before it (`start-stop-daemon`)."""

    def unwrap(args: Sequence[Word]) -> list[Inner]:
        got = read(
            args, names(command_option + " -p --pidfile -u --user -n --name -c --chuid -d --chdir -k --umask")
        )
        program = got.values(*names(command_option))
        index = next((i for i, word in enumerate(args) if word.value == marker), len(args))
        return [Inner((*program[:1], *args[index + 1 :]))]

    return unwrap


def verb(names_of_verb: str, behind: Unwrap, valued: str = "") -> Unwrap:
    """`uv run CMD`, `npm exec -- CMD`: only behind one of these subcommands."""
    verbs, taking = names(names_of_verb), names(valued)

    def unwrap(args: Sequence[Word]) -> list[Inner]:
        operands = read(args, taking, stop=True).operands
        if not operands or operands[0].value not in verbs:
            return []
        return behind(operands[1:])

    return unwrap


def unless(*options: str, behind: Unwrap) -> Unwrap:
    """With one of these options first nothing is run (`command -v`)."""

    def unwrap(args: Sequence[Word]) -> list[Inner]:
        return [] if args and args[0].value in options else behind(args)

    return unwrap


def only_code(options: str, valued: str) -> Unwrap:
    """Nothing but the value of an option is run; operands are files."""
    behind = names(options)

    def unwrap(args: Sequence[Word]) -> list[Inner]:
        return [Inner(code=value) for value in read(args, names(f"{options} {valued}")).values(*behind)]

    return unwrap


def row(programs: str, unwrap: Unwrap, match: str, not_match: str = "") -> Wrapper:
    """`match` and `not_match` hold one line each, or several parted by ` ;; `."""
    lines = [tuple(line for line in text.split(" ;; ") if line) for text in (match, not_match)]
    return Wrapper(names(programs), unwrap, *lines)
