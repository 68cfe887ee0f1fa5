"""From the words of the syntax tree to the words a command gets, in all their alternatives.

Nothing is guessed: what the line does not say is UNKNOWN or SOME. Substitutions met on the way are
handed to `walk`, which finds their commands and says what they print.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

from agent_security.shell.params import Params
from agent_security.shell.quotes import (
    ansi_c,
    as_globs,
    double_quoted,
    expand_braces,
    settle_brackets,
    tilde,
    unquoted,
)
from agent_security.shell.state import MAX_ALTERNATIVES, Flow, State, Value
from agent_security.shell.words import OPEN, PIPE, SOME, UNKNOWN, Word

Node = dict[str, Any]
Fields = list[str]
Walk = Callable[[list[Node], State, str], Flow]
"""(statements, state, where) -> what they print."""


class Expander:
    """Expands the words of one line. `pipes` keeps what each process substitution prints."""

    def __init__(self, walk: Walk, note: Callable[[str], None]) -> None:
        self._walk = walk
        self._note = note
        self._params = Params(self)
        self.pipes: list[Flow] = []

    # --- whole words

    def argv(self, nodes: Iterable[Node], state: State) -> list[tuple[Word, ...]]:
        """Every argument list the words may make; one where it is too many, with unknown words."""
        choices = [self.fields(node, state) for node in nodes]
        total = 1
        for choice in choices:
            total *= len(choice)
        if total > MAX_ALTERNATIVES:
            choices = [choice if len(choice) == 1 else [[UNKNOWN]] for choice in choices]
        return [tuple(Word(text) for fields in pick for text in fields) for pick in product(*choices)]

    def fields(self, node: Node, state: State) -> list[Fields]:
        """The alternatives of one word; each is the list of fields it splits into."""
        alternatives: list[tuple[Fields, bool]] = [([""], False)]
        for part in node.get("Parts", ()):
            quoted = part["Type"] in ("SglQuoted", "DblQuoted")
            pieces = self.part(part, state, quoted=False)
            alternatives = [(_glue(have, piece), q or quoted) for have, q in alternatives for piece in pieces]
            if len(alternatives) > MAX_ALTERNATIVES:
                alternatives = [([UNKNOWN], quoted)]
        out: list[Fields] = []
        for fields, quoted in alternatives:
            kept = [field for field in fields if field or quoted] if fields != [""] or not quoted else fields
            out.append([word for field in kept for word in self._finish(field, node)])
        return _distinct(out)

    def _finish(self, field: str, node: Node) -> list[str]:
        field = settle_brackets(field)
        words = expand_braces(field) if OPEN in field else [_plain_braces(field)]
        first = node["Parts"][0] if node.get("Parts") else {}
        if first.get("Type") == "Lit" and "~" in first["Value"]:
            words = [_tildes(word) for word in words]
        return words

    def texts(self, node: Node | None, state: State, *, assigned: bool = False) -> list[str]:
        """The alternatives of a word that is not split: an assignment, a redirect's target, a pattern."""
        if node is None:
            return [""]
        alternatives = [""]
        for part in node.get("Parts", ()):
            pieces = [" ".join(piece) for piece in self.part(part, state, quoted=False, split=False)]
            alternatives = [_plain_braces(have + piece) for have in alternatives for piece in pieces]
            if len(alternatives) > MAX_ALTERNATIVES:
                alternatives = [UNKNOWN]
        bare = bool(node.get("Parts")) and node["Parts"][0]["Type"] == "Lit"
        settle = _tildes if assigned else tilde
        return list(
            dict.fromkeys(settle(text) if bare else text for text in map(settle_brackets, alternatives))
        )

    def document(self, node: Node | None, state: State, *, raw: bool) -> str:
        """A here-document's text. Its substitutions run unless the end word was quoted."""
        out = []
        for part in (node or {}).get("Parts", ()):
            if part["Type"] == "Lit":
                out.append(part["Value"] if raw else double_quoted(part["Value"], escapable="$`\\"))
            else:
                pieces = self.part(part, state, quoted=True)
                out.append(" ".join(pieces[0]) if len(pieces) == 1 else UNKNOWN)
        return "".join(out)

    # --- parts of a word

    def part(self, part: Node, state: State, *, quoted: bool, split: bool = True) -> list[Fields]:
        kind = part["Type"]
        if kind == "Lit":
            return [[double_quoted(part["Value"]) if quoted else unquoted(part["Value"])]]
        if kind == "SglQuoted":
            value = part.get("Value", "")
            return [[ansi_c(value) if part.get("Dollar") else value]]
        if kind == "DblQuoted":
            return self._double(part, state)
        if kind == "ParamExp":
            return self._variable(part, state, quoted=quoted, split=split)
        if kind == "CmdSubst":
            return self._substitution(part, state, quoted=quoted, split=split)
        if kind == "ProcSubst":
            return [[self._process(part, state)]]
        self.scan(part, state)
        return [["\ufdd4" if kind == "ExtGlob" else SOME]]

    def _double(self, part: Node, state: State) -> list[Fields]:
        alternatives: list[Fields] = [[""]]
        for inner in part.get("Parts", ()):
            pieces = self.part(inner, state, quoted=True)
            alternatives = _distinct([_glue(have, piece) for have in alternatives for piece in pieces])
            if len(alternatives) > MAX_ALTERNATIVES:
                alternatives = [[UNKNOWN]]
        only_empty_list = len(part.get("Parts", ())) == 1 and part["Parts"][0]["Type"] == "ParamExp"
        return (
            alternatives
            if part.get("Parts") and only_empty_list
            else [fields or [""] for fields in alternatives]
        )

    def _variable(self, part: Node, state: State, *, quoted: bool, split: bool) -> list[Fields]:
        values, is_list = self._params.values(part, state)
        if quoted or not split:
            return _distinct([list(value) if is_list else [" ".join(value)] for value in values])
        ifs = state.look("IFS")
        return _distinct([_split(" ".join(value), ifs) for value in values])

    def _substitution(self, part: Node, state: State, *, quoted: bool, split: bool) -> list[Fields]:
        stmts = part.get("Stmts") or []
        printed = self._walk(stmts, state.copy(), "substitution") if stmts else Flow("", "literal")
        text = UNKNOWN if printed.text is None else printed.text.rstrip("\n")
        if len(stmts) == 1 and not stmts[0].get("Cmd"):
            text = UNKNOWN  # $(< file)
        return [[text]] if quoted or not split else [_split(text, state.look("IFS"))]

    def _process(self, part: Node, state: State) -> str:
        printed = self._walk(part.get("Stmts") or [], state.copy(), "substitution")
        self.pipes.append(printed)
        return f"{PIPE}{len(self.pipes) - 1}{PIPE}"

    # --- what is only looked through for substitutions

    def scan(self, node: Any, state: State, *, arithmetic: bool = False) -> None:
        """Find the substitutions in arithmetic, tests, patterns and subscripts."""
        if isinstance(node, list):
            for item in node:
                self.scan(item, state, arithmetic=arithmetic)
        elif isinstance(node, dict):
            kind = node.get("Type")
            if kind in ("CmdSubst", "ProcSubst", "ParamExp"):
                self.part(node, state, quoted=True)
            elif kind == "ExtGlob" and re.search(r"[$`]\(?|`", node.get("Pattern", {}).get("Value", "")):
                self._note("run_time_code")
            else:
                for item in node.values():
                    if isinstance(item, (dict, list)):
                        self.scan(item, state, arithmetic=arithmetic)

    def pipe(self, word: Word) -> Flow | None:
        """What the process substitution behind this word prints, or None where it is none."""
        match = re.fullmatch(f"{PIPE}(\\d+){PIPE}", word.value)
        return self.pipes[int(match[1])] if match and int(match[1]) < len(self.pipes) else None


def _glue(have: Fields, piece: Fields) -> Fields:
    if not piece:
        return have
    return [*have[:-1], (have[-1] if have else "") + piece[0], *piece[1:]]


def _split(text: str, ifs: list[Value]) -> Fields:
    """Word splitting and the globs in a value that stands unquoted."""
    if ifs != [(" \t\n",)]:
        separators = "".join(ifs[0]) if len(ifs) == 1 else UNKNOWN
        if UNKNOWN in separators or SOME in separators:
            return [UNKNOWN]
        parts = re.split(f"[{re.escape(separators)}]+", text) if separators else [text]
    else:
        parts = re.split(r"[ \t\n]+", text)
    return [as_globs(part) for part in parts]


def _plain_braces(text: str) -> str:
    return text.translate({0xFDD9: "{", 0xFDDA: ",", 0xFDDB: "}"})


def _tildes(text: str) -> str:
    """`~` at the start, and after `NAME=` or `:` in what looks like an assignment."""
    match = re.match(r"[A-Za-z_]\w*=", text)
    head, tail = (match[0], text[match.end() :]) if match else ("", text)
    return head + ":".join(tilde(piece) for piece in tail.split(":")) if head else tilde(tail)


def _distinct(alternatives: list[Fields]) -> list[Fields]:
    return [list(fields) for fields in dict.fromkeys(tuple(fields) for fields in alternatives)]
