"""Exit codes (CONTRACTS §3): the numbers, an error's number, and the one line an error is told with."""

from __future__ import annotations

from enum import IntEnum

from agent_security.errors import (
    Aborted,
    AgentSecurityError,
    NotBuiltError,
    ProviderError,
    SandboxUnavailable,
    SystemPromptError,
    UsageError,
)


class Exit(IntEnum):
    """What a script may rely on."""

    DONE = 0
    INTERNAL = 1
    """Also "found", for verify, scan and redteam."""
    USAGE = 2
    LIMIT = 3
    SANDBOX = 4
    APPROVAL = 5
    PROVIDER = 6
    TRIPWIRE = 7
    SIGINT = 130
    SIGTERM = 143


PRECEDENCE = (
    Exit.SIGINT,
    Exit.SIGTERM,
    Exit.TRIPWIRE,
    Exit.SANDBOX,
    Exit.LIMIT,
    Exit.PROVIDER,
    Exit.INTERNAL,
    Exit.APPROVAL,
)
"""The first of these that holds is the exit code; where none does, 0."""

_BY_ERROR: tuple[tuple[type[AgentSecurityError], Exit], ...] = (
    (UsageError, Exit.USAGE),
    (NotBuiltError, Exit.USAGE),
    (SystemPromptError, Exit.USAGE),
    (SandboxUnavailable, Exit.SANDBOX),
    (ProviderError, Exit.PROVIDER),
    (Aborted, Exit.SIGINT),
)


def exit_of(error: AgentSecurityError) -> Exit:
    """The exit code of an error that ended the program."""
    return next((code for kind, code in _BY_ERROR if isinstance(error, kind)), Exit.INTERNAL)


def line_of(error: Exception) -> str:
    """One line for stderr: what is wrong, and the line to type where there is one."""
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, SandboxUnavailable) and error.remedy:
        text = f"{text.rstrip('.')}. To get one: {' '.join(error.remedy.split())}"
    return f"agent-security: {text}"
