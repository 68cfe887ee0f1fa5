"""Stdin and --context are material: bounded, never hung on, no link of the repository followed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_security.errors import UsageError
from agent_security.frontends.material import MAX_BYTES, context_documents, stdin_document


def test_a_file_anywhere_is_read(tmp_path: Path) -> None:
    (tmp_path / "issue.md").write_text("broken")
    (found,) = context_documents([str(tmp_path / "issue.md")], "/elsewhere")
    assert (found.text, found.source) == ("broken", str(tmp_path / "issue.md"))


@pytest.mark.parametrize("kind", ["missing", "fifo", "folder", "link", "large"])
def test_what_is_no_plain_file_is_refused_by_name(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "issue.md"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "link":
        (tmp_path.parent / f"{tmp_path.name}-secret").write_text("secret")
        path.symlink_to(tmp_path.parent / f"{tmp_path.name}-secret")
    elif kind == "large":
        path.write_bytes(b"x" * (MAX_BYTES + 1))
    with pytest.raises(UsageError, match=r"--context .*issue.md: "):
        context_documents([str(path)], str(tmp_path))


def piped(data: bytes, *, close: bool, silent_s: float = 10.0) -> tuple[str | None, list[str]]:
    reader, writer = os.pipe()
    said: list[str] = []
    os.write(writer, data)
    if close:
        os.close(writer)
    try:
        found = stdin_document(said.append, reader, silent_s)
    finally:
        os.close(reader)
        if not close:
            os.close(writer)
    return (found.text if found else None), said


def test_what_was_piped_in_is_material() -> None:
    assert piped(b"log \xff line", close=True) == ("log \ufffd line", [])


def test_an_empty_pipe_is_nothing() -> None:
    assert piped(b"", close=True) == (None, [])


def test_a_pipe_that_stays_open_and_silent_is_given_up_loudly() -> None:
    text, said = piped(b"half", close=False, silent_s=0.05)
    assert text == "half"
    assert said == ["stdin stayed silent: going on without more of it"]


def test_a_terminal_is_not_read() -> None:
    person, terminal = os.openpty()
    try:
        assert stdin_document(lambda line: None, terminal) is None
    finally:
        os.close(person)
        os.close(terminal)
