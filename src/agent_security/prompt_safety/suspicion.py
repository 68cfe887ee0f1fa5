"""Wording that is typical of injections, with stable ids. Noted on the record; decides nothing.

No list of words can be complete, so nothing may rest on this one: an empty answer means nothing.
"""

from __future__ import annotations

import codecs
import re

from agent_security.prompt_safety.lookalikes import lookalikes
from agent_security.text import Finding, findings
from agent_security.text.fold import fold

_LIMIT = 262_144
"""Characters looked at: what the model is shown of one result is far less."""
_LEET = str.maketrans("01345$", "oieass")
_OVERRIDE = re.compile(
    r"(?<![\"'`“‘])\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,24}"
    r"\b(?:previous|prior|above|earlier|preceding|system)\b"
    r"[^.\n]{0,12}\b(?:instructions?|prompts?|directives?|rules|guidelines|messages)\b"
    r"|ignoriere?\b[^.\n]{0,30}\banweisungen|忽略[^。\n]{0,8}(?:指令|指示|提示)"
    r"|\bignore[rz]?\b[^.\n]{0,20}\binstructions précédentes|\bignora\b[^.\n]{0,24}\binstrucciones",
    re.IGNORECASE,
)
_DETECTORS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("override", _OVERRIDE),
    ("addressed_to_model", re.compile(
        r"\b(?:(?:AI|LLM)(?: (?i:assistants?|agents?|models?|notes?|readers?|tools?))?\s{0,4}:"
        r"|AI assistants? (?:must|should)|[Aa]gents should (?:first )?(?:run|execute)"
        r"|(?:assistant|agent): (?:call|run|execute|use)\b|store this rule in your"
        r"|please,?[ -](?:assistant|agent|AI)\b)")),
    ("claims_authority", re.compile(
        r"\bthe user (?:also |now )?(?:wants|approved|authori[sz]ed)|\buser approved\b|I authori[sz]e mode",
        re.I)),
    ("new_role", re.compile(
        r"\byou are now (?:in|an?|the)\b|\b(?:maintenance|developer|DAN) mode\b|\bNEW INSTRUCTIONS\b")),
    ("asks_for_prompt", re.compile(
        r"\b(?:paste|print|reveal|repeat|output)\b[^.\n]{0,40}"
        r"\b(?:system prompt|instructions verbatim|pre-session instructions)", re.I)),
    ("pipe_to_shell", re.compile(
        r"\b(?:curl|wget)\b[^\n|]{0,200}\|\s{0,4}(?:sudo\s{1,4})?(?:ba|z|da)?sh\b|\bcurl\b[^\n|]{0,80}-d\s{0,4}@")),
    ("skip_controls", re.compile(
        r"\b(?:skip|without) (?:the )?(?:confirmation|approval)|do not (?:mention|tell)\b[^.\n]{0,20}"
        r"\b(?:it|user|this)\b|permissions are (?:off|disabled)|policy off\b", re.I)),
)  # fmt: skip


def everything_found(text: str) -> list[Finding]:
    """What hides, what imitates, and what sounds like an order, in order of place: for the record."""
    found = [*findings(text), *lookalikes(text), *suspicions(text)]
    return sorted(found, key=lambda finding: finding.start)


def suspicions(text: str) -> list[Finding]:
    """Passages with typical wording. `kind` is `suspected_injection`, `shown` the detector's id."""
    plain = fold(text[:_LIMIT])
    found = [
        Finding("suspected_injection", match.start(), match.end(), name)
        for name, pattern in _DETECTORS
        for match in pattern.finditer(plain)
    ]
    return sorted(found + _disguised(plain), key=lambda finding: finding.start)


def _disguised(plain: str) -> list[Finding]:
    """The same orders written with digits, backwards or in rot13."""
    variants = (
        ("leet", plain.translate(_LEET)),
        ("reversed", plain[::-1]),
        ("rot13", codecs.encode(plain, "rot13")),
    )
    return [
        Finding("suspected_injection", 0, len(plain), f"override_{name}")
        for name, variant in variants
        if (match := _OVERRIDE.search(variant)) and not _OVERRIDE.search(plain) and match
    ]
