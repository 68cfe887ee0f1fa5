"""Git's configuration format, read exactly, and which of its keys are inert (DESIGN §3.2).

Conservative: what git's own parser would refuse, or what this one cannot follow, raises
`ConfigProblem`, and a file that cannot be read is never inert.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

UNREADABLE = "(cannot be read)"
"""Stands for all keys of a file that this parser refuses."""


class ConfigProblem(ValueError):
    """The text is no git configuration that this parser can vouch for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One `name = value`. `key` is git's canonical form; the span covers its lines in the text."""

    section: str
    """`remote "origin"` as `remote.origin`; the first part lower case."""
    name: str
    value: str | None
    start: int
    end: int

    @property
    def key(self) -> str:
        return f"{self.section}.{self.name}"


@dataclass(frozen=True, slots=True)
class Header:
    """One `[section "sub"]` line up to its closing bracket."""

    section: str
    start: int
    end: int


class Parsed:
    """A configuration file: its headers and entries in the order of the text."""

    def __init__(self, data: bytes) -> None:
        self.text = data.decode("utf-8", "surrogateescape")
        self.headers: list[Header] = []
        self.entries: list[Entry] = []
        _Scanner(self).run()

    def values(self) -> dict[str, list[str | None]]:
        """Key -> its values, in order."""
        found: dict[str, list[str | None]] = {}
        for entry in self.entries:
            found.setdefault(entry.key, []).append(entry.value)
        return found


class _Scanner:
    """git's config.c, character for character where it matters."""

    def __init__(self, parsed: Parsed) -> None:
        self._out, self._text = parsed, parsed.text
        self._at = 1 if parsed.text.startswith("\ufeff") else 0
        if "\0" in self._text or re.search(r"\r(?!\n)", self._text):
            raise ConfigProblem("it holds NUL or a lone carriage return")

    def run(self) -> None:
        section = ""
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in " \t\r\n\f\v":
                self._at += 1
            elif char in "#;":
                self._skip_line()
            elif char == "[":
                section = self._header()
            elif char.isascii() and char.isalpha() and section:
                self._entry(section)
            else:
                raise ConfigProblem(f"unexpected character at {self._at}")

    def _skip_line(self) -> None:
        found = self._text.find("\n", self._at)
        self._at = len(self._text) if found < 0 else found

    def _header(self) -> str:
        plain = re.compile(r"\[([A-Za-z0-9.-]+)\]").match(self._text, self._at)
        with_sub = re.compile(r'\[([A-Za-z0-9.-]+)[ \t]+"((?:[^"\\\n]|\\[^\n])*)"\]').match(
            self._text, self._at
        )
        match = plain or with_sub
        if match is None:
            raise ConfigProblem(f"a section header that git would refuse at {self._at}")
        section = match[1].lower()
        if with_sub is not None:
            section += "." + re.sub(r"\\(.)", r"\1", with_sub[2])
        self._out.headers.append(Header(section, match.start(), match.end()))
        self._at = match.end()
        return section

    def _entry(self, section: str) -> None:
        match = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(=|\r?\n|$)").match(self._text, self._at)
        if match is None:
            raise ConfigProblem(f"a name that git would refuse at {self._at}")
        start, self._at = self._at, match.end()
        value = self._value() if match[2] == "=" else None
        line = self._text.rfind("\n", 0, start) + 1
        alone = not self._text[line:start].strip(" \t")
        end = self._at if alone else self._at - self._text[: self._at].endswith("\n")
        self._out.entries.append(Entry(section, match[1].lower(), value, line if alone else start, end))

    def _value(self) -> str:
        out: list[str] = []
        kept = 0  # how much of `out` stands when trailing blanks are trimmed
        quoted = comment = False
        while True:
            char = self._next()
            if char in ("\n", ""):
                if quoted:
                    raise ConfigProblem("a quote that is not closed")
                return "".join(out[:kept])
            if comment:
                continue
            if char in " \t\f\v" and not quoted:
                if out:
                    out.append(char)
                continue
            if char in "#;" and not quoted:
                comment = True
                continue
            if char == '"':
                quoted = not quoted
                kept = len(out)
                continue
            if char == "\\" and (char := self._escape()) == "":
                continue
            out.append(char)
            kept = len(out)

    def _next(self) -> str:
        if self._text.startswith("\r\n", self._at):
            self._at += 1
        char = self._text[self._at : self._at + 1]
        self._at += len(char)
        return char

    def _escape(self) -> str:
        char = self._next()
        if char == "\n":
            return ""
        try:
            return {"t": "\t", "b": "\b", "n": "\n", "\\": "\\", '"': '"'}[char]
        except KeyError:
            raise ConfigProblem(f"an escape that git would refuse at {self._at}") from None


# --- inert keys -----------------------------------------------------------------------------------

# section, whether it has a subsection, names (* any), and what a value must look like
_ANY = r"[^\0\n]*"
_PLAIN = r"[A-Za-z0-9_./,+-]*"
_REF = r"[^\0\n:]*|refs/[^\0\n]*"
_INERT: tuple[tuple[str, bool, str, str], ...] = (
    ("user", False, "name email useconfigonly", _ANY),
    ("user", False, "signingkey", _PLAIN),
    ("remote", True, "url", "address"),
    ("remote", True, "fetch", _ANY),
    ("remote", True, "tagopt prune prunetags gh-resolved", _PLAIN),
    ("branch", True, "remote pushremote", "address"),
    ("branch", True, "*", _ANY),
    ("submodule", True, "url", "address"),
    ("submodule", True, "active", _PLAIN),
    ("submodule", False, "active", _ANY),
    ("init", False, "defaultbranch", _PLAIN),
    ("extensions", False, "objectformat refstorage worktreeconfig compatobjectformat", _PLAIN),
    ("lfs", False, "repositoryformatversion", _PLAIN),
    ("core", False, "repositoryformatversion filemode bare logallrefupdates ignorecase", _PLAIN),
    ("core", False, "precomposeunicode symlinks autocrlf eol safecrlf quotepath abbrev longpaths", _PLAIN),
    # settings that name no program, path or address
    ("pull", False, "rebase ff", _PLAIN),
    ("push", False, "default autosetupremote followtags", _PLAIN),
    ("rebase", False, "autostash autosquash updaterefs", _PLAIN),
    ("merge", False, "conflictstyle ff", _PLAIN),
    ("fetch", False, "prune prunetags", _PLAIN),
    ("color", False, "*", _PLAIN),
    ("color", True, "*", _PLAIN),
    ("advice", False, "*", _PLAIN),
)


def inert_change(before: bytes, after: bytes) -> list[str]:
    """The keys that a change sets, drops or alters and that are not inert; [] means harmless.

    A text that cannot be read gives `[UNREADABLE]`, unless nothing changed at all.
    """
    if before == after:
        return []
    try:
        old, new = Parsed(before).values(), Parsed(after).values()
    except ConfigProblem:
        return [UNREADABLE]
    changed = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    return sorted(key for key in changed if not all(_is_inert(key, value) for value in _fresh(key, old, new)))


def _fresh(
    key: str, old: Mapping[str, list[str | None]], new: Mapping[str, list[str | None]]
) -> list[str | None]:
    """The values to judge: all that stand afterwards; of a dropped key those that stood before."""
    return new.get(key) or old[key]


def _is_inert(key: str, value: str | None) -> bool:
    section, _, name = key.rpartition(".")
    kind, dot, _ = section.partition(".")
    for row_kind, has_sub, names, form in _INERT:
        if kind == row_kind and bool(dot) is has_sub and (names == "*" or name in names.split()):
            if form == "address":
                return value is not None and is_plain_address(value)
            return re.fullmatch(form, value or "") is not None
    return False


def is_plain_address(value: str) -> bool:
    """Whether a remote's address only names a place: no helper (`ext::`), no option, nothing that expands."""
    if value.startswith(("-", "!")) or "::" in value or re.search(r"[\0-\x1f`$;|&<>\\]", value):
        return False
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)", value)
    if scheme is not None:
        host = scheme[2].rpartition("@")[2]
        known = scheme[1].lower() in ("http", "https", "ssh", "git", "file", "git+ssh", "ssh+git")
        return known and not host.startswith("-") and not scheme[2].startswith("-")
    host, colon, path = value.partition(":")
    return not host.rpartition("@")[2].startswith("-") and not (colon and path.startswith("-"))
