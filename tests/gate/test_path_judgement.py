"""Where a path really leads, and what its letters already show (§1.3, §2.3 layer 1)."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from agent_security.changeset import Node
from agent_security.paths import (
    DescriptorFacts,
    Scope,
    confirm_path,
    is_path_within,
    judge_path,
    judge_pattern,
    second_tier,
)


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "ws"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("x")
    (tmp_path / "ws2").mkdir()
    return root


def test_within_resolves_relative_names_links_and_traversal(ws: Path) -> None:
    (ws / "out").symlink_to(ws.parent)
    (ws / "in").symlink_to("src")
    for path in ("", "src/a.py", "src/../src", "in/a.py", str(ws), "missing/x", "out/ws/src"):
        assert is_path_within(path, str(ws)) is (path != ""), path
    for path in (
        "..",
        "../ws2",
        str(ws.parent / "ws2"),
        "out/ws2",
        "/etc",
        "missing/../../x",
        "src/a.py/../x",
    ):
        assert not is_path_within(path, str(ws)), path
    assert is_path_within("/etc/passwd", "/")


def test_a_root_reached_through_a_link_is_the_same_root(ws: Path) -> None:
    alias = ws.parent / "alias"
    alias.symlink_to(ws)
    assert is_path_within(str(ws / "src"), str(alias))
    assert is_path_within("src", str(alias))
    assert judge_path(str(alias / "new"), Scope(str(alias)), write=True).ok


def test_facts_tell_what_stands_there_and_open_nothing(ws: Path) -> None:
    os.mkfifo(ws / "pipe")
    (ws / "dangling").symlink_to("nowhere")
    (ws / "loop").symlink_to("loop")
    facts = DescriptorFacts((str(ws),))
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert facts.look("src/a.py").node is Node.FILE
    assert facts.look("src").node is Node.DIRECTORY
    assert facts.look("pipe").node is Node.OTHER
    assert facts.look("dangling").real == str(ws / "nowhere")
    assert not facts.look("dangling").exists
    assert facts.look("loop").problem == "too many links"
    assert facts.look("a/../b").problem == ".. after something that is not there"
    assert facts.look("src/a.py/").problem == "a file is used as a folder"
    assert facts.look("x" * 256).problem == "too long"
    assert facts.look("a\0b").problem == "NUL"
    assert facts.look("d/" * 2000 + "x").inside
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == before


def test_a_folder_nobody_may_enter_is_told_and_not_guessed(ws: Path) -> None:
    if os.getuid() == 0:
        pytest.skip("root may enter every folder")
    (ws / "shut").mkdir(mode=0)
    assert judge_path("shut/x", Scope(str(ws)), write=False).code == "path_unresolved"
    (ws / "shut").chmod(0o700)


def test_sockets_and_fifos_are_never_opened(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(ws / "pipe")
    monkeypatch.chdir(ws)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        for name in ("pipe", "s"):
            for write in (False, True):
                assert judge_path(name, Scope(str(ws)), write=write).code == "path_special"


def test_added_directories_are_readable_only(ws: Path) -> None:
    extra = ws.parent / "extra"
    extra.mkdir()
    (extra / ".env").write_text("x")
    scope = Scope(str(ws), added_dirs=(str(extra),))
    assert judge_path(str(extra / "x"), scope, write=False).ok
    assert judge_path(str(extra / "x"), scope, write=True).code == "path_read_only"
    assert confirm_path(str(extra / ".env"), scope, write=False).code == "secret_file"
    assert judge_path(str(extra / "x"), Scope(str(ws)), write=False).code == "path_outside"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("", "path_malformed"),
        (" \t", "path_malformed"),
        ("~", "path_home"),
        ("~/x", "path_home"),
        ("~root", "path_home"),
        ("~root/x", "path_home"),
        ("$HOME/x", "path_home"),
        ("${HOME}/x", "path_home"),
        ("%USERPROFILE%\\x", "path_home"),
        ("C:\\x", "path_windows"),
        ("c:/x", "path_windows"),
        ("\\\\host\\share", "path_windows"),
        ("a\\..\\..\\x", "path_windows"),
        ("a.txt::$DATA", "path_windows"),
        ("\ud800", "path_malformed"),
        ("x" * 5_000, "path_malformed"),
        ("a/" * 2_500, "path_malformed"),
        ("/proc/self/environ", "path_unresolved"),
        ("/dev/null", "path_unresolved"),
    ],
    ids=lambda value: value[:16].encode("unicode_escape").decode(),
)
def test_letters_that_mean_another_place_are_refused_for_reads_and_writes(
    path: str, code: str, ws: Path
) -> None:
    for write in (False, True):
        assert judge_path(path, Scope(str(ws), home="/nonexistent"), write=write).code == code


@pytest.mark.parametrize(
    "path", ["~$draft.docx", "a~", "./~/x", "$x", "a:b.txt", "..x", "x..", "...", "-rf", "*", "é"]
)
def test_odd_but_honest_names_pass(path: str, ws: Path) -> None:
    for write in (False, True):
        check = judge_path(path, Scope(str(ws)), write=write)
        assert check.ok, check.reason


@pytest.mark.parametrize(
    "path",
    [
        ".GIT/config",
        ".Git/hooks/x",
        ".git./hooks/x",
        ".g\u200cit/hooks/x",
        "sub/.GIT/config",
        "GIT~1/hooks/x",
        ".VSCODE/tasks.json",
        ".vscode:x/tasks.json",
        "\uff0egit/hooks/x",
    ],
    ids=ascii,
)
def test_a_second_spelling_of_a_protected_name_is_refused_when_written(path: str, ws: Path) -> None:
    assert judge_path(path, Scope(str(ws)), write=True).code == "path_look_alike"
    assert judge_path(path, Scope(str(ws)), write=False).ok


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (".git/hooks/pre-commit", "first_tier"),
        (".git/hooks/Pre-Commit", "first_tier"),
        ("sub/.git/hooks/x", "first_tier"),
        (".vscode/tasks.json", "first_tier"),
        ("SRC/.envrc", "first_tier"),
    ],
)
def test_what_runs_by_itself_is_a_persons_matter_and_no_refusal(path: str, code: str, ws: Path) -> None:
    scope = Scope(str(ws))
    assert judge_path(path, scope, write=True).ok
    assert confirm_path(path, scope, write=True).code == code
    assert not confirm_path("src/a.py", scope, write=True).ok


def test_git_configuration_is_written_by_git_alone(ws: Path) -> None:
    for path in (
        ".git/config",
        "sub/.git/config",
        ".git/modules/x/config",
        ".git/worktrees/y/config.worktree",
    ):
        assert judge_path(path, Scope(str(ws)), write=True).code == "git_config"
        assert judge_path(path, Scope(str(ws)), write=False).ok
    assert judge_path("config", Scope(str(ws)), write=True).ok


def test_a_protected_file_is_known_by_where_it_really_leads(ws: Path) -> None:
    (ws / ".env").write_text("x")
    (ws / "notes.txt").symlink_to(".env")
    (ws / ".git/hooks").mkdir(parents=True)
    (ws / "h").symlink_to(".git/hooks")
    (ws / "build.txt").symlink_to("Makefile")
    scope = Scope(str(ws))
    assert confirm_path("notes.txt", scope, write=False).code == "secret_file"
    assert confirm_path("h/pre-commit", scope, write=True).code == "first_tier"
    assert second_tier("build.txt", scope).code == "second_tier"
    assert not second_tier("src/a.py", scope).ok


def test_a_secret_file_that_does_not_exist_yet_may_be_created(ws: Path) -> None:
    scope = Scope(str(ws))
    assert not confirm_path(".env", scope, write=True).ok
    assert confirm_path(".env", scope, write=False).ok
    (ws / ".env").write_text("x")
    assert confirm_path(".env", scope, write=True).ok


@pytest.mark.parametrize(
    "pattern",
    [
        "../*",
        "a/../../*",
        "[.][.]/*",
        ".[.]/x",
        "{..,a}/*",
        "{a,../b}",
        "~/*",
        "/etc/*",
        "a\\..\\*",
        "\\.\\./x",
        "",
        "\0",
    ],
    ids=ascii,
)
def test_a_pattern_that_climbs_out_is_refused(pattern: str, ws: Path) -> None:
    assert not judge_pattern(pattern, "", Scope(str(ws))).ok


def test_a_pattern_below_a_link_that_leads_out_is_refused(ws: Path) -> None:
    (ws / "data").symlink_to("/etc")
    scope = Scope(str(ws))
    assert judge_pattern("data/**/*.conf", "", scope).code == "path_outside"
    assert judge_pattern("**/*.conf", "data", scope).code == "path_outside"
    assert judge_pattern("src/**/*.py", "", scope).ok
    assert judge_pattern("*.py", "src", scope).ok
    assert judge_pattern("[a-z]*..md", "", scope).ok
