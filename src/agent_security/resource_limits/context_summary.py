"""The one message that stands for what was trimmed: deterministic, and no word of the dropped text (§4.2).

Dropped conversation may hold an injection; a summary in its words would speak with the system
prompt's authority. So it holds counts, names of registered tools and a digest, nothing else.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Sequence

from agent_security.history import Message, calls_of, text_of

HEADER = "[context summary]"
_FORM = re.compile(r"dropped messages: (\d+)\ntotal chars: (\d+)\ntool calls: (.*)\nsha256: ([0-9a-f]{16})\n")
_NONE = "none"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def is_summary(message: Message) -> bool:
    return message.get("role") == "system" and text_of(message).startswith(HEADER)


def split_system(message: Message) -> tuple[Message, Message | None]:
    """A system prompt that a summary had joined, and that summary; else the message and None."""
    prompt, found, summary = text_of(message).rpartition(f"\n\n{HEADER}")
    if message.get("role") != "system" or not found or not _FORM.search(summary):
        return message, None
    return {**message, "content": prompt}, {"role": "system", "content": HEADER + summary}


def summary_of(dropped: Sequence[Message], registered: Collection[str] | None) -> Message:
    """The summary of `dropped`; an earlier summary among them is counted on, its digest included."""
    earlier = next((match for m in dropped if is_summary(m) and (match := _FORM.search(text_of(m)))), None)
    fresh = [message for message in dropped if not is_summary(message)]
    count = len(fresh) + (int(earlier[1]) if earlier else 0)
    chars = sum(len(text_of(message)) for message in fresh) + (int(earlier[2]) if earlier else 0)
    names = _names(fresh, registered) | (set(earlier[3].split(", ")) - {_NONE} if earlier else set())
    return {
        "role": "system",
        "content": (
            f"{HEADER} Earlier messages of this conversation were dropped to stay within the token budget.\n"
            f"dropped messages: {count}\ntotal chars: {chars}\n"
            f"tool calls: {', '.join(sorted(names)) or _NONE}\nsha256: {digest_of(dropped)}\n"
            "Read files again rather than rely on what was dropped."
        ),
    }


def _names(messages: Sequence[Message], registered: Collection[str] | None) -> set[str]:
    """Registered tools alone: a name is the model's own text otherwise (D8)."""
    made = {str((call.get("function") or {}).get("name", "")) for m in messages for call in calls_of(m)}
    return {name for name in made if (_NAME.fullmatch(name) if registered is None else name in registered)}


def digest_of(messages: Sequence[Message]) -> str:
    """First 16 hex digits of SHA-256 over the messages as JSON."""
    text = json.dumps(list(messages), sort_keys=True, default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]
