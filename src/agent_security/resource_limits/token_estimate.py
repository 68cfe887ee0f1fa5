"""How many tokens a text has, by the class of its characters: no tokenizer, no download.

Weights fitted to counts of prose, Python, JSON, hexadecimal, Chinese and deep indentation
(within about 15 %, where four characters a token is off by up to a factor of 7).
ContextBudget scales the result by what the server reports.
"""

from __future__ import annotations

import json
import string
from collections.abc import Mapping
from typing import Any

_DIGITS = string.digits.encode()
_UPPER = string.ascii_uppercase.encode()
_LOWER = string.ascii_lowercase.encode()
_ASCII = bytes(range(128))
_PUNCTUATION = string.punctuation.encode()

_MESSAGE_TOKENS = 4
_IMAGE_TOKENS = 1_100
_PER_BYTE = ((_LOWER, 0.27), (_UPPER, 0.65), (_DIGITS, 0.70), (_PUNCTUATION, 0.62))
_NOT_ASCII = 0.27
"""A byte: three make a Chinese character."""
_LINE_END, _BLANK_PAIR = 0.25, 0.07
"""Single blanks belong to the word behind them; runs of them are cheap."""


def text_tokens(text: str) -> float:
    """An estimate for one text; never negative, and 0 for the empty one."""
    data = text.encode("utf-8", "replace")
    left, total = data, 0.0
    for characters, weight in _PER_BYTE:
        rest = left.translate(None, characters)
        total += (len(left) - len(rest)) * weight
        left = rest
    lines, pairs = data.count(b"\n"), data.count(b"  ") + data.count(b"\t\t")
    others = len(left.translate(None, _ASCII))
    return total + others * _NOT_ASCII + lines * _LINE_END + pairs * _BLANK_PAIR


def message_tokens(message: Mapping[str, Any]) -> float:
    """An estimate for one message: its content, its tool calls and every field a server added."""
    return _MESSAGE_TOKENS + sum(_value_tokens(value) for name, value in message.items() if name != "role")


def _value_tokens(value: Any) -> float:
    if isinstance(value, str):
        return text_tokens(value)
    if isinstance(value, (list, tuple)):
        return sum(_value_tokens(item) for item in value)
    if isinstance(value, Mapping):
        if "image_url" in value:
            return _IMAGE_TOKENS
        return sum(text_tokens(str(name)) + _value_tokens(item) for name, item in value.items())
    return 0 if value is None else 1


def schema_tokens(tools: object) -> float:
    """An estimate for the tool schemas that go with every request."""
    return text_tokens(json.dumps(tools, default=str))
