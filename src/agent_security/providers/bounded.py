"""Run one blocking request so that a deadline or a stop ends it, wherever it hangs.

A read time-out does not do that: a server that sends one byte every 30 seconds never trips it.
The request runs in a thread of its own; the caller waits, and severs the connection when it is over.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from agent_security.errors import Aborted, ProviderError

T = TypeVar("T")

_POLL_S = 0.05


@dataclass(slots=True)
class _Outcome(Generic[T]):
    value: T | None = None
    error: BaseException | None = None


@dataclass(slots=True)
class BoundedRun(Generic[T]):
    """`work(emit)` in a thread; what it emits is handed to `on_text` in the caller's thread."""

    work: Callable[[Callable[[str], None]], T]
    sever: Callable[[], None]
    """Breaks the connection, so that the thread ends by itself."""
    on_text: Callable[[str], None] | None = None
    stop: Callable[[], bool] | None = None
    clock: Callable[[], float] = time.monotonic
    _news: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)

    def result(self, ends_at: float, timeout_s: float) -> T:
        """The work's value or error. Raises ProviderError at the deadline, Aborted at a stop."""
        threading.Thread(target=self._run, name="provider-request", daemon=True).start()
        try:
            outcome = self._wait(ends_at, timeout_s)
        except BaseException:  # Ctrl-C too: nothing of the request may live on
            self.sever()
            raise
        if outcome.error is not None:
            raise outcome.error
        return outcome.value  # type: ignore[return-value]  # set whenever error is not

    def _run(self) -> None:
        try:
            self._news.put(_Outcome(value=self.work(self._news.put)))
        except BaseException as error:
            self._news.put(_Outcome(error=error))

    def _wait(self, ends_at: float, timeout_s: float) -> _Outcome[T]:
        while True:
            if self.stop is not None and self.stop():
                raise Aborted("stopped while the model was answering")
            left_s = ends_at - self.clock()
            if left_s <= 0:
                raise ProviderError(
                    f"the model did not finish its answer within {timeout_s:g} s", retryable=True
                )
            try:
                news = self._news.get(timeout=min(_POLL_S, left_s))
            except queue.Empty:
                continue
            if isinstance(news, _Outcome):
                return news
            if self.on_text is not None and news:
                self.on_text(news)
