"""The delimiters themselves (§1.1), with a nonce where the loop asks for one (D4)."""

from __future__ import annotations

import secrets

from agent_security.prompt_safety.lookalikes import neutralise
from agent_security.text import Shown, for_question
from agent_security.text.hidden import escape_at

_ATTRIBUTE_LIMIT = 2_000
"""Characters of a name, path or URL that are kept in a tag."""


class Marked(Shown):
    """Neutralised text that holds this module's own <external_document> tags. Made by `mark_*` alone."""

    __slots__ = ()


def fresh_nonce() -> str:
    """128 bits from the operating system, as 32 hex digits. Never used twice."""
    return secrets.token_hex(16)


def wrap_user_input(text: str, *, nonce: str | None = None) -> str:
    """`<user_input>\\n…\\n</user_input>`. What was pasted is neutralised like any content."""
    return enclose("user_input", {}, text, nonce)


def wrap_tool_result(tool_name: str, result: str, *, nonce: str | None = None) -> str:
    """`<tool_result name="…">\\n…\\n</tool_result>`. A `Marked` result keeps its inner tags."""
    return enclose("tool_result", {"name": tool_name}, result, nonce)


def enclose(tag: str, attributes: dict[str, str], text: str, nonce: str | None) -> str:
    """One element. Its content can neither close it nor open another."""
    inner = text if isinstance(text, Marked) else neutralise(text)
    closing = {"nonce": nonce} if nonce is not None else {}
    return f"<{tag}{_written(attributes | closing)}>\n{inner}\n</{tag}{_written(closing)}>"


def _written(attributes: dict[str, str]) -> str:
    return "".join(f' {name}="{attribute(value)}"' for name, value in attributes.items())


def attribute(value: str) -> str:
    """A value that cannot end its quotes or its tag, on one line, with everything in it visible."""
    cut = value if len(value) <= _ATTRIBUTE_LIMIT else value[:_ATTRIBUTE_LIMIT] + "…"
    shown = for_question(cut)
    shown = escape_at(shown, (at for at, char in enumerate(shown) if char in '"<>\n'))
    return str(neutralise(Shown(shown)))
