"""The shared injection cases, one test an id."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from agent_security.calls import Origin, ToolCall
from agent_security.prompt_safety import (
    fresh_nonce,
    lookalikes,
    mark_by_origin,
    neutralise,
    restore,
    suspicions,
    wrap_tool_result,
)
from agent_security.provenance import Provenance, urls_in
from agent_security.text import Finding, findings, for_model, for_terminal

from .case_files import cases

ALL = cases("injection.jsonl")
CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def ids(case: dict[str, Any]) -> str:
    return str(case["id"])


def presented(case: dict[str, Any]) -> str:
    """What the model is shown, by the road of step 8."""
    origin = Origin.WEB if case["tool"] == "webfetch" else Origin.WORKSPACE
    text = mark_by_origin(for_model(case["args"]["content"]), origin, "https://docs.example/page")
    return wrap_tool_result(case["tool"], text, nonce=fresh_nonce())


def warnings(content: str) -> list[Finding]:
    return [*findings(content), *lookalikes(content), *suspicions(content)]


@pytest.mark.parametrize("case", ALL, ids=ids)
def test_every_content_stays_inside_its_wrapper(case: dict[str, Any]) -> None:
    shown = presented(case)
    opening, *inner, closing = shown.split("\n")
    nonce = re.search(r'nonce="([0-9a-f]{32})"', opening)
    assert nonce is not None
    assert closing == f'</tool_result nonce="{nonce[1]}">'
    body = "\n".join(inner)
    assert nonce[1] not in body
    own = 1 if case["tool"] == "webfetch" else 0
    tags = re.findall(r"<\s*/?\s*(?:user_input|tool_result|external_document)", body, re.IGNORECASE)
    assert len(tags) == 2 * own


@pytest.mark.parametrize("case", ALL, ids=ids)
def test_every_content_can_be_restored(case: dict[str, Any]) -> None:
    assert restore(neutralise(case["args"]["content"])) == case["args"]["content"]


@pytest.mark.parametrize("case", [case for case in ALL if case["kind"] == "invisible"], ids=ids)
def test_nothing_invisible_reaches_model_or_terminal_or_record(case: dict[str, Any]) -> None:
    content = case["args"]["content"]
    assert not CONTROL.search(for_model(content))
    assert not CONTROL.search(for_terminal(content))
    assert "\n" not in json.dumps({"result": content})
    assert warnings(content)


@pytest.mark.parametrize("case", [case for case in ALL if case["kind"] == "breakout"], ids=ids)
def test_what_imitates_a_delimiter_is_broken_and_found(case: dict[str, Any]) -> None:
    content = case["args"]["content"]
    if case["id"] == "IN-056":  # the danger is the file's name, not the text that tells of it
        name = content.removeprefix("path named ")
        marked = mark_by_origin("x", Origin.FILE, name)
        assert marked.splitlines()[0].count('"') == 4
        return
    assert neutralise(content) != content
    assert lookalikes(content)


@pytest.mark.parametrize("case", [case for case in ALL if case["kind"] == "benign"], ids=ids)
def test_ordinary_content_raises_no_warning(case: dict[str, Any]) -> None:
    assert not warnings(case["args"]["content"])
    if case["id"] != "IN-107":  # names our tag: escaped, and restored by the test above
        assert neutralise(case["args"]["content"]) == case["args"]["content"]


@pytest.mark.parametrize("case", [case for case in ALL if case["kind"] == "override"], ids=ids)
def test_an_order_in_a_content_is_noted_and_its_addresses_are_asked_about(case: dict[str, Any]) -> None:
    content = case["args"]["content"]
    assert suspicions(content)
    memory = Provenance()
    memory.note_person(case["context"]["user_goal"])
    memory.note_result(ToolCall("1", case["tool"], "{}"), content, Origin.WEB)
    assert memory.tainted
    for url in urls_in(content):
        check = memory.check_sinks("webfetch", {"url": url}, (("url", "url"),))
        assert check.code == "unnamed_host"
        assert memory.asked_by_text({"url": url})
