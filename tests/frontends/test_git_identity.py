"""Who commits behind the wall is the person; nothing else of their git configuration goes there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_security.wiring.identity import git_identity_of


def test_the_name_and_address_of_the_person_are_taken(tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text('[user]\n\tname = "Kim Doe"\n\temail = kim@example.org\n')
    assert git_identity_of(tmp_path) == ("Kim Doe", "kim@example.org")


def test_the_file_of_home_wins_over_the_one_below_config(tmp_path: Path) -> None:
    (tmp_path / ".config" / "git").mkdir(parents=True)
    (tmp_path / ".config" / "git" / "config").write_text("[user]\nname = Old\nemail = old@example.org\n")
    (tmp_path / ".gitconfig").write_text("[user]\nname = New\n")
    assert git_identity_of(tmp_path) == ("New", "old@example.org")


@pytest.mark.parametrize("text", ["", "[user]\n", "[user\nname = x", "\0", "[include]\npath = other\n"])
def test_what_says_nothing_or_cannot_be_read_gives_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / ".gitconfig").write_text(text)
    assert git_identity_of(tmp_path) == ("", "")


def test_a_fifo_in_its_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".gitconfig")
    assert git_identity_of(tmp_path) == ("", "")


def test_a_line_break_in_a_name_adds_no_key(tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text('[user]\nname = "Kim\\n[core]\\npager = x"\nemail = k@example.org\n')
    name, _ = git_identity_of(tmp_path)
    assert "\n" not in name
