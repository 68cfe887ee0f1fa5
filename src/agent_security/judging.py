"""Judge a call without a session: for `check`, `explain`, a hook or a library user (DESIGN §2).

The same gates, the same tables; only what a session would remember (what was read, which plan is
approved) is empty. Nothing here runs, resolves or asks.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache

from agent_security.calls import Mode
from agent_security.changes import EffectLimits
from agent_security.errors import UsageError
from agent_security.paths import Scope
from agent_security.permissions import Rules
from agent_security.ports import Resolver
from agent_security.provenance import Provenance
from agent_security.session import JudgeContext
from agent_security.tools.registry import TOOLS, ToolSpec
from agent_security.tools.validators import ToolValidator

__all__ = ["judge_context_for"]


def judge_context_for(
    cwd: str,
    home: str = "",
    mode: Mode | str = Mode.DEFAULT,
    *,
    goals: Sequence[str] = (),
    scratchpad: str = "",
    rules: Rules | None = None,
    resolver: Resolver | None = None,
    open_hosts: Sequence[str] = (),
    added_dirs: Sequence[str] = (),
    permitted_binaries: frozenset[str] = frozenset(),
    tools: Mapping[str, ToolSpec] | None = None,
    sandboxed: str = "ask",
    wall_proven: bool = False,
    runs_later: str = "ask",
    limits: EffectLimits | None = None,
) -> JudgeContext:
    """What the gates may know of a call that belongs to no session.

    `cwd` is the workspace, `home` "" the person's own. `resolver` None judges names by their letters.
    Raises UsageError for a mode that does not exist or a workspace that is not absolute.
    """
    if not cwd.startswith("/") or "\0" in cwd:
        raise UsageError(f"the workspace must be an absolute path, not {cwd!r}")
    provenance = Provenance()
    for goal in goals:
        provenance.note_person(goal)
    scope = Scope(
        working_dir=os.path.realpath(cwd),
        home=home,
        added_dirs=tuple(os.path.realpath(folder) for folder in added_dirs),
        permitted_binaries=permitted_binaries,
        open_hosts=tuple(open_hosts),
        resolver=resolver,
    )
    return JudgeContext(
        tools=TOOLS if tools is None else tools,
        validator=_builtin_validator() if tools is None else _validator(tools),
        scope=scope,
        mode=_mode(mode),
        goals=tuple(goals),
        scratchpad=scratchpad,
        rules=rules or Rules(),
        provenance=provenance,
        sandboxed=sandboxed,
        wall_proven=wall_proven,
        runs_later=runs_later,
        limits=limits or EffectLimits(),
    )


def _mode(mode: Mode | str) -> Mode:
    try:
        return Mode(mode)
    except ValueError as error:
        raise UsageError(f"no mode is called {mode!r}; there are {', '.join(Mode)}") from error


def _validator(tools: Mapping[str, ToolSpec]) -> ToolValidator:
    return ToolValidator({name: spec.parameters for name, spec in tools.items()})


@lru_cache(maxsize=1)
def _builtin_validator() -> ToolValidator:
    return _validator(TOOLS)
