"""A change set written as JSON, for judging effects dry (CONTRACTS §4).

`{"changes": [{"path", "kind", "mode"?, "content"?, "target"?}]}`: `kind` is created, changed, deleted or
mode; `mode` the permission bits as a number, or as octal text ("0755"); `target` makes it a link.
"""

from __future__ import annotations

import os
import posixpath
import re
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from agent_security.changeset import Change, ChangeKind, ChangeSet, Node
from agent_security.decision import Decision, allow, deny, strictest
from agent_security.descriptors import parts_of
from agent_security.gates import judge_effects
from agent_security.session import JudgeContext

__all__ = ["TOOL", "judge_dry"]

TOOL = "change_set"
_FIELDS = {"path", "kind", "mode", "content", "target"}
_KINDS = ", ".join(ChangeKind)


class _Unreadable(ValueError):
    """One change is not as it has to be; the message says which."""


def judge_dry(args: Mapping[str, Any], context: JudgeContext, apply: str = "auto") -> Decision:
    """The answer to a change set as it would be given in step 6; nothing is applied or kept.

    Without a session nobody asks git: no content counts as known, no deletion as one git cannot give back.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="agent-security-check-") as root:
            changes = ChangeSet(tuple(_changes(args, context.scope.working_dir, root)), root=root)
            answers = [judged.decision for judged in judge_effects(changes, context, apply)]
    except _Unreadable as error:
        return strictest([deny("validation", "bad_arguments", str(error))])
    except _Outside as error:
        return strictest([allow("validation"), deny("policy", "path_outside", str(error))])
    return strictest([allow("validation"), *(answers or [allow("effects")])])


class _Outside(Exception):
    """A path that no change set of this workspace can hold."""


def _changes(args: Mapping[str, Any], workspace: str, root: str) -> Iterator[Change]:
    listed = args.get("changes")
    if not isinstance(listed, list) or args.keys() != {"changes"}:
        raise _Unreadable("changes: must be a list, and the only argument")
    seen: set[str] = set()
    for number, fields in enumerate(listed):
        change = _change(fields, f"changes[{number}]", workspace, os.path.join(root, str(number)))
        if change.path in seen:
            raise _Unreadable(f"changes[{number}].path: {change.path!r} stands twice")
        seen.add(change.path)
        yield change


def _change(fields: object, at: str, workspace: str, staged: str) -> Change:
    if not isinstance(fields, dict) or not {"path", "kind"} <= fields.keys() <= _FIELDS:
        raise _Unreadable(f"{at}: must be an object with path, kind and, where wanted, mode, content, target")
    for name in ("path", "kind", "content", "target"):
        if fields.get(name) is not None and not isinstance(fields[name], str):
            raise _Unreadable(f"{at}.{name}: must be a string")
    if fields["kind"] not in list(ChangeKind):
        raise _Unreadable(f"{at}.kind: must be one of {_KINDS}")
    path, kind = _path(fields["path"] or "", at, workspace), ChangeKind(fields["kind"])
    content, target = fields.get("content"), fields.get("target")
    if content is not None and target is not None:
        raise _Unreadable(f"{at}: has content or a target, not both")
    folder = str(fields["path"]).endswith("/")
    node = Node.LINK if target is not None else Node.DIRECTORY if folder else Node.FILE
    size = 0
    if content is not None:
        size = _write(staged, content)
    mode = _mode(fields.get("mode"), f"{at}.mode")
    kept = staged if content is not None else None
    return Change(path, kind, node, mode, target, size, staged=kept)


def _path(text: str, at: str, workspace: str) -> str:
    """Relative to the workspace, as change sets name paths."""
    if not text or "\0" in text:
        raise _Unreadable(f"{at}.path: must name a file")
    full = posixpath.normpath(posixpath.join(workspace, text))
    path = posixpath.relpath(full, workspace)
    try:
        parts_of(path)
    except ValueError:
        raise _Outside(f"{text}: lies outside the workspace, where no change is applied") from None
    return path


def _mode(raw: object, at: str) -> int | None:
    """Permission bits: a number as it is, text as octal; the file type's bits of git and stat are dropped."""
    if raw is None:
        return None
    if isinstance(raw, str) and re.fullmatch(r"(0o?)?[0-7]{3,6}", raw):
        return int(raw.removeprefix("0o"), 8) & 0o7777
    if isinstance(raw, int) and not isinstance(raw, bool) and 0 <= raw <= 0o177777:
        return raw & 0o7777
    raise _Unreadable(f'{at}: must be permission bits, as a number or as octal text ("0755")')


def _write(path: str, content: str) -> int:
    data = content.encode("utf-8", "surrogatepass")
    with open(path, "xb") as file:
        return file.write(data)
