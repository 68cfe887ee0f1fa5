"""Generates command lines of which every command runs, for the oracle. Seeded; for tests alone."""

from __future__ import annotations

import random
import shlex

_NAMES = ("s0", "s1", "s2", "s3")


class Lines:
    """One seeded stream of lines. Each call of a stub has an argument of its own, `a1`, `a2`, …"""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._count = 0

    def line(self, depth: int = 3) -> str:
        """One line of nested constructs; every stub in it is reached exactly when it runs."""
        if depth <= 0:
            return self._call()
        make = self._random.choice(self._SHAPES)
        return make(self, depth - 1)

    def _fresh(self, prefix: str = "a") -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def _call(self) -> str:
        return f"{self._spelled(self._random.choice(_NAMES))} {self._argument()}"

    def _spelled(self, name: str) -> str:
        spellings = (
            name,
            name,
            f"{name[0]}\\{name[1]}",
            f'{name[0]}"{name[1]}"',
            f"''{name}",
            f"$'\\x73'{name[1]}",
            f"$(echo {name})",
            f"`printf {name}`",
            f"/stubs/{name}",
            f"{name[0]}$(){name[1]}",
            f"${{u:-{name}}}",
        )
        return self._random.choice(spellings)

    def _argument(self) -> str:
        word = self._fresh()
        return self._random.choice(
            (
                word,
                f'"{word}"',
                f"'{word} b'",
                f"{word}\\ c",
                f"{{{word},d}}",
                f"$'{word}\\te'",
                f"{word} 2>/dev/null",
            )
        )

    def _pair(self, depth: int) -> str:
        op = self._random.choice(("; ", " && ", " | ", "\n", " |& ", " & wait; "))
        return f"{self.line(depth)}{op}{self.line(depth)}"

    def _or(self, depth: int) -> str:
        return f"{{ ! {{ {self.line(depth)}\n}} || {self.line(depth)}\n}}"

    def _group(self, depth: int) -> str:
        opening, closing = self._random.choice((("( ", "\n)"), ("{ ", "\n}")))
        return f"{opening}{self.line(depth)}{closing}"

    def _substitution(self, depth: int) -> str:
        inner = self.line(depth)
        form = self._random.choice(
            (
                'echo "$( {0}\n)" >/dev/null',
                ": $( {0}\n)",
                "v=$( {0}\n)",
                "a[$( {0}\n)0]=1",
                ": $((0+$( {0}\n)0))",
                "[[ -z $( {0}\n) ]]",
                ": ${{n:-$( {0}\n)}}",
                "{{ cat <<E >/dev/null\n$( {0}\n)\nE\n}}",
                ": <<< $( {0}\n)",
                "cat <({0}\n) >/dev/null",
                "case $( {0}\n)x in x) ;; esac",
                "declare w=$( {0}\n)",
                "b=($( {0}\n) 1)",
                "(( $( {0}\n)0 + 1 ))",
                'test -z "$( {0}\n)"',
                ": > /dev/null$( {0}\n)",
                "for i in $( {0}\n); do :; done",
            )
        )
        return form.format(inner)

    def _loop(self, depth: int) -> str:
        name = self._fresh("v")
        stub = self._random.choice(_NAMES)
        return self._random.choice(
            (
                f'for {name} in x y; do {stub} {self._fresh()} "${name}"; done',
                f"for {name} in 1; do {self.line(depth)}\ndone",
                f"if {self.line(depth)}\nthen {self.line(depth)}\nfi",
                f"case q in q) {self.line(depth)}\n;; esac",
                f"while {self.line(depth)}\ndo {self.line(depth)}\nbreak; done",
                f"until {self.line(depth)}\ndo :; done",
                f"[[ a == a ]] && {self.line(depth)}",
            )
        )

    def _function(self, depth: int) -> str:
        name = self._fresh("f")
        stub = self._random.choice(_NAMES)
        return self._random.choice(
            (
                f"{{ {name}() {{ {self.line(depth)}\n}}; {name}; }}",
                f'{{ {name}() {{ {stub} "$@"; }}; {name} {self._fresh()} z; }}',
                f"{{ {name}() {{ {stub} $1 {self._fresh()}; }}; {name} w; }}",
            )
        )

    def _wrapped(self, depth: int) -> str:
        call = f"{self._random.choice(_NAMES)} {self._fresh()}"
        wrapper = self._random.choice(
            (
                "env",
                "env A=1",
                "env -u X -i PATH=$PATH",
                "nice",
                "nice -n 5",
                "nohup",
                "timeout 5",
                "timeout -s KILL 5",
                "stdbuf -oL",
                "setsid -w",
                "command",
                "exec",
                "time",
                "xargs",
                "xargs -n 5 -r env",
                "find . -maxdepth 0 -exec",
                "chrt -o 0",
                "ionice -c 3",
                "setarch -R",
                "command -p env",
            )
        )
        if wrapper == "exec":
            return f"( exec {call} )"
        if wrapper.startswith("xargs"):
            return (
                f"echo {self._fresh()} | {wrapper} {call}"
                if wrapper == "xargs"
                else f"echo y | {wrapper} {call}"
            )
        return f"{wrapper} {call}" + (" \\;" if wrapper.startswith("find") else "")

    def _code(self, depth: int) -> str:
        inner = self.line(depth)
        quoted = shlex.quote(inner)
        form = self._random.choice(
            (
                "bash -c {0}",
                "bash -euc {0}",
                "eval {0}",
                "bash <<< {0}",
                "printf %s {0} | bash",
                "env bash -c {0}",
                "trap {0} EXIT",
                "bash -o pipefail -c {0}",
                "( trap {0} EXIT; : )",
                "source <(printf %s {0})",
                "bash <(printf %s {0})",
            )
        )
        return form.format(quoted)

    def _variable(self, depth: int) -> str:
        name, stub, word = self._fresh("v"), self._random.choice(_NAMES), self._fresh()
        return self._random.choice(
            (
                f'{name}="{stub} {word}"; ${name}',
                f'{name}=({stub} "{word} x"); "${{{name}[@]}}"',
                f"{name}={stub}; ${name} {word}",
                f"{name}=x{stub}; ${{{name}#x}} {word}",
                f'set -- {stub} {word}; "$@"',
                f"read {name} <<< {stub}; ${name} {word}",
                f"printf -v {name} {stub}; ${name} {word}",
                f"{name}={stub.upper()}; ${{{name},,}} {word}",
            )
        )

    _SHAPES = (
        _pair,
        _pair,
        _or,
        _group,
        _substitution,
        _substitution,
        _loop,
        _function,
        _wrapped,
        _code,
        _variable,
    )
