"""Code that is fetched from an address and run: installers given a URL, and runners of unknown packages."""

from __future__ import annotations

import re

from agent_security.decision import Check
from agent_security.shell.getopt import names
from agent_security.shell.words import Command

_PIP = (
    r"(?:(?:python|pypy)[\d.]*\s+(?:-\w+\s+)*-m\s+)?(?:pip|pip3|pip3\.\d+|pipx"
    r"|uv\s+pip|uv\s+tool|uv|poetry|pdm|rye|hatch|conda|mamba|easy_install)\b"
)
_ADDRESS = r"(?:\S+\s*@\s*)?(?:git\+|hg\+|svn\+|bzr\+)\S+|(?:\S+\s*@\s*)?(?:https?|ftp|git|ssh|file)://\S+"

FROM_ADDRESS: tuple[tuple[str, str], ...] = (
    (rf"{_PIP}.*\s(?:{_ADDRESS})", "installs from an address"),
    (
        rf"{_PIP}.*\s(?:-i|--index-url|--extra-index-url|-f|--find-links|--index"
        rf"|--default-index|--trusted-host)[= ]?(?!https://pypi\.org)\S+",
        "installs from another index",
    ),
    (r"pip3?\s+config\s+(?:set|edit)\b", "leads pip to another index"),
    (
        rf"(?:npm|pnpm|yarn|bun|cnpm)\s+.*\b(?:i|install|add|in|ins|isntall|exec|dlx|x|create|link)\b.*\s(?:{_ADDRESS})",
        "installs from an address",
    ),
    (
        r"(?:npm|pnpm|yarn|bun)\s+(?:-\S+\s+)*(?:i|install|add|in)\b.*\s(?:github:|gitlab:|bitbucket:|gist:|(?![@./~-])[\w-]+/[\w.-]+(?:#|\s|$))",
        "installs from a repository",
    ),
    (
        r"(?:npm|pnpm|yarn|bun|npx)\s.*--registry[= ](?!https://registry\.npmjs\.org)\S+",
        "installs from another index",
    ),
    (
        r"(?:npm|pnpm|yarn)\s+config\s+set\s+(?:\S*registry|proxy|https-proxy|strict-ssl|cafile)\b",
        "leads npm to another index",
    ),
    (r"npx\s+(?:-\S+\s+)*(?:-y|--yes)\b", "fetches a package and runs it"),
    (
        rf"npx\s+(?:-\S+\s+)*(?:{_ADDRESS}|github:\S+|[\w-]+/[\w.-]+(?:\s|$))",
        "fetches from an address and runs it",
    ),
    (r"npm\s+exec\s+(?:-\S+\s+)*(?:-y|--yes)\b", "fetches a package and runs it"),
    (r"npx\s+(?:-\S+\s+)*(?:-p|--package)[= ]\S+", "fetches a package and runs it"),
    (r"(?:pnpm|yarn)\s+(?:-\S+\s+)*dlx\b|bunx\b|bun\s+x\b|pnpx\b", "fetches a package and runs it"),
    (r"(?:npm|yarn|pnpm|bun)\s+(?:create|init)\s+(?!-)\S+", "fetches a package and runs it"),
    (r"pipx\s+run\b", "fetches a package and runs it"),
    (rf"uvx\s+(?:.*\s)?(?:--from[= ])?(?:{_ADDRESS})", "fetches from an address and runs it"),
    (
        rf"uv\s+(?:run|tool\s+run)\b.*\s(?:--with[= ]|--from[= ])?(?:{_ADDRESS})",
        "fetches from an address and runs it",
    ),
    (r"go\s+(?:run|install)\s+(?:-\S+\s+)*[\w.-]+\.[a-z]{2,}/\S+@\S+", "fetches from an address and runs it"),
    (r"go\s+(?:run|install|get)\s+(?:-\S+\s+)*https?://\S+", "fetches from an address"),
    (r"cargo\s+(?:\+\S+\s+)?(?:install|add)\b.*\s--git\b", "installs from an address"),
    (r"cargo\s+(?:\+\S+\s+)?install\b.*\s--(?:index|registry)\b", "installs from another index"),
    (
        rf"(?:gem|cpan|cpanm|luarocks|opam|brew|apt|apt-get|dnf|yum|rpm|dpkg|apk|pacman|zypper|snap|flatpak)\s+.*(?:{_ADDRESS})",
        "installs from an address",
    ),
    (r"gem\s+(?:install|sources)\b.*(?:--source|-s|-a|--add)[= ]?\S+", "installs from another index"),
    (r"brew\s+tap\b", "adds another index"),
    (
        r"deno\s+(?:install|compile|cache)\b.*\s(?:https?://\S+)|deno\s+\w+\b.*\s(?:npm|jsr):\S+",
        "fetches a package and runs it",
    ),
    (rf"(?:nix|nix-shell|nix-env)\s.*(?:{_ADDRESS}|github:\S+)", "fetches from an address and runs it"),
    (r"(?:code|codium|cursor)\s+.*--install-extension\b", "installs an editor's extension"),
    (
        rf"(?:helm|terraform|tofu)\s+(?:install|upgrade|plugin\s+install|init)\b.*\s(?:{_ADDRESS})",
        "installs from an address",
    ),
    (
        rf"(?:composer|mix|rebar3|cabal|stack|swift|dart|flutter|pub)\s.*(?:{_ADDRESS})",
        "installs from an address",
    ),
    (r"gh\s+extension\s+(?:install|exec)\b", "installs an extension"),
    (rf"(?:asdf|mise|sdk|rustup)\s+plugin\S*\s+add\b.*(?:{_ADDRESS})", "installs a plugin from an address"),
    (r"docker\b.*\bpull\b", "fetches an image"),
)
"""(command, what it does)."""

_TABLE = tuple((re.compile(pattern, re.DOTALL), what) for pattern, what in FROM_ADDRESS)
_HARMLESS = re.compile(
    r"\S+\s+(?:uninstall|remove|search|show|list|view|info|--version|--help)\b|.*\s--(?:help|version)$"
)

_RUNS_ADDRESS = re.compile(
    r"(?:deno\s+(?:run|serve|test|eval)|(?:bash|sh|zsh|dash|ksh|python[\d.]*|node|bun|ruby|perl|php|tsx|osascript|pwsh))"
    r"\s+(?:\S+\s+)*?(?:https?|ftp|data):\S+"
)
"""A program text straight from an address: the same as `curl … | sh`."""

PACKAGE_MANAGERS = names(
    "pip pip3 pipx uv uvx poetry pdm hatch rye conda mamba npm pnpm yarn "
    "bun npx bunx corepack cargo rustup go gem bundle"
    " bundler composer mvn gradle gradlew dotnet nuget apt apt-get brew "
    "deno pod mix cabal stack opam luarocks cpan cpanm"
)
"""Programs whose work is to fetch packages."""


def check_install(command: Command) -> Check:
    """Refused: an interpreter that is given an address for its program."""
    options = [word for word in command.args if not word.starts("-")]
    text = f"{command.name} {' '.join(word.text for word in options[:2])}"
    if _RUNS_ADDRESS.match(text):
        return Check(False, f"run_from_address: {command.name} would run whatever the address serves")
    return Check(True)


def ask_install(command: Command) -> Check:
    """ok=True: code from an address, or a package nobody installed, would run."""
    text = f"{command.name} {' '.join(word.text for word in command.args)}".strip()
    if _HARMLESS.match(text):
        return Check(False)
    for pattern, what in _TABLE:
        if pattern.match(text):
            return Check(True, f"install_from_address: {command.name} {what}")
    return Check(False)
