"""JSON lines in, JSON lines out, for commands that scripts drive (CONTRACTS §2).

A line that cannot be read gives `{"id":null,"error":…}`, the rest go on, and the exit code is 2.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import IO, Any

LINE_LIMIT = 64 * 1024 * 1024
"""Bytes of one line."""

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def answer_lines(lines: Iterable[bytes], out: IO[str], answer: Answer) -> bool:
    """Write one answer a line. False where at least one line could not be read.

    `answer` raises KeyError, TypeError or ValueError for a line it cannot use.
    """
    all_read = True
    for line in lines:
        if not line.strip():
            continue
        reply = _answer_one(line, answer)
        all_read = all_read and "error" not in reply
        out.write(json.dumps(reply) + "\n")
        out.flush()
    return all_read


def _answer_one(line: bytes, answer: Answer) -> Mapping[str, Any]:
    try:
        if len(line) > LINE_LIMIT:
            raise ValueError(f"longer than {LINE_LIMIT} bytes")
        asked = json.loads(line)
        if not isinstance(asked, dict):
            raise TypeError("not an object")
        return {"id": asked.get("id"), **answer(asked)}
    except KeyError as error:
        return {"id": None, "error": f"a field is missing: {error.args[0]}"}
    except (TypeError, ValueError, RecursionError) as error:
        return {"id": None, "error": f"cannot be read: {error}"}


def text_field(asked: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """A field that must be text. Raises KeyError where it is missing, TypeError for anything else."""
    value = asked[name] if default is None else asked.get(name, default)
    if not isinstance(value, str):
        raise TypeError(f"{name} is not text")
    return value
