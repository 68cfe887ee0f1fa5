"""Where foreign text stands on the screen: wrapped here, never by the terminal.

A row that the terminal wraps begins in the first column, where the harness's own lines begin: enough
blanks in a command would draw a question of its own. So foreign text is cut into rows here, and each
of them begins with something that is ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from rich.cells import cell_len, chop_cells

INDENT = "  "
_PIECES = re.compile(r"\n|[^\S\n]+|\S+")


def cut_rows(text: str, width: int, first: str, rest: str) -> Iterator[str]:
    """Every character of a text, line by line; what a line has beyond the width follows after `rest`."""
    room = max(8, width - cell_len(first))
    for line in text.split("\n"):
        for number, piece in enumerate(chop_cells(line, room) or [""]):
            yield (rest if number else first) + piece


def word_rows(text: str, width: int, first: str, rest: str) -> Iterator[str]:
    """One line, wrapped between words; a word that is longer than the screen stays whole."""
    row, empty = first, True
    for word in text.split(" "):
        if not empty and cell_len(row) + 1 + cell_len(word) > width:
            yield row.rstrip()
            row, empty = rest, True
        row, empty = (row if empty else f"{row} ") + word, False
    yield row


class Flow:
    """Streamed text, wrapped between words and indented: none of it stands in the first column."""

    def __init__(self, width: Callable[[], int], indent: str = INDENT) -> None:
        self._width, self._indent = width, indent
        self._column, self._gap = 0, ""

    @property
    def mid_line(self) -> bool:
        return self._column > 0

    def feed(self, text: str) -> str:
        """What to print for the next words."""
        return "".join(self._place(piece) for piece in _PIECES.findall(text.expandtabs(4)))

    def end_line(self) -> str:
        """What ends the line under way, or "" where there is none."""
        ended = "\n" if self._column else ""
        self._column, self._gap = 0, ""
        return ended

    def _place(self, piece: str) -> str:
        if piece == "\n":
            self._column, self._gap = 0, ""
            return piece
        if piece.isspace():
            self._gap += piece
            return ""
        return self._word(piece)

    def _word(self, word: str) -> str:
        width, margin = max(8, self._width() - 1), cell_len(self._indent)
        lead = "" if self._column else self._indent
        gap, self._gap = self._gap, ""
        column = self._column or margin
        if column + cell_len(gap) + cell_len(word) > width and column > margin:
            lead, gap, column = f"\n{self._indent}", "", margin
        gap = gap[: max(0, width - column - 1)]
        pieces = chop_cells(word, max(1, width - column - cell_len(gap)))
        if len(pieces) > 1:
            pieces = chop_cells(word, max(1, width - margin)) if not gap else pieces
        self._column = cell_len(pieces[-1]) + (column + cell_len(gap) if len(pieces) == 1 else margin)
        return lead + gap + f"\n{self._indent}".join(pieces)


def took(seconds: float) -> str:
    """`3.2 s`, `2 min 05 s`; "" for what nobody had to wait for."""
    if seconds < 1:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"


def elapsed(seconds: float) -> str:
    """The same while it is still running: whole seconds, so that the line does not flicker."""
    return f"{int(seconds)} s" if seconds < 60 else took(seconds)
