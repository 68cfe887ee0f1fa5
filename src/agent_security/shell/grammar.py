"""The one call of a real bash grammar: `shfmt --to-json`. "Cannot parse" is a value, never an error.

What shfmt reads otherwise than bash does (NUL, CR) and what a person would not see (bidi marks,
zero-width characters) is refused before the grammar is asked.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import sysconfig
import time
import unicodedata
from functools import lru_cache
from typing import Any

from agent_security.shell.words import NONCHARACTERS

Node = dict[str, Any]

DEADLINE_S = 5.0
MAX_BYTES = 256 * 1024
MAX_TREE_DEPTH = 400
_PIPE_BYTES = 48 * 1024
"""What a pipe takes without a reader."""
_JOINER, _VARIATION = "\u200d", "\ufe0f"
_ENV = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
DIALECTS = {"bash": "bash", "posix": "posix", "mksh": "mksh"}


def refused_character(text: str, *, marked: bool = False) -> str:
    """Which character cannot be judged or seen, as "U+202E", or "". `marked`: marks may stand in it."""
    for position, char in enumerate(text):
        if char in "\t\n" or " " <= char <= "~" or (marked and char in NONCHARACTERS):
            continue
        if _is_refused(char, text[position - 1 : position]):
            return f"U+{ord(char):04X}"
    return ""


def _is_refused(char: str, before: str) -> bool:
    if char == _VARIATION or (char == _JOINER and _joins_pictures(before)):
        return False
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") or char in NONCHARACTERS


def _joins_pictures(before: str) -> bool:
    return before == _VARIATION or unicodedata.category(before or "a") in ("So", "Sk")


@lru_cache(maxsize=1)
def shfmt_path() -> str:
    """The grammar's program, absolute: beside the interpreter, else the system's. "" where there is none.

    The person's PATH is not asked: it may lead into a workspace.
    """
    beside = (os.path.dirname(sys.executable), sysconfig.get_path("scripts"))
    for folder in (*beside, "/usr/local/bin", "/usr/bin", "/bin"):
        if found := shutil.which("shfmt", path=folder):
            return os.path.abspath(found)
    return ""


@lru_cache(maxsize=2048)
def syntax_tree(text: str, dialect: str = "bash", *, marked: bool = False) -> tuple[Node | None, str]:
    """(tree, "") or (None, why not). Never raises on bad input. The tree is shared: do not alter it."""
    if char := refused_character(text, marked=marked):
        return (
            None,
            f"hidden_text: the line holds {char}, which a person cannot see or the shell reads otherwise",
        )
    if len(text) > MAX_BYTES:
        return None, f"unparsable: longer than {MAX_BYTES} bytes"
    if not shfmt_path():
        return None, "unparsable: the shell grammar (shfmt) is not installed"
    return _ask_shfmt(text, dialect)


def _ask_shfmt(text: str, dialect: str) -> tuple[Node | None, str]:
    command = [shfmt_path(), "--to-json", "-ln", DIALECTS.get(dialect, "bash")]
    try:
        code, out, err = _run(command, text.encode())
        if code:
            return None, f"unparsable: {err.decode(errors='replace').strip()[:200]}"
        tree = json.loads(out)
    except TimeoutError:
        return None, f"unparsable: no answer from the grammar in {DEADLINE_S:.0f} s"
    except (OSError, ValueError, RecursionError) as error:
        return None, f"unparsable: {type(error).__name__}"
    return (
        (tree, "") if _fits(tree) else (None, f"too_deep: the syntax is nested deeper than {MAX_TREE_DEPTH}")
    )


def _run(command: list[str], text: bytes) -> tuple[int, bytes, bytes]:
    """The one process. A pipe filled beforehand saves a third of `subprocess.run`'s time."""
    if len(text) > _PIPE_BYTES:
        return _run_with_thread(command, text)
    reader, writer = os.pipe()
    try:
        os.write(writer, text)
    finally:
        os.close(writer)
    try:
        process = subprocess.Popen(
            command, stdin=reader, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_ENV, cwd="/"
        )
    finally:
        os.close(reader)
    with process:
        out = _read(process)
        err = process.stderr.read() if process.stderr and not out else b""
    return process.returncode, out, err


def _read(process: subprocess.Popen[bytes]) -> bytes:
    """All that it prints, until the deadline; then it is killed. Raises TimeoutError."""
    chunks: list[bytes] = []
    until = time.monotonic() + DEADLINE_S
    if process.stdout is None:
        raise OSError("no output")
    poll = select.poll()
    poll.register(process.stdout, select.POLLIN | select.POLLHUP)
    while poll.poll(max(0.0, until - time.monotonic()) * 1000):
        chunk = os.read(process.stdout.fileno(), 1 << 18)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
    process.kill()
    raise TimeoutError


def _run_with_thread(command: list[str], text: bytes) -> tuple[int, bytes, bytes]:
    try:
        run = subprocess.run(
            command, input=text, capture_output=True, timeout=DEADLINE_S, env=_ENV, cwd="/", check=False
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError from error
    return run.returncode, run.stdout, run.stderr


def _fits(tree: Node) -> bool:
    """Walks without recursion, so that nesting can be bounded before anything recurses over it."""
    pending: list[tuple[Any, int]] = [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        if depth > MAX_TREE_DEPTH:
            return False
        inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        pending.extend((item, depth + 1) for item in inner if isinstance(item, (dict, list)))
    return True
