"""The abort flag holds from every thread and signal; ending a call never raises."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from conftest import Bench

from agent_security.errors import ChangeError
from agent_security.session_control import AbortController, FileRollback, kill_in_flight


def test_the_first_reason_stays_until_reset() -> None:
    abort = AbortController()
    assert (abort.triggered, abort.reason) == (False, "")
    abort.trigger("limit")
    abort.trigger("later")
    assert (abort.triggered, abort.reason) == (True, "limit")
    abort.reset()
    assert (abort.triggered, abort.reason) == (False, "")


def test_callbacks_run_once_and_a_broken_one_stops_nothing() -> None:
    seen: list[str] = []

    def broken(reason: str) -> None:
        raise RuntimeError(reason)

    abort = AbortController()
    abort.on_trigger(broken)
    abort.on_trigger(seen.append)
    abort.trigger("stop")
    abort.trigger("again")
    abort.on_trigger(seen.append)  # too late: told at once
    assert seen == ["stop", "stop"]


def test_many_threads_trigger_it_once() -> None:
    seen: list[str] = []
    abort = AbortController()
    abort.on_trigger(seen.append)
    threads = [threading.Thread(target=abort.trigger, args=(str(n),)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [abort.reason]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_headless_the_first_signal_aborts_and_the_old_handler_comes_back(number: int) -> None:
    former = signal.getsignal(number)
    abort = AbortController()
    assert abort.install_signal_handlers() is True
    try:
        os.kill(os.getpid(), number)
        assert abort.reason == f"signal {signal.Signals(number).name}"
    finally:
        abort.remove_signal_handlers()
    assert signal.getsignal(number) is former


def test_interactive_the_first_interrupt_stops_the_step_and_the_second_aborts() -> None:
    steps: list[str] = []
    abort = AbortController()
    abort.on_interrupt = lambda: steps.append("stopped")
    abort.install_signal_handlers(interactive=True)
    try:
        os.kill(os.getpid(), signal.SIGINT)
        assert (steps, abort.triggered) == (["stopped"], False)
        abort.step_done()
        os.kill(os.getpid(), signal.SIGINT)
        assert (steps, abort.triggered) == (["stopped"] * 2, False)
        os.kill(os.getpid(), signal.SIGINT)
        assert abort.triggered
    finally:
        abort.remove_signal_handlers()


def test_interactive_a_termination_aborts_at_once() -> None:
    abort = AbortController()
    abort.install_signal_handlers(interactive=True)
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        assert abort.triggered
    finally:
        abort.remove_signal_handlers()


def test_another_thread_installs_no_handlers() -> None:
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(AbortController().install_signal_handlers()))
    thread.start()
    thread.join()
    assert answers == [False]


class Sandbox:
    def __init__(self, error: Exception | None = None) -> None:
        self.killed, self.error = 0, error

    def kill(self) -> None:
        self.killed += 1
        if self.error is not None:
            raise self.error


def test_a_sandbox_ends_its_own_processes() -> None:
    sandbox = Sandbox()
    assert kill_in_flight(sandbox) is True
    assert sandbox.killed == 1


def test_ending_a_call_survives_a_broken_sandbox_a_missing_engine_and_odd_names(tmp_path: Path) -> None:
    assert kill_in_flight(Sandbox(RuntimeError("gone"))) is False
    assert kill_in_flight("container", docker=str(tmp_path / "none")) is False
    assert kill_in_flight("container", docker="docker") is False
    assert kill_in_flight("--privileged", docker="/bin/true") is False
    assert kill_in_flight("", docker="/bin/true") is False


def test_a_container_gets_the_specifications_line(tmp_path: Path) -> None:
    client, log = tmp_path / "docker", tmp_path / "log"
    client.write_text(f'#!/bin/sh\necho "$@" > {log}\n')
    client.chmod(0o755)
    assert kill_in_flight("box-1", docker=str(client)) is True
    assert log.read_text() == "exec box-1 pkill -INT python\n"


def test_a_snapshot_is_taken_once_and_only_of_files_inside(bench: Bench) -> None:
    (bench.workspace / "a").write_bytes(b"old")
    (bench.workspace / "out").symlink_to(bench.root)
    rollback = FileRollback(str(bench.workspace), bench.store())
    assert rollback.snapshot("a") is True
    assert rollback.snapshot(str(bench.workspace / "a")) is False
    assert rollback.snapshot("out/x") is False
    assert rollback.snapshot(".") is False
    (bench.workspace / "d").mkdir()
    with pytest.raises(ChangeError):
        rollback.snapshot("d")


def test_a_file_that_was_not_there_at_the_snapshot_is_removed_again(bench: Bench) -> None:
    rollback = FileRollback(str(bench.workspace), bench.store())
    rollback.snapshot("new")
    (bench.workspace / "new").write_bytes(b"agent")

    class Yes:
        def confirm(self, prompt: str, detail: str = "") -> bool:
            return True

    assert rollback.offer_rollback(Yes()) == 1
    assert not (bench.workspace / "new").exists()
    assert rollback.cleanup() is True
