"""The file worker's loop: one JSON request a line in, one JSON reply a line out.

A request is `{"tool", "args", "masks"?}`, a reply `{"ok", "text", "write"?}`. The reply has no say in
its id, origin or status: the host sets those. Everything is refused, nothing raised.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import sys
from typing import Any, BinaryIO

from .beneath import Place, ToolError

TOOLS = ("read_file", "glob_files", "grep", "write_file", "edit_file")


def main(workspace: str, added: list[str]) -> None:
    """Serve until standard input ends. Replies go to a descriptor that no tool prints to by accident."""
    replies = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    serve(sys.stdin.buffer, replies, Place(workspace, tuple(added)))


def serve(requests: BinaryIO, replies: BinaryIO, place: Place) -> None:
    for line in requests:
        reply = answer(line, place)
        replies.write(json.dumps(reply).encode("ascii") + b"\n")
        replies.flush()


def answer(line: bytes, place: Place) -> dict[str, Any]:
    """The reply to one request."""
    try:
        request = json.loads(line)
        if "masks" in request:
            place.masks = {path: base64.b64decode(data) for path, data in request["masks"].items()}
        return {"ok": True, **_run(request["tool"], request["args"], place)}
    except ToolError as error:
        return {"ok": False, "text": str(error)}
    except Exception as error:
        return {"ok": False, "text": f"the tool failed: {type(error).__name__}: {error}"}


def _run(name: str, args: dict[str, Any], place: Place) -> dict[str, Any]:
    if name not in TOOLS:
        raise ToolError(f"{name} is no file tool")
    module = importlib.import_module(f".{name}", __package__)
    result: dict[str, Any] = module.run(args, place)
    return result
