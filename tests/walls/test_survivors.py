"""Nothing a command started is alive when its result is accepted, and no output is too much."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from agent_security.calls import Status
from agent_security.errors import Aborted, SandboxTimeout


def _alive(marker: str) -> list[str]:
    """Processes of this machine whose command line holds the marker."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if marker.encode() in file.read():
                        found.append(name)
            except OSError:
                continue
    return found


@pytest.fixture
def marker() -> str:
    """A number of seconds to sleep that no other process has in its command line."""
    return f"99{os.getpid()}{time.monotonic_ns() % 10**7:07}"


DAEMONS = {
    "a job": "sleep {} &",
    "setsid": "setsid sleep {} & sleep 0.05",
    "a daemon that holds stdout": "(setsid sleep {} &) ; sleep 0.05; echo done",
    "a double fork": "( (exec setsid sleep {}) & ) ; sleep 0.05",
    "one that ignores signals": "(trap '' HUP TERM INT; exec setsid sleep {}) & sleep 0.05",
    "nohup": "nohup setsid sleep {} >/dev/null 2>&1 & sleep 0.05",
}


@pytest.mark.parametrize("kind", DAEMONS)
def test_what_a_command_leaves_running_is_dead_on_return(any_project: Any, kind: str, marker: str) -> None:
    started = time.monotonic()
    output = any_project.run(DAEMONS[kind].format(marker), timeout_s=30)
    assert output.status is Status.OK
    assert _alive(marker) == []
    assert time.monotonic() - started < 20


def test_a_timeout_ends_every_process_and_says_how_long_it_was(any_project: Any, marker: str) -> None:
    command = f"bash -c \"bash -c 'sleep {marker}' & setsid sleep {marker} & wait\""
    with pytest.raises(SandboxTimeout, match=r"timed out after 0\.4s"):
        any_project.run(command, timeout_s=0.4)
    assert _alive(marker) == []


def test_nothing_of_a_timed_out_command_is_kept(project: Any) -> None:
    with pytest.raises(SandboxTimeout):
        project.run("echo x > made; sleep 100", timeout_s=0.4)
    assert not (project.tree / "made").exists()
    assert project.run("ls").text == ""


def test_the_session_goes_on_after_a_timeout(project: Any) -> None:
    with pytest.raises(SandboxTimeout):
        project.run("sleep 100", timeout_s=0.2)
    assert project.run("echo on").text == "on\n"


def test_kill_from_another_thread_ends_the_call_and_not_the_session(project: Any, marker: str) -> None:
    sandbox = project.sandbox
    timer = threading.Timer(0.3, sandbox.kill)
    timer.start()
    with pytest.raises(Aborted):
        project.run(f"setsid sleep {marker} & sleep {marker}")
    timer.join()
    assert _alive(marker) == []
    assert project.run("echo on").text == "on\n"


def test_kill_between_calls_does_nothing(project: Any) -> None:
    project.sandbox.kill()
    assert project.run("echo on").text == "on\n"


def test_a_gigabyte_of_output_is_bounded_in_memory_and_both_ends_are_kept(project: Any) -> None:
    project.run("true")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    output = project.run("echo first; head -c 1000000000 /dev/zero | tr '\\0' x; echo; echo last")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024  # KiB
    assert output.text.startswith("first\n")
    assert output.text.endswith("last\n")
    assert "bytes left out" in output.text
    assert len(output.text) < 1024 * 1024


def test_bytes_that_are_not_utf8_do_not_end_the_call(project: Any) -> None:
    output = project.run("printf '\\xf0'")
    assert (output.text, output.exit_code, output.status) == ("�", 0, Status.OK)


def test_standard_input_is_empty_and_never_waited_for(project: Any) -> None:
    assert project.run("cat; read x; echo $?", timeout_s=20).text == "1\n"


def test_an_exit_code_and_a_signal_are_reported(project: Any) -> None:
    output = project.run("echo out; echo err >&2; exit 3")
    assert (output.text, output.exit_code, output.status) == ("out\nerr\n[exit code 3]", 3, Status.ERROR)
    assert project.run("kill -9 $$").text == "[exit code 137: ended by signal 9]"


def test_killing_everything_inside_harms_nobody_outside(project: Any) -> None:
    assert project.run("kill -9 -1; kill -9 1; echo still").exit_code is not None
    assert project.run("echo on").text == "on\n"


def test_close_ends_the_worker_and_removes_the_private_folders(any_project: Any) -> None:
    any_project.run("mkdir -p ~/deep && chmod 000 ~/deep; mkdir d && chmod 000 d")
    any_project.tool("glob_files", pattern="*")
    sandbox = any_project.sandbox
    root = sandbox._parts.place.root
    sandbox.close()
    sandbox.close()
    assert not os.path.exists(root)


def test_a_very_deep_tree_is_removed(project: Any) -> None:
    code = "import os\nfor i in range(3000):\n os.mkdir('d'); os.chdir('d')\n"
    project.run(f'cd ~ && python3 -c "{code}"')
    root = project.sandbox._parts.place.root
    project.sandbox.close()
    assert not os.path.exists(root)


HARNESS = """
import json, sys
from agent_security.calls import Permit, ToolCall
from agent_security.decision import allow
from agent_security.sandboxes import SandboxRequest, open_sandbox
tree, state, home, command = sys.argv[1:]
sandbox = open_sandbox(SandboxRequest(tree, state, home=home))
permit = Permit(ToolCall("c", "run_bash", json.dumps({"command": command})), allow("test"), "sandbox")
print("ready", flush=True)
sandbox.run_command(permit, timeout_s=600)
"""


@pytest.mark.parametrize("moment", ["as it starts", "while it runs"])
def test_a_killed_harness_leaves_no_process_behind(any_project: Any, marker: str, moment: str) -> None:
    """As it starts, bwrap has not yet tied its processes to their parents; the command must not begin then.

    A bwrap may be left waiting for a parent that is gone, for ever idle: it is no command, and ended here.
    """
    command = f"setsid sleep {marker} & sleep {marker}"
    any_project.state.mkdir(mode=0o755)  # within reach of the owner, so that what is left lies in it
    places = [str(any_project.tree), str(any_project.state), str(any_project.home)]
    harness = subprocess.Popen([sys.executable, "-c", HARNESS, *places, command], stdout=subprocess.PIPE)
    wanted = "bwrap" if moment == "as it starts" else f"sleep\0{marker}"
    try:
        assert harness.stdout is not None
        assert harness.stdout.readline() == b"ready\n"
        assert _eventually(lambda: any(wanted in _line_of(one) for one in _alive(marker)))
    finally:
        harness.kill()
        harness.communicate()
    assert _eventually(lambda: all(_is_idle_bwrap(one) for one in _alive(marker)))
    for left in _alive(marker):
        os.kill(int(left), signal.SIGKILL)


def _is_idle_bwrap(pid: str) -> bool:
    """Whether it is a bwrap before its filter, without a child."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = file.read().split()
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            unfiltered = "Seccomp:\t0" in file.read()
    except OSError:
        return True
    return "bwrap" in _line_of(pid) and not children and unfiltered


def _line_of(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _eventually(holds: Callable[[], bool], within_s: float = 30) -> bool:
    deadline = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > deadline:
            return False
    return True
