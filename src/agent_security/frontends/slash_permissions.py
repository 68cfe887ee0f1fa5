"""`/permissions`: what is allowed, asked and denied here, where each comes from; grants taken back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agent_security.calls import Effect
from agent_security.permissions import Rule, mode_verdict
from agent_security.session import Session

if TYPE_CHECKING:
    from agent_security.frontends.slash import Desk

GRANTED = "session"
"""The source of a rule that a person kept at a question."""

_WHAT = (
    (Effect.READ, "reading in the project"),
    (Effect.WRITE, "changing files of the project"),
    (Effect.EXECUTE, "running commands"),
    (Effect.NETWORK, "reaching a host that nobody named"),
)
_WORDS = {"allow": "allowed", "ask": "asked", "deny": "denied"}


def permissions(desk: Desk, argument: str) -> None:
    """Alone: the list. `/permissions revoke N` takes the N-th grant of this session back."""
    word, _, number = argument.partition(" ")
    if word == "revoke":
        _revoke(desk, number.strip())
    elif argument:
        desk.screen.note("write /permissions, or /permissions revoke N")
    else:
        desk.screen.lines(permission_lines(desk.session))


def permission_lines(session: Session) -> Iterator[str]:
    """The mode's own answers, then the rules in the order they count, then the session's grants."""
    confined = session.sandboxed == "allow" and session.wall_proven
    yield f"  mode {session.mode}; permissions.sandboxed = {session.sandboxed}" + (
        "" if session.wall_proven else " (no proven wall: it answers nothing)"
    )
    for effect, what in _WHAT:
        answer = mode_verdict(effect, session.mode, confined=confined)
        yield f"  {_WORDS[answer.verdict.name.lower()]:<8} {what}   (mode)"
    for host in session.scope.open_hosts:
        yield f"  allowed  reaching {host}   (opened by the settings)"
    for name in sorted(session.scope.permitted_binaries):
        yield f"  asked    {name}, each time   (lifted by shell.permit)"
    rules = session.rules
    for rule in (*rules.deny, *rules.ask, *rules.allow):
        if rule.source != GRANTED:
            yield f"  {_WORDS[rule.action]:<8} {rule.text}   ({rule.source})"
    grants = granted(session)
    for at, rule in enumerate(grants, 1):
        yield f"  allowed  {rule.text}   (you, in this session: /permissions revoke {at})"
    if not grants:
        yield "  nothing was granted in this session"


def granted(session: Session) -> list[Rule]:
    """The rules that a person kept at a question, oldest first."""
    return [rule for rule in session.rules.allow if rule.source == GRANTED]


def _revoke(desk: Desk, number: str) -> None:
    session = desk.session
    grants = granted(session)
    if not (number.isdecimal() and number.isascii() and 1 <= int(number) <= len(grants)):
        desk.screen.note(f"no such grant: {number or '(none named)'} (/permissions numbers them)")
        return
    rule = grants[int(number) - 1]
    session.audit.log("settings_changed", key="permissions.allow", value=f"revoked {rule.text}", by="person")
    session.rules = session.rules.without(rule)
    desk.screen.lines([f"  revoked: {rule.text}"])
