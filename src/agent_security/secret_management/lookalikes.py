"""What looks like a secret and is none: placeholders, references, hashes, ordinary words."""

from __future__ import annotations

import math
import re
from collections import Counter

_PLACEHOLDER = re.compile(
    r"^[<\[{(%$]|[>\])}%]$|\$\{|\$\(|\{\{|\.\.\.|…|⟦"
    r"|(?:^|[^a-z])(?:x{3,}|change[-_ ]?me|your|example|dummy|placeholder|redacted|sample|fake"
    r"|test|todo|none|null|insert|replace)"
    r"(?:[^a-z]|$)|EXAMPLE|^[*x.•#_-]+$|^ENC\[|^vault:|^op://|^!\w|^sops|secretkeyref"
    r"|^(?:pass(?:word|wd|phrase)?|secret|token|pwd|pw|user(?:name)?|guest|admin|foobar|bar|hunter2|p|pass(?:word)?1)$",
    re.IGNORECASE,
)
_DOCUMENTED = re.compile(
    r"EXAMPLE|(.)\1{7}|(?i:x{6}|your[-_]|example|placeholder|redacted|1234567890abcdef)|\.\.\."
)
_REFERENCE = re.compile(
    r"\b(?:os\.)?(?:environ|getenv)\b|process\.env|\bsecrets\.|\benv\.|\bconfig[.\[]|\bsettings\.|\bself\.|\bthis\."
    r"|\w\(|\)$|^\w+(?:\.\w+)+$|^\w+\[|^[A-Z][A-Z0-9_]*$|^/[\w./-]+$|^~/|^\.{1,2}/|^https?://[^:@]*$|^file:|^data:"
)
_HASH = re.compile(r"(?:sha\d{1,3}|md5)[-:=]", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")


def is_placeholder(value: str) -> bool:
    """Whether a value stands for a secret instead of being one."""
    return _PLACEHOLDER.search(value) is not None or len(set(value)) < 4


def is_documented(value: str) -> bool:
    """Whether a token of an issuer's shape is one from documentation (`AKIA…EXAMPLE`, `ghp_xxxx…`)."""
    return _DOCUMENTED.search(value) is not None or len(set(value[4:])) < 4


def is_reference(value: str) -> bool:
    """Whether a value is code, a path or a name that leads to a secret and holds none."""
    return _REFERENCE.search(value) is not None


def is_digest(value: str) -> bool:
    """Whether a value is a labelled digest or a UUID."""
    return _HASH.match(value) is not None or _UUID.fullmatch(value) is not None


def entropy(value: str) -> float:
    """Shannon entropy in bits a character."""
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)


def is_random(value: str) -> bool:
    """Whether a value reads like chance: mixed kinds of character and no words."""
    kinds = sum(bool(re.search(kind, value)) for kind in ("[a-z]", "[A-Z]", "[0-9]", r"[^A-Za-z0-9]"))
    if kinds < 2 or len(value) < 8 or re.fullmatch(r"[a-z]+(?:[-_ .][a-z]+)*\d{0,2}", value, re.IGNORECASE):
        return False
    return entropy(value) >= min(3.0, math.log2(len(value)) - 0.75)


def is_worded(value: str) -> bool:
    """Whether a value is mostly words in camel case or joined by `_` and `-`: a name, no secret."""
    words = "".join(re.findall(r"[A-Z]?[a-z]{3,}", value))
    joined = re.search(r"[A-Z_-]", value) is not None
    return joined and len(words) >= 0.6 * len(value)


def is_mixed_word(value: str) -> bool:
    """Letters and digits in one value, as in a password a person chose."""
    return (
        len(value) >= 8 and re.search("[A-Za-z]", value) is not None and re.search("[0-9]", value) is not None
    )
