"""Material the person hands over, without authority: stdin and `--context FILE` (CONTRACTS §2).

Nothing here can hang: a FIFO or device is refused as a file, and a stdin that says nothing is
given up after a while, loudly.
"""

from __future__ import annotations

import os
import select
import stat
import time
from collections.abc import Callable, Sequence

from agent_security.descriptors import open_root, read_regular
from agent_security.errors import UsageError
from agent_security.loop.documents import Document

MAX_BYTES = 1_048_576
SILENT_S = 10.0
"""How long a stdin that is open but silent is waited for."""


def context_documents(paths: Sequence[str], workspace: str) -> list[Document]:
    """The files of `--context`. Raises UsageError naming the one that cannot be read."""
    return [Document(_read_file(path, workspace), path) for path in paths]


def _read_file(path: str, workspace: str) -> str:
    try:
        return _bytes_of(os.path.abspath(path), workspace).decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"--context {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"--context {path}: larger than {MAX_BYTES} bytes") from error


def _bytes_of(path: str, workspace: str) -> bytes:
    """A file of the workspace is read without following a link: a repository may have planted one."""
    inside = path.startswith(f"{workspace}/")
    root = open_root(workspace if inside else os.path.dirname(os.path.realpath(path)))
    try:
        return read_regular(root, os.path.relpath(path, workspace) if inside else _name(path), MAX_BYTES)
    finally:
        os.close(root)


def _name(path: str) -> str:
    return os.path.basename(os.path.realpath(path))


def stdin_document(say: Callable[[str], None], fd: int = 0, silent_s: float = SILENT_S) -> Document | None:
    """What was piped in, or None for a terminal, an empty or closed stdin, or one that stays silent."""
    try:
        kind = os.fstat(fd).st_mode
    except OSError:
        return None
    if stat.S_ISCHR(kind):
        return None
    text = _read_while_it_speaks(fd, silent_s, say).decode("utf-8", "replace")
    return Document(text, "stdin") if text.strip() else None


def _read_while_it_speaks(fd: int, silent_s: float, say: Callable[[str], None]) -> bytes:
    """To its end, to MAX_BYTES, or until nothing came for `silent_s`."""
    data = b""
    told_at = time.monotonic() + 1.0
    ends_at = time.monotonic() + silent_s
    while len(data) < MAX_BYTES and (left_s := ends_at - time.monotonic()) > 0:
        if not select.select([fd], [], [], min(left_s, 0.5))[0]:
            if told_at and time.monotonic() > told_at:
                say(f"waiting up to {silent_s:g} s for text on stdin (</dev/null says there is none)")
                told_at = 0.0
            continue
        more = os.read(fd, 65536)
        if not more:
            return data
        data += more
        ends_at = time.monotonic() + silent_s
    say(
        "stdin: cut at 1 MiB"
        if len(data) >= MAX_BYTES
        else "stdin stayed silent: going on without more of it"
    )
    return data[:MAX_BYTES]
