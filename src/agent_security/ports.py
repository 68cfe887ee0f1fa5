"""What the spine and the loop need from outside, as Protocols; fakes of all of them in `testing.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent_security.calls import Permit, ToolCall, ToolOutput
from agent_security.changeset import ChangeSet, Node
from agent_security.decision import Decision

Message = dict[str, Any]
"""One chat.completions message, as a plain dict."""

Resolver = Callable[[str, int], Sequence[str]]
"""(host, port) -> addresses as text. Raises OSError where the name does not resolve."""


# --- the wall ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Guarantees:
    """What a sandbox proves it enforces (DESIGN §3.8). False is the honest default."""

    fs: bool = False
    net: bool = False
    env: bool = False
    kill: bool = False
    limits: bool = False
    view: bool = False

    def missing(self, required: Sequence[str]) -> tuple[str, ...]:
        """The names of `required` that do not hold. An unknown name is missing."""
        return tuple(name for name in required if getattr(self, name, False) is not True)


class Sandbox(Protocol):
    """One session's wall. Every method that runs something takes a Permit."""

    @property
    def backend(self) -> str: ...
    @property
    def guarantees(self) -> Guarantees: ...
    @property
    def repository(self) -> Repository | None:
        """What git held at the start; None where the workspace is no repository."""

    @property
    def tracked_secrets(self) -> tuple[str, ...]:
        """Secret files that are not masked, because git tracks them: the person is told."""

    def run_file_tool(self, permit: Permit, *, timeout_s: float) -> ToolOutput:
        """One request to the file worker. Writes come back as a change set, never as an effect."""

    def run_command(self, permit: Permit, *, timeout_s: float) -> ToolOutput:
        """One shell command in a fresh sandbox; every process of it is dead on return."""

    def html_to_text(self, permit: Permit, html: bytes, *, timeout_s: float) -> str:
        """Foreign markup to text, in a throwaway sandbox without workspace or network."""

    def kill(self) -> None:
        """End every process of the call under way; the session stays usable."""

    def close(self) -> None:
        """End everything and remove the session's private folders. Safe to call twice."""


# --- facts about files, for gates that may not open them ---------------------------------------


@dataclass(frozen=True, slots=True)
class FileFact:
    """What a path stands for. `real` has its links followed; `inside` says it stays in scope."""

    path: str
    real: str
    inside: bool
    exists: bool
    node: Node | None = None
    size_bytes: int = 0
    mode: int = 0
    problem: str = ""
    """Why the path could not be followed to its end ("loop", "too long", "NUL"), or ""."""


class Facts(Protocol):
    def look(self, path: str) -> FileFact:
        """What stands at `path` (absolute, or relative to the workspace). Opens nothing."""


class Repository(Protocol):
    """What the workspace's git held when the session began. Asked inside the wall, believed by digest."""

    def blob_id(self, data: bytes) -> str:
        """The name git gives these bytes in this repository."""

    def holds(self, wanted: Mapping[str, str]) -> frozenset[str]:
        """Of path -> blob, the paths where that blob stood in a tree of the refs, as can be proven."""

    def ignored(self, paths: Sequence[str]) -> frozenset[str]:
        """Those of `paths` that the ignore files name. None where git does not answer."""


# --- people -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """One thing a person is asked. `changes` is set where an effect is asked about (step 6)."""

    call: ToolCall
    asked: Decision
    changes: ChangeSet = field(default_factory=ChangeSet)
    offers: tuple[str, ...] = ()
    """Rules that "always" may add, narrowest first; empty where "always" is not offered."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The default is no, by nobody."""

    yes: bool = False
    by: str = "nobody"
    remember: str = ""
    """The offered rule the person chose to keep for this session, or ""."""
    edited_args_json: str | None = None
    """New arguments: a new call, which is judged from the start."""


class Approver(Protocol):
    def ask(self, question: Question) -> Answer:
        """Put one question; the default `Answer()` is no."""

    def confirm(self, prompt: str, detail: str = "") -> bool:
        """A plain y/n outside any call (plan, rollback, limits). Nobody to ask is no."""


class Listener(Protocol):
    def notice(self, event: str, **data: Any) -> None:
        """Told what happens, for a screen or a stream. Must not raise and decides nothing."""


# --- the model ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Usage:
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class RawCall:
    """A tool call as the server sent it; nothing about it is believed yet."""

    id: object
    name: object
    arguments: object


@dataclass(frozen=True, slots=True)
class Reply:
    """One response of the model, with its shape checked and its content still foreign."""

    content: str
    tool_calls: tuple[RawCall, ...] = ()
    finish_reason: str = "stop"
    usage: Usage | None = None
    model: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields the server added to the message (`reasoning_content`), kept in the history."""


class Provider(Protocol):
    @property
    def model(self) -> str: ...
    def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
        *,
        timeout_s: float,
        on_text: Callable[[str], None] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> Reply:
        """One chat.completions request. Raises ProviderError, or Aborted where `stop()` turns true."""

    def close(self) -> None: ...


# --- the record ---------------------------------------------------------------------------------


class AuditSink(Protocol):
    """Each method writes one event and returns only once it is flushed; else AuditError."""

    def log(self, event: str, **fields: Any) -> None: ...
    def log_permission_decision(
        self, tool: str, args: Mapping[str, Any] | str, mode: str, allowed: bool, reason: str, **more: Any
    ) -> None: ...
    def log_tool_result(
        self,
        tool_call_id: str,
        tool: str,
        args: Mapping[str, Any] | str,
        permission_allowed: bool,
        result: str,
        **more: Any,
    ) -> None: ...
    def log_llm_request(
        self, model: str, message_count: int, token_estimate: int, has_tools: bool, **more: Any
    ) -> None: ...
    def log_llm_response(
        self,
        model: str,
        finish_reason: str,
        usage: Mapping[str, int] | None,
        message_hash: str,
        tool_call_count: int,
        **more: Any,
    ) -> None: ...
    def log_session_abort(self, reason: str, **more: Any) -> None: ...
    def close(self) -> None: ...
