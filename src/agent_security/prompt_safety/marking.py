"""Outside text is marked as outside (§1.3). Origin decides, never the words of the text (D7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_security.calls import Origin
from agent_security.paths import is_path_within
from agent_security.prompt_safety.wrapping import Marked, enclose

_KINDS = {Origin.WEB: "web", Origin.FILE: "file", Origin.MCP: "mcp"}


def mark_by_origin(text: str, origin: Origin, source: str, *, nonce: str | None = None) -> str:
    """`<external_document kind=… source=…>` around what came from outside; the rest as it is.

    WORKSPACE, USER and HARNESS text is returned raw: `wrap_tool_result` neutralises it.
    """
    kind = _KINDS.get(origin)
    return text if kind is None else _external(kind, source, text, nonce)


def mark_task_document(text: str, source: str, *, nonce: str | None = None) -> str:
    """What stdin or --context handed over: part of the task, without authority (CONTRACTS §2)."""
    return _external("task", source, text, nonce)


def mark_external_content(
    tool_name: str,
    tool_args: Mapping[str, Any],
    result: str,
    working_dir: str,
    *,
    origin: Origin | None = None,
) -> str:
    """§1.3 by tool and arguments. A page that begins like one of our errors is still a page (D7):
    only `origin=Origin.HARNESS` returns a harness error unchanged."""
    if origin is Origin.HARNESS:
        return result
    if tool_name == "webfetch":
        return _external("web", str(tool_args.get("url", "")), result, None)
    path = str(tool_args.get("path", ""))
    if tool_name == "read_file" and not is_path_within(path, working_dir):
        return _external("file", path, result, None)
    return result


def _external(kind: str, source: str, text: str, nonce: str | None) -> Marked:
    # str(): a document inside a document is content like any other, its tags included
    content = text if not isinstance(text, Marked) else str(text)
    return Marked(enclose("external_document", {"kind": kind, "source": source}, content, nonce))
