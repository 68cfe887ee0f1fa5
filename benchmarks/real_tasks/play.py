"""Play one task: in one mode on the real road (settings, wiring, loop, gates, wall), and bare beside it."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from agent_security.calls import ToolResult
from agent_security.frontends.turns import Turns
from agent_security.ports import Answer, Question
from agent_security.providers.scripted import ScriptedProvider
from agent_security.wiring import build_session, close_session, settings_for
from real_tasks.projects import BUILDERS, Ground, make_ground
from real_tasks.tasks import Call, Task

MODES: dict[str, dict[str, object]] = {
    "default": {"mode": "default"},
    "acceptEdits+sandboxed": {"mode": "acceptEdits", "permissions.sandboxed": "allow"},
    "ci": {"profile": "ci"},
}
"""Name -> the settings it stands for. In `ci` there is nobody to ask."""
DEADLINE_S = 120


@dataclass(slots=True)
class Story:
    """What stood in the way of one task in one mode."""

    task: Task
    mode: str
    asked: list[tuple[str, str]] = field(default_factory=list)
    """(code, the call it was about)"""
    refused: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    """What fails inside and succeeds bare: (the call, what the model was told)."""
    held: dict[str, str] = field(default_factory=dict)
    differs: list[str] = field(default_factory=list)
    """Files that are not afterwards what they are after the bare run."""

    @property
    def questions(self) -> int:
        return len(self.asked) + len(self.failed)


@dataclass(slots=True)
class _Person:
    """Says yes to everything, or is not there; remembers what was asked."""

    there: bool
    story: Story

    def ask(self, question: Question) -> Answer:
        changed = ", ".join(change.path for change in question.changes.changes[:4])
        self.story.asked.append(
            (question.asked.code, f"{_shown(question.call.name, question.call.args)} {changed}")
        )
        return Answer(yes=True, by="person") if self.there else Answer()

    def confirm(self, prompt: str, detail: str = "") -> bool:
        return self.there


@dataclass(slots=True)
class _Listener:
    results: list[ToolResult] = field(default_factory=list)

    def notice(self, event: str, **data: Any) -> None:
        if event == "tool_end":
            self.results.append(data["result"])


def _shown(name: str, args: Mapping[str, Any]) -> str:
    return f"{name} {args.get('command') or args.get('path') or args.get('pattern') or ''}".strip()


@contextmanager
def _ground() -> Iterator[Ground]:
    with tempfile.TemporaryDirectory(prefix="real-task-") as folder:
        yield make_ground(Path(folder).resolve())


def play(task: Task, mode: str, bare: Mapping[str, Any]) -> Story:
    """One task in one mode. `bare` is what `play_bare` gave for it."""
    story = Story(task, mode)
    with _ground() as ground:
        root = BUILDERS[task.project](ground)
        env = ground.env() | {"AGENT_SECURITY_STATE": str(ground.base / "state")}
        with patch.dict("os.environ", env, clear=True):
            results = _session(task, mode, root, story)
        for call, result, code in zip(task.calls, results, bare["codes"], strict=True):
            what = _shown(*call)
            if not result.decision.allowed:
                story.refused.append((result.decision.code, what))
            elif code == 0 and str(result.status) != "ok":
                story.failed.append((what, result.content))
        story.differs = sorted(set(_tree(ground, root).items()) ^ set(bare["tree"].items()))
    return story


def _session(task: Task, mode: str, root: Path, story: Story) -> list[ToolResult]:
    turns: list[Any] = [{"call": {name: args}} for name, args in task.calls]
    listener = _Listener()
    session, provider = build_session(
        settings_for(str(root), MODES[mode]),
        working_dir=str(root),
        approver=_Person(mode != "ci", story),
        listener=listener,
        provider=ScriptedProvider([*turns, {"say": "Done."}]),
    )
    try:
        Turns(session, provider).say(task.prompt)
        story.held = dict(session.tally.held_back)
    finally:
        close_session(session)
    return listener.results


# --- bare -----------------------------------------------------------------------------------------


def play_bare(task: Task) -> dict[str, Any]:
    """The same calls in a clone without any wall: an exit code a call, and the tree afterwards.

    Only for the benchmark's own harmless tasks.
    """
    with _ground() as ground:
        root = BUILDERS[task.project](ground)
        codes = [_bare(ground, root, call) for call in task.calls]
        return {"codes": codes, "tree": _tree(ground, root)}


def _bare(ground: Ground, root: Path, call: Call) -> int:
    name, args = call
    if name == "run_bash":
        words = ["bash", "--noprofile", "--norc", "-c", args["command"]]
        done = subprocess.run(
            words,
            cwd=root,
            env=ground.env(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DEADLINE_S,
        )
        return done.returncode
    path = root / args.get("path", ".")
    if name == "write_file":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(args["content"])
    elif name == "edit_file":
        path.write_text(path.read_text().replace(args["old_string"], args["new_string"], 1))
    elif name == "read_file":
        path.read_text()
    return 0


def _tree(ground: Ground, root: Path) -> dict[str, bytes]:
    """Every file git would know of, with its mode and bytes, and the subjects of the commits."""
    listed = _git(ground, root, "ls-files", "-co", "--exclude-standard")
    found: dict[str, bytes] = {}
    for name in listed.decode().splitlines():
        path = root / name
        if path.is_file():
            found[name] = b"%o " % (path.stat().st_mode & 0o111) + path.read_bytes()
    log = _git(ground, root, "log", "--all", "--format=%s by %an <%ae>")
    found["(log)"] = b"\n".join(sorted(log.splitlines()))
    found["(status)"] = _git(ground, root, "status", "--short", "--branch")
    return {name: text.replace(str(ground.base).encode(), b"BASE") for name, text in found.items()}


def _git(ground: Ground, root: Path, *words: str) -> bytes:
    """git on the benchmark's own project, after the session is over."""
    done = subprocess.run(["git", *words], cwd=root, env=ground.env(), capture_output=True, check=False)
    return done.stdout
