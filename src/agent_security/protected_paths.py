"""Files that run later, and files that hold secrets: two tables, one row a pattern (D11, DESIGN §3.2).

First tier: what runs on the person's machine by itself, or binds the next agent. Second tier:
what runs when somebody builds, tests or pushes. Secret files are masked in the view, and a
write to one is confirmed.

A pattern matches at any depth, so nested repositories count; one that ends in "/" matches a
folder and all that lies below it. `*` stays within one part, `**/` spans any number of parts.
Names are compared as the most forgiving file system would: case-blind, compatibility forms
folded, invisible characters, trailing dots and blanks and NTFS stream suffixes removed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache


class Tier(IntEnum):
    """How soon a file runs."""

    NONE = 0
    FIRST = 1
    SECOND = 2


@dataclass(frozen=True, slots=True)
class Protected:
    """One row: what matches, how soon it runs, and why it is in the table."""

    pattern: str
    tier: Tier
    why: str


_HOOKS = "git runs it at the next commit, checkout or push"
_CONFIG = "git reads commands, filters and addresses from it, an editor's poll included"
_POINTS = "it can lead git to another configuration and other hooks"
_EDITOR = "an editor runs or obeys it when the folder is opened"
_AGENT = "the next coding agent obeys it, or starts programs it names"
_SHELL = "a shell runs it when it starts"
_ENTER = "it runs when a shell enters the folder"
_CI = "it runs on the build servers, with their secrets"
_BUILD = "it runs at the next build or install"
_TEST = "it runs at the next test"
_PUSH = "it runs at the next commit or push"
_INDEX = "it says where packages and tools are fetched from"
_START = "an interpreter or debugger started here runs it"


def _rows(tier: Tier, why: str, patterns: str) -> list[Protected]:
    return [Protected(pattern, tier, why) for pattern in patterns.split()]


_F, _S = Tier.FIRST, Tier.SECOND

# --- first tier -----------------------------------------------------------------------------------

FIRST_TIER: tuple[Protected, ...] = (
    *_rows(
        _F,
        _HOOKS,
        ".git/hooks/ .git/modules/**/hooks/ .git/worktrees/**/hooks/ .husky/ .githooks/ .git-hooks/",
    ),
    *_rows(_F, _CONFIG, ".git/config .git/config.worktree .git/info/attributes .git/modules/**/config"),
    *_rows(_F, _CONFIG, ".git/modules/**/config.worktree .git/modules/**/info/attributes"),
    # a worktree's folder has none of these but config.worktree, until its commondir goes: then they count
    *_rows(_F, _CONFIG, ".git/worktrees/**/config .git/worktrees/**/config.worktree"),
    *_rows(_F, _CONFIG, ".git/worktrees/**/info/attributes .git/remotes/ .git/branches/ .gitconfig"),
    *_rows(_F, _CONFIG, ".config/git/ .hg/hgrc .hg/hgrc-not-shared .jj/repo/config.toml"),
    # `.git` as a file or link; as a folder it is judged by what changes below it
    *_rows(_F, _POINTS, ".git .git/commondir .git/**/commondir .git/objects/info/alternates"),
    *_rows(_F, _POINTS, ".git/modules/**/objects/info/alternates .git/worktrees/**/objects/info/alternates"),
    *_rows(_F, _EDITOR, ".vscode/settings.json .vscode/tasks.json .vscode/launch.json .vscode/mcp.json"),
    *_rows(_F, _EDITOR, ".vscode/extensions.json *.code-workspace *.sublime-project .fleet/ .zed/ .helix/"),
    *_rows(_F, _EDITOR, ".idea/runConfigurations/ .idea/workspace.xml .idea/externalDependencies.xml"),
    *_rows(_F, _EDITOR, ".idea/tools/ .idea/watcherTasks.xml .run/*.xml .devcontainer/ .devcontainer.json"),
    *_rows(_F, _EDITOR, ".exrc .vimrc .nvimrc .lvimrc .nvim.lua .dir-locals.el .dir-locals-2.el"),
    *_rows(
        _F,
        _AGENT,
        ".claude/ .codex/ .gemini/ .cursor/ .windsurf/ .roo/ .kiro/ .amazonq/ .continue/ .clinerules/",
    ),
    *_rows(_F, _AGENT, ".mcp.json .aider.conf.yml .cursorrules .windsurfrules .roorules .goosehints"),
    # Instructions run nothing themselves, but an instruction planted there outlives the session
    # and reaches an agent that may have no wall: the same as a hook for what reads it.
    *_rows(_F, _AGENT, "AGENTS.md AGENTS.override.md CLAUDE.md CLAUDE.local.md GEMINI.md .junie/"),
    *_rows(_F, _AGENT, ".github/copilot-instructions.md .github/instructions/ .agent-security.toml"),
    *_rows(_F, _ENTER, ".envrc .direnv/ .autoenv.zsh .mise.toml mise.toml .mise.local.toml .mise/"),
    *_rows(_F, _SHELL, ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .kshrc"),
    *_rows(_F, _SHELL, ".zshrc .zshenv .zprofile .zlogin .zlogout .cshrc .tcshrc .login .xprofile .xinitrc"),
    *_rows(_F, _SHELL, ".config/fish/ .inputrc .ssh/config .ssh/rc .ssh/authorized_keys .config/autostart/"),
)

# --- second tier ----------------------------------------------------------------------------------

SECOND_TIER: tuple[Protected, ...] = (
    *_rows(_S, _CI, ".github/workflows/ .github/actions/ action.yml .gitlab-ci.yml .gitlab/ci/ .circleci/"),
    *_rows(_S, _CI, ".travis.yml azure-pipelines.yml .azure-pipelines/ bitbucket-pipelines.yml Jenkinsfile"),
    *_rows(_S, _CI, ".drone.yml .woodpecker/ .woodpecker.yml .buildkite/ appveyor.yml .appveyor.yml"),
    *_rows(
        _S, _CI, "cloudbuild.yaml .cirrus.yml .teamcity/ .semaphore/ .forgejo/workflows/ .gitea/workflows/"
    ),
    *_rows(_S, _BUILD, "package.json setup.py setup.cfg pyproject.toml hatch_build.py Makefile GNUmakefile"),
    *_rows(_S, _BUILD, "*.mk Makefile.am Makefile.in configure configure.ac CMakeLists.txt *.cmake"),
    *_rows(_S, _BUILD, "CMakePresets.json meson.build SConstruct SConscript BUILD BUILD.bazel WORKSPACE"),
    *_rows(_S, _BUILD, "WORKSPACE.bazel MODULE.bazel *.bzl .bazelrc build.rs Cargo.toml build.zig"),
    *_rows(_S, _BUILD, "Dockerfile Dockerfile.* *.dockerfile Containerfile compose.yml compose.yaml"),
    *_rows(_S, _BUILD, "compose.*.yml docker-compose.yml docker-compose.yaml docker-compose.*.yml"),
    *_rows(_S, _BUILD, "*.gradle *.gradle.kts gradlew gradle/wrapper/ gradle.properties pom.xml .mvn/ mvnw"),
    *_rows(_S, _BUILD, "build.xml build.sbt project/*.sbt mix.exs rebar.config Rakefile Gemfile *.gemspec"),
    *_rows(_S, _BUILD, "extconf.rb Podfile Package.swift composer.json Setup.hs dune-project binding.gyp"),
    *_rows(_S, _BUILD, "*.csproj *.fsproj *.vbproj Directory.Build.props Directory.Build.targets"),
    *_rows(_S, _BUILD, "justfile .justfile Taskfile.yml Taskfile.yaml Procfile Vagrantfile Tiltfile"),
    *_rows(_S, _BUILD, "Earthfile flake.nix default.nix shell.nix deno.json deno.jsonc turbo.json"),
    *_rows(_S, _BUILD, "Gruntfile.js Gruntfile.cjs gulpfile.js gulpfile.mjs gulpfile.ts *.config.js"),
    *_rows(
        _S, _BUILD, "*.config.cjs *.config.mjs *.config.ts *.config.mts .pnpmfile.cjs fabfile.py tasks.py"
    ),
    *_rows(_S, _TEST, "conftest.py tox.ini noxfile.py pytest.ini .pytest.ini karma.conf.js .mocharc.js"),
    *_rows(
        _S, _TEST, ".mocharc.cjs .eslintrc.js .eslintrc.cjs .prettierrc.js .prettierrc.cjs .nycrc .coveragerc"
    ),
    *_rows(_S, _PUSH, ".pre-commit-config.yaml .pre-commit-hooks.yaml lefthook.yml lefthook.yaml .lefthook/"),
    *_rows(_S, _PUSH, ".lintstagedrc .lintstagedrc.* .overcommit.yml .git/rebase-merge/git-rebase-todo"),
    *_rows(_S, _PUSH, ".git/worktrees/*/rebase-merge/git-rebase-todo"),
    *_rows(_S, _INDEX, ".npmrc .yarnrc .yarnrc.yml .yarn/releases/ .yarn/plugins/ pip.conf pip.ini uv.toml"),
    *_rows(_S, _INDEX, ".cargo/config .cargo/config.toml rust-toolchain rust-toolchain.toml .bundle/config"),
    *_rows(_S, _INDEX, "bunfig.toml nuget.config NuGet.Config .condarc .m2/settings.xml"),
    *_rows(_S, _START, "*.pth sitecustomize.py usercustomize.py .pdbrc .gdbinit .lldbinit .Rprofile .irbrc"),
)

# --- secret files ---------------------------------------------------------------------------------


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SECRET_FILES: tuple[str, ...] = (
    *_words(".env .env.* *.env .envrc .netrc _netrc .pgpass .my.cnf .npmrc .pypirc .git-credentials"),
    *_words(".aws/credentials .aws/config .docker/config.json .dockercfg .kube/config kubeconfig"),
    *_words("credentials.json service-account*.json *-service-account.json client_secret*.json"),
    *_words("application_default_credentials.json secrets.yml secrets.yaml secrets.json secrets.toml"),
    *_words(".secrets/ .htpasswd .vault-token .vault_pass .vault_pass.txt *.tfvars *.tfvars.json"),
    *_words("terraform.tfstate terraform.tfstate.backup .terraformrc .s3cfg .boto local.settings.json"),
    *_words("*.kdbx *.ovpn .ssh/"),
)
"""Masked until granted (DESIGN §3.2)."""

KEY_FILES: tuple[str, ...] = (
    *_words("id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk"),
    *_words("*.pem *.key *.p12 *.pfx *.jks *.keystore *.ppk *.p8"),
)
"""Keys and certificates: secret too, except under test, fixture and vendored folders."""

NOT_SECRET: tuple[str, ...] = (
    *_words(".env.example .env.sample .env.template .env.dist .env.defaults .env.schema .env.vault"),
    *_words(".env.*.example .env.*.sample .env.*.template example.env sample.env *.example.env"),
    *_words("*.example.tfvars *.pub .ssh/known_hosts .ssh/known_hosts.old"),
    *_words("cacert.pem ca.pem ca-*.pem *-ca.pem *cert.pem *chain.pem"),
    *_words("public*.pem *public.pem *.pub.pem public*.key *.pub.key"),
)
"""Names that look like the above and hold no secret: examples, public halves, authorities."""

TEST_FOLDERS = frozenset(
    _words(
        "test tests testing testdata test_data test-data __tests__ spec specs fixture fixtures"
        " __fixtures__ mock mocks __mocks__ testcerts"
    )
)
VENDORED_FOLDERS = frozenset(_words("node_modules site-packages dist-packages vendor"))
"""Packages as they were published hold no secret of the person."""


# --- matching -------------------------------------------------------------------------------------


def run_later(path: str) -> Protected | None:
    """The row that says why writing `path` would run something later, or None.

    `path` is relative to the workspace, "/" between its parts. The first tier is looked up first.
    """
    parts = _normalised(path)
    number = _FIRST.find(parts)
    if number is not None:
        return FIRST_TIER[number]
    number = _SECOND.find(parts)
    row = None if number is None else SECOND_TIER[number]
    if row is not None and row.why != _START and not VENDORED_FOLDERS.isdisjoint(parts[:-1]):
        # an installed package's own build files: nobody builds or tests there
        return None
    return row


def is_secret_file(path: str) -> bool:
    """Whether `path` is, by its name, a file that holds credentials."""
    parts = _normalised(path)
    if _NOT_SECRET.find(parts) is not None:
        return False
    if _SECRET.find(parts) is not None:
        return True
    published = not (TEST_FOLDERS | VENDORED_FOLDERS).isdisjoint(parts[:-1])
    return not published and _KEYS.find(parts) is not None


def _normalised(path: str) -> list[str]:
    """The parts of a path, each as the most forgiving file system would read it."""
    return [_normal_part(part) for part in path.split("/") if part not in ("", ".")]


@lru_cache(maxsize=4096)
def _normal_part(part: str) -> str:
    folded = part.lower() if part.isascii() and part.isprintable() else _folded(part)
    folded = folded.partition(":")[0] or folded
    folded = folded.rstrip(". ") or folded
    return ".git" if folded.startswith("git~") and folded[4:].isdigit() else folded


def _folded(part: str) -> str:
    # HFS+ ignores invisible characters, NTFS trailing dots and blanks, streams and short names
    visible = "".join(char for char in part if unicodedata.category(char) not in ("Cf", "Cc"))
    folded = unicodedata.normalize("NFKC", visible).casefold()
    return "".join(char for char in folded if unicodedata.category(char) not in ("Cf", "Cc", "Mn"))


class _Table:
    """Patterns sorted by what they need: a look into a dictionary where that is enough."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._names: dict[str, int] = {}
        self._folders: dict[str, int] = {}
        self._paths: list[tuple[str, re.Pattern[str], int]] = []
        globs: list[tuple[str, int]] = []
        for number, pattern in enumerate(patterns):
            shaped = pattern.casefold()
            single = "/" not in shaped.removesuffix("/")
            if single and "*" in shaped:
                globs.append((_regex(shaped), number))
            elif single:
                (self._folders if shaped.endswith("/") else self._names)[shaped.removesuffix("/")] = number
            else:
                below = "(?:/|$)" if shaped.endswith("/") else "$"
                regex = re.compile(f"(?:^|/){_regex(shaped.removesuffix('/'))}{below}", re.DOTALL)
                self._paths.append((shaped.partition("/")[0], regex, number))
        self._globs = re.compile("|".join(f"({regex})" for regex, _ in globs) or "(?!)", re.DOTALL)
        self._glob_rows = [number for _, number in globs]

    def find(self, parts: list[str]) -> int | None:
        """The number of a pattern that matches, or None."""
        if not parts:
            return None
        if parts[-1] in self._names:
            return self._names[parts[-1]]
        glob = self._globs.fullmatch(parts[-1])
        if glob is not None and glob.lastindex is not None:
            return self._glob_rows[glob.lastindex - 1]
        folder = next((part for part in parts if part in self._folders), None)
        return self._folders[folder] if folder is not None else self._find_path(parts)

    def _find_path(self, parts: list[str]) -> int | None:
        path = "/".join(parts)
        for first, regex, number in self._paths:
            if ("*" in first or first in parts) and regex.search(path):
                return number
        return None


def _regex(pattern: str) -> str:
    return re.escape(pattern).replace(r"\*\*/", "(?:[^/]+/)*").replace(r"\*", "[^/]*")


_FIRST = _Table(row.pattern for row in FIRST_TIER)
_SECOND = _Table(row.pattern for row in SECOND_TIER)
_SECRET, _KEYS, _NOT_SECRET = _Table(SECRET_FILES), _Table(KEY_FILES), _Table(NOT_SECRET)
