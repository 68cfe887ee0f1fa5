"""What is tried again, how long, and what ends a request that hangs."""

from __future__ import annotations

import time

import pytest

from agent_security.errors import Aborted, ProviderError
from agent_security.providers import Backoff

from .asking import ASK, Waits, ask, provider_for

# --- retries --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["429", "500", "502", "529", "empty_choices", "hangup", "broken_stream"])
@pytest.mark.parametrize("stream", [False, True])
def test_what_passes_is_tried_again(loopback, fault, stream):
    server = loopback({"fault": fault}, {"fault": fault}, "at last")
    told: list[tuple[str, int, float]] = []
    waits = Waits()
    provider = provider_for(
        server, backoff=Backoff(sleep=waits, jitter=lambda: 0.5), on_retry=lambda *what: told.append(what)
    )
    assert ask(provider, stream=stream).content == "at last"
    assert [(failures, wait_s) for _, failures, wait_s in told] == [(1, 0.5), (2, 1.0)]
    assert waits.total_s == pytest.approx(1.5)


@pytest.mark.parametrize("fault", ["400", "401", "html", "too_long"])
def test_what_is_permanent_is_asked_once(loopback, fault):
    server = loopback({"fault": fault}, "never")
    with pytest.raises(ProviderError):
        ask(provider_for(server))
    assert len(server.requests) == 1


def test_tries_are_bounded(loopback):
    server = loopback(*[{"fault": "500"}] * 9)
    with pytest.raises(ProviderError):
        ask(provider_for(server))
    assert len(server.requests) == 4


def test_a_wait_longer_than_the_deadline_is_not_begun(loopback):
    server, waits = loopback({"fault": "429", "retry_after": 600}, "never"), Waits()
    with pytest.raises(ProviderError, match="429") as caught:
        ask(provider_for(server, backoff=Backoff(sleep=waits)), timeout_s=20)
    assert caught.value.retryable
    assert waits.total_s == 0


def test_a_stop_interrupts_a_wait(loopback):
    slept: list[float] = []
    provider = provider_for(loopback({"fault": "429", "retry_after": 7}), backoff=Backoff(sleep=slept.append))
    with pytest.raises(Aborted):
        ask(provider, stop=lambda: len(slept) >= 3)
    assert len(slept) == 3


# --- time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["silence", "stalled_stream"])
@pytest.mark.parametrize("stream", [False, True])
def test_the_deadline_holds_for_the_whole_request(loopback, fault, stream):
    started = time.monotonic()
    with pytest.raises(ProviderError, match=r"within 0\.3 s") as caught:
        ask(provider_for(loopback({"fault": fault})), stream=stream, timeout_s=0.3)
    assert caught.value.retryable
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("fault", ["silence", "stalled_stream"])
def test_a_stop_breaks_a_request_under_way(loopback, fault):
    server = loopback({"fault": fault})
    with pytest.raises(Aborted):
        ask(provider_for(server), stream=True, stop=lambda: bool(server.requests))


def test_after_a_broken_request_the_next_one_works(loopback):
    server = loopback({"fault": "silence"}, "back again")
    provider = provider_for(server)
    with pytest.raises(Aborted):
        ask(provider, stop=lambda: bool(server.requests))
    assert ask(provider).content == "back again"


def test_an_interrupt_while_text_is_shown_ends_the_request(loopback):
    def interrupt(text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        provider_for(loopback("hello")).complete(ASK, (), timeout_s=20, on_text=interrupt)


def test_warming_makes_the_client_that_the_first_request_uses(loopback):
    provider = provider_for(loopback("hi"))
    provider.warm().join()
    client = provider._connection._client
    assert client is not None
    ask(provider)
    assert provider._connection._client is client
