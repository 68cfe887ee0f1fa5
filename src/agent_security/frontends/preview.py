"""`preview`: exactly what the model would see of a tool's result (CONTRACTS §2)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from agent_security.calls import Origin
from agent_security.frontends.json_lines import answer_lines, text_field
from agent_security.prompt_safety import (
    everything_found,
    fresh_nonce,
    is_path_within,
    mark_by_origin,
    wrap_tool_result,
)
from agent_security.resource_limits import cap_tool_result
from agent_security.secret_management import Redactor
from agent_security.text import Finding, for_model


def preview(asked: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """One line's answer: the wrapped text, and what was found in `content` (places count its characters)."""
    tool, content = text_field(asked, "tool"), text_field(asked, "content")
    args = asked.get("args") or {}
    if not isinstance(args, dict):
        raise TypeError("args is not an object")
    origin, source = _origin(asked, tool, args)
    text = for_model(cap_tool_result(redactor.redact(content)))
    marked = mark_by_origin(text, origin, source)
    return {
        "wrapped": wrap_tool_result(tool, marked, nonce=fresh_nonce()),
        "findings": [_as_json(finding) for finding in everything_found(content)],
    }


def _origin(asked: Mapping[str, Any], tool: str, args: Mapping[str, Any]) -> tuple[Origin, str]:
    """Where the text comes from. No origin is untrusted, whatever the tool."""
    source = str(args.get("url") or args.get("path") or tool)
    if not asked.get("origin"):
        return (Origin.WEB if args.get("url") else Origin.FILE if args.get("path") else Origin.MCP), source
    origin = Origin(text_field(asked, "origin"))
    cwd = text_field(asked, "cwd", "")
    if origin is Origin.WORKSPACE and cwd and args.get("path") and not is_path_within(str(args["path"]), cwd):
        return Origin.FILE, source
    return origin, source


def _as_json(finding: Finding) -> dict[str, Any]:
    return {"kind": finding.kind, "start": finding.start, "end": finding.end, "shown": finding.shown}


@click.command("preview")
def command() -> None:
    """JSON lines in (id, tool, args, content, origin?, cwd?), what the model would see out."""
    redactor = Redactor()
    if not answer_lines(sys.stdin.buffer, sys.stdout, lambda asked: preview(asked, redactor)):
        raise SystemExit(2)
