"""A command works on a copy-on-write view: the tree stays as it is, the change set says what was done."""

from __future__ import annotations

import os
from typing import Any

import pytest

from agent_security.changeset import Change, ChangeKind, Node


def _by_path(output: Any) -> dict[str, Change]:
    return {change.path: change for change in output.changes.changes}


def test_the_tree_is_untouched_and_the_change_set_says_all(any_project: Any, tree_of: Any) -> None:
    any_project.write("kept.txt", "kept")
    any_project.write("old.txt", "old")
    any_project.write("gone.txt", "gone")
    any_project.write("mode.sh", "x")
    any_project.write("sub/deep.txt", "deep")
    before = tree_of(any_project.tree)
    output = any_project.run(
        "echo new > new.txt; echo more >> old.txt; rm gone.txt; chmod 755 mode.sh;"
        "mkdir -p a/b; ln -s kept.txt link"
    )
    assert tree_of(any_project.tree) == before
    changes = _by_path(output)
    assert {path: change.kind for path, change in changes.items()} == {
        "new.txt": ChangeKind.CREATED,
        "old.txt": ChangeKind.CHANGED,
        "gone.txt": ChangeKind.DELETED,
        "mode.sh": ChangeKind.MODE,
        "a": ChangeKind.CREATED,
        "a/b": ChangeKind.CREATED,
        "link": ChangeKind.CREATED,
    }
    assert changes["link"].node is Node.LINK
    assert changes["link"].target == "kept.txt"
    staged = changes["old.txt"].staged
    assert staged is not None
    with open(staged, encoding="utf-8") as file:
        assert file.read() == "oldmore\n"


def test_a_folder_removed_and_made_again_shows_what_it_lost(any_project: Any) -> None:
    any_project.write("sub/one.txt", "1")
    any_project.write("sub/two.txt", "2")
    changes = _by_path(any_project.run("rm -rf sub && mkdir sub && echo 3 > sub/three.txt"))
    assert changes["sub/one.txt"].kind is ChangeKind.DELETED
    assert changes["sub/two.txt"].kind is ChangeKind.DELETED
    assert changes["sub/three.txt"].kind is ChangeKind.CREATED


def test_a_folder_removed_shows_every_file_it_held(any_project: Any) -> None:
    any_project.write("sub/one.txt", "1")
    any_project.write("sub/deeper/two.txt", "2")
    changes = _by_path(any_project.run("rm -rf sub"))
    assert {"sub", "sub/one.txt", "sub/deeper", "sub/deeper/two.txt"} == set(changes)


def test_a_command_that_changes_nothing_has_an_empty_change_set(any_project: Any) -> None:
    any_project.write("a.txt", "a")
    assert len(any_project.run("cat a.txt; ls; true").changes) == 0


def test_reading_and_writing_the_same_bytes_is_no_change(project: Any) -> None:
    project.write("a.txt", "same\n")
    assert len(project.run("echo same > a.txt").changes) == 0


def test_what_one_command_did_is_not_there_for_the_next_until_applied(project: Any) -> None:
    project.run("echo x > made")
    assert project.run("cat made").exit_code == 1


def test_what_the_person_changes_between_commands_is_seen_by_the_next(any_project: Any) -> None:
    target = any_project.write("a.txt", "one\n")
    assert any_project.run("cat a.txt").text == "one\n"
    assert "one" in any_project.tool("read_file", path="a.txt").text
    any_project.write("fresh.tmp", "two\n")
    os.rename(any_project.tree / "fresh.tmp", target)  # as an editor saves
    assert any_project.run("cat a.txt").text == "two\n"
    assert "two" in any_project.tool("read_file", path="a.txt").text


def test_the_view_began_before_the_command_and_after_the_tree(project: Any) -> None:
    target = project.write("a.txt", "a")
    output = project.run("echo b > b.txt")
    staged = _by_path(output)["b.txt"].staged
    assert staged is not None
    assert os.stat(target).st_ctime_ns <= output.changes.since_ns <= os.stat(staged).st_ctime_ns


def test_the_mode_of_the_workspace_is_no_change(any_project: Any) -> None:
    any_project.tree.chmod(0o775)
    assert any_project.run("stat -c %a . ; touch x").text == "775\n"


def test_paths_with_odd_letters_work(project: Any) -> None:
    odd = project.home / "a,b:c d\\e=é"
    odd.mkdir()
    (odd / "f.txt").write_text("f")
    project.open(workspace=str(odd))
    output = project.run("cat f.txt; echo x > 'g h'")
    assert output.text == "f"
    assert list(_by_path(output)) == ["g h"]


def test_a_command_cannot_forge_marks_of_the_view(any_project: Any) -> None:
    any_project.write("sub/kept.txt", "kept")
    output = any_project.run(
        "mknod sub/kept.txt.x c 0 0; touch sub/n;"
        "python3 -c \"import os; [os.setxattr(p,f'user.overlay.{m}',b'y')"
        " for p in ('sub','sub/n') for m in ('opaque','redirect','metacopy')]\""
    )
    assert output.exit_code == 0
    assert all(change.kind is not ChangeKind.DELETED for change in output.changes.changes)


def test_git_works_inside_and_nothing_of_it_is_live(any_project: Any, tree_of: Any) -> None:
    any_project.write("a.txt", "a\n")
    before = tree_of(any_project.tree)
    output = any_project.run(
        "git init -q && git add . && git commit -qm one && git switch -qc other "
        "&& git config core.fsmonitor ./evil "
        "&& git remote add origin https://example.org/x.git && printf '#!/bin/sh\\n' > .git/hooks/pre-commit "
        "&& chmod +x .git/hooks/pre-commit && git log --format='%an <%ae> %s' && git branch --show-current"
    )
    assert output.exit_code == 0, output.text
    assert output.text == "A Person <person@example.org> one\nother\n"
    assert tree_of(any_project.tree) == before
    assert {".git/config", ".git/hooks/pre-commit", ".git/HEAD"} <= set(_by_path(output))


def test_a_repository_of_the_tree_is_trusted_inside(any_project: Any) -> None:
    """`safe.directory` names the workspace, whoever owns it."""
    _real_repository(any_project)
    output = any_project.run("git status --short && git log --oneline | wc -l && git stash list")
    assert (output.exit_code, output.text) == (0, "1\n")


def test_git_commits_branches_and_moves_in_a_real_repository(any_project: Any, tree_of: Any) -> None:
    _real_repository(any_project)
    before = tree_of(any_project.tree)
    output = any_project.run(
        "git mv a.txt b.txt && git commit -qm two && git switch -qc x;"
        "git worktree add -q ../wt 2>/dev/null;"
        "git stash -q; git tag t && git gc -q && git rebase -q main && git log --oneline | wc -l"
    )
    assert output.text.endswith("2\n"), output.text
    assert tree_of(any_project.tree) == before
    assert _by_path(output)["a.txt"].kind is ChangeKind.DELETED


def _real_repository(project: Any) -> None:
    """A repository made inside a sandbox and copied out by hand: no git runs on the host."""
    project.write("a.txt", "a\n")
    output = project.run("git init -q && git add . && git commit -qm one")
    assert output.exit_code == 0, output.text
    put_in_place(project, output)


def put_in_place(project: Any, output: Any) -> None:
    """Apply a change set as plainly as can be; the real way is `changes.ChangeStore`."""
    for change in output.changes.changes:
        target = project.tree / change.path
        if change.node is Node.DIRECTORY:
            target.mkdir(exist_ok=True)
        elif change.staged is not None:
            with open(change.staged, "rb") as file:
                target.write_bytes(file.read())
        if change.mode is not None and change.node is not Node.LINK:
            target.chmod(change.mode)
    project.hand_over()


@pytest.mark.parametrize("count", [100])
def test_many_files_come_out_complete(project: Any, count: int) -> None:
    output = project.run(f"for i in $(seq {count}); do echo $i > f$i; done")
    assert len(output.changes) == count
