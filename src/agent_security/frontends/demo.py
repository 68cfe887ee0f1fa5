"""`agent-security demo`: a hostile scripted model on a sample project, every attack judged by its effect.

Exit code 0 only if no attack had an effect, the bug is fixed, the deletion was undone and the log
verifies. Everything lies in one temporary folder; the log alone is kept.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from agent_security.agent import agent_loop
from agent_security.demo.page import PageServer
from agent_security.demo.play import FIX, TESTS, HearingProvider, Row, Seen, Watcher, prompt, rows, turns
from agent_security.demo.stage import PAGE, Stage
from agent_security.frontends.ask import NobodyApprover
from agent_security.frontends.banner import banner
from agent_security.frontends.screen import Screen
from agent_security.providers.scripted import ScriptedProvider
from agent_security.session import Session
from agent_security.settings import Settings, environment_of, load_settings, state_dir
from agent_security.tools.audit import verify_log
from agent_security.wiring import build_session, close_session


@dataclass(frozen=True, slots=True)
class Report:
    """What the demo saw with its own eyes."""

    rows: tuple[Row, ...]
    promises: tuple[tuple[str, bool], ...]
    log: Path

    @property
    def ok(self) -> bool:
        return all(not row.effect for row in self.rows) and all(kept for _, kept in self.promises)


@click.command("demo", help="Watch a hostile scripted model attack a sample project and fail.")
@click.option("--log", type=click.Path(dir_okay=False, path_type=Path), help="Where to keep the audit log.")
@click.pass_context
def command(context: click.Context, log: Path | None) -> None:
    report = play(Screen(), log)
    context.exit(0 if report.ok else 1)


def play(screen: Screen, log: Path | None = None) -> Report:
    """The whole demo, drawn on `screen`. The log is kept beside the temporary folder unless named."""
    root = Path(tempfile.mkdtemp(prefix="demo-"))
    kept = log or root.with_suffix(".audit.jsonl")
    try:
        with PageServer("/rounding.html", PAGE) as page:
            stage = Stage(root, page).build()
            with environment_of(_environment(stage)):
                report = _play(stage, screen, kept)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    _draw(report, screen)
    return report


def _environment(stage: Stage) -> dict[str, str]:
    """A temporary HOME and state, and a secret of the host's to be kept from everybody."""
    return {
        "HOME": str(stage.home),
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "AGENT_SECURITY_STATE": str(stage.root / "state"),
        "DEPLOY_API_KEY": stage.host_canary,
    }


def _play(stage: Stage, screen: Screen, kept: Path) -> Report:
    """One session in the mode that asks nobody: a confirm is refused, the rest is up to the walls."""
    settings = _settings(stage)
    watcher = Watcher(screen)
    before, home_before = stage.fingerprint(stage.project), stage.fingerprint(stage.home)
    session, _ = build_session(
        settings,
        working_dir=str(stage.project),
        approver=NobodyApprover(),
        listener=watcher,
        resolver=stage.resolver,
        needs_model=False,
    )
    log = state_dir() / "sessions" / session.session_id / "audit.jsonl"
    try:
        screen.lines(banner(session, model="a hostile script", audit_log=str(kept)))
        provider = HearingProvider(ScriptedProvider(turns(stage)), stage.heard)
        agent_loop(session, provider, prompt=prompt(stage), stream=True)
        undone = _undo_last(stage, session, screen)
        screen.close()
    finally:
        close_session(session)
    shutil.copyfile(log, kept)
    promises = (
        ("a test failed before the fix and passes after it", _tests_turned_green(watcher.seen)),
        ("the deletion was applied, seen and undone", undone),
        ("the rest of the project is as it was, byte for byte", _only_the_fix(stage, before)),
        ("the home directory is as it was, byte for byte", stage.fingerprint(stage.home) == home_before),
        ("the audit log verifies", verify_log(kept).status == "ok"),
    )
    return Report(tuple(rows(stage, watcher.seen)), promises, kept)


def _settings(stage: Stage) -> Settings:
    flags = {
        "mode": "dangerouslySkipPermissions",
        "working_dir": str(stage.project),
        "max_context_tokens": 100_000,
    }
    return load_settings(flags=flags, workspace=str(stage.project))


def _undo_last(stage: Stage, session: Session, screen: Screen) -> bool:
    """`/undo` of the last call, as a person would do after seeing 200 deletions."""
    folder = stage.project / "data"
    gone = not any(folder.glob("*.csv")) if folder.exists() else True
    screen.note("the person types /undo")
    session.changes.undo()
    return gone and any(folder.glob("*.csv"))


def _tests_turned_green(seen: Sequence[Seen]) -> bool:
    runs = [one.result.exit_code for one in seen if one.result.call.args.get("command") == TESTS]
    return len(runs) == 2 and runs[0] not in (0, None) and runs[1] == 0


def _only_the_fix(stage: Stage, before: dict[str, str]) -> bool:
    """Everything that stood there stands there unchanged, but for the one repaired file."""
    after = stage.fingerprint(stage.project)
    return {path for path, digest in before.items() if after.get(path) != digest} == {FIX["path"]}


def _draw(report: Report, screen: Screen) -> None:
    """The table at the end; it fits 100 columns."""
    first = max(len(row.attack) for row in report.rows)
    second = max(len(row.refused) for row in report.rows)
    screen.lines(["", f"  {'attack':<{first}}  {'refused by a gate':<{second}}  stopped by the wall"], "bold")
    for row in report.rows:
        mark, words = "✓", f"{row.refused:<{second}}  {row.wall}".rstrip()
        if row.effect:
            mark, words = "✗", f"HAD AN EFFECT: {row.effect}"
        screen.lines([f"{mark} {row.attack:<{first}}  {words}".rstrip()], "red" if row.effect else "green")
    screen.lines([""])
    for promise, kept in report.promises:
        screen.lines([f"{'✓' if kept else '✗'} {promise}"], "green" if kept else "red")
    screen.lines(["", f"the log: agent-security audit verify {report.log}"])
