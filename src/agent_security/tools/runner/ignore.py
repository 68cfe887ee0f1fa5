"""`.gitignore` files, as glob_files and the own search of grep honour them.

Those of the searched tree count, the nearer file and the later line winning, as in git. Not read:
`.git/info/exclude`, the person's global file, and files above the searched folder.
"""

from __future__ import annotations

import os
import re
import stat
from typing import NamedTuple

_MOST_BYTES = 256 * 1024


class Rule(NamedTuple):
    """One line: what it matches, relative to its own folder, and what it says."""

    pattern: re.Pattern[str]
    negated: bool
    folders_only: bool


class Ignore:
    """Asks the rules of each folder on the way, innermost first. Folders are relative to `root`, "" is it."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._rules: dict[str, list[Rule]] = {}

    def ignored(self, path: str, is_folder: bool) -> bool:
        """Whether the file or folder `path` (relative to the root) is left out; its parents are not asked."""
        folder = os.path.dirname(path)
        while True:
            below = path[len(folder) + 1 :] if folder else path
            for rule in reversed(self._of(folder)):
                if (is_folder or not rule.folders_only) and rule.pattern.fullmatch(below):
                    return not rule.negated
            if not folder:
                return False
            folder = os.path.dirname(folder)

    def _of(self, folder: str) -> list[Rule]:
        if folder not in self._rules:
            self._rules[folder] = _read(os.path.join(self._root, folder, ".gitignore"))
        return self._rules[folder]


def has_odd_ignore_file(root: str) -> bool:
    """Whether a `.gitignore` below is no file: `rg` would wait at a FIFO, and read a device without end."""
    waiting = [root]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.name == ".gitignore" and not entry.is_file(follow_symlinks=False):
                        return True
                    if entry.is_dir(follow_symlinks=False) and entry.name != ".git":
                        waiting.append(entry.path)
        except OSError:
            continue
    return False


def _read(path: str) -> list[Rule]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return []
            text = file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    return [rule for line in text.splitlines() if (rule := _rule(line)) is not None]


def _rule(line: str) -> Rule | None:
    line = re.sub(r"(?<!\\)\s+$", "", line)
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    line = line[1:] if negated else line
    folders_only = line.endswith("/")
    line = line.rstrip("/") if folders_only else line
    anchored = "/" in line
    body = translate(line.lstrip("/"))
    try:
        return Rule(re.compile(body if anchored else f"(?:.*/)?{body}", re.DOTALL), negated, folders_only)
    except re.error:
        return None


def translate(pattern: str) -> str:
    """A glob as a regular expression: `*` and `?` stay within a name, `**` crosses folders."""
    out, index = "", 0
    while index < len(pattern):
        letter = pattern[index]
        index += 1
        if letter == "*":
            stars = len(pattern) - len(pattern[index:].lstrip("*")) - index + 1
            index += stars - 1
            if stars > 1 and pattern[index : index + 1] == "/":
                out, index = out + "(?:.*/)?", index + 1
            else:
                out += ".*" if stars > 1 else "[^/]*"
        elif letter == "?":
            out += "[^/]"
        elif letter == "[" and (end := pattern.find("]", index + 1)) > 0:
            inner = pattern[index:end].replace("\\", "\\\\")
            out += f"[^/{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]"
            index = end + 1
        elif letter == "\\" and index < len(pattern):
            out, index = out + re.escape(pattern[index]), index + 1
        else:
            out += re.escape(letter)
    return out
