"""What enters a conversation besides the person's words: stdin, `--context` files, `AGENTS.md`.

None of it has authority: it is redacted, made safe to read, wrapped, and noted as read.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from agent_security import descriptors
from agent_security.calls import Origin
from agent_security.prompt_safety import fresh_nonce, mark_by_origin, mark_task_document, wrap_tool_result
from agent_security.session import Session
from agent_security.text import for_model

GUIDANCE_FILE = "AGENTS.md"
_MAX_GUIDANCE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Document:
    """A text and where it came from. `guidance` marks the workspace's own file, which may guide style."""

    text: str
    source: str
    guidance: bool = False


def workspace_guidance(session: Session) -> Document | None:
    """The workspace's `AGENTS.md`, read by a descriptor that follows no link; None where there is none."""
    root = descriptors.open_root(session.working_dir)
    try:
        data = descriptors.read_regular(root, GUIDANCE_FILE, _MAX_GUIDANCE_BYTES)
    except (OSError, ValueError):  # missing, a link, a FIFO, too large: guidance is never needed
        return None
    finally:
        os.close(root)
    return Document(data.decode("utf-8", errors="replace"), GUIDANCE_FILE, guidance=True)


def wrapped(document: Document, session: Session) -> str:
    """The document as the model reads it; what was read is remembered, and taints as it must."""
    text = for_model(session.redactor.redact(document.text))
    session.provenance.note_document(text, document.source)
    if not document.guidance:
        return mark_task_document(text, document.source, nonce=fresh_nonce())
    marked = mark_by_origin(text, Origin.WORKSPACE, document.source)
    return wrap_tool_result(document.source, marked, nonce=fresh_nonce())
