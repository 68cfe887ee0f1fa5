"""read_file: numbered lines, a page at a time (CONTRACTS §1)."""

from __future__ import annotations

import os
from typing import Any

from .beneath import Place, ToolError, open_regular

DEFAULT_LINES = 2000
PAGE_BYTES = 28_000
"""Below the spine's cap on a result, so that the line that says how to go on is never cut off."""
LINE_CHARS = 2000
SCAN_BYTES = 64 * 1024 * 1024
"""How far a file is read to reach `offset` or to count its lines."""


def run(args: dict[str, Any], place: Place) -> dict[str, Any]:
    """`path`, `offset` (first line, from 1), `limit` (lines)."""
    real = place.resolve(args["path"])
    shown = place.shown(real)
    masked = place.masked(real)
    if masked == b"":
        return {"text": f"[{shown} is masked: a secret file. It reads empty until it is granted]"}
    fd = open_regular(real, shown)
    with os.fdopen(fd, "rb") as file:
        data = masked if masked is not None else file.read(SCAN_BYTES + 1)
        size = len(masked) if masked is not None else os.fstat(fd).st_size
    first, count = int(args.get("offset") or 1), int(args.get("limit") or DEFAULT_LINES)
    return {"text": _page(shown, data, size, first, count)}


def _page(shown: str, data: bytes, size: int, first: int, count: int) -> str:
    if not data:
        return f"[{shown} is empty]"
    text, notes = _decoded(shown, data[:SCAN_BYTES], size)
    whole = size <= SCAN_BYTES
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    total = f"{len(lines)}" if whole else f"more than {len(lines)}"
    if first > len(lines):
        raise ToolError(f"{shown} has {total} lines; offset {first} is past its end")
    if any(line.endswith("\r") for line in lines):
        notes.append("line ends are CRLF")
    numbered = _fitting(lines, first, count)
    last = first + len(numbered) - 1
    if first > 1 or last < len(lines) or not whole:
        go_on = f"; go on with offset={last + 1}" if last < len(lines) else ""
        notes.append(f"lines {first} to {last} of {total}{go_on}")
    return "\n".join([*numbered, *(f"[{note}]" for note in notes)])


def _fitting(lines: list[str], first: int, count: int) -> list[str]:
    """As many numbered lines as a page holds, at least one."""
    page: list[str] = []
    room = PAGE_BYTES
    for number in range(first, min(first + count, len(lines) + 1)):
        line = f"{number:6}\t{_cut(lines[number - 1])}"
        room -= len(line.encode("utf-8", "replace")) + 1
        if page and room < 0:
            break
        page.append(line)
    return page


def _cut(line: str) -> str:
    line = line[:-1] if line.endswith("\r") else line
    over = len(line) - LINE_CHARS
    return line if over <= 0 else f"{line[:LINE_CHARS]} [… {over} more characters]"


def _decoded(shown: str, data: bytes, size: int) -> tuple[str, list[str]]:
    """The text and what to note about it. Raises ToolError for a binary file."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").replace("\r\n", "\n"), ["the file is UTF-16"]
    if b"\0" in data[:8192]:
        raise ToolError(f"{shown} is a binary file of {size} bytes; it is not shown")
    notes = ["the file begins with a byte-order mark"] if data.startswith(b"\xef\xbb\xbf") else []
    try:
        return data.decode("utf-8-sig"), notes
    except UnicodeDecodeError as error:
        if error.end >= len(data) and size > len(data):
            return data.decode("utf-8-sig", "ignore"), notes
        return data.decode("utf-8-sig", "replace"), [*notes, "not UTF-8: some bytes show as U+FFFD"]
