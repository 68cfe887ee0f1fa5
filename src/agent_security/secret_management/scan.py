"""`scan_text`: where secrets stand in a text (§5). Values never leave this module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from agent_security.secret_management.encoded import disguised
from agent_security.secret_management.lookalikes import is_documented, is_placeholder
from agent_security.secret_management.named import named_values
from agent_security.secret_management.patterns import CONTEXTS, ISSUERS, SHORTEST, Rule
from agent_security.secret_management.pem import private_keys
from agent_security.secret_management.runs import in_runs


class SecretFinding(NamedTuple):
    """A secret stands in text[start:end]. The value itself is kept out on purpose."""

    rule: str
    start: int
    end: int


def scan_text(text: str) -> list[SecretFinding]:
    """Every secret of a known shape, in order, none overlapping another."""
    spans = [*plain_spans(text), *disguised(text, plain_spans)]
    return merge(SecretFinding(*span) for span in spans)


def plain_spans(text: str) -> Iterator[tuple[str, int, int]]:
    """(rule, start, end), overlaps included."""
    yield from private_keys(text)
    yield from in_runs(text, SHORTEST, lambda long_runs: _matches(ISSUERS, long_runs))
    yield from _matches(CONTEXTS, text)
    yield from named_values(text)


def _matches(rules: Iterable[Rule], text: str) -> Iterator[tuple[str, int, int]]:
    for rule in rules:
        for anchor in rule.anchors:
            yield from _at_anchor(rule, anchor, text)


def _at_anchor(rule: Rule, anchor: str, text: str) -> Iterator[tuple[str, int, int]]:
    group = 1 if rule.pattern.groups else 0
    stands_for_none = is_placeholder if rule.chosen else is_documented
    at = text.find(anchor)
    while at >= 0:
        match = rule.pattern.match(text, at)
        if match and not stands_for_none(match[group]):
            yield rule.name, _begin(text, match.start(group), rule.before), match.end(group)
        at = text.find(anchor, match.end() if match else at + 1)


def _begin(text: str, at: int, before: int) -> int:
    """Where a token begins whose anchor is its middle."""
    earliest = max(0, at - before)
    while at > earliest and (text[at - 1].isalnum() or text[at - 1] in "_~-"):
        at -= 1
    return at


def merge(findings: Iterable[SecretFinding]) -> list[SecretFinding]:
    """Overlapping findings as one: the rule of the one that begins first, the longest at that place."""
    merged: list[SecretFinding] = []
    for finding in sorted(findings, key=lambda found: (found.start, -found.end)):
        if merged and finding.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, finding.end))
        else:
            merged.append(finding)
    return merged
