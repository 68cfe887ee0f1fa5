"""edit_file: one exact replacement, on bytes, so that all else of the file survives (CONTRACTS §1).

Line ends, byte-order mark, a missing last newline and bytes that are not UTF-8 are not looked at
unless they lie in the replaced text. A search text with LF also matches CRLF; the new text then
takes the file's line ends.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from typing import Any

from .beneath import Place, ToolError, open_regular
from .write_file import reply

MOST_BYTES = 10 * 1024 * 1024


def run(args: dict[str, Any], place: Place) -> dict[str, Any]:
    """`path`, `old_string`, `new_string`, `replace_all`."""
    real = place.resolve(args["path"])
    relative = place.relative(str(args["path"]), real)
    old, new = _bytes(args["old_string"], "old_string"), _bytes(args["new_string"], "new_string")
    if not old:
        raise ToolError("old_string is empty: use write_file to make or replace a whole file")
    with os.fdopen(open_regular(real, relative), "rb") as file:
        data = file.read(MOST_BYTES + 1)
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    if len(data) > MOST_BYTES:
        raise ToolError(f"{relative} is larger than {MOST_BYTES} bytes, the limit of edit_file")
    spans = _spans(data, old)
    _refuse_unclear(relative, data, old, spans, bool(args.get("replace_all")))
    after = _replaced(data, spans, new)
    if after == data:
        raise ToolError("old_string and new_string are the same: nothing would change")
    where = ", ".join(str(_line_of(data, start)) for start, _ in spans[:5])
    text = f"edited {relative}: {len(spans)} replaced (line {where}{', …' if len(spans) > 5 else ''})"
    return reply(relative, after, hashlib.sha256(data).hexdigest(), mode, text)


def _bytes(value: object, name: str) -> bytes:
    try:
        return str(value).encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolError(f"{name} cannot be written as UTF-8: {error.reason}") from error


def _spans(data: bytes, old: bytes) -> list[tuple[int, int]]:
    """Where `old` stands: exactly, or with its line ends written the file's way."""
    exact = [found.span() for found in re.finditer(re.escape(old), data)]
    if exact or b"\n" not in old:
        return exact
    lines = old.replace(b"\r\n", b"\n").split(b"\n")
    return [found.span() for found in re.finditer(rb"\r?\n".join(map(re.escape, lines)), data)]


def _replaced(data: bytes, spans: list[tuple[int, int]], new: bytes) -> bytes:
    """The new text takes the line ends of what it replaces, or else of the whole file."""
    crlf_file = b"\r\n" in data and data.count(b"\r\n") == data.count(b"\n")
    out, end = [], 0
    for start, stop in spans:
        found = data[start:stop]
        crlf = b"\r\n" in found if b"\n" in found else crlf_file
        out += [data[end:start], _with_crlf(new) if crlf else new]
        end = stop
    return b"".join([*out, data[end:]])


def _with_crlf(text: bytes) -> bytes:
    return re.sub(rb"(?<!\r)\n", b"\r\n", text)


def _line_of(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1


def _refuse_unclear(
    relative: str, data: bytes, old: bytes, spans: list[tuple[int, int]], every: bool
) -> None:
    if not spans:
        raise ToolError(f"old_string does not stand in {relative}{_look_alike(data, old)}")
    if len(spans) > 1 and not every:
        lines = ", ".join(str(_line_of(data, start)) for start, _ in spans[:10])
        raise ToolError(
            f"old_string stands in {relative} {len(spans)} times (lines {lines}): "
            "give more of the text around it, or set replace_all"
        )


def _look_alike(data: bytes, old: bytes) -> str:
    """Shows, byte for byte, the place that differs only in blanks; else where its first line stands."""
    wanted = [_squeezed(line) for line in old.split(b"\n")]
    wanted = wanted[:-1] if len(wanted) > 1 and not wanted[-1] else wanted
    lines = data.split(b"\n")
    squeezed = [_squeezed(line) for line in lines]
    for index in range(len(lines) - len(wanted) + 1):
        if squeezed[index : index + len(wanted)] == wanted:
            real = "\n".join(lines[index + i].decode("utf-8", "backslashreplace") for i in range(len(wanted)))
            return f"; line {index + 1} differs in blanks only. The file has exactly: {real!r}"
    first = next((line for line in wanted if line), b"")
    near = [str(index + 1) for index, line in enumerate(squeezed) if first and first == line][:5]
    if near:
        return f"; its first line stands at line {', '.join(near)}, what follows differs: read the file again"
    return ": read the file again"


def _squeezed(line: bytes) -> bytes:
    return b" ".join(line.split())
