"""More rows of the table of wrappers: runners of projects and packages, and git verbs that run commands."""

from __future__ import annotations

from agent_security.shell.wrappers import (
    Wrapper,
    after,
    only_code,
    rest,
    row,
    verb,
)

RUNNERS: tuple[Wrapper, ...] = (
    row(
        "uv",
        verb(
            "run",
            rest(
                "--with --extra --group -p --python --directory --project --env-file --index --package"
                " --with-requirements --with-editable --only-group --no-group",
                "-q -v --no-sync --frozen"
                " --no-project --isolated --locked --all-extras --dev -m --module --offline",
            ),
        ),
        "uv run id ;; uv run --with x id",
        "uv sync ;; uv pip install x",
    ),
    row(
        "poetry pipenv pdm hatch rye pixi mise dotenvx",
        verb("run exec x", rest("-e --env -p -C --directory")),
        "poetry run id ;; mise exec -- id",
        "poetry install",
    ),
    row(
        "conda mamba micromamba",
        verb("run", rest("-n --name -p --prefix --cwd", "--no-capture-output --live-stream")),
        "conda run -n x id",
        "conda list",
    ),
    row("bundle", verb("exec", rest()), "bundle exec id", "bundle install"),
    row("direnv", verb("exec", rest(skip=1)), "direnv exec . id"),
    row("nix-shell nix", rest(code="--run --command"), "nix-shell --run id"),
    row("dotenv", rest("-f --file -e", skip=0), "dotenv -f .env id"),
    row("coverage", verb("run", rest("--source -m --rcfile")), ""),
    row("sg newgrp", rest(skip=1, code="-c"), "sg group -c id"),
    row("capsh", after("--"), ""),
    row("flatpak-spawn distrobox-host-exec host-spawn", rest("--env --directory"), "flatpak-spawn --host id"),
    row(
        "git",
        verb(
            "filter-branch",
            only_code(
                "--env-filter --tree-filter --index-filter --parent-filter --msg-filter"
                " --commit-filter --tag-name-filter --setup",
                "-d --original",
            ),
        ),
        "git filter-branch --tree-filter id",
        "git filter-branch",
    ),
    row(
        "npx",
        only_code("-c --call", "-p --package -w --workspace"),
        "npx -c id ;; npx -p x --call=id",
        "npx id",
    ),
    row(
        "npm pnpm yarn",
        verb("exec x", only_code("-c --call --shell-mode", "-w --workspace --package")),
        "npm exec -c id ;; npm x --call id",
        "npm install",
    ),
    row(
        "npm pnpm yarn",
        verb("exec x", rest("-w --workspace --package -p", "-y --yes")),
        "npm exec -- id",
        "npm run x",
    ),
    row("tox", verb("exec", after("--")), "tox exec -- id", "tox -e py"),
    row("cmake", after("-E"), "cmake -E env id ;; cmake -E time id", "cmake -S . -B build"),
    row("git", verb("bisect", verb("run", rest())), "git bisect run id", "git bisect good ;; git status"),
)
