"""Walk a syntax tree the way bash would run it, and hand every simple command to the runner.

Conditions are not decided: every arm runs, and what they leave behind is joined.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from agent_security.shell.state import EMPTY, Flow, State, Value
from agent_security.shell.subscripts import literals
from agent_security.shell.words import SOME, Redirect, Word

if TYPE_CHECKING:
    from agent_security.shell.run import Runner

Node = dict[str, Any]
_ENDLESS = frozenset({":", "true", "1", "[ 1 ]", "[ true ]"})


class Walker:
    """One line's walk. State is passed along; what is found goes to the runner."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def walk(self, stmts: list[Node], state: State, where: str, stdin: Flow = EMPTY, feeds: str = "") -> Flow:
        """Statements one after another. Returns what they print together."""
        texts: list[str] = []
        last = Flow("", "literal")
        for stmt in stmts or []:
            last = self.statement(stmt, state, where, stdin, feeds)
            texts.append(last.text if last.text is not None else "")
            if last.text is None:
                break_at = stmts.index(stmt)
                for following in stmts[break_at + 1 :]:
                    self.statement(following, state, where, stdin, feeds)
                return Flow(None, last.origin if len(stmts) == 1 else "computed")
        return Flow("".join(texts), "literal") if stmts else last

    def statement(self, stmt: Node, state: State, where: str, stdin: Flow, feeds: str = "") -> Flow:
        """One statement with its redirections."""
        if not self._runner.spend():
            return Flow()
        inner = state.copy() if stmt.get("Background") or stmt.get("Coprocess") else state
        redirects, fed = self._redirects(stmt.get("Redirs") or [], inner, stdin)
        command = stmt.get("Cmd")
        if command is None:
            return self._runner.only_redirects(redirects, inner, where, feeds)
        if command["Type"] in ("CallExpr", "DeclClause"):
            visit = self._call if command["Type"] == "CallExpr" else self._declare
            return visit(command, inner, where, fed, redirects, feeds)
        if redirects:
            self._runner.only_redirects(redirects, inner, "compound", feeds)
        visitor = getattr(self, f"_{command['Type'].lower()}", self._other)
        flow = visitor(command, inner, where, fed, feeds)
        return flow if isinstance(flow, Flow) else Flow()

    def _redirects(self, nodes: list[Node], state: State, stdin: Flow) -> tuple[tuple[Redirect, ...], Flow]:
        found: list[Redirect] = []
        for node in nodes:
            op, fd = node["Op"], node.get("N", {}).get("Value", "")
            if op in ("<<", "<<-"):
                raw = any(
                    part["Type"] != "Lit" or "\\" in part["Value"] for part in node["Word"].get("Parts", ())
                )
                text = self._runner.expander.document(node.get("Hdoc"), state, raw=raw)
                stdin = Flow(re.sub(r"(?m)^\t+", "", text) if op == "<<-" else text, "literal")
                targets = [stdin.text or ""]
            else:
                targets = self._runner.expander.texts(node.get("Word"), state)
                if op == "<<<":
                    stdin = Flow(targets[0] + "\n" if len(targets) == 1 else None, "literal")
                elif op == "<" and fd in ("", "0"):
                    piped = self._runner.expander.pipe(Word(targets[0]))
                    stdin = piped if piped is not None else Flow(None, "file")
            found += [Redirect(op, Word(target), fd) for target in targets]
        return tuple(found), stdin

    # --- simple commands

    def _call(
        self, node: Node, state: State, where: str, stdin: Flow, redirects: tuple[Redirect, ...], feeds: str
    ) -> Flow:
        args = node.get("Args") or []
        scope = state if not args else state.copy()
        assigned = [item for assign in node.get("Assigns") or [] for item in self._assign(assign, scope)]
        self._runner.assigned(assigned)
        if not args:
            return self._runner.only_redirects(redirects, state, where, feeds)
        flow = Flow("", "literal")
        for argv in self._runner.expander.argv(args, state):
            flow = self._runner.run(argv, state, where, stdin, redirects, tuple(assigned), feeds)
        return flow

    def _assign(self, node: Node, state: State) -> list[tuple[str, Word]]:
        name = node.get("Name", {}).get("Value", "")
        expander = self._runner.expander
        if node.get("Index") is not None:
            expander.scan(node["Index"], state)
        if node.get("Array") is not None:
            fields = [f for e in node["Array"].get("Elems") or [] for f in self._element(e, state)]
            values: list[Value] = [tuple(fields)]
        else:
            values = [(text,) for text in expander.texts(node.get("Value"), state, assigned=True)]
        if node.get("Append"):
            before = state.look(name) if state.is_set(name) else [("",)]
            is_list = node.get("Array") is not None
            values = [_appended(old, new, is_list=is_list) for old in before for new in values]
        elif node.get("Index") is not None:
            values = [(*old, *new) for old in (state.env.get(name) or [()]) for new in values]
        state.put(name, values)
        return [(name, Word(" ".join(value))) for value in values]

    def _element(self, element: Node, state: State) -> list[str]:
        self._runner.expander.scan(element.get("Index"), state)
        choices = self._runner.expander.fields(element.get("Value") or {}, state)
        return choices[0] if len(choices) == 1 else [SOME]

    def _declare(
        self, node: Node, state: State, where: str, stdin: Flow, redirects: tuple[Redirect, ...], feeds: str
    ) -> Flow:
        argv = [Word(node["Variant"]["Value"])]
        for arg in node.get("Args") or []:
            if arg.get("Naked") and not arg.get("Name"):
                choices = self._runner.expander.fields(arg["Value"], state)
                argv += [Word(text) for text in choices[0]]
            elif arg.get("Naked"):
                argv.append(Word(arg["Name"]["Value"]))
            else:
                pairs = self._assign(arg, state)
                self._runner.assigned(pairs)
                argv += [Word(f"{name}={value.value}") for name, value in pairs]
        return self._runner.run(tuple(argv), state, where, stdin, redirects, (), feeds)

    # --- lists and pipes

    def _binarycmd(self, node: Node, state: State, where: str, stdin: Flow, feeds: str) -> Flow:
        left, right = node["X"], node["Y"]
        if node["Op"] in ("|", "|&"):
            flow = self.statement(left, state.copy(), where, stdin, first_name(right))
            return self.statement(right, state.copy(), where, flow, feeds)
        flow = self.statement(left, state, where, stdin, feeds)
        before = state.copy()
        after = self.statement(right, state, where, stdin, feeds)
        cwd = state.cwd if node["Op"] == "&&" else before.cwd
        state.join(before)
        state.cwd = cwd
        if flow.text is None or after.text is None:
            return Flow(
                None, after.origin if flow.text == "" else flow.origin if after.text == "" else "computed"
            )
        return Flow(flow.text + after.text, "literal")

    # --- compound commands

    def _block(self, node: Node, state: State, where: str, stdin: Flow, feeds: str) -> Flow:
        return self.walk(node.get("Stmts") or [], state, where, stdin, feeds)

    def _subshell(self, node: Node, state: State, where: str, stdin: Flow, feeds: str) -> Flow:
        return self.walk(node.get("Stmts") or [], state.copy(), where, stdin, feeds)

    def _ifclause(self, node: Node, state: State, where: str, stdin: Flow, feeds: str) -> Flow:
        self.walk(node.get("Cond") or [], state, where, stdin)
        other = state.copy()
        flow = self.walk(node.get("Then") or [], state, where, stdin, feeds)
        if node.get("Else"):
            self._ifclause(node["Else"], other, where, stdin, feeds)
        state.join(other)
        return Flow(None, flow.origin)

    def _whileclause(self, node: Node, state: State, where: str, stdin: Flow, feeds: str) -> Flow:
        if _is_endless(node.get("Cond")) and _spawns(node):
            self._runner.note("endless_spawn")

        def once() -> None:
            self.walk(node.get("Cond") or [], state, where, stdin)
            self.walk(node.get("Do") or [], state, where, stdin, feeds)

        return self._loop(once, state)

    def _forclause(self, node: Node, state: State, where: str, stdin: Flow, feeds: str) -> Flow:
        loop = node["Loop"]
        if loop["Type"] == "WordIter":
            choices = [self._runner.expander.fields(item, state) for item in loop.get("Items") or []]
            values: list[Value] = [(text,) for choice in choices for fields in choice for text in fields]
            if not loop.get("InPos"):
                values = [(text,) for value in state.look("@") for text in value]
            state.put(loop["Name"]["Value"], values or [("",)])
        else:
            self._arithmetic(loop, state)
            if not loop.get("Cond") and _spawns(node):
                self._runner.note("endless_spawn")
        return self._loop(lambda: self.walk(node.get("Do") or [], state, where, stdin, feeds), state)

    def _loop(self, once: Any, state: State) -> Flow:
        """Twice where the first round changed a variable that the second may read."""
        before = state.copy()
        once()
        if state.env != before.env:
            state.join(before)
            once()
        state.join(before)
        return Flow()

    def _caseclause(self, node: Node, state: State, where: str, stdin: Flow, feeds: str) -> Flow:
        self._runner.expander.texts(node.get("Word"), state)
        before = state.copy()
        for item in node.get("Items") or []:
            for pattern in item.get("Patterns") or []:
                self._runner.expander.texts(pattern, state)
            arm = before.copy()
            self.walk(item.get("Stmts") or [], arm, where, stdin, feeds)
            state.join(arm)
        return Flow()

    def _funcdecl(self, node: Node, state: State, where: str, stdin: Flow, feeds: str) -> Flow:
        name = node["Name"]["Value"]
        if _is_bomb(name, node["Body"]):
            self._runner.note("fork_bomb")
        state.functions[name] = [node["Body"]]
        self._runner.declared(name, node["Body"])
        return Flow("", "literal")

    def _timeclause(self, node: Node, state: State, where: str, stdin: Flow, feeds: str) -> Flow:
        return self.statement(node["Stmt"], state, where, stdin, feeds) if node.get("Stmt") else EMPTY

    def _coprocclause(self, node: Node, state: State, where: str, stdin: Flow, feeds: str) -> Flow:
        return self.statement(node["Stmt"], state.copy(), where, stdin, feeds)

    def _testclause(self, node: Node, state: State, where: str, stdin: Flow, feeds: str) -> Flow:
        self._arithmetic(node.get("X"), state)
        return Flow("", "literal")

    def _other(self, node: Node, state: State, where: str, stdin: Flow, feeds: str) -> Flow:
        """`((…))` and `let`; a kind of node that is not known is a problem, never a pass."""
        if node["Type"] not in ("ArithmCmd", "LetClause"):
            self._runner.trouble(f"unparsable: {node['Type']} is not understood")
        self._arithmetic(node, state)
        return Flow("", "literal")

    def _arithmetic(self, node: Any, state: State) -> None:
        """Arithmetic evaluates the text of variables again, substitutions in their subscripts too."""
        self._runner.expander.scan(node, state, arithmetic=True)
        for text in literals(node):
            self._runner.again(text)
        texts = "".join(text for values in state.env.values() for value in values for text in value)
        if "$(" in texts or "`" in texts:
            self._runner.note("run_time_code")


def _appended(old: Value, new: Value, *, is_list: bool) -> Value:
    """`a+=(x)` adds elements, `a+=x` adds to the first."""
    return (*old, *new) if is_list else ("".join(old[:1]) + new[0], *old[1:])


def first_name(stmt: Node) -> str:
    """The name of the command that a pipe leads into, as written."""
    command = stmt.get("Cmd") or {}
    while command.get("Type") == "BinaryCmd":
        command = command["X"].get("Cmd") or {}
    args = command.get("Args") or []
    parts = args[0].get("Parts", []) if args else []
    return str(parts[0].get("Value", "")).rsplit("/", 1)[-1] if len(parts) == 1 else ""


def _is_endless(cond: list[Node] | None) -> bool:
    if not cond or len(cond) != 1:
        return False
    args = (cond[0].get("Cmd") or {}).get("Args") or []
    texts = [part.get("Value", "") for arg in args for part in arg.get("Parts", [])]
    arithmetic = (cond[0].get("Cmd") or {}).get("Type") == "ArithmCmd"
    return " ".join(texts) in _ENDLESS or arithmetic


def _spawns(node: Node) -> bool:
    """Starts something in the background and never waits."""
    text = json.dumps(node.get("Do"))
    return '"Background": true' in text and not re.search(
        r'"Value": "(sleep|wait|break|read|exit)"', _first_words(node)
    )


def _first_words(node: Any) -> str:
    if isinstance(node, list):
        return " ".join(map(_first_words, node))
    if not isinstance(node, dict):
        return ""
    own = json.dumps(node["Args"][0]) if node.get("Type") == "CallExpr" and node.get("Args") else ""
    return own + " ".join(_first_words(item) for item in node.values() if isinstance(item, (dict, list)))


def _is_bomb(name: str, body: Node) -> bool:
    """A function that starts itself again beside itself."""
    calls = f'"Value": {json.dumps(name)}' in _first_words(body)
    text = json.dumps(body)
    return calls and ('"Background": true' in text or '"Op": "|"' in text)
