"""What each tool does once it has a Permit. Called by `pipeline.py` alone, through the registry's rows.

A runner chooses where the text of its output came from (D7): by the road it took, never by its words.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import Protocol

from agent_security import net
from agent_security.calls import Origin, Permit, Status, ToolOutput
from agent_security.errors import NetError
from agent_security.paths import Scope, is_path_within
from agent_security.ports import Resolver, Sandbox
from agent_security.provenance import Provenance
from agent_security.session_control import AbortController
from agent_security.tools.memory import ScratchpadState, TodoState

_HTML_TYPES = ("text/html", "application/xhtml+xml")
_TEXT_TYPES = re.compile(r"text/|application/(json|xml|javascript|yaml|toml)|[^;]*\+(json|xml)\b")
_CHARSETS = re.compile(
    r"utf-?8|us-ascii|iso-8859-\d+|windows-125\d|utf-16|shift_jis|euc-(jp|kr)|gb18030|gbk|big5"
)
"""Python knows codecs that are no character sets and cost more than they give; only these are used."""


class ToolSession(Protocol):
    """What a runner may touch of its session."""

    @property
    def sandbox(self) -> Sandbox: ...
    @property
    def scope(self) -> Scope: ...
    @property
    def resolver(self) -> Resolver | None: ...
    @property
    def provenance(self) -> Provenance: ...
    @property
    def scratchpad(self) -> ScratchpadState: ...
    @property
    def todos(self) -> TodoState: ...
    @property
    def abort(self) -> AbortController: ...
    @property
    def web_max_bytes(self) -> int: ...


# --- in the sandbox -------------------------------------------------------------------------------


def run_file_tool(permit: Permit, session: ToolSession, timeout_s: float) -> ToolOutput:
    """The five file tools. What stands outside the workspace (an added folder) is external (§1.3)."""
    output = session.sandbox.run_file_tool(permit, timeout_s=timeout_s)
    path = str(permit.call.args.get("path", "."))
    inside = is_path_within(path, session.scope.working_dir)
    return replace(output, origin=Origin.WORKSPACE if inside else Origin.FILE, source=path)


def run_bash(permit: Permit, session: ToolSession, timeout_s: float) -> ToolOutput:
    """One shell command. What it printed is the workspace's word, unless the wall gave it a network."""
    output = session.sandbox.run_command(permit, timeout_s=timeout_s)
    return output if output.origin is Origin.WEB else replace(output, origin=Origin.WORKSPACE)


# --- on the host ----------------------------------------------------------------------------------


def run_webfetch(permit: Permit, session: ToolSession, timeout_s: float) -> ToolOutput:
    """Fetch from the judged address, then turn markup into text away from the keys (DESIGN §3.7)."""
    ends_at = time.monotonic() + timeout_s
    try:
        page = net.fetch(
            permit.call.args["url"],
            resolver=session.resolver,
            deadline_s=timeout_s,
            max_bytes=session.web_max_bytes,
            open_hosts=session.scope.open_hosts,
            stop=lambda: session.abort.triggered,
        )
    except NetError as error:
        return ToolOutput(f"Error fetching: {error}", Status.ERROR, Origin.HARNESS)
    media = page.content_type.partition(";")[0].strip().lower()
    if media in _HTML_TYPES:
        left_s = max(1.0, ends_at - time.monotonic())
        text = session.sandbox.html_to_text(permit, page.body, timeout_s=left_s)
    elif media == "" or _TEXT_TYPES.match(media):
        text = _decoded(page.body, page.content_type)
    else:
        why = f"Error fetching: {len(page.body)} bytes that are neither text nor a page"
        return ToolOutput(why, Status.ERROR, Origin.HARNESS, source=page.url)
    if page.status >= 400:
        return ToolOutput(f"HTTP {page.status}\n{text}", Status.ERROR, Origin.WEB, source=page.url)
    return ToolOutput(text, Status.OK, Origin.WEB, source=page.url)


def _decoded(body: bytes, content_type: str) -> str:
    """Text of the named character set where it is a plain one, else UTF-8; what does not fit is replaced."""
    named = re.search(r"charset=\"?([\w-]+)", content_type.lower())
    charset = named[1] if named and _CHARSETS.fullmatch(named[1]) else "utf-8"
    return body.decode(charset, errors="replace")


# --- in memory ------------------------------------------------------------------------------------


def run_scratchpad_read(permit: Permit, session: ToolSession, timeout_s: float) -> ToolOutput:
    return ToolOutput(session.scratchpad.read() or "(the scratchpad is empty)")


def run_scratchpad_write(permit: Permit, session: ToolSession, timeout_s: float) -> ToolOutput:
    """Notes count as the person's intent only while nothing untrusted was read (D6)."""
    content = permit.call.args["content"]
    session.scratchpad.write(content, trusted=not session.provenance.tainted)
    return ToolOutput(f"The scratchpad now holds {len(content)} characters.")


def run_todo_read(permit: Permit, session: ToolSession, timeout_s: float) -> ToolOutput:
    return ToolOutput(session.todos.as_text() or "(the list is empty)")


def run_todo_write(permit: Permit, session: ToolSession, timeout_s: float) -> ToolOutput:
    session.todos.write(permit.call.args["todos"])
    return ToolOutput(session.todos.as_text() or "(the list is empty)")
