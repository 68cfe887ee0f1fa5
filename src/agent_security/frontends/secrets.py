"""`secrets scan` and `secrets env` (CONTRACTS §2). No value of a secret is ever printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import click

from agent_security.descriptors import open_root, read_regular
from agent_security.frontends.json_lines import answer_lines, text_field
from agent_security.secret_management import (
    Redactor,
    SecretFinding,
    scan_environment_for_secrets,
    scan_text,
    secret_env_rule,
)
from agent_security.text import break_ci_commands, for_terminal

FILE_LIMIT = 20_000_000
"""Bytes of one file; a larger one could not be told."""
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv", "venv"})


class Scanned(NamedTuple):
    """One file, or stdin, and what stands in it. `problem` says why it could not be told."""

    name: str
    lines: tuple[tuple[int, SecretFinding], ...] = ()
    problem: str = ""


def scan_line(asked: Mapping[str, Any]) -> dict[str, Any]:
    """`{"id","text"}` -> `{"findings","redacted"}`; numbering starts anew with each line."""
    text = text_field(asked, "text")
    found = [{"rule": one.rule, "start": one.start, "end": one.end} for one in scan_text(text)]
    return {"findings": found, "redacted": Redactor().redact(text)}


def env_line(asked: Mapping[str, Any]) -> dict[str, Any]:
    """`{"id","name","value"}` -> `{"name","dropped","rule"}`."""
    name = text_field(asked, "name")
    rule = secret_env_rule(name, text_field(asked, "value", ""))
    return {"name": name, "dropped": bool(rule), "rule": rule}


def scan_paths(paths: Iterable[str]) -> Iterator[Scanned]:
    """Every regular file under the paths; links are not followed, version control and packages skipped."""
    for path in paths:
        for name in _files_of(path):
            yield _scan_file(name)


def _files_of(path: str) -> Iterator[str]:
    if not os.path.isdir(path):
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(set(folders) - _SKIPPED)
        yield from (os.path.join(folder, name) for name in sorted(names) if _is_regular(folder, name))


def _is_regular(folder: str, name: str) -> bool:
    path = os.path.join(folder, name)
    return os.path.isfile(path) and not os.path.islink(path)


def _scan_file(name: str) -> Scanned:
    folder, _, last = os.path.abspath(name).rpartition("/")
    try:
        root = open_root(folder or "/")
        try:
            data = read_regular(root, last, FILE_LIMIT)
        finally:
            os.close(root)
    except (OSError, ValueError) as error:
        return Scanned(name, problem=str(error))
    return scan_bytes(name, data)


def scan_bytes(name: str, data: bytes) -> Scanned:
    """What stands in a file's bytes; bytes that are no text are looked through as well."""
    text = data.decode("utf-8", "replace")
    return Scanned(name, tuple((text.count("\n", 0, one.start) + 1, one) for one in scan_text(text)))


def _report(scanned: Iterable[Scanned]) -> int:
    """Print one line a finding. The exit code: 1 found, 3 could not tell, 0 neither."""
    code = 0
    for one in scanned:
        for line, finding in one.lines:
            click.echo(break_ci_commands(f"{for_terminal(one.name)}:{line}: {finding.rule}"))
            code = code or 1
        if one.problem:
            click.echo(break_ci_commands(f"{for_terminal(one.name)}: {for_terminal(one.problem)}"), err=True)
            code = 3
    return code


@click.group("secrets")
def command() -> None:
    """Find secrets in files, text and environments."""


@command.command("scan")
@click.argument("paths", nargs=-1)
@click.option("--jsonl", is_flag=True, help="JSON lines on stdin and stdout.")
def scan_command(paths: tuple[str, ...], jsonl: bool) -> None:
    """Findings in files and folders, or in stdin where none is named."""
    if jsonl:
        raise SystemExit(0 if answer_lines(sys.stdin.buffer, sys.stdout, scan_line) else 2)
    stdin = not paths or paths == ("-",)
    raise SystemExit(_report([scan_bytes("stdin", sys.stdin.buffer.read())] if stdin else scan_paths(paths)))


@command.command("env")
@click.option("--jsonl", is_flag=True, help="JSON lines on stdin and stdout.")
def env_command(jsonl: bool) -> None:
    """Which variables of this environment would be dropped, by name."""
    if jsonl:
        raise SystemExit(0 if answer_lines(sys.stdin.buffer, sys.stdout, env_line) else 2)
    for name in scan_environment_for_secrets():
        click.echo(for_terminal(name))
