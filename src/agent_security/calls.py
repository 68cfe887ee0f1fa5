"""What travels the road: a call, its permit, what came out, what the model is told.

ToolCall ──decide──> Decision ──permit──> Permit ──sandbox──> ToolOutput ──judge, apply──> ToolResult
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agent_security.changeset import ChangeSet
from agent_security.decision import Decision


class Effect(StrEnum):
    """What a tool does to the world; the modes decide by this (DESIGN §2)."""

    PLAN = "plan"
    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"


class Mode(StrEnum):
    """The specification's three permission modes (§2.2)."""

    DEFAULT = "default"
    ACCEPT_EDITS = "acceptEdits"
    SKIP = "dangerouslySkipPermissions"


class Origin(StrEnum):
    """Where a text came from. Told by the road it took, never by its words (D7)."""

    HARNESS = "harness"
    USER = "user"
    WORKSPACE = "workspace"
    FILE = "file"
    WEB = "web"
    MCP = "mcp"


class Status(StrEnum):
    """How a call ended."""

    OK = "ok"
    ERROR = "error"
    """The tool ran and has bad news: no such file, exit code 1."""
    REFUSED = "refused"
    TIMEOUT = "timeout"
    BROKEN = "broken"
    """The wall failed; nothing was applied."""
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call as the model made it. `args_json` is kept to the byte."""

    id: str
    name: str
    args_json: str

    @property
    def args(self) -> dict[str, Any]:
        """A fresh copy each time: no gate can change what the next one sees.

        Raises ValueError where the arguments are not one JSON object.
        """
        try:
            args = json.loads(self.args_json)
        except RecursionError as error:
            raise ValueError("the arguments are nested too deeply") from error
        if not isinstance(args, dict):
            raise ValueError("the arguments are not a JSON object")
        return args

    @property
    def digest(self) -> str:
        """SHA-256 over name and arguments, as 64 hex digits."""
        text = f"{self.name}\0{self.args_json}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Permit:
    """The right to run one call once. Made in pipeline.py and nowhere else (a test holds it)."""

    call: ToolCall
    decision: Decision
    ran_on: str
    """Where it runs: "sandbox", "host" (guarded functions, `webfetch`) or "memory" (planning tools)."""

    def __post_init__(self) -> None:
        if not self.decision.allowed:
            raise ValueError("no permit without an ALLOW")


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What came out of the wall, before anything was applied, redacted or wrapped.

    `origin` and `status` are set by the host; nothing inside the sandbox can choose them.
    """

    text: str
    status: Status = Status.OK
    origin: Origin = Origin.HARNESS
    changes: ChangeSet = field(default_factory=ChangeSet)
    exit_code: int | None = None
    source: str = ""
    """The path or URL that the text stands for, where there is one."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The end of the road: what the model is told, wrapped."""

    call: ToolCall
    decision: Decision
    content: str
    status: Status
    exit_code: int | None = None
    summary: str = ""
    """One plain line for the person: what the call did."""
