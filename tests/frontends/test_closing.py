"""The end of a session: always the same order, and one failing step keeps no later one from happening."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agent_security.errors import SandboxError
from agent_security.frontends.interrupts import STEP, Interrupts
from agent_security.session import Tally
from agent_security.wiring import close_session, closing


def recorded(broken: str = "") -> tuple[Any, list[str]]:
    done: list[str] = []

    def step(name: str) -> Any:
        def act(*args: object) -> None:
            done.append(name)
            if name == broken:
                raise SandboxError(name)

        return act

    session = SimpleNamespace(
        working_dir="/project",
        approver=None,
        changes=None,
        tally=Tally(files_changed={"a": "changed"}),
        credentials=SimpleNamespace(revoke=step("revoke")),
        abort=SimpleNamespace(remove_signal_handlers=step("handlers")),
        sandbox=SimpleNamespace(close=step("sandbox")),
        audit=SimpleNamespace(close=step("log")),
        finishers=[step("provider")],
    )
    return session, done


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked: list[str] = []
    monkeypatch.setattr(closing, "_offer", lambda session, tell: asked.append("asked"))
    return asked


def test_the_order_at_the_end(offered: list[str]) -> None:
    session, done = recorded()
    close_session(session, offer_rollback=True)
    assert offered == ["asked"]
    assert done == ["revoke", "handlers", "sandbox", "provider", "log"]


def test_nothing_is_offered_where_nobody_is_asked(offered: list[str]) -> None:
    close_session(recorded()[0])
    assert offered == []


@pytest.mark.parametrize("broken", ["revoke", "handlers", "sandbox", "provider", "log"])
def test_a_failing_step_is_told_after_all_others_were_done(broken: str) -> None:
    session, done = recorded(broken)
    with pytest.raises(SandboxError, match=broken):
        close_session(session)
    assert done == ["revoke", "handlers", "sandbox", "provider", "log"]


# --- Ctrl-C (D13) -----------------------------------------------------------------------------------


def interrupts(session: Any) -> Interrupts:
    session.sandbox = SimpleNamespace(kill=lambda: None)
    return Interrupts(session)


def test_the_first_ctrl_c_stops_the_step_and_the_session_goes_on(session: Any) -> None:
    handler = interrupts(session)
    handler._on_sigint(2, None)
    assert session.abort.reason == STEP
    assert handler.take_back() is True
    assert session.abort.triggered is False


def test_the_second_ends_the_session(session: Any) -> None:
    handler = interrupts(session)
    handler._on_sigint(2, None)
    handler._on_sigint(2, None)
    assert handler.take_back() is False
    assert session.abort.reason == "SIGINT"


def test_sigterm_is_never_taken_back(session: Any) -> None:
    handler = interrupts(session)
    session.abort.trigger("SIGTERM")
    handler._on_sigint(2, None)
    assert handler.take_back() is False
    assert session.abort.reason == "SIGTERM"


def test_ctrl_c_at_a_question_interrupts_the_read(session: Any) -> None:
    handler = interrupts(session)
    handler.asking = True
    with pytest.raises(KeyboardInterrupt):
        handler._on_sigint(2, None)
