"""One event as one line of bytes, every one of them determined.

    {"seq":1,"ts":"…Z","session_id":"…","event":"…", …fields…,"prev":"<64 hex>","hash":"<64 hex>"}\\n

`hash` is SHA-256 over the line's bytes before `,"hash":"`; `prev` is the hash of the line before,
64 zeros on the first. Lines are ASCII: what is not is written as JSON escapes, so that no byte of
foreign text reaches a terminal that shows the file. Whatever is hashed was redacted first (D21).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

Redact = Callable[[str], str]

MAX_RESULT_BYTES = 8192
"""How much of a tool's result the log keeps (§2.4)."""
MAX_ARGS_BYTES = 64 * 1024
"""Arguments up to this size, as redacted JSON, are kept whole; above it their hash and size."""
MAX_TEXT_BYTES = 1024 * 1024
"""The same for any single text."""
MAX_LINE_BYTES = 8 * 1024 * 1024
"""No line is longer; a verifier never needs more memory than this."""
MAX_DEPTH = 64

FIRST_PREV = "0" * 64
HASH_KEY = b',"hash":"'
PREV_KEY = b',"prev":"'
TAIL_BYTES = len(HASH_KEY) + 64 + len(b'"}\n')
"""Length of a line's end from `,"hash":"` on; fixed, so nothing inside the line can stand for it."""

_encode = json.JSONEncoder(
    ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":")
).encode


def to_json(value: Any) -> str:
    """The one JSON form of a cleaned value: ASCII, no blanks, keys in the order given."""
    return _encode(value)


def sha256_hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def timestamp(epoch_s: float) -> str:
    """UTC with microseconds: 2025-01-31T12:00:00.000000Z."""
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


# --- cleaning: what JSON, UTF-8 and the redactor can agree on ---------------------------------


def clean(value: Any, redact: Redact, *, depth: int = 0) -> Any:
    """`value` with every text in it redacted, keys included, and nothing JSON cannot hold."""
    if isinstance(value, str):
        return _bounded(clean_text(value, redact))
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < 2**64 else clean_text(str(value), redact)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= MAX_DEPTH:
        return "[nested too deeply]"
    return _clean_container(value, redact, depth + 1)


def _clean_container(value: Any, redact: Redact, depth: int) -> Any:
    if isinstance(value, Mapping):
        return _clean_mapping(value, redact, depth)
    if isinstance(value, (list, tuple)):
        return [clean(item, redact, depth=depth) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((clean(item, redact, depth=depth) for item in value), key=to_json)
    if isinstance(value, (bytes, bytearray)):
        return clean(bytes(value).decode("utf-8", "backslashreplace"), redact, depth=depth)
    return clean(str(value), redact, depth=depth)


def _clean_mapping(value: Mapping[Any, Any], redact: Redact, depth: int) -> dict[str, Any]:
    """Two keys that redaction made equal are told apart by a number: no value is lost."""
    kept: dict[str, Any] = {}
    for key, item in value.items():
        name = plain = clean_text(key if isinstance(key, str) else str(key), redact)
        count = 1
        while name in kept:
            count += 1
            name = f"{plain}#{count}"
        kept[name] = clean(item, redact, depth=depth)
    return kept


def clean_text(text: str, redact: Redact) -> str:
    """Redacted; lone surrogates (bytes that were no UTF-8) become visible `\\udcff` escapes."""
    text = redact(str(text))
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _bounded(text: str) -> Any:
    if len(text) * 4 <= MAX_TEXT_BYTES:
        return text
    data = text.encode("utf-8")
    return text if len(data) <= MAX_TEXT_BYTES else omitted(data)


def omitted(data: bytes) -> dict[str, Any]:
    """What stands in the log for something too large to keep."""
    return {"omitted": True, "size": len(data), "sha256": sha256_hex(data)}


def bounded_args(args: Any, redact: Redact) -> Any:
    """Arguments whole up to 64 KB of redacted JSON, else their hash and size (CONTRACTS §5)."""
    kept = clean(args, redact)
    data = to_json(kept).encode("ascii")
    return kept if len(data) <= MAX_ARGS_BYTES else omitted(data)


def bounded_calls(calls: Iterable[Any], redact: Redact) -> list[Any]:
    """An assistant message's tool calls, each bounded like arguments."""
    return [bounded_args(call, redact) for call in calls]


# --- results (§2.4) ---------------------------------------------------------------------------


def cut_text(text: str, limit_bytes: int) -> str:
    """The longest start of `text` within `limit_bytes` of UTF-8; never parts a character."""
    if len(text) * 4 <= limit_bytes:
        return text
    return text.encode("utf-8")[:limit_bytes].decode("utf-8", "ignore")


def _truncate_for_log(result: str) -> dict[str, Any]:
    """A result's fields (§2.4): whole with `size`, or the first 8 KB with `truncated_from_size`.

    `sha256` covers the full text either way. Sizes are bytes of UTF-8. Pass redacted text.
    """
    data = result.encode("utf-8", "backslashreplace")
    digest = sha256_hex(data)
    if len(data) <= MAX_RESULT_BYTES:
        return {"result": data.decode("utf-8"), "size": len(data), "sha256": digest}
    start = data[:MAX_RESULT_BYTES].decode("utf-8", "ignore")
    return {"result_truncated": start, "truncated_from_size": len(data), "sha256": digest}


# --- the line ---------------------------------------------------------------------------------


def body_of(event: str, fields: Mapping[str, Any]) -> str:
    """The part of a line between `session_id` and `prev`, fields of cleaned values.

    A body too long for a line keeps what is small and omits, hashed, what is over 64 KB.
    """
    body = to_json({"event": event, **fields})[1:-1]
    if len(body) <= MAX_LINE_BYTES - 1024:
        return body
    small = {name: _small(value) for name, value in fields.items()}
    return to_json({"event": event, **small})[1:-1]


def _small(value: Any) -> Any:
    data = to_json(value).encode("ascii")
    return value if len(data) <= MAX_ARGS_BYTES else omitted(data)


def seal(seq: int, ts: str, session_id_json: str, body: str, prev: str) -> tuple[bytes, str]:
    """The finished line and its hash."""
    covered = f'{{"seq":{seq},"ts":"{ts}","session_id":{session_id_json},{body},"prev":"{prev}"'.encode(
        "ascii"
    )
    digest = sha256_hex(covered)
    return covered + HASH_KEY + digest.encode("ascii") + b'"}\n', digest
