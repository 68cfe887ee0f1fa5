"""§2: the hard policy, what a person must confirm, and what needs no question.

`policy` holds the three layers, `shell` the judgement of a line, `confirm` the questions, `lists` the
specification's lists; one file a concern beside them.
"""

from __future__ import annotations

from agent_security.tool_policy.confirm import always_confirm_required, notes_on
from agent_security.tool_policy.lists import (
    ALWAYS_CONFIRM_ARG_PATTERNS,
    ALWAYS_CONFIRM_TOOLS,
    DESTRUCTIVE_TOOLS,
    SHELL_DENYLIST_BINARIES,
    SHELL_DENYLIST_PATTERNS,
    WEB_DENYLIST_HOSTS,
)
from agent_security.tool_policy.network import network_commands
from agent_security.tool_policy.policy import (
    _is_delete_via_write,
    check_path_scope,
    check_tool_policy,
    check_web_policy,
    filter_tool_schemas,
)
from agent_security.tool_policy.readonly import is_read_only_command
from agent_security.tool_policy.shell import check_shell_policy

__all__ = [
    "ALWAYS_CONFIRM_ARG_PATTERNS",
    "ALWAYS_CONFIRM_TOOLS",
    "DESTRUCTIVE_TOOLS",
    "SHELL_DENYLIST_BINARIES",
    "SHELL_DENYLIST_PATTERNS",
    "WEB_DENYLIST_HOSTS",
    "_is_delete_via_write",
    "always_confirm_required",
    "check_path_scope",
    "check_shell_policy",
    "check_tool_policy",
    "check_web_policy",
    "filter_tool_schemas",
    "is_read_only_command",
    "network_commands",
    "notes_on",
]
