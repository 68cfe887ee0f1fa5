"""write_file: the new bytes of one file, handed to the host; nothing is written here (DESIGN §3.2)."""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from typing import Any

from .beneath import Place, ToolError, open_regular

MOST_BEFORE_BYTES = 256 * 1024 * 1024
"""How large a file may be that is replaced: its digest is taken first."""


def run(args: dict[str, Any], place: Place) -> dict[str, Any]:
    """`path`, `content`. New folders on the way are allowed."""
    real = place.resolve(args["path"])
    relative = place.relative(str(args["path"]), real)
    try:
        data = str(args["content"]).encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolError(f"the content cannot be written as UTF-8: {error.reason}") from error
    if not os.path.lexists(real):
        _refuse_file_on_the_way(real, relative)
        return reply(relative, data, None, None, f"new file {relative}: {_measured(data)}")
    before, mode, note = _standing(real, relative, data)
    return reply(relative, data, before, mode, f"replaced {relative}: {_measured(data)}{note}")


def _standing(real: str, relative: str, data: bytes) -> tuple[str, int, str]:
    """Digest and mode of the file that is replaced, and a note where its line ends change."""
    with os.fdopen(open_regular(real, relative), "rb") as file:
        found = os.fstat(file.fileno())
        if found.st_size > MOST_BEFORE_BYTES:
            raise ToolError(f"{relative} has {found.st_size} bytes; at most {MOST_BEFORE_BYTES} are replaced")
        digest, had_crlf = hashlib.sha256(), False
        while block := file.read(1 << 20):
            digest.update(block)
            had_crlf = had_crlf or b"\r\n" in block
    note = "; its line ends were CRLF and now are LF" if had_crlf and b"\r\n" not in data else ""
    return digest.hexdigest(), stat.S_IMODE(found.st_mode), note


def _refuse_file_on_the_way(real: str, relative: str) -> None:
    folder = os.path.dirname(real)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise ToolError(f"{relative} cannot be made: a part of its path is a file")


def _measured(data: bytes) -> str:
    lines = data.count(b"\n") + bool(data and not data.endswith(b"\n"))
    return f"{lines} lines, {len(data)} bytes"


def reply(relative: str, data: bytes, before: str | None, mode: int | None, text: str) -> dict[str, Any]:
    """What the host makes a change set of: bytes in base64, SHA-256 and mode of the file before."""
    staged = {
        "path": relative,
        "data": base64.b64encode(data).decode("ascii"),
        "before": before,
        "mode": mode,
        "existed": before is not None,
    }
    return {"text": text, "write": staged}
