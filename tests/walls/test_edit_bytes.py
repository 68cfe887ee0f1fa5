"""LO-128 to LO-150: an edit leaves every byte alone that it was not asked to change."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from agent_security.tools.runner import edit_file, write_file
from agent_security.tools.runner.beneath import Place, ToolError


def _edit(folder: Path, name: str, old: str, new: str, **more: Any) -> dict[str, Any]:
    args = {"path": name, "old_string": old, "new_string": new, **more}
    return dict(edit_file.run(args, Place(str(folder.resolve()))))


def _after(reply: dict[str, Any]) -> bytes:
    return base64.b64decode(reply["write"]["data"])


KEPT = {
    "LO-128 LF search in a CRLF file": (b"a\r\nb\r\n", "a\nb", "a\nB", b"a\r\nB\r\n"),
    "a new line in a CRLF file": (b"a\r\nb\r\n", "a", "a\nA", b"a\r\nA\r\nb\r\n"),
    "CRLF search in an LF file": (b"a\nb\n", "a\r\nb", "a\nB", b"a\nB\n"),
    "mixed line ends keep theirs": (b"a\r\nb\nc\n", "b\nc", "B\nC", b"a\r\nB\nC\n"),
    "LO-130 a lone CR": (b"prefix\rprogress\n", "prefix", "PREFIX", b"PREFIX\rprogress\n"),
    "LO-132 a byte-order mark": (
        b"\xef\xbb\xbfusing System;\r\n",
        "using System;",
        "using System.IO;",
        b"\xef\xbb\xbfusing System.IO;\r\n",
    ),
    "LO-139 signs of regular expressions": (b"\\1 $& \\g<0>", "\\1 $& \\g<0>", "\\2 $`", b"\\2 $`"),
    "LO-144 bytes that are not UTF-8": (b"caf\xe9", "caf", "Caf", b"Caf\xe9"),
    "a missing last newline": (b"a\nb", "b", "c", b"a\nc"),
    "NUL bytes elsewhere": (b"a\0b", "a", "c", b"c\0b"),
}


@pytest.mark.parametrize("case", KEPT)
def test_bytes_around_the_edit_survive(tmp_path: Path, case: str) -> None:
    before, old, new, after = KEPT[case]
    (tmp_path / "f").write_bytes(before)
    assert _after(_edit(tmp_path, "f", old, new)) == after
    assert (tmp_path / "f").read_bytes() == before


def test_lo_134_blanks_for_a_tab_are_refused_and_the_real_bytes_shown(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"def f():\n\tx = 1\n")
    with pytest.raises(ToolError, match=r"line 2 differs in blanks only.*'\\tx = 1'"):
        _edit(tmp_path, "a.py", "    x = 1", "    x = 2")


def test_lo_136_absent_text_is_refused_and_the_file_untouched(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(b"x")
    before = target.stat().st_mtime_ns
    with pytest.raises(ToolError, match="does not stand in"):
        _edit(tmp_path, "a.txt", "absent", "y")
    assert (target.read_bytes(), target.stat().st_mtime_ns) == (b"x", before)


def test_lo_138_no_change_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x")
    with pytest.raises(ToolError, match="nothing would change"):
        _edit(tmp_path, "a.txt", "x", "x")


def test_text_that_stands_twice_is_refused_with_its_lines_unless_all_are_wanted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x\ny\nx\n")
    with pytest.raises(ToolError, match=r"2 times \(lines 1, 3\)"):
        _edit(tmp_path, "a.txt", "x", "z")
    assert _after(_edit(tmp_path, "a.txt", "x", "z", replace_all=True)) == b"z\ny\nz\n"


def test_lo_141_the_mode_is_reported_and_kept(tmp_path: Path) -> None:
    target = tmp_path / "secret.cfg"
    target.write_bytes(b"a")
    target.chmod(0o600)
    assert _edit(tmp_path, "secret.cfg", "a", "b")["write"]["mode"] == 0o600


def test_lo_146_a_file_that_is_too_large_is_refused_with_the_limit(tmp_path: Path) -> None:
    with (tmp_path / "big.sql").open("wb") as file:
        file.truncate(300 * 1024**2)
    with pytest.raises(ToolError, match=str(edit_file.MOST_BYTES)):
        _edit(tmp_path, "big.sql", "needle", "pin")


def test_lo_150_missing_folders_are_no_obstacle(tmp_path: Path) -> None:
    reply = write_file.run({"path": "new/deep/a.txt", "content": "x"}, Place(str(tmp_path.resolve())))
    assert (reply["write"]["path"], reply["write"]["existed"]) == ("new/deep/a.txt", False)


def test_an_empty_search_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    with pytest.raises(ToolError, match="empty"):
        _edit(tmp_path, "a", "", "y")


def test_lone_surrogates_never_reach_the_disk(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="UTF-8"):
        write_file.run({"path": "a", "content": "\ud800"}, Place(str(tmp_path.resolve())))


def test_a_write_that_turns_crlf_into_lf_says_so(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a\r\n")
    reply = write_file.run({"path": "a", "content": "b\n"}, Place(str(tmp_path.resolve())))
    assert "CRLF" in reply["text"]
    assert _after(reply) == b"b\n"
