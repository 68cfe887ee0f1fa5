"""The provider against a server that plays the faults of real ones."""

from __future__ import annotations

import socket

import pytest

from agent_security.errors import ContextLengthError, ProviderError
from agent_security.ports import Usage
from agent_security.providers import Backoff, OpenAIProvider

from .asking import ASK, KEY, TOOLS, ask, provider_for

# --- answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
def test_text_and_calls_come_through_whole(loopback, stream):
    server = loopback(
        {"say": "let me look", "calls": [{"read_file": {"path": "a"}}, {"read_file": {"path": "b"}}]}
    )
    shown: list[str] = []
    reply = ask(provider_for(server), stream=stream, shown=shown)
    assert reply.content == "let me look"
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [
        ("read_file", '{"path": "a"}'),
        ("read_file", '{"path": "b"}'),
    ]
    assert reply.finish_reason == "tool_calls"
    assert reply.usage == Usage(10, 5)
    assert reply.model == "loopback"
    assert "".join(shown) == ("let me look" if stream else "")


def test_what_is_sent_is_a_chat_completions_request_with_the_key_in_its_header(loopback):
    server = loopback("hi")
    ask(provider_for(server, request={"temperature": 0}))
    assert server.requests == [{"temperature": 0, "model": "loopback", "messages": ASK, "tools": TOOLS}]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_no_tools_are_sent_where_there_are_none(loopback):
    server = loopback("hi")
    provider_for(server).complete(ASK, (), timeout_s=20)
    assert "tools" not in server.requests[0]


def test_the_environment_chooses_neither_key_nor_endpoint_nor_proxy(loopback, monkeypatch):
    server = loopback("hi")
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "from-the-environment")
    for name in ("OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    assert ask(provider_for(server)).content == "hi"
    assert "from-the-environment" not in str(server.headers)


def test_a_server_that_cannot_stream_is_still_heard(loopback):
    shown: list[str] = []
    reply = ask(provider_for(loopback({"say": "whole", "plain": True})), stream=True, shown=shown)
    assert reply.content == "whole"
    assert shown == ["whole"]


def test_a_server_that_refuses_stream_options_is_asked_again_without(loopback):
    server = loopback({"fault": "stream_options"}, "plain stream")
    provider = provider_for(server)
    assert ask(provider, stream=True).content == "plain stream"
    assert [("stream_options" in request) for request in server.requests] == [True, False]


def test_line_separators_inside_a_streamed_text_are_text(loopback):
    assert ask(provider_for(loopback("a\u2028b\u0085c")), stream=True).content == "a\u2028b\u0085c"


@pytest.mark.parametrize(
    "deltas",
    [
        # colliding indices: two calls that both say 0
        [
            {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read_file", "arguments": "{}"}}]},
            {"tool_calls": [{"index": 0, "id": "b", "function": {"name": "grep", "arguments": "{}"}}]},
        ],
        # no index at all
        [
            {"tool_calls": [{"id": "a", "function": {"name": "read_file", "arguments": "{"}}]},
            {"tool_calls": [{"function": {"arguments": "}"}}]},
            {"tool_calls": [{"id": "b", "function": {"name": "grep", "arguments": "{}"}}]},
        ],
        # id and name repeated in every chunk
        [
            {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read_file", "arguments": "{"}}]},
            {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read_file", "arguments": "}"}}]},
            {"tool_calls": [{"index": 1, "id": "b", "function": {"name": "grep", "arguments": "{}"}}]},
        ],
    ],
)
def test_streamed_calls_are_never_glued_together(loopback, deltas):
    reply = ask(
        provider_for(loopback({"say": "", "deltas": deltas, "finish_reason": "tool_calls"})), stream=True
    )
    assert [(call.id, call.name, call.arguments) for call in reply.tool_calls] == [
        ("a", "read_file", "{}"),
        ("b", "grep", "{}"),
    ]


@pytest.mark.parametrize("stream", [False, True])
def test_reasoning_is_kept_beside_the_text(loopback, stream):
    message = {"role": "assistant", "content": "42", "reasoning_content": "because"}
    assert ask(provider_for(loopback({"message": message})), stream=stream).extra == {
        "reasoning_content": "because"
    }


@pytest.mark.parametrize("tool_calls", [None, [], "zz", 7])
def test_tool_calls_that_are_no_list_are_no_calls(loopback, tool_calls):
    message = {"role": "assistant", "content": "hi", "tool_calls": tool_calls}
    assert ask(provider_for(loopback({"message": message, "finish_reason": "stop"}))).tool_calls == ()


@pytest.mark.parametrize("entry", [None, "x", {}, {"id": "a", "function": None}, {"function": {"name": 5}}])
def test_a_misshapen_call_is_kept_to_be_answered(loopback, entry):
    message = {"role": "assistant", "content": None, "tool_calls": [entry]}
    assert len(ask(provider_for(loopback({"message": message}))).tool_calls) == 1


@pytest.mark.parametrize("content", [5, {"a": 1}, True])
def test_content_that_is_no_text_is_no_text(loopback, content):
    message = {"role": "assistant", "content": content}
    assert ask(provider_for(loopback({"message": message}))).content == ""


# --- failures -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "words", "retryable"),
    [
        ({"fault": "400", "message": "no such parameter"}, "HTTP 400: no such parameter", False),
        ({"fault": "401"}, "refused the API key (HTTP 401)", False),
        ({"fault": "html"}, "an HTML page, not JSON", False),
        ({"fault": "502"}, "HTTP 502: an HTML page", True),
        ({"fault": "500"}, "HTTP 500", True),
        ({"fault": "529"}, "HTTP 529", True),
        ({"fault": "429"}, "HTTP 429", True),
        ({"fault": "no_json"}, "no JSON", True),
        ({"fault": "empty_choices"}, "no choice", True),
        ({"fault": "error_in_body"}, "fault error_in_body", True),
        ({"body": []}, "no chat.completions object", False),
        ({"fault": "hangup"}, "broke", True),
        ({"fault": "broken_stream"}, "broke", True),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_every_failure_is_one_clear_line(loopback, act, words, retryable, stream):
    with pytest.raises(ProviderError) as caught:
        ask(provider_for(loopback(act), backoff=Backoff(attempts=1)), stream=stream)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)
    assert caught.value.retryable is retryable


def test_a_refused_connection_names_the_place(loopback):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        provider = OpenAIProvider("m", base_url=f"http://127.0.0.1:{port}/v1", backoff=Backoff(attempts=1))
        with pytest.raises(
            ProviderError, match=rf"cannot reach the endpoint at 127\.0\.0\.1:{port}"
        ) as caught:
            ask(provider)
    assert caught.value.retryable


def test_a_redirect_is_not_followed_and_the_key_does_not_travel(loopback):
    elsewhere = loopback("stolen")
    server = loopback({"fault": "redirect", "location": f"{elsewhere.base_url}/chat/completions"})
    with pytest.raises(ProviderError, match="redirects are not followed"):
        ask(provider_for(server))
    assert elsewhere.requests == []


def test_a_server_that_quotes_the_key_does_not_put_it_into_the_error(loopback):
    act = {"fault": "400", "message": f"bad \x1b[31m header {KEY}"}
    with pytest.raises(ProviderError) as caught:
        ask(provider_for(loopback(act)))
    assert KEY not in str(caught.value)
    assert str(caught.value).isprintable()


def test_the_key_is_not_in_the_repr():
    assert KEY not in repr(OpenAIProvider("m", api_key=KEY))
    assert KEY not in repr(vars(OpenAIProvider("m", api_key=KEY))["_connection"])


def test_too_long_a_history_is_told_apart(loopback):
    with pytest.raises(ContextLengthError) as caught:
        ask(provider_for(loopback({"fault": "too_long"})))
    assert not caught.value.retryable
