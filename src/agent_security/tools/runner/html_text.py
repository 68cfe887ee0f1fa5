"""HTML to readable text, in the throwaway sandbox: parsed away from the keys (DESIGN §3.7).

What a browser would show comes first. Comments and elements that are hidden come after it, labelled,
because they are where text for models and not for people is put.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser

DROPPED = frozenset({"script", "style", "template", "svg", "math", "object", "embed", "iframe", "canvas"})
BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "br", "dd", "details", "div", "dl", "dt"),
        *("fieldset", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html"),
        *("li", "main", "nav", "ol", "option", "p", "pre", "section", "summary", "table", "tbody", "tfoot"),
        *("thead", "title", "tr", "ul"),
    )
)
VOID = frozenset(
    (
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source"),
        *("track", "wbr"),
    )
)
HIDDEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?![.\d]*[1-9])|font-size\s*:\s*0(?![.\d]*[1-9])"
    r"|(?:left|top|text-indent)\s*:\s*-\d{3,}",
    re.IGNORECASE,
)
CHARSET = re.compile(rb"""<meta[^>]{0,200}charset=["']?([A-Za-z0-9_-]{1,40})""", re.IGNORECASE)
MOST_BYTES = 10 * 1024 * 1024
MOST_CHARS = 2_000_000
MOST_DEPTH = 20_000


class _Reader(HTMLParser):
    """Collects visible and hidden text. Never raises on bad markup, never recurses."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.visible: list[str] = []
        self.hidden: list[str] = []
        self.comments: list[str] = []
        self._open: list[tuple[str, bool, bool]] = []
        """(tag, dropped, hidden) of the open elements; both are inherited."""
        self._links: list[str] = []

    def _state(self) -> tuple[bool, bool]:
        return self._open[-1][1:] if self._open else (False, False)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        dropped, hidden = self._state()
        hidden = hidden or _is_hidden(tag, given)
        if tag in BLOCKS:
            self._put("\n- " if tag == "li" else "\n", hidden)
        if tag == "img" and given.get("alt") and not dropped:
            self._put(f"[image: {given['alt']}]", hidden)
        if tag == "a" and given.get("href", "").startswith(("http://", "https://")) and not dropped:
            self._put(f"<{given['href']}> ", hidden)
        if tag not in VOID and len(self._open) < MOST_DEPTH:
            self._open.append((tag, dropped or tag in DROPPED, hidden))

    def handle_endtag(self, tag: str) -> None:
        hidden = self._state()[1]
        for index in range(len(self._open) - 1, max(-1, len(self._open) - 200), -1):
            if self._open[index][0] == tag:
                del self._open[index:]
                break
        if tag in BLOCKS:
            self._put("\n", hidden)

    def handle_data(self, data: str) -> None:
        dropped, hidden = self._state()
        if not dropped:
            self._put(data, hidden)

    def handle_comment(self, data: str) -> None:
        if data.strip():
            self.comments.append(data)

    def _put(self, text: str, hidden: bool) -> None:
        (self.hidden if hidden else self.visible).append(text)


def _is_hidden(tag: str, attrs: dict[str, str]) -> bool:
    if "hidden" in attrs or attrs.get("aria-hidden", "").lower() == "true" or tag == "noscript":
        return True
    if tag == "input" and attrs.get("type", "").lower() == "hidden":
        return True
    return bool(HIDDEN_STYLE.search(attrs.get("style", "")))


def to_text(markup: str) -> str:
    """Visible text, then hidden elements and comments under labels of their own."""
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    parts = [_tidy("".join(reader.visible))]
    for label, pieces in (("hidden elements", reader.hidden), ("comments", reader.comments)):
        if text := _tidy("\n".join(pieces) if label == "comments" else "".join(pieces)):
            parts.append(f"[{label} of the page, not shown to people:]\n{text}")
    return "\n\n".join(part for part in parts if part)[:MOST_CHARS]


def _tidy(text: str) -> str:
    """Blanks squeezed, at most one empty line in a row."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def main() -> None:
    """Markup from standard input, text to standard output, both UTF-8."""
    data = sys.stdin.buffer.read(MOST_BYTES)
    declared = re.search(
        rb"""<meta[^>]{0,200}charset=["']?([A-Za-z0-9_-]{1,40})""", data[:4096], re.IGNORECASE
    )
    try:
        markup = data.decode(declared.group(1).decode("ascii") if declared else "utf-8", "replace")
    except LookupError:
        markup = data.decode("utf-8", "replace")
    sys.stdout.buffer.write(to_text(markup).encode("utf-8", "replace"))
