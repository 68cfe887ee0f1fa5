"""Server-sent events of a streamed answer, put together into one Reply."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_security.errors import ProviderError
from agent_security.ports import RawCall, Reply, Usage
from agent_security.providers.replies import error_text, first_choice, reply_from_message, text_of, usage_from


def events(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of a stream, until `[DONE]` or its end. Raises ProviderError for what is no JSON."""
    for line in lines:
        if not line.startswith("data:"):
            continue
        data = line.removeprefix("data:").strip()
        if data == "[DONE]":
            return
        if not data:
            continue
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            raise ProviderError(
                "the endpoint's stream holds a line that is no JSON", retryable=True
            ) from None
        if isinstance(event, Mapping):
            yield event


@dataclass(slots=True)
class _Call:
    """One call under construction."""

    index: object
    id: object = None
    name: str = ""
    arguments: str = ""
    whole: object = None
    """Arguments that came as an object at once, as some servers send them."""

    def add(self, delta: Mapping[str, Any]) -> None:
        self.id = self.id or delta.get("id")
        function = delta.get("function")
        if not isinstance(function, Mapping):
            return
        name, arguments = function.get("name"), function.get("arguments")
        if isinstance(name, str) and name != self.name:  # some servers repeat the name in every chunk
            self.name += name
        if isinstance(arguments, str):
            self.arguments += arguments
        elif arguments is not None:
            self.whole = arguments

    def raw(self) -> RawCall:
        arguments = self.arguments if self.whole is None else self.whole
        return RawCall(self.id, self.name, arguments)


@dataclass(slots=True)
class Assembly:
    """A streamed answer under construction."""

    text: list[str] = field(default_factory=list)
    calls: list[_Call] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    finish_reason: str = ""
    usage: Usage | None = None
    model: str = ""
    chunks: int = 0

    def add(self, event: Mapping[str, Any]) -> str:
        """Take one chunk in; returns the text it added. Raises ProviderError for an error event."""
        if error := event.get("error"):
            raise ProviderError(f"the endpoint broke off: {error_text(error)}", retryable=True)
        self.usage = usage_from(event.get("usage")) or self.usage
        self.model = self.model or str(event.get("model") or "")
        choice = first_choice(event)
        if choice is None or choice.get("index", 0) not in (0, None):
            return ""
        self.chunks += 1
        self.finish_reason = str(choice.get("finish_reason") or self.finish_reason)
        delta = choice.get("delta")
        return self._add_delta(delta) if isinstance(delta, Mapping) else ""

    def _add_delta(self, delta: Mapping[str, Any]) -> str:
        entries = delta.get("tool_calls")
        for entry in entries if isinstance(entries, list) else []:
            self._call_of(entry).add(entry if isinstance(entry, Mapping) else {})
        for key, value in delta.items():
            if key not in ("role", "content", "tool_calls"):
                self._add_extra(key, value)
        text = text_of(delta.get("content"))
        self.text.append(text)
        return text

    def _call_of(self, entry: object) -> _Call:
        """The call a delta belongs to. The same index under another id is another call."""
        fields = entry if isinstance(entry, Mapping) else {}
        index, new_id = fields.get("index"), fields.get("id")
        if index is None and not new_id and self.calls:
            return self.calls[-1]
        for call in reversed(self.calls):
            same_index = index is not None and call.index == index
            if same_index and (not new_id or not call.id or call.id == new_id):
                return call
            if index is None and call.id == new_id:
                return call
        self.calls.append(_Call(index))
        return self.calls[-1]

    def _add_extra(self, key: str, value: object) -> None:
        """Unknown fields, `reasoning_content` first of all, grow as their type tells."""
        old = self.extra.get(key)
        if isinstance(value, str):
            self.extra[key] = (old if isinstance(old, str) else "") + value
        elif isinstance(value, list):
            self.extra[key] = [*(old if isinstance(old, list) else []), *value]
        elif value is not None:
            self.extra[key] = value

    def reply(self) -> Reply:
        """What came, as one Reply. Raises ProviderError for a stream that brought nothing or broke off."""
        if not self.chunks:
            raise ProviderError("the endpoint's stream held no choice", retryable=True)
        if not self.finish_reason:
            raise ProviderError("the endpoint's stream broke off before its end", retryable=True)
        message = {
            **self.extra,
            "content": "".join(self.text),
            "tool_calls": [call.raw() for call in self.calls],
        }
        return reply_from_message(message, self.finish_reason, self.usage, self.model)
