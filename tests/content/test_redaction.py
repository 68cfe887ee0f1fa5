"""Redaction (§5): placeholders that are stable, unforgeable, and never reach a file."""

from __future__ import annotations

import base64
import json
import secrets
import string
import time
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_security.secret_management import (
    Redactor,
    contains_placeholder,
    scan_text,
    unescape_placeholders,
)


def token() -> str:
    """A token-shaped value, made at run time."""
    return "gh" + "p_" + "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(36))


def test_one_value_has_one_placeholder_and_two_have_two() -> None:
    redactor, one, other = Redactor(), token(), token()
    text = redactor.redact(f"a={one}\nb={other}\nc={one}")
    first, second = "⟦secret:github_token:1⟧", "⟦secret:github_token:2⟧"
    assert text == f"a={first}\nb={second}\nc={first}"
    assert redactor.redact(one) == first
    assert dict(redactor.placeholders) == {first: one, second: other}


@pytest.mark.parametrize(
    "spell",
    [
        str,
        lambda v: base64.b64encode(v.encode()).decode(),
        lambda v: base64.b64encode(b"xy" + v.encode() + b"z").decode(),
        lambda v: base64.urlsafe_b64encode(b"k" + v.encode()).decode(),
        lambda v: v.encode().hex(),
        lambda v: v.encode().hex().upper(),
        lambda v: quote(v, safe=""),
        lambda v: json.dumps(v),
        lambda v: v[::-1],
    ],
)
def test_a_known_value_is_redacted_in_its_usual_encodings(spell: object) -> None:
    value = 'pa"ss/w+rd ' + secrets.token_hex(4)
    shown = Redactor([value]).redact(f"see {spell(value)} here")  # type: ignore[operator]
    assert "⟦secret:known:1⟧" in shown
    assert value[3:] not in shown


def test_a_file_cannot_forge_a_placeholder_and_its_text_can_be_restored() -> None:
    text = "x ⟦secret:github_token:1⟧ y ⟦\\secret:k:2⟧ ⟦other⟧"
    shown = Redactor().redact(text)
    assert not contains_placeholder(shown)
    assert unescape_placeholders(shown) == text
    assert Redactor().redact(text, again=True) == text


@pytest.mark.parametrize(
    "text", ["⟦secret:jwt:3⟧", "a = '⟦secret:named_secret:12⟧'", "⟦ SECRET : jwt:1", "⟦secret:jwt:1"]
)
def test_what_a_model_makes_of_a_placeholder_is_recognised(text: str) -> None:
    assert contains_placeholder(text)


def test_ordinary_text_holds_no_placeholder() -> None:
    for text in ("[REDACTED]", "secret:jwt:1", "⟦x⟧", "⟦\\secret:jwt:1⟧", ""):
        assert not contains_placeholder(text)


def test_a_key_is_redacted_whole_cut_or_headless() -> None:
    body = "\n".join(base64.b64encode(secrets.token_bytes(48)).decode() for _ in range(8))
    kind = "PRIVATE" + " KEY"
    begin, end = f"-----BEGIN RSA {kind}-----", f"-----END RSA {kind}-----"
    for text in (f"{begin}\n{body}\n{end}", f"a\n{begin}\n{body}", f"prose here\n{body}\n{end}\nafter"):
        shown = Redactor().redact(text)
        assert not any(line in shown for line in body.splitlines())
    one_line = json.dumps({"private_key": f"{begin}\n{body}\n{end}\n", "x": "kept"})
    shown = Redactor().redact(one_line)
    assert "kept" in shown
    assert not any(line in shown for line in body.splitlines())
    assert scan_text(f'BEGIN = "{begin}"\nEND = "{end}"') == []


def test_nothing_of_a_redactor_shows_a_value() -> None:
    value = token()
    redactor = Redactor([value])
    redactor.redact(value)
    assert value not in repr(redactor)
    assert not any(value in repr(finding) for finding in scan_text(value))


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(), max_size=60), st.text(st.characters(), max_size=60))
def test_a_token_is_found_in_whatever_surrounds_it(before: str, after: str) -> None:
    value = token()
    shown = Redactor().redact(f"{before} {value} {after}")
    assert value not in shown


@settings(max_examples=200, deadline=None)
@given(st.text("abAB01=:\"' \n-_/.\\{}⟦⟧keytokens", max_size=200))
def test_findings_are_in_order_inside_the_text_and_apart(text: str) -> None:
    found = scan_text(text)
    places = [place for finding in found for place in (finding.start, finding.end)]
    assert places == sorted(places)
    assert all(finding.start < finding.end <= len(text) for finding in found)


@pytest.mark.parametrize(
    "unit",
    ["key=", 'password="', "://a:", "-----BEGIN PRIVATE " + "KEY-----\n", "-----END PRIVATE " + "KEY-----\n",
     "A" * 27 + " ",
     "eyJ", "machine x login y ", "token: 'a", "\\x41", "Authorization: Basic ", " -u a:", "secret_", "41",
     "gl", "\u200ba", ".aaaaaa."],
)  # fmt: skip
def test_no_text_makes_a_pattern_slow(unit: str) -> None:
    text = (unit * (300_000 // len(unit)))[:300_000]
    start = time.process_time()
    scan_text(text)
    assert time.process_time() - start < 4.0  # a pattern that is more than linear takes minutes here
