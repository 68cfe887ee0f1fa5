"""What git held at session start is asked inside the wall and proven on the host by digest."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from agent_security.changes import GitMemory, judge_change_set
from agent_security.changeset import ChangeSet
from agent_security.ports import Repository

SETTINGS = ".vscode/settings.json"
SET_UP = (
    "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm one"
    " && git checkout -q -b other && echo '{\"b\": 2}' > .vscode/settings.json"
    " && git -c user.name=a -c user.email=a@b commit -qam two && git checkout -q main"
)


@pytest.fixture
def repo(project: Any) -> Any:
    """A project with two branches that differ in an editor's settings, made INSIDE a sandbox."""
    project.write(SETTINGS, '{"a": 1}\n')
    project.write("src/a.py", "print(1)\n")
    project.write("evil.sh", "touch canary\n")
    project.write(".gitignore", "build/\n")
    first = project.open()
    out = project.run(SET_UP)
    assert out.exit_code == 0, out.text
    apply(out.changes, project.tree)
    first.close()
    project.sandboxes.clear()
    return project


def apply(changes: ChangeSet, tree: Any) -> None:
    """Put a change set into the temporary tree."""
    for change in changes.changes:
        target = tree / change.path
        if change.node == "directory":
            target.mkdir(parents=True, exist_ok=True)
        elif change.kind == "deleted":
            target.unlink()
        elif change.staged:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            with open(change.staged, "rb") as file:
                target.write_bytes(file.read())


def codes(project: Any, command: str, **memory: Any) -> dict[str, str]:
    """Path -> code, for what a command would do to the tree as it is."""
    repository: Repository | None = project.sandbox.repository
    assert repository is not None
    out = project.run(command)
    fd = os.open(project.tree, os.O_RDONLY)
    try:
        known = GitMemory(out.changes, fd, repository, **memory)
        found = judge_change_set(out.changes, workspace_fd=fd, known=known.known, lost=known.lost)
    finally:
        os.close(fd)
    return {finding.path: finding.code for finding in found}


def test_a_branch_of_the_person_brings_its_own_files_without_a_question(repo: Any) -> None:
    assert codes(repo, "git checkout -q other") == {}


def test_the_same_file_with_other_content_is_asked_about(repo: Any) -> None:
    assert codes(repo, "echo x > .vscode/settings.json") == {SETTINGS: "first_tier"}


def test_content_of_the_repository_is_not_known_at_another_place(repo: Any) -> None:
    assert codes(repo, "cp evil.sh .git/hooks/pre-commit") == {".git/hooks/pre-commit": "first_tier"}
    assert codes(repo, "cp evil.sh .vscode/tasks.json") == {".vscode/tasks.json": "first_tier"}


def test_what_a_command_commits_itself_is_not_known(repo: Any) -> None:
    assert repo.sandbox.repository is not None
    made = "echo x > .vscode/settings.json; git -c user.name=a -c user.email=a@b commit -qam three"
    assert codes(repo, made)[SETTINGS] == "first_tier"


def test_files_git_never_had_are_asked_about_and_those_it_has_are_not(repo: Any) -> None:
    repo.write("notes.txt", "the person's own\n")
    repo.write("build/out.o", "made\n")
    repo.write("empty.txt", "")
    assert codes(repo, "rm -rf notes.txt src build empty.txt") == {"notes.txt": "deletes_untracked"}


def test_uncommitted_work_on_a_tracked_file_is_content_git_does_not_hold(repo: Any) -> None:
    repo.write("src/a.py", "print(2)\n")
    assert codes(repo, "rm src/a.py") == {"src/a.py": "deletes_untracked"}


def test_what_this_session_made_may_go(repo: Any) -> None:
    repo.write("scratch.py", "1\n")
    assert codes(repo, "rm scratch.py", made_here=lambda: frozenset({"scratch.py"})) == {}


def test_a_session_that_wrote_the_ignore_files_is_not_believed_about_them(repo: Any) -> None:
    repo.write("notes.txt", "the person's own\n")
    assert codes(repo, "echo '*' > .gitignore; rm notes.txt")["notes.txt"] == "deletes_untracked"
    repo.write(".gitignore", "*\n")
    found = codes(repo, "rm notes.txt", changed_here={".gitignore"})
    assert found == {"notes.txt": "deletes_untracked"}


def test_an_object_replaced_under_its_name_proves_nothing(repo: Any) -> None:
    repository = repo.sandbox.repository
    wanted = repository.blob_id(b"planted\n")
    assert repository.holds({SETTINGS: wanted}) == frozenset()
    forge_tree(repo.tree, wanted)
    assert repository.holds({SETTINGS: wanted}) == frozenset()


def forge_tree(tree: Any, blob: str) -> None:
    """Every tree object that names settings.json says another blob, under its old name."""
    for path in (tree / ".git/objects").rglob("*"):
        if not path.is_file() or len(path.name) != 38:
            continue
        data = zlib.decompress(path.read_bytes())
        at = data.find(b"settings.json\0")
        if data.startswith(b"tree ") and at >= 0:
            start = at + len(b"settings.json\0")
            path.chmod(0o644)
            path.write_bytes(zlib.compress(data[:start] + bytes.fromhex(blob) + data[start + 20 :]))


def test_a_file_at_head_is_proven_by_its_name_in_git(repo: Any) -> None:
    repository = repo.sandbox.repository
    data = (repo.tree / SETTINGS).read_bytes()
    assert repository.blob_id(data) == hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    held = {SETTINGS: repository.blob_id(data), "src/a.py": repository.blob_id(b"print(1)\n")}
    assert repository.holds(held | {"none": "0" * 40, "a\nb": "0" * 40}) == frozenset(held)


def test_without_a_repository_there_is_nobody_to_ask(project: Any) -> None:
    project.write("a.txt", "x")
    assert project.sandbox.repository is None


def test_a_git_folder_that_is_a_link_is_not_followed(project: Any, tree_of: Callable[..., Any]) -> None:
    project.write("real/HEAD", "ref: refs/heads/main\n")
    (project.tree / ".git").symlink_to("real")
    assert project.sandbox.repository is None
