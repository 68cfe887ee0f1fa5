"""What running one simple command means: itself, what it wraps, what its options and its input run."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agent_security.shell import option_rows as shell_option_rows
from agent_security.shell import wrapper_rows as shell_wrapper_rows
from agent_security.shell.builtins import BUILTINS
from agent_security.shell.expand import Expander, Node
from agent_security.shell.fold import printed
from agent_security.shell.grammar import syntax_tree
from agent_security.shell.opaque import reason
from agent_security.shell.spoken import spoken
from agent_security.shell.state import EMPTY, MAX_ALTERNATIVES, Flow, State
from agent_security.shell.subscripts import evaluated_again, names_taken
from agent_security.shell.walk import Walker
from agent_security.shell.words import PIPE, RUN_TIME, SOME, UNKNOWN, Command, Line, Redirect, Word, base_name
from agent_security.shell.wrappers import SHELLS, Inner

MAX_DEPTH = 8
MAX_COMMANDS = 3000
MAX_STATEMENTS = 6000


class Runner:
    """Collects the commands of one line."""

    def __init__(self, dialect: str) -> None:
        self._dialect = dialect
        self._commands: dict[Command, None] = {}
        self._opaque: dict[str, None] = {}
        self._problem = ""
        self._notes: set[str] = set()
        self._assigned: dict[tuple[str, Word], None] = {}
        self._declared: dict[str, Node] = {}
        self._called: set[str] = set()
        self._depth = 0
        self._steps = 0
        self._statements = 0
        self.walker = Walker(self)
        self.expander = Expander(self._substitution, self.note)

    def line(self, text: str) -> Line:
        """Run the whole line, then the functions nobody called."""
        state = State()
        self.code(Word(text), state, "direct", marked=False)
        for name, body in self._declared.items():
            if name not in self._called:
                self._guarded(lambda body=body: self.walker.statement(body, state.copy(), "function", EMPTY))
        return Line(
            text,
            tuple(self._commands),
            self._problem,
            tuple(self._opaque),
            frozenset(self._notes),
            tuple(self._assigned),
        )

    # --- what the walker and the builtins report

    def note(self, word: str) -> None:
        self._notes.add(word)

    def trouble(self, problem: str) -> None:
        self._problem = self._problem or problem

    def assigned(self, pairs: Iterable[tuple[str, Word]]) -> None:
        found = dict.fromkeys(pairs)
        self._assigned.update(found)
        for _, value in found:
            self.again(value.value)

    def again(self, text: str) -> None:
        """A text that bash may evaluate once more: a subscript in it runs what it holds."""
        if (line := evaluated_again(text)) is not None:
            self.code(line, State(), "substitution")

    def declared(self, name: str, body: Node) -> None:
        self._declared[name] = body

    def spend(self) -> bool:
        """Whether one more statement may be followed; loops in loops are walked twice each."""
        self._statements += 1
        if self._statements > MAX_STATEMENTS:
            self.trouble(f"too_deep: more than {MAX_STATEMENTS} statements to follow")
        return self._statements <= MAX_STATEMENTS

    def only_redirects(self, redirects: tuple[Redirect, ...], state: State, where: str, feeds: str) -> Flow:
        """`> file` is `: > file`."""
        if redirects:
            self._emit(Command((Word(":"),), ":", redirects, where, cwd=state.cwd, feeds=feeds))
        return Flow("", "literal")

    def _emit(self, command: Command) -> None:
        if len(self._commands) < MAX_COMMANDS:
            self._commands[command] = None
        else:
            self.trouble(f"too_deep: more than {MAX_COMMANDS} commands")

    def _substitution(self, stmts: list[Node], state: State, where: str) -> Flow:
        return self._guarded(lambda: self.walker.walk(stmts, state, where))

    def _guarded(self, go: object) -> Flow:
        """One level deeper, at most MAX_DEPTH."""
        self._steps += 1
        if self._depth >= MAX_DEPTH or self._steps > MAX_COMMANDS:
            self.trouble(f"too_deep: commands are nested deeper than {MAX_DEPTH}")
            return Flow()
        self._depth += 1
        try:
            flow = go() if callable(go) else None
        finally:
            self._depth -= 1
        return flow if isinstance(flow, Flow) else Flow()

    # --- code and commands

    def code(
        self,
        text: Word,
        state: State,
        where: str,
        *,
        params: tuple[Word, ...] = (),
        marked: bool = True,
        stdin: Flow = EMPTY,
    ) -> Flow:
        """A shell line. One that only the run knows is noted; under an option it is an unknown command."""
        if RUN_TIME & set(text.value) and not re.sub(
            f"[{''.join(RUN_TIME)}\\s\"']", "", text.value.split("#")[0]
        ):
            if where.startswith("option:"):
                self._emit(Command((Word(UNKNOWN),), "", where=where, cwd=state.cwd))
            else:
                self.note("run_time_code")
            return Flow()
        tree, problem = syntax_tree(text.value, self._dialect, marked=marked)
        if tree is None:
            self.trouble(problem)
            return Flow()
        if params:
            state.put("@", [tuple(word.value for word in params[1:])])
        return self._guarded(lambda: self.walker.walk(tree.get("Stmts") or [], state, where, stdin))

    def run(
        self,
        argv: tuple[Word, ...],
        state: State,
        where: str,
        stdin: Flow = EMPTY,
        redirects: tuple[Redirect, ...] = (),
        assignments: tuple[tuple[str, Word], ...] = (),
        feeds: str = "",
        *,
        functions: bool = True,
    ) -> Flow:
        """One command with its words known as far as they can be."""
        if not argv:
            return self.only_redirects(redirects, state, where, feeds)
        name = base_name(argv[0])
        self._emit(Command(argv, name, redirects, where, assignments, state.cwd, feeds))
        if functions and argv[0].value in state.functions:
            return self._call(argv, state, stdin)
        if builtin := BUILTINS.get(name):
            builtin(self, argv, state, stdin)
        for text in names_taken(name, argv[1:]):
            self.again(text)
        self._wrapped(name, argv, state, stdin)
        self._options(name, argv, state)
        for hidden in spoken(name, stdin):
            self.code(hidden.code, state.copy(), f"option:{name} {hidden.label}")
        self._input(name, argv, state, stdin)
        if why := reason(name, argv, stdin):
            self._opaque[why] = None
        return printed(name, argv, state.cwd, stdin)

    def _call(self, argv: tuple[Word, ...], state: State, stdin: Flow) -> Flow:
        name = argv[0].value
        self._called.add(name)
        if name in state.calling:
            return Flow()
        outer, calling = state.env.get("@"), state.calling
        state.put("@", [tuple(word.value for word in argv[1:])])
        state.calling = (*calling, name)
        flow = Flow()
        for body in list(state.functions[name]):
            flow = self._guarded(lambda body=body: self.walker.statement(body, state, "function", stdin))
        state.calling = calling
        if outer is None:
            state.env.pop("@", None)
        else:
            state.put("@", outer)
        return flow

    def _wrapped(self, name: str, argv: tuple[Word, ...], state: State, stdin: Flow) -> None:
        for row in shell_wrapper_rows.BY_NAME.get(name, ()):
            for inner in row.unwrap(argv[1:]):
                for filled in _filled(name, inner, argv, stdin):
                    self._inner(name, filled, state, stdin)

    def _inner(self, name: str, inner: Inner, state: State, stdin: Flow) -> None:
        self.assigned(inner.assignments)
        changed = state.copy()
        if inner.chdir is not None:
            changed.change_dir(inner.chdir.value)
        if inner.code is not None:
            where = f"code:{name} -c" if name in SHELLS else f"wrapper:{name}"
            self.code(inner.code, changed, where, params=inner.params, stdin=stdin)
        elif inner.argv:
            self._guarded(
                lambda: self.run(
                    inner.argv,
                    changed,
                    f"wrapper:{name}",
                    stdin,
                    assignments=inner.assignments,
                    functions=False,
                )
            )

    def _options(self, name: str, argv: tuple[Word, ...], state: State) -> None:
        for row in shell_option_rows.BY_NAME.get(name, ()):
            for hidden in row.find(argv[1:]):
                self.code(hidden.code, state.copy(), f"option:{name} {hidden.label}")

    def _input(self, name: str, argv: tuple[Word, ...], state: State, stdin: Flow) -> None:
        """What a shell reads as its program: a pipe, a here-document, a process substitution."""
        sourced = name in ("source", ".")
        if name not in SHELLS and not sourced:
            return
        operands = [word for word in argv[1:] if not word.starts("-", "+")]
        if any(
            word.value.startswith("-") and not word.starts("--") and "c" in word.value for word in argv[1:]
        ):
            return
        flow = stdin
        if operands and not any(
            "s" in word.value for word in argv[1:] if word.starts("-") and not word.starts("--")
        ):
            piped = self.expander.pipe(operands[0])
            if piped is None and operands[0].value not in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
                return
            flow = piped if piped is not None else stdin
        if flow is EMPTY:
            return
        if flow.text is not None:
            self.code(Word(flow.text), state if sourced else state.copy(), f"code:{name}")
        elif flow.origin != "file":
            self.note("run_time_code")


def _filled(name: str, inner: Inner, argv: tuple[Word, ...], stdin: Flow) -> list[Inner]:
    """`xargs` adds what it reads, `find` puts what it finds in place of `{}`."""
    if name in ("find", "gfind", "fd", "fdfind"):
        flow = printed(name if name.startswith("f") else "find", argv, ".", EMPTY)
        return _placed(inner, "{}", _lines(flow))
    if name == "xargs":
        lines = _lines(stdin)
        marker = _replacement(argv)
        if marker:
            return _placed(inner, marker, lines)
        return [Inner(inner.argv + tuple(Word(part) for line in lines for part in line.split() or [UNKNOWN]))]
    if name == "parallel" and not any(word.starts(":::") for word in argv):
        lines = _lines(stdin)
        if inner.code is not None and "{" in inner.code.value:
            return _placed(inner, "{}", lines)
        text = inner.code.value if inner.code is not None else ""
        return [Inner(code=Word(f"{text} {line}")) for line in lines]
    return [inner]


def _lines(flow: Flow) -> list[str]:
    if flow.text is None:
        return [UNKNOWN]
    return flow.text.replace("\0", "\n").splitlines()[:MAX_ALTERNATIVES] or [SOME]


def _replacement(argv: tuple[Word, ...]) -> str:
    for index, word in enumerate(argv):
        if word.value in ("-I", "--replace", "-i"):
            return argv[index + 1].value if word.value == "-I" and index + 1 < len(argv) else "{}"
        if match := re.match(r"-I(.+)|-i(.+)|--replace=(.+)", word.value):
            return match[1] or match[2] or match[3]
    return ""


def _placed(inner: Inner, marker: str, lines: list[str]) -> list[Inner]:
    texts = [word.value for word in inner.argv] + ([inner.code.value] if inner.code is not None else [])
    if not any(marker in text for text in texts):
        return [inner]

    def put(word: Word, line: str) -> Word:
        return Word(word.value.replace(marker, line))

    return [
        Inner(
            tuple(put(word, line) for word in inner.argv),
            put(inner.code, line) if inner.code is not None else None,
        )
        for line in lines
    ]


def is_pipe(word: Word) -> bool:
    """Whether the word is a process substitution's file."""
    return PIPE in word.value
