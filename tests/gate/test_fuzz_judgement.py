"""No path and no URL, however odd, breaks or escapes the judgement."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_security.decision import Check
from agent_security.net import address_problem, confirm_url, host_of, judge_addresses, judge_url
from agent_security.paths import Scope, confirm_path, is_path_within, judge_path, judge_pattern

FUZZ = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module")
def ws() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "ws"
        (root / "a/b").mkdir(parents=True)
        (root / "a/f").write_text("x")
        (root / "up").symlink_to("..")
        (root / "etc").symlink_to("/etc")
        (root / "loop").symlink_to("loop/x")
        (root / "deep").symlink_to("a/b")
        yield root


PARTS = st.sampled_from(
    ["a", "b", "f", "..", ".", "", "up", "etc", "loop", "deep", "ws", "~", "x" * 300, "\0", "C:"]
)
PATHS = st.one_of(
    st.text(st.characters(), max_size=40),
    st.lists(PARTS, max_size=12).map("/".join),
    st.binary(max_size=30).map(os.fsdecode),
)


@FUZZ
@given(path=PATHS, write=st.booleans())
def test_a_path_that_passes_really_lies_inside(ws: Path, path: str, write: bool) -> None:
    scope = Scope(str(ws), home="/nonexistent")
    check = judge_path(path, scope, write=write)
    assert isinstance(check, Check)
    assert check.ok or check.code
    confirm_path(path, scope, write=write)
    judge_pattern(path, "", scope)
    if check.ok:
        real = os.path.realpath(path if path.startswith("/") else f"{ws}/{path}")
        assert real == str(ws) or real.startswith(f"{ws}/")
        assert is_path_within(path, str(ws))


URL_PARTS = (
    *("http", "https", "://", "//", ":", "@", "/", "?", "#", "\\", "[", "]", "%", ".", "127", "0x7f", "-"),
    *("localhost", "example", "com", "::1", "\u3002", "\uff11", "xn--", "\n", "80", "0177", "é", "\ud800"),
)
URLISH = st.one_of(
    st.text(st.characters(), max_size=60),
    st.lists(st.sampled_from(URL_PARTS), max_size=14).map("".join),
)


@FUZZ
@given(text=URLISH)
def test_a_url_is_judged_without_a_crash_and_a_refusal_has_a_code(text: str) -> None:
    for url in (text, f"http://{text}", f"https://{text}/"):
        check = judge_url(url)
        assert check.ok or check.code
        host = host_of(url)
        assert host.isascii()
        confirm_url(url)
        if check.ok:
            assert host
            assert not judge_url(url, resolver=lambda h, p: ["127.0.0.1"]).ok or address_problem(host) == ""


@FUZZ
@given(value=st.integers(0, 2**32 - 1))
def test_an_inside_ipv4_address_is_inside_in_every_wrapping(value: int) -> None:
    plain = str(IPv4Address(value))
    closed = bool(address_problem(plain))
    if not IPv4Address(value).is_global:
        assert closed
    for wrapped in (f"::ffff:{plain}", f"64:ff9b::{plain}"):
        assert bool(address_problem(wrapped)) is closed
    for tunnel in (f"::{plain}", str(IPv6Address((0x2002 << 112) | (value << 80)))):
        assert address_problem(tunnel)
    spellings = (f"http://{value}/", f"http://0x{value:08x}/", f"http://0{value:o}/", f"http://[::{plain}]/")
    assert not any(judge_url(url).ok for url in spellings)
    assert judge_url(f"http://{plain}/").ok is not closed


@FUZZ
@given(value=st.integers(0, 2**128 - 1))
def test_an_ipv6_address_that_python_calls_inside_is_never_public(value: int) -> None:
    address = IPv6Address(value)
    if not address.is_global and address.ipv4_mapped is None:
        assert address_problem(str(address))


@FUZZ
@given(text=st.text(st.characters(), max_size=30))
def test_what_is_no_address_is_never_connected_to(text: str) -> None:
    check = judge_addresses([text])
    assert check.ok or check.code in ("private_address", "unresolved")
