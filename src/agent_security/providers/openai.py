"""chat.completions with this project's own patience: one deadline, own retries, nothing followed.

The vendor's client only carries the request (`connection.py`); replies are checked by `replies.py`,
errors told by `failures.py`, and `bounded.py` ends a request that hangs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from agent_security.errors import ProviderError
from agent_security.ports import Message, Reply
from agent_security.providers.bounded import BoundedRun
from agent_security.providers.connection import Connection
from agent_security.providers.failures import HttpFailure, without
from agent_security.providers.retries import Backoff

DEFAULT_BASE_URL = "https://api.openai.com/v1"

OnRetry = Callable[[str, int, float], None]
"""(what failed, how many failures so far, wait in seconds), before each further try."""


class OpenAIProvider:
    """One model behind one endpoint. Keep it for a session; one request at a time."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "",
        api_key: str = "",
        proxy: str = "",
        ca_file: str = "",
        request: Mapping[str, Any] | None = None,
        backoff: Backoff | None = None,
        on_retry: OnRetry | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`request` holds further fields of every request, such as `temperature`."""
        self._model = model
        self._base_url = base_url or DEFAULT_BASE_URL
        self._key, self._proxy, self._ca_file = api_key, proxy, ca_file
        self._request = dict(request or {})
        self._backoff = backoff or Backoff()
        self.on_retry = on_retry
        self._clock = clock
        self._usage_in_streams = True
        self._connection = self._new_connection()

    def __repr__(self) -> str:
        return f"OpenAIProvider({self._model!r}, base_url={self._base_url!r})"

    @property
    def model(self) -> str:
        return self._model

    def warm(self) -> threading.Thread:
        """Import the vendor's client in a thread, while the sandbox starts. Failures wait for a request."""
        thread = threading.Thread(target=_warm, args=(self._connection,), name="provider-warm", daemon=True)
        thread.start()
        return thread

    def close(self) -> None:
        """Close the connection. A later request opens a new one."""
        connection, self._connection = self._connection, self._new_connection()
        connection.close()

    def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
        *,
        timeout_s: float,
        on_text: Callable[[str], None] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> Reply:
        """One answer within `timeout_s`, retries and waits included. Streams where `on_text` is given.

        Raises ProviderError (`retryable`: a later try may help), ContextLengthError where the messages
        do not fit, Aborted where `stop()` turns true.
        """
        ends_at = self._clock() + timeout_s
        failures = 0
        while True:
            body = self._body(messages, tools, stream=on_text is not None)
            send = partial(self._connection.send, body, max(0.1, ends_at - self._clock()))
            try:
                return BoundedRun(send, self._sever, on_text, stop, self._clock).result(ends_at, timeout_s)
            except ProviderError as error:
                error.args = (without(str(error), self._key),)
                if not self._drops_usage(error):
                    failures += 1
                    self._wait_or_raise(error, failures, ends_at, stop)

    def _wait_or_raise(
        self, error: ProviderError, failures: int, ends_at: float, stop: Callable[[], bool] | None
    ) -> None:
        """Wait before the next try. Raises `error` where there is none, or no time left for it."""
        if not error.retryable or failures >= self._backoff.attempts:
            raise error
        wait_s = self._backoff.wait_s(failures, getattr(error, "asked_s", None))
        if self._clock() + wait_s >= ends_at:
            raise error
        if self.on_retry is not None:
            self.on_retry(str(error), failures, wait_s)
        self._backoff.pause(wait_s, stop)

    def _drops_usage(self, error: ProviderError) -> bool:
        """Some servers refuse `stream_options`: ask again without, once and for all."""
        refused = (
            isinstance(error, HttpFailure) and error.status in (400, 422) and "stream_options" in str(error)
        )
        if not (refused and self._usage_in_streams):
            return False
        self._usage_in_streams = False
        return True

    def _body(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], *, stream: bool
    ) -> dict[str, Any]:
        body: dict[str, Any] = {**self._request, "model": self._model, "messages": list(messages)}
        if tools:
            body["tools"] = list(tools)
        if stream:
            body["stream"] = True
        if stream and self._usage_in_streams:
            body["stream_options"] = {"include_usage": True}
        return body

    def _new_connection(self) -> Connection:
        return Connection(self._base_url, self._key, proxy=self._proxy, ca_file=self._ca_file)

    def _sever(self) -> None:
        """Give the request under way up: its connection is broken and the next request opens another."""
        connection, self._connection = self._connection, self._new_connection()
        connection.sever()


def _warm(connection: Connection) -> None:
    try:
        _ = connection.client().chat.completions
    except Exception:
        return  # told by the first request, where somebody listens
