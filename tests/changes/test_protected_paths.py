"""The tables of protected paths say what D11 says, at any depth and under any look-alike."""

from __future__ import annotations

import pytest

from agent_security.protected_paths import (
    FIRST_TIER,
    SECOND_TIER,
    Tier,
    is_secret_file,
    run_later,
)


def words(text: str) -> list[str]:
    return text.split()


FIRST = words(
    ".git/hooks/pre-commit .git/config .git/config.worktree .git/info/attributes sub/.git/config "
    ".git/modules/a/hooks/x .git/modules/a/b/config .git/worktrees/w/config.worktree .husky/pre-push "
    ".githooks/pre-commit .vscode/settings.json .vscode/tasks.json .vscode/launch.json "
    ".vscode/extensions.json deep/down/.vscode/settings.json .idea/runConfigurations/x.xml "
    ".claude/commands/x.md .codex/config.toml .gemini/settings.json .cursor/rules/x .mcp.json AGENTS.md "
    ".cursorrules .envrc .direnv/bin/x .bashrc .zshenv .profile .agent-security.toml .git "
    ".devcontainer/devcontainer.json .git/commondir .git/worktrees/w/commondir "
    ".git/objects/info/alternates "
)
SECOND = words(
    ".github/workflows/ci.yml .gitlab-ci.yml package.json web/package.json conftest.py tests/conftest.py "
    "Makefile setup.py pyproject.toml tox.ini noxfile.py build.rs Cargo.toml CMakeLists.txt Dockerfile "
    "Dockerfile.dev docker-compose.yml .pre-commit-config.yaml app/build.gradle Rakefile Gemfile justfile "
    "vite.config.ts pip.conf .npmrc .venv/lib/python3.12/site-packages/x.pth Jenkinsfile "
    ".git/rebase-merge/git-rebase-todo"
)
ORDINARY = words(
    "src/main.py README.md .gitignore .git/HEAD .git/index .git/refs/heads/main .git/objects/ab/cdef "
    ".git/logs/HEAD .git/MERGE_MSG .git/packed-refs build/out.o build/config docs/hooks/x "
    ".vscode/notes.txt src/config config hooks/x package-lock.json tests/test_a.py src/pkg/__init__.py "
    "gitconfig.md node_modules/a/package.json workspace/a.py "
)
LOOK_ALIKES = [
    ".GIT/config",
    ".Git/Hooks/pre-commit",
    ".git./config",
    ".git /config",
    ".git . . /hooks/x",
    "git~1/config",
    ".vscode::$DATA/settings.json",
    ".git::$INDEX_ALLOCATION/config",
    "．git/config",
    ".g\u200cit/config",
    ".git\u200b/hooks/x",
    ".vscode/Settings.JSON",
    "./.git/config",
    ".git//config",
    "agents.MD",
]


@pytest.mark.parametrize("path", FIRST)
def test_the_first_tier_is_what_runs_by_itself(path: str) -> None:
    row = run_later(path)
    assert row is not None
    assert row.tier is Tier.FIRST


@pytest.mark.parametrize("path", SECOND)
def test_the_second_tier_is_what_runs_on_build_test_or_push(path: str) -> None:
    row = run_later(path)
    assert row is not None
    assert row.tier is Tier.SECOND


@pytest.mark.parametrize("path", ORDINARY)
def test_everyday_files_are_in_no_tier(path: str) -> None:
    assert run_later(path) is None


@pytest.mark.parametrize("path", LOOK_ALIKES)
def test_look_alikes_are_seen_through(path: str) -> None:
    row = run_later(path)
    assert row is not None
    assert row.tier is Tier.FIRST


def test_every_row_says_why_and_is_found_by_its_own_pattern() -> None:
    for row in FIRST_TIER + SECOND_TIER:
        example = row.pattern.replace("**/", "x/").replace("*", "x")
        found = run_later(example + "x" if example.endswith("/") else example)
        assert row.why
        assert found is not None, row.pattern
        assert found.tier is row.tier or found.tier is Tier.FIRST


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        ".env.local",
        "sub/.env",
        "id_rsa",
        ".ssh/id_ed25519",
        "server.pem",
        "a.key",
        ".netrc",
        ".ENV",
        "prod.env",
        ".npmrc",
    ],
)
def test_secret_files_are_known_by_name(path: str) -> None:
    assert is_secret_file(path)


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        ".env.sample",
        "id_rsa.pub",
        "tests/server.pem",
        "spec/fixtures/a.key",
        "cacert.pem",
        "src/env.py",
        ".venv/lib/site-packages/certifi/cacert.pem",
        "environment.ts",
        "key.py",
        ".env/bin/python",
    ],
)
def test_examples_public_halves_and_test_keys_are_no_secret_files(path: str) -> None:
    assert not is_secret_file(path)


def test_a_test_folder_excuses_keys_and_nothing_else() -> None:
    assert is_secret_file("tests/.env")
    assert not is_secret_file("tests/id_rsa")
