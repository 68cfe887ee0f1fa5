"""The shared secret cases, one test an id. Values are base64 in the file and never in an id."""

from __future__ import annotations

from typing import Any

import pytest

from agent_security.resource_limits import cap_tool_result
from agent_security.secret_management import Redactor, scan_text, secret_env_rule

from .case_files import cases, decoded

ALL = cases("secrets.jsonl")


def ids(case: dict[str, Any]) -> str:
    return str(case["id"])


@pytest.mark.parametrize("case", [case for case in ALL if case["tool"] == "scan_text"], ids=ids)
def test_secrets_are_redacted_and_lookalikes_left_alone(case: dict[str, Any]) -> None:
    text = decoded(case["args"], "text")
    found = scan_text(text)
    assert ("block" if found else "allow") in case["accept"]
    redacted = Redactor().redact(text)
    if not found:
        assert redacted == text
    for finding in found:
        assert text[finding.start : finding.end] not in redacted


@pytest.mark.parametrize("case", [case for case in ALL if case["tool"] == "scrub_env"], ids=ids)
def test_secret_variables_are_dropped_and_innocent_ones_kept(case: dict[str, Any]) -> None:
    rule = secret_env_rule(decoded(case["args"], "name"), decoded(case["args"], "value"))
    assert ("block" if rule else "allow") in case["accept"]


def test_a_token_across_the_cut_is_redacted_because_redaction_comes_first() -> None:
    case = next(case for case in ALL if case["id"] == "SE-112")
    text = decoded(case["args"], "text")
    finding = scan_text(text)[0]
    shown = cap_tool_result(Redactor().redact(text))
    assert text[finding.start : finding.start + 12] not in shown
