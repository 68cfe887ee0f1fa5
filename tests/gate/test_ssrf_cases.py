"""Every case of tests/cases/ssrf.jsonl: by its letters in the gate, by its answers, by its redirects."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from gate_cases import judged, load, word
from web_server import WebServer, page

from agent_security.errors import NetError
from agent_security.net import fetch, judge_url

SSRF_CASES = load("ssrf")

ANSWERS: dict[str, list[str]] = {
    "SS-115": ["127.0.0.1"],
    "SS-117": ["169.254.169.254"],
    "SS-121": ["::ffff:169.254.169.254"],
    "SS-123": ["169.254.169.254"],
    "SS-127": ["10.0.0.9"],
    "SS-212": ["93.184.216.34"],
    "SS-214": ["203.119.1.1"],
    "SS-216": ["93.184.216.34"],
    "SS-222": ["93.184.216.34"],
}
"""What `context.net` says in words: the resolver's answer."""

REDIRECTS: dict[str, dict[str, bytes]] = {
    "SS-128": {
        "attacker.example/r": page(status="302 Found", Location="http://169.254.169.254/latest/meta-data/")
    },
    "SS-130": {
        "attacker.example/chain": page(status="302 Found", Location="http://b.example"),
        "b.example/": page(status="301 Moved Permanently", Location="http://10.0.0.1/"),
    },
    "SS-132": {
        "attacker.example/gopher": page(status="302 Found", Location="gopher://127.0.0.1:6379/_FLUSHALL")
    },
    "SS-134": {"attacker.example/rel": page(status="302 Found", Location="//169.254.169.254/")},
    "SS-136": {"attacker.example/refresh": page(Refresh="0;url=http://127.0.0.1")},
}

BY_FETCHING = {"SS-119", "SS-125", "SS-197", *REDIRECTS}


@pytest.mark.parametrize(
    "case", [c for c in SSRF_CASES if c["id"] not in BY_FETCHING], ids=lambda case: case["id"]
)
def test_ssrf_case(case: dict[str, Any], tmp_path: Path) -> None:
    answers = ANSWERS.get(case["id"])
    resolver = (lambda host, port: answers) if answers else None
    decision = judged("webfetch", case["args"], tmp_path, resolver=resolver)
    assert word(decision) in case["accept"], f"{case['why']}: {decision.code}: {decision.reason}"


@pytest.mark.parametrize("case_id", sorted(REDIRECTS))
def test_redirect_case(case_id: str) -> None:
    case = next(c for c in SSRF_CASES if c["id"] == case_id)
    with WebServer(REDIRECTS[case_id]) as server, pytest.raises(NetError) as refused:
        _fetch(case, server.resolver, open_hosts=("b.example",))
    assert refused.value.code in ("private_address", "url_scheme")
    assert set(server.asked) <= {"attacker.example", "b.example"}


def test_ss_119_the_connection_goes_to_the_answer_that_was_judged() -> None:
    """The second answer is never asked for within a fetch, and is judged when it comes in the next."""
    case = next(c for c in SSRF_CASES if c["id"] == "SS-119")
    answers: Iterator[Sequence[str]] = iter([["8.8.8.8"], ["169.254.169.254"]])
    assert judge_url(case["args"]["url"], resolver=lambda host, port: next(answers)).ok
    with pytest.raises(NetError, match="private_address"):
        _fetch(case, lambda host, port: next(answers))


def test_ss_125_the_deadline_covers_a_resolver_that_never_answers() -> None:
    case = next(c for c in SSRF_CASES if c["id"] == "SS-125")
    released = threading.Event()

    def silent(host: str, port: int) -> Sequence[str]:
        released.wait(60)
        return ["8.8.8.8"]

    try:
        with pytest.raises(NetError, match="fetch_timeout"):
            _fetch(case, silent, deadline_s=0.2)
    finally:
        released.set()


def test_ss_197_proxy_variables_are_not_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://10.0.0.9:3128")
    with WebServer({"example.com/": page(b"direct")}) as server:
        fetched = fetch("http://example.com/", resolver=server.resolver, deadline_s=10, max_bytes=1000)
    assert fetched.body == b"direct"
    assert server.asked == ["example.com"]


def _fetch(
    case: dict[str, Any], resolver: Any, *, deadline_s: float = 10, open_hosts: Sequence[str] = ()
) -> None:
    fetch(
        case["args"]["url"], resolver=resolver, deadline_s=deadline_s, max_bytes=10_000, open_hosts=open_hosts
    )
