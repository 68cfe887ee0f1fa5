"""Keep what is sent to the model under its budget, whatever the history holds (§4.2, D8).

    1 replace the middle by one summary: system prompt, newest request and the last messages stay
    2 still too much: keep fewer of the last messages, never parting a call from its results
    3 still too much: cut the largest messages, with a notice
    4 still too much (hundreds of parallel calls): the last messages go too, the request stays

Its cost does not grow with the session: the estimate of a history that only grew at its end is
the one before plus what is new.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from agent_security.history import Message, groups_of, is_paired, repair_history, text_of
from agent_security.resource_limits.context_cut import cut_message
from agent_security.resource_limits.context_summary import is_summary, split_system, summary_of
from agent_security.resource_limits.token_estimate import message_tokens, schema_tokens

_SCALE_LOW, _SCALE_HIGH = 0.5, 3.0
_TELLING_TOKENS = 500
"""A request smaller than this says little about the estimate."""
_ROOM = 0.75
"""Steps 2 and 3 go this far below the threshold, so that the next turn does not trim again."""
_LEAST_CHARS = 200
_SUMMARY_TOKENS = 200
"""Room left for the summary while the width is chosen."""


class Trim(NamedTuple):
    """The messages to send, and why they are fewer than before ("" where they are not)."""

    messages: list[Message]
    reason: str = ""


class _Seen(NamedTuple):
    """A history as it was last measured: the list, its length, its ends, its raw tokens."""

    messages: Sequence[Message]
    length: int
    first: Message
    last: Message
    tokens: float


class _History(NamedTuple):
    """A history in its parts; `request` is the person's newest message."""

    prompt: list[Message]
    summaries: list[Message]
    body: list[Message]
    groups: list[list[Message]]
    request: Message | None

    @classmethod
    def of(cls, messages: list[Message]) -> _History:
        start = 0
        while start < len(messages) and messages[start].get("role") in ("system", "developer"):
            start += 1
        prompt: list[Message] = []
        summaries = [message for message in messages[:start] if is_summary(message)]
        for message in messages[:start]:
            if not is_summary(message):
                plain, joined = split_system(message)
                prompt.append(plain)
                summaries += [joined] if joined else []
        body = messages[start:]
        return cls(prompt, summaries, body, groups_of(body), _newest_request(body))

    def kept(self, size: int) -> tuple[list[Message], list[Message]]:
        """(the request and the last groups that hold `size` messages, what is dropped)."""
        recent = [message for group in _recent(self.groups, size) for message in group]
        dropped = self.body[: len(self.body) - len(recent)]
        if self.request is None or all(message is not self.request for message in dropped):
            return recent, dropped
        return [self.request, *recent], [message for message in dropped if message is not self.request]


class ContextBudget:
    """Measures and trims the history before each request. Not for use from several threads.

    `second_system=False` is for servers that refuse a second system message: the summary then
    joins the first (D8). `use_tools` tells which tools are registered.
    """

    def __init__(
        self,
        max_tokens: int = 24_000,
        trim_threshold: float = 0.8,
        keep_recent: int = 8,
        *,
        second_system: bool = True,
    ) -> None:
        if max_tokens < 1 or not 0 < trim_threshold <= 1 or keep_recent < 1:
            raise ValueError("a budget needs max_tokens ≥ 1, 0 < trim_threshold ≤ 1, keep_recent ≥ 1")
        self.max_tokens = max_tokens
        self.trim_threshold = trim_threshold
        self.keep_recent = keep_recent
        self.second_system = second_system
        self.scale = 1.0
        """Real tokens per estimated one, learnt from the server's usage."""
        self._tools: Collection[str] | None = None
        self._tool_tokens = 0.0
        self._seen: _Seen | None = None
        self._measured = 0.0

    def use_tools(self, schemas: Sequence[Mapping[str, Any]]) -> None:
        """The tool schemas sent with every request: they cost tokens and name the tools."""
        self._tools = frozenset(str((schema.get("function") or {}).get("name", "")) for schema in schemas)
        self._tool_tokens = schema_tokens(list(schemas)) if schemas else 0.0

    # --- measuring ----------------------------------------------------------------------------

    def estimate(self, messages: Sequence[Message]) -> int:
        """Tokens of a request with these messages."""
        self._measured = self._tool_tokens + self._raw(messages)
        return round(self._measured * self.scale)

    def _start(self, messages: Sequence[Message]) -> int:
        """How many messages were there, the same, at the last look."""
        seen = self._seen
        return (
            seen.length
            if seen is not None and messages is seen.messages and _only_grew(messages, seen)
            else 0
        )

    def _raw(self, messages: Sequence[Message]) -> float:
        """Only what was appended since the last look is measured."""
        start = self._start(messages)
        total = self._seen.tokens if self._seen is not None and start else 0.0
        total += sum(message_tokens(messages[at]) for at in range(start, len(messages)))
        if messages:
            self._seen = _Seen(messages, len(messages), messages[0], messages[-1], total)
        return total

    def calibrate(self, usage: object | None) -> None:
        """Learn from the server's `prompt_tokens` for the request measured last; nonsense is ignored."""
        value = (
            usage.get("prompt_tokens")
            if isinstance(usage, Mapping)
            else getattr(usage, "prompt_tokens", None)
        )
        if not isinstance(value, int) or isinstance(value, bool) or self._measured < _TELLING_TOKENS:
            return
        if value <= 0:
            return
        told = min(max(value / self._measured, _SCALE_LOW), _SCALE_HIGH)
        self.scale = told if self.scale == 1.0 else (self.scale + told) / 2

    # --- trimming -----------------------------------------------------------------------------

    def check_and_trim(self, messages: list[Message]) -> Trim:
        """The messages as they are, the same list, while they are under the threshold; else trimmed.

        A call without its result, or a text between the two, is mended on the way.
        """
        limit = int(self.max_tokens * self.trim_threshold)
        start = self._start(messages)
        estimate = self.estimate(messages)
        if estimate <= limit:
            return Trim(messages if is_paired(messages, start) else repair_history(messages))
        return self._trim(messages, limit, f"estimate {estimate} tokens over {limit} of {self.max_tokens}")

    def trim_harder(self, messages: list[Message]) -> Trim:
        """One further trim to half of the present size: for a server that says the context is too long."""
        estimate = self.estimate(messages)
        half = min(estimate // 2, int(self.max_tokens * self.trim_threshold))
        return self._trim(messages, half, f"the server refused {estimate} estimated tokens as too many")

    def _trim(self, messages: list[Message], limit: int, reason: str) -> Trim:
        history = _History.of(repair_history(messages))
        trimmed, cut = self._shorter(self._window(history, self._widest(history, limit)), limit)
        if self.estimate(trimmed) > limit:
            trimmed, cut = self._shorter(self._window(history, 0), limit)
        after = self.estimate(trimmed)
        more = f", {cut} cut" if cut else ""
        if after > limit:
            more += "; the system prompt and tool schemas alone leave no room"
        return Trim(
            trimmed, f"{reason}: {len(messages)} messages became {len(trimmed)}{more}, now {after} tokens"
        )

    def _widest(self, history: _History, limit: int) -> int:
        """Steps 1 and 2: how many last messages fit, at most `keep_recent`, at least one."""
        for size in range(self.keep_recent, 1, -1):
            kept = [*history.prompt, *history.kept(size)[0]]
            if self.estimate(kept) + _SUMMARY_TOKENS <= limit:
                return size
        return 1

    def _window(self, history: _History, size: int) -> list[Message]:
        """The system prompt, the summary, the request where it is not among the last, the last."""
        kept, dropped = history.kept(size)
        summaries = history.summaries
        if dropped:
            summaries = [summary_of([*summaries, *dropped], self._tools)]
        return self._with_summary(history.prompt, summaries[0] if summaries else None) + kept

    def _with_summary(self, prompt: list[Message], summary: Message | None) -> list[Message]:
        if summary is None:
            return list(prompt)
        if self.second_system or not prompt:
            return [*prompt, summary]
        first = {**prompt[0], "content": f"{text_of(prompt[0])}\n\n{summary['content']}"}
        return [first, *prompt[1:]]

    def _shorter(self, messages: list[Message], limit: int) -> tuple[list[Message], int]:
        """Step 3: cut all that is longer than a length, and halve the length until it fits."""
        if self.estimate(messages) <= limit:
            return messages, 0
        keep_chars = max((_chars(m) for m in messages if m.get("role") != "system"), default=0)
        cut = messages
        while self.estimate(cut) > limit * _ROOM and keep_chars > _LEAST_CHARS:
            keep_chars = max(keep_chars // 2, _LEAST_CHARS)
            cut = [m if m.get("role") == "system" else cut_message(m, keep_chars) for m in messages]
        return cut, sum(_chars(new) < _chars(old) for new, old in zip(cut, messages, strict=True))


def _only_grew(messages: Sequence[Message], seen: _Seen) -> bool:
    length = seen.length
    return 0 < length <= len(messages) and messages[0] is seen.first and messages[length - 1] is seen.last


def _chars(message: Message) -> int:
    calls = message.get("tool_calls")
    return len(text_of(message)) + (len(json.dumps(calls, default=str)) if calls else 0)


def _newest_request(body: Sequence[Message]) -> Message | None:
    """The person's newest message: the newest one delimited as theirs, else the newest of the role."""
    asked = [message for message in body if message.get("role") == "user"]
    theirs = [message for message in asked if text_of(message).lstrip().startswith("<user_input")]
    candidates = theirs or asked
    return candidates[-1] if candidates else None


def _recent(groups: list[list[Message]], size: int) -> list[list[Message]]:
    """The last groups that hold at least `size` messages."""
    count, at = 0, len(groups)
    while at > 0 and count < size:
        at -= 1
        count += len(groups[at])
    return groups[at:]
