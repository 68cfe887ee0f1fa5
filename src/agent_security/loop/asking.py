"""One request to the model: under its budget, on record before and after, its cost counted (§4, §6.1)."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent_security.errors import ContextLengthError, ProviderError
from agent_security.loop.conversation import Conversation
from agent_security.loop.toolcalls import ReadCall
from agent_security.ports import Provider, Reply
from agent_security.providers import TellsRetries
from agent_security.session import Session
from agent_security.tools.registry import ToolSpec
from agent_security.tools.validators import bounded_schemas

Schemas = Sequence[Mapping[str, Any]]


class Asker:
    """Sends one session's conversation to one model."""

    def __init__(
        self,
        session: Session,
        provider: Provider,
        conversation: Conversation,
        *,
        stream: bool = False,
        deadline_at: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session, self._provider, self._conversation = session, provider, conversation
        self._stream, self._deadline_at, self._clock = stream, deadline_at, clock
        self.requests = 0
        """Answers that came in this turn."""
        if isinstance(provider, TellsRetries):
            provider.on_retry = self._note_retry

    @property
    def out_of_time(self) -> bool:
        """Whether the run's own deadline has passed."""
        return self._deadline_at is not None and self._clock() >= self._deadline_at

    def ask(self, schemas: Schemas) -> Reply:
        """One answer. A history that turns out too long is cut once more, then given up.

        Raises ProviderError, and Aborted where the session was told to stop meanwhile.
        """
        self._trim()
        try:
            return self._request(schemas)
        except ContextLengthError as error:
            self.note_error(error)
            if not self._trim_further():
                raise
            return self._request(schemas)

    def record(self, reply: Reply, calls: Sequence[ReadCall]) -> None:
        """Put the answer on record before anything of it is acted on."""
        usage, content = reply.usage, reply.content.encode("utf-8", "replace")
        counts = None
        if usage is not None:
            counts = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
        self._session.audit.log_llm_response(
            reply.model or self._provider.model,
            reply.finish_reason,
            counts,
            hashlib.sha256(content).hexdigest(),
            len(calls),
        )
        self._session.audit.log(
            "assistant_message",
            content=content.decode(),
            tool_calls=[call.as_message_part() for call in calls],
        )
        self._session.listener.notice("assistant", reply=reply, calls=calls)

    def note_error(self, error: ProviderError) -> None:
        """A request that failed for good, on record and told to whoever watches."""
        self._session.audit.log("llm_call_error", error=str(error), retryable=error.retryable)
        self._session.listener.notice("llm_error", error=str(error), retryable=error.retryable)

    # --- inside -----------------------------------------------------------------------------------

    def _request(self, schemas: Schemas) -> Reply:
        session, messages = self._session, self._conversation.messages
        estimate = session.budget.estimate(messages)
        session.audit.log_llm_request(self._provider.model, len(messages), estimate, bool(schemas))
        session.listener.notice("llm_request", model=self._provider.model, requests=self.requests)
        reply = self._provider.complete(
            messages,
            schemas,
            timeout_s=self._timeout_s(),
            on_text=self._show if self._stream else None,
            stop=lambda: session.abort.triggered,
        )
        self.requests += 1
        session.cost.record_usage(reply.usage, estimated_in=estimate, estimated_out=_tokens_of(reply))
        if reply.usage is not None:
            session.budget.calibrate(reply.usage)
        return reply

    def _trim(self) -> None:
        messages, budget = self._conversation.messages, self._session.budget
        trim = budget.check_and_trim(messages)
        if not trim.reason:
            return
        self._conversation.messages = list(trim.messages)
        self._session.audit.log(
            "context_trimmed",
            message_count=len(messages),
            estimate_tokens=budget.estimate(messages),
            reason=trim.reason,
        )

    def _trim_further(self) -> bool:
        """The server's window is smaller than the budget: lower it. False where nothing more can go."""
        budget, before = self._session.budget, self._session.budget.estimate(self._conversation.messages)
        budget.max_tokens = max(1, min(budget.max_tokens, before) // 2)
        self._trim()
        return budget.estimate(self._conversation.messages) < before

    def _timeout_s(self) -> float:
        if self._deadline_at is None:
            return self._session.llm_timeout_s
        return max(0.1, min(self._session.llm_timeout_s, self._deadline_at - self._clock()))

    def _show(self, text: str) -> None:
        self._session.listener.notice("text", text=text)

    def _note_retry(self, error: str, failures: int, wait_s: float) -> None:
        self._session.audit.log("llm_call_error", error=error, attempt=failures, retry_in_s=round(wait_s, 2))
        self._session.listener.notice("llm_retry", error=error, attempt=failures, wait_s=wait_s)


def model_schemas(tools: Mapping[str, ToolSpec]) -> list[dict[str, Any]]:
    """The active tools as the model sees them: with the bounds of §3.3, without words only we know."""
    schemas = bounded_schemas([tool.schema for tool in tools.values()])
    return [_without_format(schema) for schema in schemas]


def _without_format(node: Any) -> Any:
    """Some servers refuse a `format` they do not know. A property of that name is no keyword and stays."""
    if isinstance(node, Mapping):
        kept = ((key, value) for key, value in node.items() if key != "format" or not isinstance(value, str))
        return {key: _without_format(value) for key, value in kept}
    return [_without_format(item) for item in node] if isinstance(node, list) else node


def _tokens_of(reply: Reply) -> int:
    """About four characters a token (§4.2), for servers that do not count."""
    return (len(reply.content) + sum(len(str(call.arguments)) for call in reply.tool_calls)) // 4 + 1
