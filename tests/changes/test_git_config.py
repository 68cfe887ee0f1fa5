"""Only what runs and redirects nothing is inert, and a merge keeps credentials and untouched bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_security.changes.git_config import UNREADABLE, ConfigProblem, Parsed, inert_change
from agent_security.changes.git_merge import _header, _setting, mask_config, merge_config

BASE = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"
PASSWORD = "not-" + "a-secret"

INERT = [
    "[user]\n\tname = A B\n\temail = a@b",
    '[remote "origin"]\n\turl = https://example.org/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*',
    '[remote "origin"]\n\turl = git@example.org:team/x.git',
    '[remote "origin"]\n\turl = ../other',
    '[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main',
    '[submodule "x"]\n\turl = https://example.org/y\n\tactive = true',
    "[core]\n\tignorecase = true\n\tlogallrefupdates = true",
    "[init]\n\tdefaultBranch = trunk",
    "[extensions]\n\tobjectFormat = sha256",
    "[pull]\n\trebase = true",
    "# only a comment",
]
ACTIVE = [
    "[core]\n\tfsmonitor = ./x",
    "[core]\n\thooksPath = .x",
    "[core]\n\tsshCommand = x",
    "[core]\n\tpager = x",
    "[core]\n\teditor = x",
    "[core]\n\tworktree = /elsewhere",
    "[core]\n\tattributesFile = x",
    "[core] fsmonitor = ./x",
    "[CORE]\n\tFsMonitor = ./x",
    '[core]\n\tfsmonitor = "./x"',
    "[core]\n\tfsmonitor\\\n = x",
    "[alias]\n\tst = !x",
    "[include]\n\tpath = x",
    '[includeIf "gitdir:."]\n\tpath = x',
    '[filter "x"]\n\tclean = x',
    '[diff "x"]\n\ttextconv = x',
    '[merge "x"]\n\tdriver = x',
    "[credential]\n\thelper = !x",
    "[gpg]\n\tprogram = x",
    '[url "ssh://evil/"]\n\tinsteadOf = https://',
    '[remote "origin"]\n\tpushurl = https://elsewhere.example',
    '[remote "origin"]\n\tuploadpack = x',
    '[remote "origin"]\n\turl = ext::sh -c x',
    '[remote "origin"]\n\turl = --upload-pack=x',
    '[remote "origin"]\n\turl = ssh://-oProxyCommand=x/y',
    '[remote "origin"]\n\turl = -oProxyCommand=x:y',
    '[branch "main"]\n\tremote = ext::x',
    '[submodule "x"]\n\tupdate = !x',
    "[unheard]\n\tof = 1",
]
BROKEN = [
    b"[core\n",
    b"core = x\n",
    b'[a "b]\n',
    b'[a]\n\tx = "open\n',
    b"[a]\n\tx = \\q\n",
    b"[a]\n\t1x = 2\n",
    b"[a]\0",
]


@pytest.mark.parametrize("text", INERT)
def test_plain_settings_are_inert(text: str) -> None:
    assert inert_change(BASE, BASE + text.encode() + b"\n") == []


@pytest.mark.parametrize("text", ACTIVE)
def test_what_runs_or_redirects_is_not_inert(text: str) -> None:
    assert inert_change(BASE, BASE + text.encode() + b"\n") != []


@pytest.mark.parametrize("text", BROKEN)
def test_what_cannot_be_parsed_is_not_inert(text: bytes) -> None:
    with pytest.raises(ConfigProblem):
        Parsed(text)
    assert inert_change(BASE, text) == [UNREADABLE]


def test_dropping_a_safeguard_is_not_inert() -> None:
    assert inert_change(BASE + b"[core]\n\thooksPath = safe\n", BASE) == ["core.hookspath"]


def test_a_later_section_of_the_same_name_counts() -> None:
    assert inert_change(BASE, BASE + b"[user]\n\tname = x\n[core]\n\tfsmonitor = x\n") == ["core.fsmonitor"]


REAL = (
    "# of the person\n"
    "[core]\n\tbare = false ; kept\n"
    f'[remote "origin"]\n\turl = https://me:{PASSWORD}@example.org/x.git\n'
    "\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
    f'[http "https://example.org/"]\n\textraheader = AUTHORIZATION: basic {PASSWORD}\n'
    "[user]\n\tname = Me\n"
).encode()


def test_the_view_shows_no_credential() -> None:
    shown = mask_config(REAL)
    assert PASSWORD.encode() not in shown
    assert Parsed(shown).values()["remote.origin.url"] == ["https://example.org/x.git"]


@pytest.mark.parametrize(
    "text",
    [
        f'[url "https://me:{PASSWORD}@h/"]\n\tinsteadOf = x\n',
        f"# old: https://me:{PASSWORD}@h/\n[a]\n\tb = c\n",
        f"[http]\n\tproxy = http://me:{PASSWORD}@h:1\n",
        f"[sendemail]\n\tsmtpPass = {PASSWORD}\n",
        f'[credential]\n\thelper = "!f() {{ echo password={PASSWORD}; }}; f"\n',
        f"[github] token = {PASSWORD}\n",
        f"[broken\n{PASSWORD}",
    ],
)
def test_credentials_are_masked_wherever_they_stand(text: str) -> None:
    assert PASSWORD.encode() not in mask_config(text.encode())


def test_an_untouched_view_gives_back_the_real_file() -> None:
    assert merge_config(REAL, mask_config(REAL), mask_config(REAL)) == REAL


def test_a_new_key_goes_in_and_every_other_byte_stays() -> None:
    shown = mask_config(REAL)
    new = shown + b'[branch "main"]\n\tremote = origin\n'
    assert merge_config(REAL, shown, new) == REAL + b'[branch "main"]\n\tremote = origin\n'


def test_a_changed_key_changes_alone() -> None:
    shown = mask_config(REAL)
    merged = merge_config(REAL, shown, shown.replace(b"name = Me", b"name = You"))
    assert merged == REAL.replace(b"name = Me", b"name = You")


def test_a_renamed_remote_keeps_its_credentials() -> None:
    shown = mask_config(REAL)
    merged = merge_config(REAL, shown, shown.replace(b'"origin"', b'"up"'))
    assert Parsed(merged).values()["remote.up.url"] == [f"https://me:{PASSWORD}@example.org/x.git"]
    assert "remote.origin.url" not in Parsed(merged).values()


def test_a_new_address_does_not_inherit_credentials() -> None:
    shown = mask_config(REAL)
    merged = merge_config(REAL, shown, shown.replace(b"example.org/x.git", b"evil.example/x.git"))
    assert Parsed(merged).values()["remote.origin.url"] == ["https://evil.example/x.git"]


def test_a_removed_section_goes_with_its_header() -> None:
    shown = mask_config(REAL)
    merged = merge_config(REAL, shown, shown.replace(b"[user]\n\tname = Me\n", b""))
    assert b"[user]" not in merged
    assert merged == REAL.replace(b"[user]\n\tname = Me\n", b"")


def test_an_unreadable_result_is_refused() -> None:
    with pytest.raises(ConfigProblem):
        merge_config(REAL, mask_config(REAL), b"[broken\n")


NAMES = st.sampled_from(["core.bare", "user.name", "remote.o.url", "branch.a b.remote", "http.sslverify"])
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=12)


def text_of(pairs: list[tuple[str, str]]) -> str:
    """A configuration with one section a pair, as this package writes it."""
    split = [(key.rpartition("."), value) for key, value in pairs]
    return "".join(_header(section) + _setting(name, value) for (section, _, name), value in split)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(NAMES, VALUES), max_size=6), st.lists(st.tuples(NAMES, VALUES), max_size=6))
def test_merging_leaves_what_the_command_left(old: list[tuple[str, str]], new: list[tuple[str, str]]) -> None:
    real = (text_of(old) + f"[http]\n\textraheader = {PASSWORD}\n").encode()
    shown, wanted = mask_config(real), text_of(new).encode()
    merged = merge_config(real, shown, wanted)
    assert PASSWORD.encode() in merged
    assert Parsed(mask_config(merged)).values() == Parsed(wanted).values()


@pytest.mark.skipif(shutil.which("git") is None, reason="no git here")
@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=4))
def test_git_reads_what_this_parser_reads(pairs: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "config"
        where.write_text(text_of(pairs), "utf-8")
        done = subprocess.run(
            ["git", "config", "-z", "--file", str(where), "--list"],
            capture_output=True,
            check=True,
            env={"PATH": os.environ["PATH"], "HOME": folder},
        )
        listed = [entry.split("\n", 1) for entry in done.stdout.decode("utf-8").split("\0")[:-1]]
        assert [[entry.key, entry.value] for entry in Parsed(where.read_bytes()).entries] == listed
