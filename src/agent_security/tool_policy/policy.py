"""§2.3: the hard policy over one call, in three layers: path, shell, web. No mode overrides it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from agent_security.decision import Check
from agent_security.net import judge_url
from agent_security.paths import Scope, judge_path
from agent_security.ports import Resolver
from agent_security.tool_policy.confirm import empties
from agent_security.tool_policy.places import OK
from agent_security.tool_policy.shell import check_shell_policy

PATH_TOOLS: dict[str, bool] = {
    "read_file": False,
    "glob_files": False,
    "grep": False,
    "write_file": True,
    "edit_file": True,
}
"""Tools with a `path` argument, and whether they write to it."""


def check_tool_policy(
    tool_name: str, args: Mapping[str, Any], working_dir: str, *, scope: Scope | None = None
) -> Check:
    """The three layers in order; the first refusal stands."""
    scope = scope or Scope(working_dir)
    check = check_path_scope(tool_name, args, working_dir, scope=scope)
    if check.ok and tool_name == "run_bash":
        check = check_shell_policy(str(args.get("command", "")), scope=scope)
    if check.ok and tool_name == "webfetch":
        check = check_web_policy(
            str(args.get("url", "")), resolver=scope.resolver, open_hosts=scope.open_hosts
        )
    return check


def check_path_scope(
    tool_name: str, args: Mapping[str, Any], working_dir: str, *, scope: Scope | None = None
) -> Check:
    """Layer 1: every path argument of a file tool stays in the workspace; reads in added folders too."""
    if tool_name not in PATH_TOOLS:
        return OK
    path = args.get("path", "" if PATH_TOOLS[tool_name] or tool_name == "read_file" else ".")
    return judge_path(path, scope or Scope(working_dir), write=PATH_TOOLS[tool_name])


def check_web_policy(
    url: str, *, resolver: Resolver | None = None, open_hosts: Collection[str] = ()
) -> Check:
    """Layer 3: by its letters; with a resolver every address of the host too (D10)."""
    return judge_url(url, resolver=resolver, open_hosts=tuple(open_hosts))


def _is_delete_via_write(tool_name: str, args: Mapping[str, Any], working_dir: str) -> bool:
    """Whether `write_file` or `edit_file` would empty an existing file that has content (§2.2, D2)."""
    return tool_name in ("write_file", "edit_file") and empties(tool_name, args, Scope(working_dir))


def filter_tool_schemas(
    schemas: list[dict[str, Any]], allowed: Collection[str] | None
) -> list[dict[str, Any]]:
    """The schemas of the allowed tools (§2.1); None allows all, an empty collection none."""
    if allowed is None:
        return list(schemas)
    return [schema for schema in schemas if schema.get("function", {}).get("name") in allowed]
