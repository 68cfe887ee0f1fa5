"""Options that start a program: one table. What they run is found and judged as `option:…`.

Short options are found inside clusters, long ones in GNU's abbreviations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from agent_security.shell.getopt import names
from agent_security.shell.scripts import awk, editor, sed
from agent_security.shell.words import UNKNOWN, Word


@dataclass(frozen=True, slots=True)
class Hidden:
    """What an option would run: `code` for a shell, or a program's name, read alike."""

    label: str
    code: Word


Find = Callable[[Sequence[Word]], Iterable[Hidden]]


@dataclass(frozen=True, slots=True)
class Row:
    """One program's options. `match` lines run something hidden, `not_match` lines nothing."""

    programs: frozenset[str]
    find: Find
    match: tuple[str, ...]
    not_match: tuple[str, ...] = ()


def option(spec: str, *, valued: str = "", prefix: str = "", plain: str = "") -> Find:
    """Values of the options in `spec`. `valued`: letters that take a value and end a cluster.

    `prefix`: only values that begin so, the prefix taken off. `plain`: options that run something by
    themselves, without a value.
    """
    wanted, alone = spec.split(), plain.split()

    def find(args: Sequence[Word]) -> Iterable[Hidden]:
        for index, word in enumerate(args):
            if word.value == "--":
                return
            following = args[index + 1] if index + 1 < len(args) else Word(UNKNOWN)
            for label, value in _matches(word, following, wanted, alone, valued):
                if value.starts(prefix) if prefix else True:
                    yield Hidden(label, value.cut(len(prefix)))

    return find


def _matches(
    word: Word, following: Word, wanted: list[str], alone: list[str], valued: str
) -> Iterable[tuple[str, Word]]:
    if word.starts("--"):
        name, equals, _ = word.value.partition("=")
        for label in wanted + alone:
            if label.startswith("--") and len(name) > 3 and label.startswith(name):
                yield (
                    label,
                    word.cut(len(name) + 1) if equals else Word(UNKNOWN) if label in alone else following,
                )
        return
    for label in wanted + alone:
        if label.startswith("--"):
            continue
        if len(label) > 2:
            if word.value == label:
                yield label, following
            elif word.starts(label + "="):
                yield label, word.cut(len(label) + 1)
        elif word.starts("-"):
            yield from _in_cluster(word, following, label, label in alone, valued)


def _in_cluster(
    word: Word, following: Word, label: str, is_alone: bool, valued: str
) -> Iterable[tuple[str, Word]]:
    for position, letter in enumerate(word.value[1:], start=2):
        if letter == label[1]:
            rest = word.cut(position)
            yield label, Word(UNKNOWN) if is_alone else rest if rest.value else following
            return
        if letter in valued or not letter.isalnum():
            return


def operand(pattern: str, label: str) -> Find:
    """Any word that matches; its first group, if it has one, is what runs."""
    regex = re.compile(pattern, re.DOTALL)

    def find(args: Sequence[Word]) -> Iterable[Hidden]:
        for word in args:
            if match := regex.match(word.value):
                yield Hidden(label, Word(match[1] if regex.groups and match[1] else UNKNOWN))

    return find


def script(reader: str, *, at: str, valued: str, files: str) -> Find:
    """The first operand, or the values of the options in `at`, is a script of sed or awk."""
    read = {"sed": sed, "awk": awk}[reader]
    in_options = option(at, valued=valued)

    def find(args: Sequence[Word]) -> Iterable[Hidden]:
        for text in scripts_in(args, at, valued, files, in_options):
            for code in read(text.value).code:
                yield Hidden(f"{reader} script", Word(code))

    return find


def scripts_in(args: Sequence[Word], at: str, valued: str, files: str, in_options: Find) -> list[Word]:
    """The scripts among the arguments of sed or awk."""
    found = [hidden.code for hidden in in_options(args)] if at else []
    if found or any(True for _ in option(files, valued=valued)(args)):
        return found
    index = 0
    while index < len(args) and args[index].starts("-") and args[index].value not in ("-", "--"):
        word = args[index].value
        index += 2 if not word.startswith("--") and word[-1] in valued and len(word) == 2 else 1
    index += index < len(args) and args[index].value == "--"
    return list(args[index : index + 1])


def editor_commands(spec: str) -> Find:
    """Commands of vi and less: `-c CMD`, `--cmd CMD`, `+CMD`."""
    values = option(spec, valued="")

    def find(args: Sequence[Word]) -> Iterable[Hidden]:
        texts = [hidden.code for hidden in values(args)] if spec else []
        texts += [word.cut(1) for word in args if word.starts("+")]
        for text in texts:
            for code in editor(text.value).code:
                yield Hidden("editor command", Word(code))

    return find


def setting(keys: str) -> Find:
    """`config set KEY VALUE` of package managers."""
    pattern = re.compile(keys)

    def find(args: Sequence[Word]) -> Iterable[Hidden]:
        texts = [word.value for word in args if not word.starts("-")]
        if texts[:1] == ["set"] or texts[:2] == ["config", "set"] or texts[:1] == ["config"]:
            for key, value in zip(texts, [*texts[1:], UNKNOWN], strict=False):
                if pattern.fullmatch(key):
                    yield Hidden(f"config {key}", Word(value))

    return find


def only(pattern: str, finder: Find) -> Find:
    """Of what `finder` finds, the values that match; the first group is what runs."""
    regex = re.compile(pattern, re.DOTALL)

    def find(args: Sequence[Word]) -> Iterable[Hidden]:
        for hidden in finder(args):
            if match := regex.match(hidden.code.value):
                yield Hidden(hidden.label, Word(match[1] or UNKNOWN))

    return find


def both(*finders: Find) -> Find:
    return lambda args: [hidden for find in finders for hidden in find(args)]


def programs(spec: str) -> frozenset[str]:
    return names(spec)
