"""What lies beside the workspace or under another name: sockets, homes in system folders, second names of secrets."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from agent_security.errors import ChangeError, DockerSandboxError, SandboxError, SandboxUnavailable
from agent_security.sandboxes import choose, mounts, remove_leftovers
from agent_security.sandboxes.binary import Bwrap
from agent_security.sandboxes.identity import Identity
from agent_security.sandboxes.line import Line
from agent_security.sandboxes.place import make_place

SECRET = "the-" + "secret-value"


def _serve(folder: Path) -> tuple[socket.socket, int]:
    """A socket and a FIFO of the host; their short names keep within the kernel's path limit."""
    os.mkfifo(folder / "pipe")
    listener = socket.socket(socket.AF_UNIX)
    at = os.open(folder, os.O_RDONLY)
    listener.bind(f"/proc/self/fd/{at}/s")
    os.close(at)
    listener.listen()
    for name in ("s", "pipe"):
        os.chmod(folder / name, 0o777)
    return listener, os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)


@pytest.mark.parametrize("where", ["added", "workspace"])
def test_sockets_and_fifos_of_a_readable_folder_lead_nowhere(any_project: Any, where: str) -> None:
    added = any_project.base / "added"
    added.mkdir()
    (added / "readable.txt").write_text("readable")
    folder = added if where == "added" else any_project.tree
    listener, pipe = _serve(folder)
    any_project.open(added_dirs=(str(added),))
    output = any_project.python(
        "import os, socket\n"
        f"print(open({str(added)!r} + '/readable.txt').read())\n"
        f"os.chdir({str(folder)!r})\n"
        "try: socket.socket(socket.AF_UNIX).connect('s'); print('connected')\n"
        "except OSError as error: print('refused')\n"
        "fd = os.open('pipe', os.O_RDWR | os.O_NONBLOCK); os.write(fd, b'said')\n"
    )
    assert output.text == "readable\nrefused\n"
    assert os.read(pipe, 10) == b""
    listener.close()
    os.close(pipe)


def test_a_home_inside_a_system_folder_is_covered(tmp_path: Path, monkeypatch: Any) -> None:
    """`/usr/local/google/home/me`, or a service account's home in /opt."""
    home, state = tmp_path / "opt" / "home" / "me", tmp_path / "opt" / "state"
    for folder in (home / ".ssh", state):
        folder.mkdir(parents=True)
    monkeypatch.setattr(mounts, "SYSTEM", ("/usr", str(tmp_path / "opt")))
    guarded = (str(home), str(home / ".ssh"), str(state), "/nowhere/else", str(tmp_path))
    hidden = mounts.within_system(guarded)
    assert hidden == (str(home), str(state))
    place = make_place(str(tmp_path / "session"), Identity(os.geteuid(), os.getegid()), hidden)
    mounts._system_words.cache_clear()
    try:
        with Line(place.identity) as line:
            mounts.add_system(line, place)
            for folder in hidden:
                cover = line.words.index(folder)
                assert line.words[cover - 1] == "--tmpfs"
                assert line.words.index(str(tmp_path / "opt")) < cover
    finally:
        mounts._system_words.cache_clear()
        place.remove()


def test_a_file_that_a_secrets_name_links_to_is_masked(any_project: Any) -> None:
    any_project.write("settings/local", SECRET)
    any_project.write("settings/other", SECRET)
    (any_project.tree / ".env").symlink_to("settings/local")
    (any_project.tree / ".npmrc").symlink_to(any_project.tree / ".netrc")
    (any_project.tree / ".netrc").symlink_to("settings/other")
    (any_project.tree / ".pgpass").symlink_to("/etc/hostname")
    (any_project.tree / ".boto").symlink_to(".boto")
    any_project.hand_over()
    output = any_project.run("cat .env settings/local settings/other .npmrc")
    assert (output.text, output.exit_code) == ("", 0)
    assert set(any_project.sandbox.masked) == {"settings/local", "settings/other"}


def test_a_second_name_of_a_secret_is_masked(any_project: Any) -> None:
    any_project.write("deep/.env", SECRET)
    os.link(any_project.tree / "deep/.env", any_project.tree / "copy.conf")
    assert any_project.run("cat copy.conf deep/.env").text == ""
    assert SECRET not in any_project.tool("read_file", path="copy.conf").text


def test_a_command_is_told_that_its_write_to_a_masked_file_is_dropped(project: Any) -> None:
    project.write(".env", SECRET)
    output = project.run("echo more >> .env")
    assert output.text == "\n[harness] .env is masked: what was written to it is dropped"
    assert not output.changes
    assert project.run("cat .env").text == ""


def test_a_tree_too_large_to_be_looked_through_is_refused(project: Any, monkeypatch: Any) -> None:
    project.write("a/.env", SECRET)
    monkeypatch.setattr("agent_security.sandboxes.survey.MOST_ENTRIES", 0)
    with pytest.raises(SandboxUnavailable, match="too many"):
        project.open()


@pytest.mark.parametrize("error", [ChangeError("odd"), OSError(28, "no space left"), ValueError("odd")])
def test_what_breaks_in_a_call_is_its_answer_and_never_the_sessions_end(
    project: Any, monkeypatch: Any, error: Exception
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as breaking:
        breaking.setattr("agent_security.sandboxes.bubblewrap.read_upper", broken)
        with pytest.raises(DockerSandboxError):
            project.run("echo x > made")
    assert project.run("echo again").text == "again\n"


def test_a_command_that_cannot_be_an_argument_is_an_answer(project: Any) -> None:
    for command in ("echo \0", "echo " + "x" * 200_000, "echo \ud800"):
        with pytest.raises(SandboxError):
            project.run(command)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_private_folders_of_a_killed_session_are_removed(tmp_path: Path, elsewhere: bool) -> None:
    place = make_place(str(tmp_path), Identity(os.geteuid(), os.getegid()), elsewhere=elsewhere)
    (Path(place.home) / "left.txt").write_text("left")
    other = tmp_path / "kept.txt"
    other.write_text("kept")
    remove_leftovers(str(tmp_path))
    assert not os.path.exists(place.root)
    assert other.exists()
    remove_leftovers(str(tmp_path / "nowhere"))


def test_address_sanitizer_needs_no_ptrace(project: Any) -> None:
    """Its leak search would attach to the program, which the filter refuses: every run would fail."""
    assert "detect_leaks=0" in project.run('echo "$ASAN_OPTIONS"').text


def test_a_bwrap_that_does_nothing_is_no_wall(project: Any, monkeypatch: Any) -> None:
    fake = project.base / "bwrap"
    fake.write_text("#!/bin/sh\nexit 0\n")
    fake.chmod(0o755)
    monkeypatch.setattr(choose, "find_bwraps", lambda _: (Bwrap(str(fake)),))
    with pytest.raises(SandboxUnavailable):
        project.open()
    assert list(project.state.iterdir()) == []
