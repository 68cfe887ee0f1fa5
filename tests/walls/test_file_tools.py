"""The file tools, through the worker and its sandbox: what they read, refuse, and never do."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from agent_security.calls import Origin, Status
from agent_security.changeset import ChangeKind
from agent_security.tools.runner import grep as grep_tool
from agent_security.tools.runner.beneath import Place, ToolError

# --- read_file --------------------------------------------------------------------------------------


def test_lines_are_numbered_and_a_page_says_how_to_go_on(any_project: Any) -> None:
    any_project.write("a.txt", "".join(f"line {n}\n" for n in range(1, 11)))
    output = any_project.tool("read_file", path="a.txt", offset=3, limit=2)
    assert output.text == "     3\tline 3\n     4\tline 4\n[lines 3 to 4 of 10; go on with offset=5]"
    assert (output.origin, output.status, output.source) == (Origin.WORKSPACE, Status.OK, "a.txt")


def test_a_whole_small_file_has_no_note(project: Any) -> None:
    project.write("a.txt", "one\ntwo")
    assert project.tool("read_file", path="a.txt").text == "     1\tone\n     2\ttwo"


def test_a_long_file_is_paged_below_the_cap_of_a_result(project: Any) -> None:
    project.write("a.txt", "".join(f"{'x' * 90} {n}\n" for n in range(1, 3001)))
    text = project.tool("read_file", path="a.txt").text
    assert len(text.encode()) < 32 * 1024
    offset = int(text.rsplit("offset=", 1)[1].rstrip("]"))
    assert project.tool("read_file", path="a.txt", offset=offset, limit=1).text.startswith(f"{offset:6}\t")


def test_a_very_long_line_is_cut_and_says_by_how_much(project: Any) -> None:
    project.write("a.txt", "y" * 5000)
    assert project.tool("read_file", path="a.txt").text.endswith("[… 3000 more characters]")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "[a is empty]"),
        (b"a\r\nb\r\n", "     1\ta\n     2\tb\n[line ends are CRLF]"),
        (b"\xef\xbb\xbfa\n", "     1\ta\n[the file begins with a byte-order mark]"),
        (b"caf\xe9\n", "     1\tcaf�\n[not UTF-8: some bytes show as U+FFFD]"),
        ("hé\n".encode("utf-16"), "     1\thé\n[the file is UTF-16]"),
    ],
)
def test_odd_bytes_are_shown_and_named(project: Any, content: bytes, expected: str) -> None:
    project.write("a", content)
    assert project.tool("read_file", path="a").text == expected


def test_a_binary_file_is_not_shown(project: Any) -> None:
    project.write("a.bin", b"\x7fELF\0\0\0")
    output = project.tool("read_file", path="a.bin")
    assert (output.status, output.text) == (
        Status.ERROR,
        "a.bin is a binary file of 7 bytes; it is not shown",
    )


def test_a_huge_sparse_file_is_read_in_bounded_time(project: Any) -> None:
    target = project.write("big.txt", "first\n")
    os.truncate(target, 10 * 1024**3)
    assert project.tool("read_file", path="big.txt", limit=1, timeout_s=30).status is Status.ERROR


@pytest.mark.parametrize("kind", ["fifo", "socket", "folder"])
@pytest.mark.parametrize("tool", ["read_file", "edit_file", "write_file"])
def test_what_is_no_regular_file_is_refused_and_never_waited_for(project: Any, kind: str, tool: str) -> None:
    target = project.tree / "odd"
    if kind == "fifo":
        os.mkfifo(target)
    elif kind == "folder":
        target.mkdir()
    else:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(target))
    more = {
        "read_file": {},
        "edit_file": {"old_string": "a", "new_string": "b"},
        "write_file": {"content": "x"},
    }
    output = project.tool(tool, path="odd", timeout_s=20, **more[tool])
    assert output.status is Status.ERROR
    assert not output.changes


def test_a_missing_file_names_its_likely_neighbours(project: Any) -> None:
    project.write("settings.py", "x")
    assert (
        project.tool("read_file", path="setings.py").text
        == "setings.py does not exist; did you mean settings.py?"
    )


@pytest.mark.parametrize(
    "path", ["../private.txt", "/etc/passwd", "/proc/self/environ", "a/../../private.txt"]
)
def test_paths_that_leave_the_workspace_are_refused_inside_too(any_project: Any, path: str) -> None:
    output = any_project.tool("read_file", path=path)
    assert (output.status, output.text) == (Status.ERROR, f"{path} leads out of the workspace")


# --- glob_files, grep -------------------------------------------------------------------------------


@pytest.fixture
def searched(project: Any) -> Any:
    project.write("src/a.py", "import os\nneedle = 1\n\n\nNEEDLE = 2\n")
    project.write("src/deep/b.py", "x\ny\nneedle\nz\n")
    project.write("docs/c.md", "no such thing\n")
    project.write("build/out.py", "needle\n")
    project.write(".github/workflows/ci.yml", "needle: yes\n")
    project.write(".gitignore", "build/\n*.log\n!keep.log\n")
    project.write("x.log", "needle\n")
    project.write("keep.log", "needle\n")
    project.write("bin.dat", b"needle\0")
    return project


def test_glob_is_sorted_and_honours_gitignore_and_skips_git(searched: Any) -> None:
    searched.write(".git/config", "needle\n")
    assert searched.tool("glob_files", pattern="**/*.py").text == (
        "src/a.py\nsrc/deep/b.py\n[files that .gitignore leaves out are not listed]"
    )
    assert searched.tool("glob_files", pattern="*.{md,log}", path="docs").text == "docs/c.md"
    assert searched.tool("glob_files", pattern="**/*onfig").text.startswith("no files match")


def test_glob_is_bounded_and_says_so(project: Any) -> None:
    for number in range(1200):
        (project.tree / f"f{number:04}").touch()
    lines = project.tool("glob_files", pattern="*").text.splitlines()
    assert lines[-1] == "[the first 1000 are shown; a narrower pattern or path shows the rest]"
    assert lines[:2] == ["f0000", "f0001"]


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "a/../../*"])
def test_a_glob_that_leaves_is_refused(project: Any, pattern: str) -> None:
    assert project.tool("glob_files", pattern=pattern).status is Status.ERROR


SEARCHES: list[tuple[dict[str, Any], str]] = [
    (
        {"pattern": "needle"},
        ".github/workflows/ci.yml:1:needle: yes\nkeep.log:1:needle\n"
        "src/a.py:2:needle = 1\nsrc/deep/b.py:3:needle",
    ),
    ({"pattern": "NEEDLE", "glob": "*.py"}, "src/a.py:5:NEEDLE = 2"),
    (
        {"pattern": "needle", "ignore_case": True, "path": "src/a.py"},
        "src/a.py:2:needle = 1\nsrc/a.py:5:NEEDLE = 2",
    ),
    (
        {"pattern": "needle", "path": "src", "context": 1},
        "src/a.py-1-import os\nsrc/a.py:2:needle = 1\nsrc/a.py-3-\n--\n"
        "src/deep/b.py-2-y\nsrc/deep/b.py:3:needle\nsrc/deep/b.py-4-z",
    ),
    (
        {"pattern": "needle", "glob": "!src/**", "path": "."},
        ".github/workflows/ci.yml:1:needle: yes\nkeep.log:1:needle",
    ),
    ({"pattern": "absent"}, "no matches in ."),
    (
        {"pattern": "needle", "max_results": 1},
        ".github/workflows/ci.yml:1:needle: yes\n[there is more: narrow the pattern, the path or the glob]",
    ),
]


@pytest.mark.parametrize(("args", "expected"), SEARCHES)
@pytest.mark.parametrize("rg", ["/usr/bin/rg", "/nowhere/rg"], ids=["rg", "own"])
def test_both_searches_give_the_same_results(
    searched: Any, args: dict[str, Any], expected: str, rg: str
) -> None:
    if rg.startswith("/usr") and not Path(rg).exists():
        pytest.skip("no rg on this machine")
    assert grep_tool.run(args, Place(str(searched.tree)), rg=rg)["text"] == expected


@pytest.mark.parametrize("rg", ["/usr/bin/rg", "/nowhere/rg"], ids=["rg", "own"])
def test_a_bad_pattern_is_an_answer(searched: Any, rg: str) -> None:
    with pytest.raises(ToolError):
        grep_tool.run({"pattern": "("}, Place(str(searched.tree)), rg=rg)


def test_grep_runs_through_the_worker(searched: Any) -> None:
    assert (
        searched.tool("grep", pattern="needle", path="src").text
        == "src/a.py:2:needle = 1\nsrc/deep/b.py:3:needle"
    )


@pytest.mark.skipif(shutil.which("rg") is None, reason="no rg on this machine")
@pytest.mark.parametrize("pattern", ["--pre=touch made", "-f/etc/passwd", "--files"])
def test_neither_pattern_nor_file_becomes_an_option(project: Any, pattern: str) -> None:
    project.write(".ripgreprc", "--pre=touch\n")
    project.write("--pre=x", "nothing\n")
    assert project.tool("grep", pattern=pattern).text == "no matches in ."
    assert (
        project.tool("grep", pattern=pattern, path="--pre=x", glob="--files").text == "no matches in --pre=x"
    )


def test_a_slow_pattern_ends_with_the_deadline_and_the_worker_comes_back(project: Any) -> None:
    project.write("a.txt", "ok\n")
    os.mkfifo(project.tree / "fifo")
    assert project.tool("grep", pattern="ok", timeout_s=20).text == "a.txt:1:ok"


# --- writes come back as change sets ------------------------------------------------------------------


def test_a_write_is_a_change_set_of_one_file_and_no_effect(any_project: Any) -> None:
    output = any_project.tool("write_file", path="new/deep/dir/a.txt", content="x")
    (change,) = output.changes.changes
    assert (change.path, change.kind, change.mode) == ("new/deep/dir/a.txt", ChangeKind.CREATED, None)
    assert Path(change.staged or "").read_bytes() == b"x"
    assert not (any_project.tree / "new").exists()
    assert output.text == "new file new/deep/dir/a.txt: 1 lines, 1 bytes"


def test_a_replacement_keeps_the_mode_and_names_the_bytes_before(any_project: Any) -> None:
    any_project.write("secret.cfg", "a", mode=0o600)
    output = any_project.tool("write_file", path="secret.cfg", content="b")
    (change,) = output.changes.changes
    assert (change.kind, change.mode) == (ChangeKind.CHANGED, 0o600)
    assert change.before == "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"


def test_a_write_through_a_link_changes_the_file_it_leads_to(project: Any) -> None:
    project.write("real.txt", "a")
    (project.tree / "alias").symlink_to("real.txt")
    (change,) = project.tool("write_file", path="alias", content="b").changes.changes
    assert change.path == "real.txt"


def test_a_file_on_the_way_is_an_error(project: Any) -> None:
    project.write("a", "file")
    output = project.tool("write_file", path="a/b", content="x")
    assert output.status is Status.ERROR


def test_added_folders_are_not_written(project: Any) -> None:
    beside = project.base / "beside"
    beside.mkdir()
    project.open(added_dirs=(str(beside),))
    output = project.tool("write_file", path=f"{beside}/x", content="x")
    assert (output.status, len(output.changes)) == (Status.ERROR, 0)


@pytest.mark.parametrize("kind", ["fifo", "link to a fifo", "link to an endless device"])
def test_an_ignore_file_that_is_no_file_hangs_no_search(project: Any, kind: str) -> None:
    project.write("sub/a.txt", "ok\n")
    odd = project.tree / "sub" / ".gitignore"
    if kind == "link to an endless device":
        odd.symlink_to("/dev/zero")
    elif kind == "fifo":
        os.mkfifo(odd)
    else:
        os.mkfifo(project.tree / "pipe")
        odd.symlink_to("../pipe")
    assert project.tool("grep", pattern="ok", timeout_s=20).text == "sub/a.txt:1:ok"
    assert "sub/a.txt" in project.tool("glob_files", pattern="**/*.txt", timeout_s=20).text
