"""A model that follows a script: for tests, demonstrations and replays. No network, no key.

A script is YAML or JSON:

    model: a name                         # optional
    turns:
      - say: Let me look.                 # text, calls, or both
        call: {read_file: {path: README.md}}
      - calls:
          - {run_bash: {command: "ls ${workspace}"}}
          - {todo_read: {}}
      - when: "password is (?P<word>\\w+)"   # searched in the last tool result or user message
        say: It is ${word}.                # named groups are variables of this turn
        else: {say: I found none.}         # without `else` the turn is skipped
      - raw: {content: null, tool_calls: [...]}   # an assistant message as a server would send it
        finish_reason: length
        usage: {prompt_tokens: 10, completion_tokens: 2}

`${name}` is filled in where the variable is known (`${workspace}` among them) and left alone elsewhere.
Usage is estimated where a turn does not tell it. After the last turn the model only says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent_security.errors import Aborted
from agent_security.ports import Message, Reply, Usage
from agent_security.providers.replies import reply_from_message, text_of, usage_from
from agent_security.providers.script_file import Turn, check_turn, read_script

END_OF_SCRIPT = "(the script ends here)"

Step = Turn | Reply | str | Callable[[Sequence[Message]], "Turn | Reply | str"]
"""One turn: a mapping as above, a finished Reply, a text, or a function of the messages."""


class ScriptedProvider:
    """Answers with one turn of its script after the other."""

    def __init__(
        self,
        turns: Sequence[Step] = (),
        *,
        model: str = "scripted",
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Raises UsageError for a turn that cannot be read."""
        for number, turn in enumerate(turns, 1):
            if isinstance(turn, Mapping):
                check_turn(turn, f"turn {number}")
        self._turns = list(turns)
        self._model = model
        self._variables = dict(variables or {})
        self._next = 0
        self._calls = 0
        self.requests = 0
        """How often the model was asked."""

    @classmethod
    def from_file(cls, path: str, *, variables: Mapping[str, str] | None = None) -> ScriptedProvider:
        """The script in a file. Raises UsageError naming the file, and the turn where it is one."""
        script = read_script(path)
        return cls(script.turns, model=script.model or f"script:{path}", variables=variables)

    @property
    def model(self) -> str:
        return self._model

    def close(self) -> None:
        return None

    def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
        *,
        timeout_s: float,
        on_text: Callable[[str], None] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> Reply:
        """The next turn that applies. Raises Aborted where `stop()` is true."""
        if stop is not None and stop():
            raise Aborted("stopped before the script went on")
        self.requests += 1
        reply = self._next_reply(messages)
        if on_text is not None and reply.content:
            on_text(reply.content)
        return reply

    def _next_reply(self, messages: Sequence[Message]) -> Reply:
        while self._next < len(self._turns):
            step = self._turns[self._next]
            self._next += 1
            turn = step(messages) if callable(step) else step
            if (reply := self._reply(turn, messages, self._variables)) is not None:
                return reply
        return self._said(END_OF_SCRIPT, messages)

    def _reply(
        self, turn: Turn | Reply | str, messages: Sequence[Message], variables: Mapping[str, str]
    ) -> Reply | None:
        """The turn as a reply, or None where its condition does not hold and it has no `else`."""
        if isinstance(turn, Reply):
            return turn
        if isinstance(turn, str):
            return self._said(_filled(turn, variables), messages)
        if "when" in turn:
            found = re.search(turn["when"], _last_input(messages))
            if found is None:
                return self._reply(turn["else"], messages, variables) if "else" in turn else None
            variables = {**variables, **{name: value or "" for name, value in found.groupdict().items()}}
        return self._acted(_filled(dict(turn), variables), messages)

    def _acted(self, turn: Turn, messages: Sequence[Message]) -> Reply:
        calls = [turn["call"]] if "call" in turn else turn.get("calls", [])
        message = turn.get("raw") or {
            "content": turn.get("say"),
            "tool_calls": [self._tool_call(name, args) for call in calls for name, args in call.items()],
        }
        reason = turn.get("finish_reason") or ("tool_calls" if calls else "stop")
        usage = usage_from(turn.get("usage")) or _estimated(messages, message)
        return reply_from_message(message, reason, usage, self._model)

    def _said(self, text: str, messages: Sequence[Message]) -> Reply:
        return Reply(text, usage=_estimated(messages, text), model=self._model)

    def _tool_call(self, name: str, args: object) -> dict[str, Any]:
        self._calls += 1
        arguments = args if isinstance(args, str) else json.dumps(args or {})
        return {
            "id": f"call_{self._calls}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }


def _last_input(messages: Sequence[Message]) -> str:
    """What the model answers to: the last tool result or user message."""
    inputs = (
        text_of(message.get("content"))
        for message in reversed(messages)
        if message["role"] in ("tool", "user")
    )
    return next(inputs, "")


def _filled(value: Any, variables: Mapping[str, str]) -> Any:
    """The value with `${name}` replaced in every string of it, where the name is known."""
    if isinstance(value, str):
        return re.sub(r"\$\{(\w+)\}", lambda found: variables.get(found[1], found[0]), value)
    if isinstance(value, Mapping):
        return {
            key: _filled(item, variables) if key not in ("when", "else") else item
            for key, item in value.items()
        }
    return [_filled(item, variables) for item in value] if isinstance(value, list) else value


def _estimated(messages: Sequence[Message], answer: object) -> Usage:
    """About four characters a token, as the specification estimates (§4.2)."""
    asked = sum(len(text_of(message.get("content"))) for message in messages)
    return Usage(asked // 4, len(answer if isinstance(answer, str) else json.dumps(answer, default=str)) // 4)
