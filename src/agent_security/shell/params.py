"""Parameter expansions: `${x:-y}`, `${x#p}`, `${x:0:1}`, `${!x}`, `"${a[@]}"` and the rest."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, Any

from agent_security.shell.state import State, Value, bounded
from agent_security.shell.words import (
    BRACKET,
    HOME,
    NONCHARACTERS,
    QUERY,
    ROOT,
    RUN_TIME,
    SOME,
    STAR,
    UNKNOWN,
)

if TYPE_CHECKING:
    from agent_security.shell.expand import Expander

Node = dict[str, Any]
_ABSOLUTE = frozenset({"HOME", "PWD", "PATH", "SHELL", "BASH", "OLDPWD"})
_TO_PATTERN = str.maketrans({STAR: "*", QUERY: "?", BRACKET: "["})


class Params:
    """Works for one Expander; holds no state of its own."""

    def __init__(self, expander: Expander) -> None:
        self._expander = expander

    def values(self, node: Node, state: State) -> tuple[list[Value], bool]:
        """The alternatives of one expansion, and whether each is a list of fields (`"$@"`)."""
        name = node.get("Param", {}).get("Value", "")
        index = node.get("Index")
        is_list = name == "@" or _subscript(index) == "@"
        if index is not None:
            self._expander.scan(index, state, arithmetic=True)
        if node.get("Length") or node.get("Width") or node.get("Names"):
            self._scan_rest(node, state)
            return [(SOME,)], False
        known = state.is_set(name) or _is_positional(name, state)
        values = self._base(name, index, state)
        if node.get("Excl"):
            values = bounded(
                [v for value in values for v in state.look("".join(value)) if "".join(value).isidentifier()]
                or [(UNKNOWN,)]
            )
        if node.get("Slice"):
            return self._slice(node, name, values, state, is_list)
        if node.get("Repl"):
            return self._replace(node["Repl"], values, state), is_list
        if node.get("Exp"):
            return self._operate(node["Exp"], name, values, known, state), is_list
        return values, is_list

    def _base(self, name: str, index: Node | None, state: State) -> list[Value]:
        if name in ("@", "*"):
            return state.env.get("@", [(UNKNOWN,)])
        if name.isdigit() and name != "0":
            place = int(name) - 1
            return [
                value[place : place + 1] or (("",) if UNKNOWN not in "".join(value) else (UNKNOWN,))
                for value in state.env.get("@", [(UNKNOWN,)])
            ]
        values = state.look(name)
        which = _subscript(index)
        if index is None:
            return [value[:1] or ("",) for value in values]
        if which in ("@", "*"):
            return values
        if which.lstrip("-").isdigit():
            return [_element(value, int(which)) for value in values]
        return bounded([(element,) for value in values for element in value] or [(UNKNOWN,)])

    def _scan_rest(self, node: Node, state: State) -> None:
        for key in ("Slice", "Repl", "Exp"):
            self._expander.scan(node.get(key), state, arithmetic=True)

    def _slice(
        self, node: Node, name: str, values: list[Value], state: State, is_list: bool
    ) -> tuple[list[Value], bool]:
        cut = node["Slice"]
        self._expander.scan(cut, state, arithmetic=True)
        start, length = _number(cut.get("Offset")), _number(cut.get("Length"))
        if (start, length) == (0, 1) and name in _ABSOLUTE and not is_list:
            return [("/",)], False
        has_length = cut.get("Length") is not None
        if start is None or (has_length and length is None) or (length or 0) < 0:
            return [(UNKNOWN,)], is_list
        out: list[Value] = []
        for value in values:
            if is_list or name == "*":
                first = max(start - 1, 0) if name in "@*" else start
                out.append(value[first : first + length] if length is not None else value[first:])
            else:
                text = "".join(value)
                out.append(
                    (UNKNOWN,)
                    if NONCHARACTERS & set(text)
                    else (text[start:][:length] if length is not None else text[start:],)
                )
        return bounded(out), is_list

    def _replace(self, replacement: Node, values: list[Value], state: State) -> list[Value]:
        pattern = self._expander.texts(replacement.get("Orig"), state)
        new = self._expander.texts(replacement.get("With"), state)
        if len(pattern) != 1 or len(new) != 1 or set(pattern[0]) & NONCHARACTERS:
            return [(UNKNOWN,)]
        count = -1 if replacement.get("All") else 1
        return [
            tuple(
                UNKNOWN if NONCHARACTERS & set(text) else text.replace(pattern[0], new[0], count)
                for text in value
            )
            for value in values
        ]

    def _operate(self, exp: Node, name: str, values: list[Value], known: bool, state: State) -> list[Value]:
        op = exp["Op"]
        words: list[Value] = [(text,) for text in self._expander.texts(exp.get("Word"), state)]
        if op in (":-", "-", ":=", "="):
            full = bounded([value for value in values if any(value)])
            if not known:
                full = [(SOME,)] if name not in ("TMPDIR",) else [("/tmp",)]
            empty = not known or any(not any(value) or UNKNOWN in "".join(value) for value in values)
            chosen = bounded([*full, *(words if empty else [])]) or words
            if "=" in op:
                state.put(name, list(chosen))
            return chosen
        if op in (":?", "?"):
            return [
                tuple(text.replace(UNKNOWN, SOME) for text in value) for value in values if any(value)
            ] or [(SOME,)]
        if op in (":+", "+"):
            return (
                words
                if known and all(any(v) and UNKNOWN not in "".join(v) for v in values)
                else bounded([("",), *words])
            )
        if op == "@":
            return self._transform(words, values)
        return [tuple(_trimmed(op, text, words) for text in value) for value in values]

    def _transform(self, words: list[Value], values: list[Value]) -> list[Value]:
        """`${x@P}` expands the value as a prompt, and so runs the substitutions in it."""
        texts = "".join(text for value in values for text in value)
        if words == [("P",)] and ("$" in texts or "`" in texts or UNKNOWN in texts):
            self._expander._note("run_time_code")
        return [(UNKNOWN,)]


def _subscript(index: Node | None) -> str:
    parts = (index or {}).get("Parts") or []
    return str(parts[0].get("Value", "")) if len(parts) == 1 and parts[0]["Type"] == "Lit" else ""


def _number(node: Node | None) -> int | None:
    text = _subscript(node).strip()
    return int(text) if re.fullmatch(r"\d{1,6}", text) else None


def _element(value: Value, place: int) -> Value:
    try:
        return (value[place],)
    except IndexError:
        return (UNKNOWN,) if UNKNOWN in "".join(value) else ("",)


def _is_positional(name: str, state: State) -> bool:
    return (name.isdigit() or name in "@*") and "@" in state.env


def _trimmed(op: str, text: str, words: list[Value]) -> str:
    """`#`, `##`, `%`, `%%`, `^`, `,` on known text; a path that is half known keeps its directory."""
    pattern = words[0][0].translate(_TO_PATTERN) if len(words) == 1 else UNKNOWN
    if op in ("%", "%%") and not set(pattern) & {*"*?[\\", *NONCHARACTERS} and text[-1:] not in RUN_TIME:
        return text.removesuffix(pattern)
    if NONCHARACTERS & set(text + pattern):
        keeps = op in ("%", "%%") and "/" in text and not text.startswith((UNKNOWN, SOME))
        return text.rsplit("/", 1)[0] + "/" + SOME if keeps else _unsettled(text)
    if op in ("^", "^^"):
        return text.upper() if op == "^^" else text[:1].upper() + text[1:]
    if op in (",", ",,"):
        return text.lower() if op == ",," else text[:1].lower() + text[1:]
    cuts = range(len(text) + 1)
    if op in ("#", "##"):
        for cut in cuts if op == "#" else reversed(cuts):
            if fnmatch.fnmatchcase(text[:cut], pattern):
                return text[cut:]
    for cut in reversed(cuts) if op == "%" else cuts:
        if op in ("%", "%%") and fnmatch.fnmatchcase(text[cut:], pattern):
            return text[:cut]
    return text


def _unsettled(text: str) -> str:
    return SOME if text[:1] in (HOME, ROOT) or (text and UNKNOWN not in text) else UNKNOWN
