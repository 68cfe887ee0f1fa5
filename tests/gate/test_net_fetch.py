"""A fetch connects to what was judged, once, within one deadline and one size (D10)."""

from __future__ import annotations

import datetime
import gzip
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from web_server import WebServer, page

from agent_security.errors import NetError
from agent_security.net import Fetched, PinnedAddress, confirm_url, fetch, host_matches, host_of, judge_url


def get(
    url: str, server: WebServer, *, max_bytes: int = 10_000, deadline_s: float = 10, **more: object
) -> Fetched:
    return fetch(url, resolver=server.resolver, deadline_s=deadline_s, max_bytes=max_bytes, **more)  # type: ignore[arg-type]


def test_a_page_served_on_loopback_is_reached_only_through_an_address_that_code_pinned() -> None:
    with WebServer({"docs.example/a?b=1": page(b"hello", Content_Type="text/plain")}) as server:
        fetched = get("http://docs.example/a?b=1#part", server)
        with pytest.raises(NetError, match="private_address"):
            fetch("http://docs.example/", resolver=lambda h, p: ["127.0.0.1"], deadline_s=5, max_bytes=10)
        mixed: list[str] = [PinnedAddress("127.0.0.1", port=server.port), "10.0.0.1"]
        with pytest.raises(NetError, match="private_address"):
            fetch("http://docs.example/", resolver=lambda h, p: mixed, deadline_s=5, max_bytes=10)
        with pytest.raises(NetError, match="private_address"):
            get(f"http://127.0.0.1:{server.port}/", server)
        with pytest.raises(NetError, match="internal_host"):
            get("http://localhost/", server)
    assert (fetched.status, fetched.body, fetched.content_type) == (200, b"hello", "text/plain")
    assert fetched.addresses == ("127.0.0.1",)
    assert len(server.requests) == 1


def test_a_pinned_address_is_lost_as_soon_as_it_becomes_text() -> None:
    assert type(PinnedAddress("127.0.0.1", port=1) + "") is str
    assert not judge_url(
        "http://x.example/", resolver=lambda h, p: [str.__str__(PinnedAddress("127.0.0.1"))]
    ).ok


def test_nothing_of_the_person_travels_with_the_request() -> None:
    with WebServer({"docs.example/": page()}) as server:
        get("http://docs.example/", server)
    names = {line.split(b":")[0].lower() for line in server.requests[0].split(b"\r\n")[1:] if line}
    assert names == {b"host", b"user-agent", b"accept", b"accept-encoding", b"connection"}


def test_a_redirect_within_the_site_is_followed_and_one_to_elsewhere_is_told() -> None:
    answers = {
        "docs.example/": page(status="301 Moved", Location="http://www.docs.example/new"),
        "www.docs.example/new": page(b"there"),
        "docs.example/away": page(status="302 Found", Location="http://other.example/x?d=1"),
        "other.example/x?d=1": page(b"opened"),
        "docs.example/round": page(status="302 Found", Location="/round"),
    }
    with WebServer(answers) as server:
        assert get("http://docs.example/", server).url == "http://www.docs.example/new"
        with pytest.raises(NetError, match=r"redirect_elsewhere: .*http://other\.example/x\?d=1"):
            get("http://docs.example/away", server)
        assert get("http://docs.example/away", server, open_hosts=("other.example",)).body == b"opened"
        with pytest.raises(NetError, match="too_many_redirects"):
            get("http://docs.example/round", server)


def test_a_body_is_bounded_packed_and_unpacked() -> None:
    bomb = gzip.compress(b"\0" * 5_000_000)
    answers = {
        "a.example/": page(b"x" * 2_000),
        "a.example/bomb": page(bomb, Content_Encoding="gzip"),
        "a.example/good": page(gzip.compress(b"unpacked"), Content_Encoding="gzip"),
        "a.example/cut": page(gzip.compress(b"unpacked" * 99)[:-9], Content_Encoding="gzip"),
        "a.example/odd": page(b"x", Content_Encoding="br"),
    }
    with WebServer(answers) as server:
        with pytest.raises(NetError, match="answer_too_large"):
            get("http://a.example/", server, max_bytes=1_999)
        assert len(get("http://a.example/", server, max_bytes=2_000).body) == 2_000
        assert len(bomb) < 10_000
        with pytest.raises(NetError, match="answer_too_large"):
            get("http://a.example/bomb", server)
        assert get("http://a.example/good", server).body == b"unpacked"
        for name in ("cut", "odd"):
            with pytest.raises(NetError, match="fetch_failed"):
                get(f"http://a.example/{name}", server)


def test_a_server_that_drips_or_stays_silent_ends_with_the_deadline() -> None:
    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")
        connection.recv(1)  # until the other side hangs up

    def silent(connection: socket.socket) -> None:
        connection.recv(1)

    with WebServer({"a.example/": drip, "a.example/silent": silent}) as server:
        for path in ("", "silent"):
            with pytest.raises(NetError, match="fetch_timeout"):
                get(f"http://a.example/{path}", server, deadline_s=0.3)


def test_stop_ends_a_fetch_under_way() -> None:
    turns = iter([False, False, True, True])
    silent = {"a.example/": lambda connection: connection.recv(1) and None}
    with WebServer(silent) as server, pytest.raises(NetError, match="fetch_stopped"):
        get("http://a.example/", server, stop=lambda: next(turns, True))


def test_what_is_no_http_and_what_nobody_serves_are_failures_with_a_code() -> None:
    with WebServer({"a.example/": b"SSH-2.0-OpenSSH\r\n"}) as server:
        with pytest.raises(NetError, match="fetch_failed"):
            get("http://a.example/", server)
        port = server.port
    with pytest.raises(NetError, match="fetch_failed"):
        fetch(
            "http://a.example/",
            resolver=lambda h, p: [PinnedAddress("127.0.0.1", port=port)],
            deadline_s=5,
            max_bytes=1,
        )


@pytest.mark.parametrize("error", [OSError("no"), ValueError("odd"), KeyboardInterrupt()])
def test_a_resolver_that_breaks_is_a_name_that_does_not_resolve(error: BaseException) -> None:
    def broken(host: str, port: int) -> Sequence[str]:
        raise error

    with pytest.raises(NetError, match="unresolved"):
        fetch("http://a.example/", resolver=broken, deadline_s=5, max_bytes=1)


def test_no_query_is_made_for_what_the_letters_refuse() -> None:
    asked: list[str] = []

    def recording(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["8.8.8.8"]

    for url in (
        "http://localhost/",
        "http://metadata/",
        "ftp://a.example/",
        "http://u@a.example/",
        "http://0x7f.1/",
    ):
        assert not judge_url(url, resolver=recording).ok
        with pytest.raises(NetError):
            fetch(url, resolver=recording, deadline_s=1, max_bytes=1)
    assert asked == []


# --- TLS ----------------------------------------------------------------------------------------


def certificate(folder: Path, host: str) -> tuple[ssl.SSLContext, Path]:
    """A server context and the file of the authority (itself) that vouches for it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    cert_file, key_file = folder / f"{host}.crt", folder / f"{host}.k"
    cert_file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert_file, key_file)
    return context, cert_file


def test_tls_is_checked_against_the_host_of_the_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context, authority = certificate(tmp_path, "good.example")
    answers = {"good.example/": page(b"safe"), "evil.example/": page(b"stolen")}
    with WebServer(answers, context) as server:
        with pytest.raises(NetError, match="fetch_tls"):
            get("https://good.example/", server)
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        assert get("https://good.example/", server).body == b"safe"
        with pytest.raises(NetError, match="fetch_tls"):
            get("https://evil.example/", server)


# --- letters ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("https://Example.COM./x", "example.com"),
        ("http://[2001:4860:4860:0::8888]/", "2001:4860:4860::8888"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("ssh://git@github.com:22/x.git", "github.com"),
        ("git@github.com:x/y.git", "github.com"),
        ("github.com", "github.com"),
        ("https://user:pw@evil.example/", "evil.example"),
        ("", ""),
        ("/etc/passwd", ""),
    ],
)
def test_host_of_gives_the_one_spelling(text: str, host: str) -> None:
    assert host_of(text) == host


@pytest.mark.parametrize(
    "url",
    [
        "http://[::127.0.0.1]/",
        "http://[2002:0a00:0001::1]/",
        "http://[2001:4860::5efe:127.0.0.1]/",
        "http://[2001:4860::200:5efe:10.0.0.1]/",
        "http://[64:ff9b:1::8.8.8.8]/",
        "http://[fd20:ce::254]/",
        "http://100.100.100.200/",
        "http://0300.0250.1.1/",
        "http://0x7f.0.0.1/",
        "http://134744072/",
        "http://1.2.3.4.5/",
        "http://127.0.0.1.nip.io/",
        "http://xn--localhost/",
        "http://xn--80ak6aa92e.com/",
        "http://раураl.com/",
        "http://example。com/",
        "http://a..example/",
        "http://a.example:0/",
        "http://a.example:65536/",
        "http://a.example:/",
        "http://-a.example/",
        "http://a.example/\u2028x",
        " http://a.example/",
        "http://①②⑦.⓪.⓪.①/",
        "http:///a.example/",
        "http://a.example%2eevil.example/",
    ],
)
def test_what_could_be_read_in_two_ways_or_leads_inside_is_refused(url: str) -> None:
    assert not judge_url(url).ok


@pytest.mark.parametrize(
    "url",
    [
        "https://сайт.рф/",
        "https://straße.example/",
        "https://xn--bcher-kva.example/",
        "http://a_b.example:8080/",
    ],
)
def test_honest_names_pass(url: str) -> None:
    check = judge_url(url)
    assert check.ok, check.reason


def test_an_unusual_port_is_a_persons_matter_until_it_is_opened() -> None:
    assert confirm_url("http://a.example:6379/").code == "unusual_port"
    assert not confirm_url("http://a.example:6379/", open_hosts=("a.example:6379",)).ok
    assert not confirm_url("https://a.example/").ok


def test_opened_names_are_exact_or_below_a_star() -> None:
    assert host_matches("a.example", ("A.example.",))
    assert host_matches("x.a.example", ("*.a.example",))
    assert not host_matches("a.example", ("*.a.example",))
    assert not host_matches("evila.example", ("*.a.example", "a.example"))
    assert not host_matches("x.a.example", ("a.example",))
    assert not host_matches("", ("",))
