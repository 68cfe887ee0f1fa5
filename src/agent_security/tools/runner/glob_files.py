"""glob_files: paths that match a pattern, sorted and bounded (CONTRACTS §1)."""

from __future__ import annotations

import os
import re
from typing import Any

from .beneath import Place, ToolError
from .ignore import translate
from .walking import Walk

MOST_RESULTS = 1000
MOST_BYTES = 28_000


def run(args: dict[str, Any], place: Place) -> dict[str, Any]:
    """`pattern` (relative; `**` crosses folders, `{a,b}` chooses), `path` (the folder to look in)."""
    pattern = str(args["pattern"])
    if pattern.startswith("/") or ".." in pattern.split("/"):
        raise ToolError("the pattern is relative to `path` and stays beneath it")
    real = place.resolve(str(args.get("path") or "."))
    if not os.path.isdir(real):
        raise ToolError(f"{place.shown(real)} is no folder")
    matching = re.compile("|".join(translate(one) for one in braced(pattern.removeprefix("./"))), re.DOTALL)
    walk = Walk(real)
    found: list[str] = []
    room, more = MOST_BYTES, False
    for path in walk.files():
        if not matching.fullmatch(path):
            continue
        shown = place.shown(os.path.join(real, path))
        room -= len(shown.encode("utf-8", "replace")) + 1
        if len(found) >= MOST_RESULTS or room < 0:
            more = True
            break
        found.append(shown)
    return {"text": "\n".join([*(found or ["no files match"]), *_notes(walk, len(found), more)])}


def _notes(walk: Walk, count: int, more: bool) -> list[str]:
    notes = []
    if more:
        notes.append(f"[the first {count} are shown; a narrower pattern or path shows the rest]")
    if walk.cut_short:
        notes.append("[the tree is too large to be searched whole; give a path]")
    if walk.ignored:
        notes.append("[files that .gitignore leaves out are not listed]")
    return notes


def braced(pattern: str, most: int = 64) -> list[str]:
    """`a.{py,md}` as its alternatives. More than `most` of them is no reasonable pattern."""
    patterns = [pattern]
    while any(_BRACES.search(one) for one in patterns):
        patterns = [text for one in patterns for text in _chosen(one)]
        if len(patterns) > most:
            raise ToolError("the pattern has too many alternatives")
    return patterns


_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def _chosen(pattern: str) -> list[str]:
    found = _BRACES.search(pattern)
    if found is None:
        return [pattern]
    return [
        pattern[: found.start()] + choice + pattern[found.end() :] for choice in found.group(1).split(",")
    ]
