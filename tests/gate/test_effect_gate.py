"""What a call did is judged by its change set: modes, rules, --apply, and a judgement that breaks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_security.changes import Finding
from agent_security.changeset import Change, ChangeKind, ChangeSet
from agent_security.decision import Verdict
from agent_security.gates import Judged, judge_effects
from agent_security.gates import effects as gates_effects
from agent_security.judging import judge_context_for
from agent_security.permissions import Rules, parse_rule


def change_set(*paths: str) -> ChangeSet:
    return ChangeSet(tuple(Change(path, ChangeKind.CREATED) for path in paths))


def findings(monkeypatch: pytest.MonkeyPatch, *found: Finding) -> None:
    monkeypatch.setattr(gates_effects, "judge_change_set", lambda changes, **more: found)


def judge(
    paths: tuple[str, ...],
    cwd: Path,
    *,
    apply: str = "auto",
    seen: frozenset[str] = frozenset(),
    **context: Any,
) -> list[Judged]:
    frame = replace(judge_context_for(str(cwd), **context), seen_later=frozenset(seen))
    return list(judge_effects(change_set(*paths), frame, apply))


FIRST = Finding(".git/hooks/x", Verdict.ASK, "first_tier", "runs later", True)
SECOND = Finding("Makefile", Verdict.ASK, "second_tier", "runs later", True)
REFUSED = Finding("out", Verdict.DENY, "path_outside", "leads out", False)


@pytest.mark.parametrize(
    ("finding", "mode", "verdict"),
    [
        (FIRST, "default", Verdict.ASK),
        (FIRST, "acceptEdits", Verdict.ASK),
        (FIRST, "dangerouslySkipPermissions", Verdict.DENY),
        (SECOND, "default", Verdict.ASK),
        (SECOND, "acceptEdits", Verdict.ASK),
        (SECOND, "dangerouslySkipPermissions", Verdict.ALLOW),
        (REFUSED, "default", Verdict.DENY),
        (REFUSED, "dangerouslySkipPermissions", Verdict.DENY),
    ],
)
def test_a_finding_in_a_mode(
    finding: Finding, mode: str, verdict: Verdict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings(monkeypatch, finding)
    (judged,) = judge((finding.path,), tmp_path, mode=mode)
    assert (judged.decision.verdict, judged.decision.code, judged.paths) == (
        verdict,
        finding.code,
        (finding.path,),
    )
    assert judged.runs_later is finding.runs_later


def test_one_question_a_code_and_not_one_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Finding("package.json", Verdict.ASK, "second_tier", "runs later", True)
    findings(monkeypatch, SECOND, other)
    (judged,) = judge(("Makefile", "package.json", "a.py"), tmp_path)
    assert judged.paths == ("Makefile", "package.json")


def test_a_second_tier_file_is_asked_about_once_a_session_and_a_first_tier_one_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings(monkeypatch, FIRST, SECOND)
    seen = ("Makefile", ".git/hooks/x")
    verdicts = {
        j.decision.code: j.decision.verdict for j in judge(("Makefile", ".git/hooks/x"), tmp_path, seen=seen)
    }
    assert verdicts == {"first_tier": Verdict.ASK, "second_tier": Verdict.ALLOW}


def test_an_edit_rule_holds_for_what_any_command_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings(monkeypatch, SECOND)
    deny = Rules(deny=(parse_rule("Edit(/lib/**)", "deny", "user"),))
    (judged,) = judge(("lib/a.py", "b.py"), tmp_path, rules=deny)[:1]
    assert (judged.decision.code, judged.paths) == ("rule_deny", ("lib/a.py",))
    allow = Rules(allow=(parse_rule("Edit(/Makefile)", "allow", "user"),))
    (judged,) = judge(("Makefile",), tmp_path, rules=allow)
    assert judged.decision.allowed
    assert judged.runs_later


def test_what_is_refused_is_neither_asked_about_nor_listed_as_running_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings(monkeypatch, SECOND)
    deny = Rules(deny=(parse_rule("Edit(/Makefile)", "deny", "user"),))
    (judged,) = judge(("Makefile",), tmp_path, rules=deny)
    assert (judged.decision.code, judged.runs_later) == ("rule_deny", False)


@pytest.mark.parametrize(
    ("apply", "code"), [("never", "apply_never"), ("ask", "apply_ask"), ("aut", "apply_never")]
)
def test_apply_shows_or_holds_back_everything(
    apply: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings(monkeypatch)
    (judged,) = judge(("a", "b"), tmp_path, apply=apply, mode="dangerouslySkipPermissions")
    assert (judged.decision.code, judged.paths) == (code, ("a", "b"))
    assert judged.decision.verdict is (Verdict.ASK if apply == "ask" else Verdict.DENY)


def test_nothing_changed_is_nothing_judged(tmp_path: Path) -> None:
    assert judge((), tmp_path, apply="never") == []


def test_a_judgement_that_breaks_holds_everything_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(changes: ChangeSet, **more: object) -> tuple[Finding, ...]:
        raise OSError("gone")

    monkeypatch.setattr(gates_effects, "judge_change_set", broken)
    (judged,) = judge(("a", "b"), tmp_path)
    assert (judged.decision.verdict, judged.decision.code, judged.paths) == (
        Verdict.DENY,
        "gate_error",
        ("a", "b"),
    )
    findings(monkeypatch, Finding("a", Verdict.ASK, "no_such_code", "", False))
    (judged,) = judge(("a", "b"), tmp_path)
    assert judged.decision.code == "gate_error"


def test_a_second_tier_file_is_listed_and_not_asked_about_where_the_settings_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings(monkeypatch, FIRST, SECOND)
    frame = replace(judge_context_for(str(tmp_path), mode="acceptEdits"), runs_later="list")
    judged = judge_effects(change_set("Makefile", ".git/hooks/x"), frame, "auto")
    assert {j.decision.code: j.decision.word for j in judged} == {"second_tier": "allow", "first_tier": "ask"}
    assert all(j.runs_later for j in judged)
