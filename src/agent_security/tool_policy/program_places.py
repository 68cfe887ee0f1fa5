"""Programs whose paths no simple row describes: find, tar, sed, awk, perl, dd, ln and git."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from agent_security.shell.getopt import names, read
from agent_security.shell.option_rows import AWK, SED
from agent_security.shell.options import option, scripts_in
from agent_security.shell.scripts import awk, sed
from agent_security.shell.words import Word
from agent_security.tool_policy.git import git_places


@dataclass(frozen=True, slots=True)
class Place:
    """A word that is a path, and what happens there."""

    word: Word
    write: bool
    content: bool = True
    """The content is read, not only the name (`ls`, `stat`)."""


def _find(args: Sequence[Word]) -> Iterable[Place]:
    index = 0
    while index < len(args) and re.fullmatch(r"-[HLP]+|-O\d?|-D\w*", args[index].value):
        index += 1
    deletes = any(word.value == "-delete" for word in args)
    start = index
    while index < len(args) and not re.match(r"[-(!),]", args[index].value):
        yield Place(args[index], deletes)
        index += 1
    if start == index:
        yield Place(Word("."), deletes)
    for option_word, value in zip(args[index:], args[index + 1 :], strict=False):
        if option_word.value in ("-fprint", "-fprint0", "-fls", "-fprintf"):
            yield Place(value, True)
        elif option_word.value in ("-newer", "-samefile", "-anewer", "-cnewer", "-files0-from"):
            yield Place(value, False)


_TAR_VALUED = names(
    "-f --file -C --directory -T --files-from -X --exclude-from -b "
    "-g --listed-incremental --exclude -H --format"
    " --transform --xform --owner --group --mode --mtime --newer -N --strip-components --one-top-level -I"
    " --use-compress-program --checkpoint-action --to-command -V --label -L --index-file --add-file"
)


def _tar(args: Sequence[Word]) -> Iterable[Place]:
    """The old bundled form (`tar xzf a.tar`) too."""
    words = list(args)
    if words and not words[0].starts("-"):
        words = _unbundled(words)
    got = read(words, _TAR_VALUED)
    creates = got.has("-c", "-r", "-u", "-A", "--create", "--append", "--update", "--delete")
    extracts = got.has("-x", "--extract", "--get")
    moves = got.values("-C", "--directory")
    for value in got.values("-f", "--file"):
        if value.value != "-":
            yield Place(value, creates)
    for value in (*moves, *got.values("--one-top-level")):
        yield Place(value, extracts)
    for value in got.values("-T", "--files-from", "-X", "--exclude-from", "--add-file"):
        yield Place(value, False)
    for value in got.values("--index-file", "-g", "--listed-incremental"):
        yield Place(value, True)
    for word in got.operands if creates else ():
        yield Place(
            word if not moves or word.starts("/", "\ufdd0") else Word(f"{moves[-1].value}/{word.value}"),
            False,
        )


def _unbundled(words: list[Word]) -> list[Word]:
    rest, out = words[1:], []
    for letter in words[0].value:
        out.append(Word(f"-{letter}"))
        if f"-{letter}" in _TAR_VALUED and rest:
            out.append(rest.pop(0))
    return out + rest


def _sed(args: Sequence[Word]) -> Iterable[Place]:
    got = read(
        args,
        names("-e --expression -f --file -l --line-length"),
        flags=names("-i --in-place -n -E -r -s -z -u"),
    )
    in_place = any(re.match(r"-[nErsuz]*i|--in-p", word.value) for word in args if word.starts("-"))
    scripts = scripts_in(args, **SED, in_options=option(SED["at"], valued=SED["valued"]))
    given = got.has("-e", "--expression", "-f", "--file")
    for word in got.operands if given else got.operands[1:]:
        yield Place(word, in_place)
    yield from _script_places(scripts, sed)
    for value in got.values("-f", "--file"):
        yield Place(value, False)


def _awk(args: Sequence[Word]) -> Iterable[Place]:
    got = read(
        args,
        names("-F -v -f -i -l -o -d -p -e --source --file --assign --field-separator --include"),
        stop=True,
    )
    scripts = scripts_in(args, **AWK, in_options=option(AWK["at"], valued=AWK["valued"]))
    given = got.has("-f", "--file", "-e", "--source")
    for word in got.operands if given else got.operands[1:]:
        if not re.match(r"[A-Za-z_]\w*=", word.value):
            yield Place(word, False)
    yield from _script_places(scripts, awk)
    for value in got.values("-f", "--file", "-i"):
        yield Place(value, False)


def _script_places(scripts: Iterable[Word], reader: object) -> Iterable[Place]:
    for text in scripts:
        script = sed(text.value) if reader is sed else awk(text.value)
        for path in script.writes:
            yield Place(Word(path), True)
        for path in script.reads:
            yield Place(Word(path), False)


def _perl(args: Sequence[Word]) -> Iterable[Place]:
    got = read(args, names("-e -E -I -M -m -r"))
    in_place = any(
        re.match(r"-\w*i", word.value) and not word.starts("--", "-e", "-M", "-I") for word in args
    )
    for word in got.operands:
        yield Place(word, in_place)


def _ln(args: Sequence[Word]) -> Iterable[Place]:
    """A symbolic link's target counts from where the link stands."""
    got = read(args, names("-t --target-directory -S --suffix"), flags=names("-s --symbolic -f -n -r -v"))
    folder = next(iter(got.values("-t", "--target-directory")), None)
    targets, link = (
        (got.operands, folder) if folder is not None else (got.operands[:-1], got.operands[-1:] or None)
    )
    place = link[0] if isinstance(link, tuple) else link
    base = "" if place is None or not got.has("-s", "--symbolic") else place.value.rpartition("/")[0]
    for word in targets or got.operands:
        yield Place(
            Word(f"{base}/{word.value}") if base and not word.starts("/", "\ufdd0", "\ufdd1") else word, False
        )
    if place is not None and targets:
        yield Place(place, True)


def _dd(args: Sequence[Word]) -> Iterable[Place]:
    for word in args:
        if word.starts("if=", "of="):
            yield Place(word.cut(3), word.starts("of="))


def _git(args: Sequence[Word]) -> Iterable[Place]:
    return (Place(word, write) for word, write in git_places(args))


SPECIAL: dict[str, Callable[[Sequence[Word]], Iterable[Place]]] = {
    "F": _find,
    "T": _tar,
    "S": _sed,
    "A": _awk,
    "P": _perl,
    "D": _dd,
    "G": _git,
    "L": _ln,
}
