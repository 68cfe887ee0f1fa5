"""Untracked secret files read empty, git's configuration shows no credential, and neither is applied back."""

from __future__ import annotations

from typing import Any

import pytest

from agent_security.changeset import Node
from agent_security.protected_paths import KEY_FILES, SECRET_FILES, is_secret_file
from agent_security.sandboxes.survey import is_plain

SECRET = "the-" + "secret-value"


def _credential_config() -> str:
    return (
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
        f'[remote "origin"]\n\turl = https://user:{SECRET}@example.org/x.git\n'
        f'[http "https://example.org/"]\n\textraheader = AUTHORIZATION: basic {SECRET}\n'
    )


def _repository(project: Any) -> None:
    """A repository of the tree, made inside and put in place by hand."""
    output = project.run("git init -q && git add -f a.txt && git commit -qm one")
    assert output.exit_code == 0, output.text
    for change in output.changes.changes:
        target = project.tree / change.path
        if change.node is Node.DIRECTORY:
            target.mkdir(exist_ok=True)
        elif change.staged is not None:
            with open(change.staged, "rb") as file:
                target.write_bytes(file.read())
    project.hand_over()


def test_an_untracked_secret_file_reads_empty_everywhere(any_project: Any) -> None:
    any_project.write(".env", f"KEY={SECRET}\n", mode=0o600)
    any_project.write("sub/id_rsa", SECRET)
    output = any_project.run("cat .env sub/id_rsa; grep -r . .; wc -c < .env; stat -c %a .env")
    assert output.text == "0\n600\n"
    assert SECRET not in any_project.tool("read_file", path=".env").text
    assert SECRET not in any_project.tool("read_file", path=str(any_project.tree / "sub" / "id_rsa")).text
    assert "no matches" in any_project.tool("grep", pattern=SECRET).text
    assert (any_project.tree / ".env").read_text() == f"KEY={SECRET}\n"


def test_a_link_to_a_masked_file_reads_empty_too(project: Any) -> None:
    project.write(".env", SECRET)
    (project.tree / "alias").symlink_to(".env")
    assert SECRET not in project.run("cat alias").text
    assert SECRET not in project.tool("read_file", path="alias").text


def test_a_masked_file_never_comes_back_as_a_change(any_project: Any) -> None:
    any_project.write("sub/.env", SECRET)
    output = any_project.run(
        "echo overwritten > sub/.env; echo x > sub/other; rm -f sub/.env; chmod 777 sub/.env"
    )
    assert [change.path for change in output.changes.changes] == ["sub/other"]


def test_removing_the_folder_of_a_masked_file_does_not_delete_the_secret(project: Any) -> None:
    project.write("sub/.env", SECRET)
    project.write("sub/a.txt", "a")
    output = project.run("rm -rf sub")
    assert [change.path for change in output.changes.changes] == ["sub/a.txt"]


def test_the_folder_of_a_masked_file_keeps_its_mode_inside(project: Any) -> None:
    project.write("sub/.env", SECRET)
    (project.tree / "sub").chmod(0o750)
    output = project.run("stat -c %a sub; touch sub/x")
    assert output.text == "750\n"
    assert [change.path for change in output.changes.changes] == ["sub/x"]


def test_a_masked_file_is_not_written_by_the_file_tools(project: Any) -> None:
    project.write(".env", SECRET)
    output = project.tool("write_file", path=".env", content="x")
    assert "masked" in output.text
    assert not output.changes


def test_granted_and_example_files_are_shown(project: Any) -> None:
    project.write(".env", "GRANTED=1\n")
    project.write(".env.example", "KEY=\n")
    project.open(granted={".env"}.__contains__)
    assert project.run("cat .env .env.example").text == "GRANTED=1\nKEY=\n"


def test_what_a_rule_hides_reads_empty(project: Any) -> None:
    project.write("plans/next.md", SECRET)
    project.open(hidden=lambda path: path.startswith("plans/"))
    assert project.run("cat plans/next.md").text == ""


def test_a_secret_that_git_holds_as_it_is_is_not_masked(any_project: Any) -> None:
    any_project.write("a.txt", "a")
    any_project.write(".env", "TRACKED=1\n")
    any_project.open(granted={".env"}.__contains__)
    output = any_project.run("git init -q && git add -f .env a.txt && git commit -qm one")
    assert output.exit_code == 0, output.text
    for change in output.changes.changes:
        target = any_project.tree / change.path
        if change.node is Node.DIRECTORY:
            target.mkdir(exist_ok=True)
        elif change.staged is not None:
            with open(change.staged, "rb") as file:
                target.write_bytes(file.read())
    any_project.hand_over()
    any_project.sandboxes.pop().close()
    assert any_project.open().masked == ()  # type: ignore[attr-defined]
    assert any_project.run("cat .env").text == "TRACKED=1\n"


def test_a_tracked_name_with_other_bytes_is_masked(project: Any) -> None:
    """Else a command could have an empty `.env` tracked, and the next session would show the real one."""
    project.write("a.txt", "a")
    _repository(project)
    project.write(".env", f"REAL={SECRET}\n")
    project.sandboxes.pop().close()
    output = project.run("git add -f .env && git commit -qm two")
    assert output.exit_code == 0, output.text
    assert SECRET not in project.run("cat .env").text


def test_credentials_of_a_git_configuration_are_not_inside(any_project: Any) -> None:
    any_project.write("a.txt", "a")
    _repository(any_project)
    any_project.write(".git/config", _credential_config())
    any_project.write("vendor/lib/.git/config", _credential_config())
    any_project.sandboxes.pop().close()
    output = any_project.run("git remote -v; cat .git/config vendor/lib/.git/config; grep -r secret .")
    assert "https://example.org/x.git (fetch)" in output.text
    assert SECRET not in output.text
    assert SECRET not in any_project.tool("read_file", path=".git/config").text


def test_a_change_of_the_configuration_keeps_the_real_credentials(project: Any) -> None:
    project.write("a.txt", "a")
    _repository(project)
    project.write(".git/config", _credential_config())
    project.sandboxes.pop().close()
    output = project.run("git config user.name Somebody")
    change = {change.path: change for change in output.changes.changes}[".git/config"]
    assert change.staged is not None
    with open(change.staged, encoding="utf-8") as file:
        merged = file.read()
    assert SECRET in merged
    assert "Somebody" in merged


def test_the_mask_follows_the_real_configuration(project: Any) -> None:
    project.write("a.txt", "a")
    _repository(project)
    project.write(".git/config", _credential_config())
    project.sandboxes.pop().close()
    project.run("true")
    project.write(".git/config", _credential_config() + "[user]\n\tname = Later\n")
    output = project.run("git config user.name; cat .git/config")
    assert output.text.startswith("Later\n")
    assert SECRET not in output.text


def test_a_masked_file_that_the_person_removed_is_gone_inside(project: Any) -> None:
    project.write("sub/.env", SECRET)
    project.run("true")
    (project.tree / "sub" / ".env").unlink()
    (project.tree / "sub").rmdir()
    assert project.run("ls -A").text == ""


def test_a_failed_command_that_speaks_of_a_masked_file_gets_one_line(project: Any) -> None:
    project.write(".env", SECRET)
    output = project.run("grep KEY .env")
    assert output.text.count("[harness]") == 1
    assert "Read(./.env)" in output.text
    assert "[harness]" not in project.run("false").text
    assert "[harness]" not in project.run("cat .env").text


@pytest.mark.parametrize("folder", ["node_modules/x", "venv/lib/python3.11/site-packages/certifi"])
def test_installed_packages_are_not_masked(project: Any, folder: str) -> None:
    project.write(f"{folder}/cacert.pem", "public\n")
    assert project.run(f"cat {folder}/cacert.pem").text == "public\n"


def test_the_short_cut_of_the_survey_passes_no_secret_file_by() -> None:
    for pattern in (*SECRET_FILES, *KEY_FILES):
        for filling in ("", "x", "x.py", "x.txt"):
            path = pattern.replace("*", filling) + ("x.txt" if pattern.endswith("/") else "")
            assert not (is_plain(path) and is_secret_file(path)), path
            assert not (is_plain(f"a/{path}") and is_secret_file(f"a/{path}")), path
