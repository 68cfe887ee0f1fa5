"""One look-alike letter, one plain letter: so that a tag is found however it is spelled.

Folding maps one character to one character, so a place in the folded text is the same place in
the text. Hidden characters and combining marks become NUL.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from agent_security.text.hidden import HIDDEN

_TWINS = {
    "a": "а\u0251α\u1d00\uab7a", "b": "ЬᏏ\u0184", "c": "сϲᴄ\u1455", "d": "ԁᴅ\u146f", "e": "еєҽᴇε℮",
    "f": "ꜰғ", "g": "ɡց", "h": "һհ", "i": "іıɩᴉɪιΙΪӏ\u04c0", "j": "јϳ", "k": "κкᴋ", "l": "ⅼ\u01c0ӏʟ∣",
    "m": "мᴍ", "n": "ոռɴпη", "o": "оοσօᴏ०০", "p": "рρᴘ", "q": "ԛզ", "r": "гᴦʀ\uab47", "s": "ѕꜱ\u0455",
    "t": "тτᴛ", "u": "υսᴜц", "v": "νѵᴠ", "w": "ԝшᴡ", "x": "хχ×᙮", "y": "уγү", "z": "ᴢ",
    "A": "АΑ", "B": "ВΒ", "C": "С", "E": "ЕΕ", "H": "НΗ", "I": "ІΙ", "J": "Ј", "K": "КΚ", "M": "МΜ",
    "N": "Ν", "O": "ОΟ", "P": "РΡ", "S": "Ѕ", "T": "ТΤ", "X": "ХΧ", "Y": "Ү", "Z": "Ζ",
    "<": "\u2039\u2329\u3008\u27e8\u02c2\u1438\u276e\u00ab\u226a",
    ">": "\u203a\u232a\u3009\u27e9\u276f\u00bb",
    "/": "\u2044\u2215\u29f8\u2571", "_": "\u02cd\u2017", "-": "\u2010\u2011\u2012\u2013\u2014\u2212",
    "|": "\u2223\u23d0\uffe8", ":": "\u02d0\u02f8\u0589\ua789\u2236",
}  # fmt: skip
_RANGES = (
    (0x80, 0x250), (0x300, 0x370), (0x483, 0x48A), (0x1AB0, 0x1B00), (0x1D00, 0x1F00), (0x2000, 0x2150),
    (0x20D0, 0x2100), (0x2160, 0x2190), (0x2460, 0x2500), (0x3000, 0x3001), (0xFB00, 0xFB07),
    (0xFE20, 0xFE70), (0xFF00, 0xFFF0), (0x1D400, 0x1D800), (0x1F100, 0x1F200),
)  # fmt: skip


@lru_cache(maxsize=1)
def confusables() -> dict[int, str]:
    """Letters of other scripts, and styled ones, that are read as an ASCII character."""
    table = {ord(twin): plain for plain, twins in _TWINS.items() for twin in twins}
    for low, high in _RANGES:
        for code in range(low, high):
            plain = unicodedata.normalize("NFKC", chr(code))
            if len(plain) == 1 and plain.isascii() and plain.isprintable():
                table.setdefault(code, plain)
    table.update(dict.fromkeys((0xA0, 0x3000, *range(0x2000, 0x200B), 0x202F, 0x205F), " "))
    return table


class _Folding(dict[int, str]):
    """`str.translate` table: confusables, accents off, what hides to NUL; everything else as it is."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        plain = unicodedata.normalize("NFKD", char)[:1]
        folded = plain if plain.isascii() and plain.isalpha() else char
        if HIDDEN.match(char) or unicodedata.combining(char):
            folded = "\0"
        if code < 0x10000:  # bounds what a hostile text can make us remember
            self[code] = folded
        return folded


@lru_cache(maxsize=1)
def _folding() -> _Folding:
    return _Folding({code: chr(code) for code in range(128)} | confusables())


def fold(text: str) -> str:
    """Text of the same length in which every look-alike of an ASCII character is that character."""
    return text if text.isascii() else text.translate(_folding())
