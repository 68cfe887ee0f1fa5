"""What a question shows: the exact command, or a diff, the kind of question and the reason.

The texts are foreign: the screen makes anything invisible in them visible before it prints them.
"""

from __future__ import annotations

import difflib
import os
from typing import Any

from agent_security.calls import ToolCall
from agent_security.changeset import Change, ChangeKind, ChangeSet, Node
from agent_security.decision import Decision, Kind, Verdict
from agent_security.descriptors import open_root, read_regular
from agent_security.pipeline import decide
from agent_security.ports import Question
from agent_security.session import Session

MOST_NAMED = 40
_SIGN = {ChangeKind.CREATED: "+", ChangeKind.CHANGED: "~", ChangeKind.DELETED: "-", ChangeKind.MODE: "~"}
MAX_READ_BYTES = 1_048_576
_WRITES = ("write_file", "edit_file")


def heading(question: Question) -> str:
    """`May run_bash run this? runs pytest [permission/ask_execute]`."""
    asked, tool = question.asked, question.call.name
    confirm = asked.kind is Kind.CONFIRM
    if asked.gate == "plan":
        ask = "This plan needs your yes:" if confirm else "May it begin?"
    elif question.changes:
        ask = f"What {tool} did needs your yes:" if confirm else f"May what {tool} did be kept?"
    else:
        ask = f"{tool} needs your yes:" if confirm else f"May {tool} do this?"
    return f"{ask} {asked.reason} [{asked.gate}/{asked.code}]"


def shows_diff(question: Question) -> bool:
    """Whether its details are a diff. Never guessed from the text: a command may begin like one."""
    return bool(question.changes) or (question.asked.gate != "plan" and question.call.name in _WRITES)


def details(question: Question, session: Session | None) -> str:
    """Byte for byte what would run, or a diff of what would change."""
    if question.changes and session is not None:
        return session.changes.diff(question.changes)
    if question.asked.gate == "plan" and session is not None:
        return f"{_plan(session)}\n\nfirst call:\n{_call(question.call, session)}"
    return _call(question.call, session)


def held_back_lines(changes: ChangeSet) -> list[str]:
    """What a no holds back, one line a file; a diff alone would not name what has no text."""
    if not changes:
        return []
    rows = [
        f"  {_SIGN[change.kind]} {change.path}{_about(change)}" for change in changes.changes[:MOST_NAMED]
    ]
    if len(changes) > MOST_NAMED:
        rows.append(f"  … and {len(changes) - MOST_NAMED} more")
    return [f"  a no holds back {len(changes)} of this call's changes; the rest is applied:", *rows]


def _about(change: Change) -> str:
    if change.target is not None:
        return f" -> {change.target}"
    if change.kind is ChangeKind.DELETED or change.node is not Node.FILE:
        return f"  ({change.kind} {change.node})"
    return f"  ({change.kind}, {change.size_bytes} bytes{f', mode {change.mode:04o}' if change.mode else ''})"


def _plan(session: Session) -> str:
    """The scratchpad's first 1000 characters (§6.2)."""
    return str(session.scratchpad.read())[:1000] or "(the scratchpad is empty)"


def _call(call: ToolCall, session: Session | None) -> str:
    try:
        args = call.args
    except ValueError:
        return call.args_json
    if call.name == "run_bash":
        return str(args.get("command", ""))
    if call.name in _WRITES and session is not None:
        return _file_diff(call, session.working_dir)
    return "\n".join(f"{name}: {value}" for name, value in args.items())


def _file_diff(call: ToolCall, working_dir: str) -> str:
    args = call.args
    path = os.path.relpath(os.path.join(working_dir, str(args.get("path", ""))), working_dir)
    before = _text_at(working_dir, path) or ""
    if call.name == "write_file":
        return _unified(path, before, str(args.get("content", ""))) or f"{path}: no difference"
    return _edit_diff(path, before, args)


def _edit_diff(path: str, before: str, args: dict[str, Any]) -> str:
    """The file's diff; where the old text is not to be found in it, the two texts of the call alone."""
    old, new = str(args.get("old_string", "")), str(args.get("new_string", ""))
    if not old or old not in before:
        return _unified(path, old, new)
    return _unified(path, before, before.replace(old, new, -1 if args.get("replace_all") else 1))


def _unified(path: str, before: str, after: str) -> str:
    rows = difflib.unified_diff(
        before.splitlines(), after.splitlines(), f"a/{path}", f"b/{path}", lineterm=""
    )
    return "\n".join(rows)


def _text_at(working_dir: str, path: str) -> str | None:
    """A file's text, read by descriptors that follow no link; None where it cannot be shown."""
    try:
        root = open_root(working_dir)
    except OSError:
        return None
    try:
        return read_regular(root, path, MAX_READ_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
    finally:
        os.close(root)


def explanation(question: Question, session: Session | None) -> list[str]:
    """What each gate that objects says, judged once more (no effect), and the arguments to the byte."""
    asked = question.asked
    trail = asked.trail or (asked,)
    if session is not None and not question.changes:
        trail = decide(question.call, session).trail or trail
    content = [answer.gate for answer in trail if answer.verdict is Verdict.ALLOW and answer.code == "ok"]
    told = [_trail_line(answer) for answer in trail if answer.gate not in content]
    if content:
        told.append(f"  {'no objection':<15} {', '.join(content)}")
    return [*told, f"  {'call':<15} {question.call.name} {question.call.args_json}"]


def _trail_line(answer: Decision) -> str:
    kind = f" ({answer.kind})" if answer.kind else ""
    return f"  {answer.gate:<15} {answer.word}{kind} {answer.code}: {answer.reason}".rstrip(": ")
