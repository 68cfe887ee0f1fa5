"""The host believes the worker's text and bytes and nothing else; whatever is odd ends the worker."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from agent_security.errors import DockerSandboxError, SandboxTimeout
from agent_security.sandboxes import lines
from agent_security.sandboxes import worker as worker_module
from agent_security.sandboxes.process import Stop, run
from agent_security.sandboxes.running import Running
from agent_security.sandboxes.worker import Worker, parse_reply

GOOD = b'{"ok": true, "text": "fine"}'


class Forger:
    """Starts a shell in place of the worker, inside a sandbox of its own."""

    def __init__(self, project: Any) -> None:
        self.parts = project.sandbox._parts
        self.scripts: list[str] = []
        self.stop = Stop()
        self.worker = Worker(self.start, self.stop)

    def start(self) -> Running:
        with lines.bare_line(self.parts.place) as line:
            command = ["/bin/bash", "-c", self.scripts.pop(0)]
            return Running(line, self.parts.bwrap, command, lines.bare_env(), piped_stdin=True)

    def ask(self, *scripts: str, timeout_s: float = 20) -> Any:
        self.scripts += scripts
        return self.worker.ask("read_file", {"path": "x"}, {}, 0, timeout_s)


@pytest.fixture
def forger(project: Any) -> Any:
    made = Forger(project)
    yield made
    made.worker.close()
    made.stop.close()


FORGE = f"echo '{GOOD.decode().replace('fine', 'forged')}'"
SAY = f"read line; echo '{GOOD.decode()}'"


def test_one_line_answers_one_request(forger: Any) -> None:
    assert forger.ask(f"{SAY}; {SAY}; sleep 100").text == "fine"
    assert forger.ask().text == "fine"


@pytest.mark.parametrize(
    "script",
    [
        f"read line; printf '%s\\n%s\\n' '{GOOD.decode()}' '{GOOD.decode()}' >/tmp/x; cat /tmp/x; sleep 100",
        "read line; echo 'no JSON'; sleep 100",
        "read line; echo '[]'; sleep 100",
        'read line; echo \'{"ok": 1, "text": "x"}\'; sleep 100',
        'read line; echo \'{"ok": true, "text": 5}\'; sleep 100',
        "read line; exit 0",
        "exit 3",
    ],
)
def test_an_odd_reply_ends_the_worker_and_the_next_call_starts_another(forger: Any, script: str) -> None:
    with pytest.raises(DockerSandboxError):
        forger.ask(script)
    assert forger.ask(f"{SAY}; sleep 100").text == "fine"


def test_a_line_nobody_asked_for_ends_the_worker(forger: Any) -> None:
    assert forger.ask(f"{SAY}; read -t 0.2 wait; {FORGE}; sleep 100").text == "fine"
    running = forger.worker._running
    os.set_blocking(running.stdout, False)
    worker_module.select.select([running.stdout], [], [], 20)
    assert forger.ask(f"{SAY}; sleep 100").text == "fine"
    assert forger.worker._running is not running


def test_an_endless_reply_is_bounded(forger: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(worker_module, "MOST_REPLY_BYTES", 1024 * 1024)
    with pytest.raises(DockerSandboxError, match="too large"):
        forger.ask("read line; tr '\\0' x < /dev/zero")


def test_a_silent_worker_ends_with_the_deadline(forger: Any) -> None:
    with pytest.raises(SandboxTimeout, match=r"timed out after 0\.3s"):
        forger.ask("sleep 100", timeout_s=0.3)
    assert forger.worker._running is None


@pytest.mark.parametrize(
    "write",
    [
        {"path": "../x", "data": "", "before": None, "mode": None},
        {"path": "/etc/x", "data": "", "before": None, "mode": None},
        {"path": "a//b", "data": "", "before": None, "mode": None},
        {"path": "x", "data": "%%%", "before": None, "mode": None},
        {"path": "x", "data": "", "before": "short", "mode": None},
        {"path": "x", "data": "", "before": None, "mode": 0o17777},
        {"path": "x", "data": "", "before": None, "mode": True},
        {"path": "x"},
        "text",
    ],
)
def test_a_write_of_another_shape_is_refused(write: Any) -> None:
    with pytest.raises(DockerSandboxError, match="malformed"):
        parse_reply(json.dumps({"ok": True, "text": "", "write": write}).encode())


def test_a_command_cannot_reach_the_worker(project: Any) -> None:
    project.write("a.txt", "real\n")
    assert project.tool("read_file", path="a.txt").text == "     1\treal"
    project.run('echo \'{"ok": true, "text": "forged"}\' | tee /proc/*/fd/1 2>/dev/null; kill -9 -1')
    assert project.tool("read_file", path="a.txt").text == "     1\treal"


def test_the_worker_cannot_write_the_tree_and_sees_no_session_home(project: Any) -> None:
    project.run("echo secret > ~/note; echo secret > /tmp/note")
    parts = project.sandbox._parts
    with lines.for_worker(parts) as line:
        script = f"touch {project.tree}/x; ls -A /home/agent /tmp | wc -l; echo end"
        running = Running(line, parts.bwrap, ["/bin/bash", "-c", script], lines.bare_env())
        stop = Stop()
        text = run(running, timeout_s=30, stop=stop).output.text()
        stop.close()
    assert "note" not in text
    assert not (project.tree / "x").exists()
