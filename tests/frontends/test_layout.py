"""Streamed text is wrapped between words, indented, and complete."""

from __future__ import annotations

import pytest

from agent_security.frontends.layout import Flow, cut_rows, elapsed, took, word_rows

TEXTS = [
    "one two three four five six seven",
    "x" * 95,
    "a " * 60,
    "    code = 1\n- item\n\nlast",
    "日本語" * 30,
    "\n\n",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("width", [20, 33, 80])
def test_every_row_fits_and_is_indented(text: str, width: int) -> None:
    rows = Flow(lambda: width).feed(text).split("\n")
    assert all(len(row) <= width for row in rows)
    assert all(row.startswith("  ") for row in rows if row)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("cut", [1, 5])
def test_no_letter_is_lost_however_it_arrives(text: str, cut: int) -> None:
    flow = Flow(lambda: 30)
    shown = "".join(flow.feed(text[at : at + cut]) for at in range(0, len(text), cut))
    assert "".join(shown.split()) == "".join(text.split())


def test_a_line_under_way_is_ended_once() -> None:
    flow = Flow(lambda: 80)
    flow.feed("word")
    assert (flow.end_line(), flow.end_line()) == ("\n", "")


def test_a_cut_row_says_that_it_goes_on() -> None:
    assert list(cut_rows("abcdefghij\nk", 10, "| ", ": ")) == ["| abcdefgh", ": ij", "| k"]


def test_words_stay_whole_and_a_path_can_be_copied() -> None:
    path = "/" + "a" * 30
    assert list(word_rows(f"  log  {path} end", 20, "", "    ")) == ["  log", f"    {path}", "    end"]


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.2, ""), (3.21, "3.2 s"), (59.0, "59.0 s"), (65, "1 min 05 s"), (600, "10 min 00 s")],
)
def test_a_time_is_told_where_somebody_had_to_wait(seconds: float, told: str) -> None:
    assert took(seconds) == told


def test_a_running_time_counts_whole_seconds() -> None:
    assert elapsed(7.9) == "7 s"
