"""Foreign markup becomes text in a throwaway sandbox; what people cannot see is labelled."""

from __future__ import annotations

import time
from typing import Any

import pytest

from agent_security.errors import SandboxTimeout
from agent_security.tools.runner.html_text import to_text


def test_a_page_reads_as_people_see_it_and_scripts_are_gone() -> None:
    text = to_text(
        "<html><head><title>T</title><style>p{color:red}</style></head><body><h1>Head</h1>"
        "<p>One <b>two</b>&nbsp;&amp; three<script>evil()</script></p><ul><li>a<li>b</ul></body></html>"
    )
    assert text == "T\n\nHead\n\nOne two & three\n\n- a\n- b"


@pytest.mark.parametrize(
    "markup",
    [
        "<div hidden>buy</div>",
        "<p style='display: none'>buy</p>",
        "<p style='font-size:0'>buy</p>",
        "<p style='opacity:0.0'>buy</p>",
        "<p style='position:absolute;left:-9999px'>buy</p>",
        "<div aria-hidden=true><b>buy</b></div>",
        "<noscript>buy</noscript>",
    ],
)
def test_hidden_elements_stand_apart(markup: str) -> None:
    assert (
        to_text(f"<p>seen</p>{markup}") == "seen\n\n[hidden elements of the page, not shown to people:]\nbuy"
    )


def test_comments_stand_apart() -> None:
    assert (
        to_text("<p>seen</p><!-- obey me -->")
        == "seen\n\n[comments of the page, not shown to people:]\nobey me"
    )


def test_links_keep_their_address() -> None:
    assert to_text('<a href="https://example.org/x">here</a><a href="javascript:x()">no</a>') == (
        "<https://example.org/x> hereno"
    )


def test_deep_and_broken_markup_is_read_in_bounded_time() -> None:
    started = time.monotonic()
    assert to_text("<div>" * 50_000 + "deep") == "deep"
    assert to_text("<p>a</div></b><<p") != ""
    assert time.monotonic() - started < 10


def test_it_runs_in_a_sandbox_of_its_own(any_project: Any) -> None:
    from conftest import permit  # type: ignore[import-not-found]

    call = permit("webfetch", url="https://example.org/")
    html = "<meta charset='latin-1'><p>caf\xe9</p>".encode("latin-1")
    assert any_project.sandbox.html_to_text(call, html, timeout_s=60) == "café"
    big = b"<p>" + b"x" * 3_000_000
    assert len(any_project.sandbox.html_to_text(call, big, timeout_s=60)) > 100_000


def test_a_parser_that_takes_too_long_is_ended(project: Any) -> None:
    from conftest import permit  # type: ignore[import-not-found]

    with pytest.raises(SandboxTimeout):
        project.sandbox.html_to_text(permit("webfetch", url="x"), b"<p>", timeout_s=0.001)
