"""Prompt-injection defence (§1): delimiters, trust boundaries, external marking, intent.

Nothing here relies on the model's good will alone: content cannot close or forge a delimiter,
because look-alikes are neutralised and each message's tags carry a fresh nonce. What an
instruction in the content could still bring about is stopped by the gates.
"""

from agent_security.paths import is_path_within
from agent_security.prompt_safety.boundaries import TRUST_BOUNDARIES, tag_explanation
from agent_security.prompt_safety.intent import intent_check
from agent_security.prompt_safety.lookalikes import lookalikes, neutralise
from agent_security.prompt_safety.marking import mark_by_origin, mark_external_content, mark_task_document
from agent_security.prompt_safety.suspicion import everything_found, suspicions
from agent_security.prompt_safety.wrapping import (
    Marked,
    attribute,
    fresh_nonce,
    wrap_tool_result,
    wrap_user_input,
)
from agent_security.text import restore

__all__ = [
    "TRUST_BOUNDARIES",
    "Marked",
    "attribute",
    "everything_found",
    "fresh_nonce",
    "intent_check",
    "is_path_within",
    "lookalikes",
    "mark_by_origin",
    "mark_external_content",
    "mark_task_document",
    "neutralise",
    "restore",
    "suspicions",
    "tag_explanation",
    "wrap_tool_result",
    "wrap_user_input",
]
