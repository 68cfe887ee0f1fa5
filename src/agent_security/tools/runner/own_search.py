"""The worker's own line search, for machines without `rg`."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .beneath import ToolError
from .glob_files import braced
from .ignore import translate
from .walking import Walk

MOST_FILE_BYTES = 32 * 1024 * 1024


class Hit(NamedTuple):
    """One line of a result. `path` is absolute; `is_match` is False for a line of context."""

    path: str
    line: int
    is_match: bool
    text: str


def search(args: dict[str, Any], real: str, context: int) -> Iterator[Hit]:
    """Every matching line below `real`, files in order, with `context` lines around each."""
    try:
        pattern = re.compile(str(args["pattern"]), re.IGNORECASE if args.get("ignore_case") else 0)
    except re.error as error:
        raise ToolError(f"the pattern is no regular expression: {error}") from error
    wanted = _wanted(str(args.get("glob") or ""))
    for path in _files(real):
        if wanted(os.path.relpath(path, real)):
            yield from _in_file(path, pattern, context)


def _files(real: str) -> Iterator[str]:
    if not os.path.isdir(real):
        yield real
        return
    for path in sorted(Walk(real).files()):
        joined = os.path.join(real, path)
        if not os.path.islink(joined):
            yield joined


def _wanted(glob: str) -> Callable[[str], bool]:
    """A glob without a slash matches the name anywhere; one that begins with `!` leaves out."""
    if not glob:
        return lambda path: True
    out, glob = glob.startswith("!"), glob.removeprefix("!")
    anywhere = "" if "/" in glob else "(?:.*/)?"
    alternatives = "|".join(translate(one) for one in braced(glob.lstrip("/")))
    matching = re.compile(f"{anywhere}(?:{alternatives})", re.DOTALL)
    return lambda path: (matching.fullmatch(path) is None) == out


def _in_file(path: str, pattern: re.Pattern[str], context: int) -> Iterator[Hit]:
    before: deque[Hit] = deque(maxlen=context)
    after = 0
    for number, text in enumerate(_lines(path), 1):
        if pattern.search(text):
            yield from before
            before.clear()
            yield Hit(path, number, True, text)
            after = context
        elif after:
            after -= 1
            yield Hit(path, number, False, text)
        else:
            before.append(Hit(path, number, False, text))


def _lines(path: str) -> list[str]:
    """The lines of a text file; none of a binary, huge or unreadable one."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            data = file.read(MOST_FILE_BYTES + 1)
    except OSError:
        return []
    if len(data) > MOST_FILE_BYTES or b"\0" in data:
        return []
    lines = data.decode("utf-8", "replace").split("\n")
    return lines[:-1] if lines[-1] == "" else lines
