"""Read a program's options the way getopt does: clusters, values, abbreviated long names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_security.shell.words import Word


@dataclass(frozen=True, slots=True)
class Read:
    """Options in order as (name, value or None), what is left over, and where the operands began."""

    options: tuple[tuple[str, Word | None], ...]
    operands: tuple[Word, ...]
    uncertain: tuple[int, ...] = ()
    """Indexes after which an unknown option may or may not have taken the next word as its value."""

    def values(self, *names: str) -> list[Word]:
        return [value for name, value in self.options if name in names and value is not None]

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.options)


def names(spec: str) -> frozenset[str]:
    return frozenset(spec.split())


def full_name(long: str, known: frozenset[str]) -> str:
    """GNU's abbreviations: the one known name that starts so, else the name as written."""
    if long in known or len(long) < 4:
        return long
    found = sorted(name for name in known if name.startswith(long))
    return found[0] if found else long


def read(
    args: Sequence[Word], valued: frozenset[str], *, flags: frozenset[str] = frozenset(), stop: bool = False
) -> Read:
    """Split `args` into options and operands. `stop`: the first operand ends the options."""
    options: list[tuple[str, Word | None]] = []
    operands: list[Word] = []
    uncertain: list[int] = []
    index = 0
    while index < len(args):
        word = args[index]
        index += 1
        if word.value == "--":
            operands += args[index:]
            break
        if not word.starts("-") or word.value == "-":
            if stop:
                operands += args[index - 1 :]
                break
            operands.append(word)
            continue
        took = _long if word.starts("--") else _short
        index += took(word, args[index : index + 1], valued, flags, options, uncertain, index)
    return Read(tuple(options), tuple(operands), tuple(uncertain))


def _long(
    word: Word,
    following: Sequence[Word],
    valued: frozenset[str],
    flags: frozenset[str],
    options: list[tuple[str, Word | None]],
    uncertain: list[int],
    index: int,
) -> int:
    name, equals, _ = word.value.partition("=")
    full = full_name(name, valued | flags)
    if equals:
        options.append((full, word.cut(len(name) + 1)))
        return 0
    if full in valued:
        options.append((full, following[0] if following else None))
        return 1
    options.append((full, None))
    if full not in flags:
        uncertain.append(index)
    return 0


def _short(
    word: Word,
    following: Sequence[Word],
    valued: frozenset[str],
    flags: frozenset[str],
    options: list[tuple[str, Word | None]],
    uncertain: list[int],
    index: int,
) -> int:
    if word.value in valued:
        options.append((word.value, following[0] if following else None))
        return 1
    for position, letter in enumerate(word.value[1:], start=2):
        name = f"-{letter}"
        if name in valued:
            rest = word.cut(position)
            options.append((name, rest if rest.value else following[0] if following else None))
            return 0 if rest.value else 1
        options.append((name, None))
        if name not in flags and position == len(word.value):
            uncertain.append(index)
    return 0
