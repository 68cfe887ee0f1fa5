"""What simple commands print, where the line itself shows it: `echo`, `printf`, `pwd`, decoders, listers.

Only so is `$(printf '\\143\\165rl') x` the command it is, and `find . | xargs rm` a delete in scope.
"""

from __future__ import annotations

import base64
import binascii
import posixpath
import re
from collections.abc import Callable, Sequence

from agent_security.shell.getopt import names, read
from agent_security.shell.quotes import ansi_c
from agent_security.shell.state import EMPTY, Flow, here
from agent_security.shell.words import NONCHARACTERS, ROOT, RUN_TIME, SOME, UNKNOWN, Word

_COMPUTED = Flow()
_PASSES = names("cat tee grep egrep fgrep rg sort uniq head tail tac shuf nl pv sponge less more")
_PATTERN_FIRST = names("grep egrep fgrep rg")
_FILTER_VALUED = names(
    "-n -c -k -t -m -A -B -C -e -f -s -w -d --lines --bytes --key --regexp --file --max-count"
)
_LISTERS = names("ls fd fdfind locate compgen")
_LISTING = re.compile(
    r"git (?:\S+ )*?(?:ls-files|diff .*--name-only|diff --name-only|grep -l|status --porcelain)"
    r"|(?:rg|grep) (?:.* )?(?:-\w*l\w*|--files(?:-with-matches)?)(?: |$)"
)
_FORMAT = re.compile(r"%%|%[-+ #0]*\d*(?:\.\d+)?[sbdiuxXofeEgGcq]")
MAX_TEXT = 64 * 1024


def printed(name: str, argv: Sequence[Word], cwd: str | None, stdin: Flow) -> Flow:
    """What `argv` prints: text with marks where it is known."""
    fold = _FOLDS.get(name)
    text = fold([word.value for word in argv[1:]], stdin) if fold else _by_line(name, argv, cwd, stdin)
    if isinstance(text, Flow):
        return text
    return _COMPUTED if text is None or len(text) > MAX_TEXT else Flow(text, "literal")


def _by_line(name: str, argv: Sequence[Word], cwd: str | None, stdin: Flow) -> Flow | str | None:
    line = " ".join(word.text for word in argv)
    if name in ("command", "type") and argv[1:2] and argv[1].value in ("-v", "-p", "-P"):
        return _which([word.value for word in argv[1:]], stdin)
    if name == "pwd":
        return here(cwd) + "\n"
    if line == "git rev-parse --show-toplevel":
        return ROOT + "\n"
    if name in _LISTERS or _LISTING.match(line):
        return f"./{SOME}\n"
    if name == "find":
        return _found([word.value for word in argv[1:]])
    if name in _PASSES:
        return _passed(name, argv, stdin)
    return None


def _passed(name: str, argv: Sequence[Word], stdin: Flow) -> Flow:
    """A filter leaves the lines of its input as they are; of a file it passes that file's content."""
    operands = [word for word in read(argv[1:], _FILTER_VALUED).operands if word.value != "-"]
    if name in _PATTERN_FIRST:
        operands = operands[1:]
    if not operands or name == "tee":
        return Flow(None, "file") if stdin is EMPTY else stdin
    return Flow(None, "file" if stdin is EMPTY or name == "cat" else "computed")


def _found(args: list[str]) -> str:
    """`find`'s starting points, each with something below it; itself too where nothing filters."""
    while args and re.fullmatch(r"-[HLP]+|-O\d?|-D\w*", args[0]):
        args = args[1:]
    stop = next((i for i, arg in enumerate(args) if arg.startswith(("-", "(", "!"))), len(args))
    starts, tests = args[:stop] or ["."], args[stop:]
    filtered = any(
        re.match(r"-(i?name|i?path|i?regex|type|mindepth|mtime|size|newer|empty|user|perm)", t) for t in tests
    )
    return "".join(
        (f"{start}\n" if not filtered else "") + f"{start.rstrip('/')}/{SOME}\n" for start in starts
    )


def _echo(args: list[str], _: Flow) -> str:
    flags = ""
    while args and re.fullmatch(r"-[neE]+", args[0]):
        flags, args = flags + args[0][1:], args[1:]
    text = " ".join(args)
    return (ansi_c(text) if "e" in flags else text) + ("" if "n" in flags else "\n")


def _printf(args: list[str], _: Flow) -> str | None:
    if args[:1] == ["--"]:
        args = args[1:]
    if not args or args[0] == "-v" or RUN_TIME & set(args[0]):
        return "" if args[:1] == ["-v"] else None
    form, rest = ansi_c(args[0]), args[1:]
    if not _FORMAT.search(form.replace("%%", "")):
        return form.replace("%%", "%")
    out: list[str] = []
    while rest or not out:
        chunk, rest = _printf_once(form, rest)
        out.append(chunk)
        if len(out) > 256:
            return None
    return "".join(out)


def _printf_once(form: str, rest: list[str]) -> tuple[str, list[str]]:
    left = list(rest)

    def put(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        value = left.pop(0) if left else ""
        if match[0][-1] == "b":
            return ansi_c(value)
        return value[:1] if match[0][-1] == "c" else value if match[0] == "%s" else value or "0"

    return _FORMAT.sub(put, form), left


def _on_text(change: Callable[[str, list[str]], str | None]) -> Callable[[list[str], Flow], str | None]:
    def fold(args: list[str], stdin: Flow) -> str | None:
        from_input = stdin.text is not None and stdin is not EMPTY and not NONCHARACTERS & set(stdin.text)
        return change(stdin.text or "", args) if from_input else None

    return fold


def _rev(text: str, args: list[str]) -> str | None:
    if any(arg != "-" for arg in args):
        return None
    return "".join(line[::-1] + "\n" for line in text.splitlines())


def _base64(text: str, args: list[str]) -> str | None:
    if not all(re.fullmatch(r"-[a-zA-Z]*|--\w+[-\w]*", arg) for arg in args):
        return None
    if not any(re.fullmatch(r"-[a-zA-Z]*[dD][a-z]*|--d(ecode)?\w*", arg) for arg in args):
        return None
    try:
        return base64.b64decode("".join(text.split())).decode()
    except (ValueError, binascii.Error):
        return None


def _xxd(text: str, args: list[str]) -> str | None:
    joined = "".join(args)
    if "r" not in joined or "p" not in joined or not all(arg.startswith("-") for arg in args):
        return None
    try:
        return bytes.fromhex("".join(text.split())).decode()
    except ValueError:
        return None


def _tr(text: str, args: list[str]) -> str | None:
    """`tr SET SET` of equal length, and `tr -d SET`, with simple ranges."""
    sets = [_range(arg) for arg in args if not arg.startswith("-")]
    if args[:1] == ["-d"] and len(sets) == 1:
        return "".join(char for char in text if char not in sets[0])
    if len(args) != 2 or not sets[1:] or not sets[1]:
        return None
    padded = sets[1] + sets[1][-1] * (len(sets[0]) - len(sets[1]))
    return text.translate(dict(zip(map(ord, sets[0]), padded, strict=False)))


def _range(spec: str) -> str:
    spec = ansi_c(spec)
    return re.sub(r"(.)-(.)", lambda m: "".join(map(chr, range(ord(m[1]), ord(m[2]) + 1))), spec)


def _which(args: list[str], _: Flow) -> str | None:
    names = [arg for arg in args if not arg.startswith("-")]
    return f"/usr/bin/{names[0]}\n" if names else None


def _mktemp(args: list[str], _: Flow) -> str:
    named = [arg for arg in args if "XXX" in arg]
    folder = "" if named and "-t" not in args and "--tmpdir" not in args else "/tmp/"
    return f"{folder}{named[0].rstrip('X') if named else 'tmp.'}{SOME}\n"


def _dirname(args: list[str], _: Flow) -> str | None:
    if len(args) != 1 or args[0][:1] in (UNKNOWN, ""):
        return None
    return (posixpath.dirname(args[0]) or ".") + "\n" if "/" in args[0] or args[0][:1] != SOME else None


def _same_path(args: list[str], _: Flow) -> str | None:
    operands = [arg for arg in args if not arg.startswith("-")]
    return operands[0] + "\n" if len(operands) == 1 else None


_FOLDS: dict[str, Callable[[list[str], Flow], str | None]] = {
    "echo": _echo,
    "printf": _printf,
    "rev": _on_text(_rev),
    "base64": _on_text(_base64),
    "xxd": _on_text(_xxd),
    "tr": _on_text(_tr),
    "which": _which,
    "mktemp": _mktemp,
    "dirname": _dirname,
    "realpath": _same_path,
    "readlink": _same_path,
    "true": lambda _args, _stdin: "",
    ":": lambda _args, _stdin: "",
    "cd": lambda _args, _stdin: "",
    "export": lambda _args, _stdin: "",
    "test": lambda _args, _stdin: "",
    "[": lambda _args, _stdin: "",
}
