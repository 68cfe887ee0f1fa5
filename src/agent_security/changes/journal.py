"""The journal: what will be done, on disk before it is done (DESIGN §3.2, D15).

One file a step, `journal/000001.jsonl`: a head, one line an operation, "go" and a sync; then the
operations; then "done" with what each left behind, and a sync. A file without "go" changed
nothing, one without "done" is finished or taken back by `recover()`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agent_security.changes.tree import State
from agent_security.changeset import Node
from agent_security.errors import ChangeError

VERSION = 1


@dataclass(frozen=True, slots=True)
class Op:
    """One path goes from `was` to `now`. `slot` holds whichever of the two is not in the workspace."""

    path: str
    was: State | None
    now: State | None
    slot: str
    """"000001/17": step and number, below `kept/`."""
    of: int = -1
    """For an undo: the number of the operation it takes back."""

    @property
    def compares(self) -> str:
        """What tells its states apart: content where bytes move, else mode, else the mere kind."""
        if self.slot:
            return "content"
        return "mode" if self.was is not None and self.now is not None else "kind"

    def inverse(self, number: int) -> Op:
        return Op(self.path, self.now, self.was, self.slot, number)


@dataclass(slots=True)
class Step:
    """One journal: an apply, an undo of one, or a redo of an undo."""

    number: int
    kind: str
    call_id: str
    ops: list[Op]
    ref: int = 0
    """The step that this one takes back, 0 for an apply."""
    group: int = 0
    """Steps that one rollback made share the first one's number."""
    at_ns: int = 0
    done: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Number of an operation carried out -> what stands there since (State.ident), () for nothing."""
    finished: bool = False
    taken_back: bool = False
    left: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """After it was taken back: path -> what stands there since."""


class Journal:
    """The step files of one folder, oldest first, cached."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.steps: dict[int, Step] = {}
        self.own: dict[str, tuple[int, ...]] = {}
        """Path -> State.ident of what we ourselves last left there, () for nothing."""
        os.makedirs(folder, mode=0o700, exist_ok=True)

    def load(self) -> None:
        """Read what other processes wrote since, and what was not finished then."""
        more = False
        for name in sorted(name for name in os.listdir(self._folder) if name.endswith(".jsonl")):
            number = int(name.partition(".")[0])
            known = self.steps.get(number)
            if known is None or not (known.finished or known.taken_back):
                try:
                    self.steps[number] = _read(self._path(number), number)
                except (ValueError, KeyError, TypeError) as error:
                    raise ChangeError(f"the journal cannot be read: {self._path(number)}") from error
                more = True
        if more:
            self.own = {}
            for _, step in sorted(self.steps.items()):
                self.own |= _left_by(step)

    def next_number(self) -> int:
        return max(self.steps, default=0) + 1

    def begin(self, step: Step) -> None:
        """Write the plan and sync it: from here on the step can be taken back."""
        head = {"v": VERSION, "step": step.number, "kind": step.kind, "call": step.call_id}
        head |= {"ref": step.ref, "group": step.group, "at_ns": step.at_ns}
        lines = [_line(head), *(_line(_op_fields(op)) for op in step.ops), _line({"go": len(step.ops)})]
        self._append(step.number, lines)
        _sync_folder(self._folder)
        self.steps[step.number] = step

    def finish(self, step: Step) -> None:
        """Write what was done and sync it: from here on the step stands."""
        self._append(step.number, [_line({"done": sorted(step.done.items())})])
        step.finished = True
        self.own |= _left_by(step)

    def take_back(self, step: Step, left: Mapping[str, tuple[int, ...]]) -> None:
        """Note that the step was taken back, counts for nothing, and left this behind."""
        self._append(step.number, [_line({"taken_back": sorted(left.items())})])
        step.done, step.taken_back, step.left = {}, True, dict(left)
        self.own |= left

    def pending(self) -> list[Step]:
        """Steps that a crash left unfinished, newest first."""
        open_ones = [s for s in self.steps.values() if not (s.finished or s.taken_back)]
        return sorted(open_ones, key=lambda step: -step.number)

    def standing(self) -> list[Step]:
        """Finished steps, oldest first."""
        return [step for _, step in sorted(self.steps.items()) if step.finished]

    def _path(self, number: int) -> str:
        return os.path.join(self._folder, f"{number:06}.jsonl")

    def _append(self, number: int, lines: Iterable[str]) -> None:
        fd = os.open(self._path(number), os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "ab") as file:
            _drop_torn_line(fd)
            file.write("".join(lines).encode("ascii"))
            file.flush()
            os.fsync(fd)


SNAPSHOT = "snapshot"
"""The kind of a step that only kept a file's bytes: its undo restores whatever stands there (§6.3)."""


def _left_by(step: Step) -> dict[str, tuple[int, ...]]:
    if step.kind == SNAPSHOT:
        return {}
    return {step.ops[number].path: ident for number, ident in sorted(step.done.items())} | step.left


def live(step: Step, standing: Iterable[Step]) -> set[int]:
    """The operations of a step that still stand: done, and not taken back by a later step."""
    steps = list(standing)
    numbers = set(step.done)
    for later in steps:
        if later.ref == step.number:
            numbers -= {later.ops[number].of for number in live(later, steps)}
    return numbers


def cancelled(step: Step, standing: Iterable[Step]) -> bool:
    """Whether a later step took this one back, and still stands itself."""
    steps = list(standing)
    return any(later.ref == step.number and not cancelled(later, steps) for later in steps)


# --- the lines ------------------------------------------------------------------------------------


def _line(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, separators=(",", ":")) + "\n"


def _op_fields(op: Op) -> dict[str, Any]:
    return {"op": [op.path, _pack(op.was), _pack(op.now), op.slot, op.of]}


def _pack(state: State | None) -> list[Any] | None:
    if state is None:
        return None
    return [str(state.node), state.mode, state.size, state.target, state.digest, state.ident, state.owner]


def _unpack(fields: list[Any] | None) -> State | None:
    if fields is None:
        return None
    node, mode, size, target, digest, ident, owner = fields
    return State(Node(node), mode, size, target, digest, tuple(ident), (owner[0], owner[1]))


def _read(path: str, number: int) -> Step:
    step = Step(number, "apply", "", [], finished=False)
    going = False
    with open(path, "rb") as file:
        for line in file.read().split(b"\n")[:-1]:
            going = _read_line(step, json.loads(line)) or going
    if not going:  # the plan itself was cut short: nothing was touched
        step.taken_back = True
    return step


def _read_line(step: Step, fields: Mapping[str, Any]) -> bool:
    if "op" in fields:
        path, was, now, slot, of = fields["op"]
        step.ops.append(Op(path, _unpack(was), _unpack(now), slot, of))
    elif "v" in fields:
        step.kind, step.call_id, step.ref = fields["kind"], fields["call"], fields["ref"]
        step.group, step.at_ns = fields["group"], fields["at_ns"]
    elif "done" in fields:
        step.done = {number: tuple(ident) for number, ident in fields["done"]}
        step.finished = True
    elif "taken_back" in fields:
        step.done, step.taken_back, step.finished = {}, True, False
        step.left = {path: tuple(ident) for path, ident in fields["taken_back"]}
    return "go" in fields


def settled(op: Op, ident: tuple[int, ...]) -> Op:
    """The operation with what it really left behind."""
    return replace(op, now=replace(op.now, ident=ident)) if op.now is not None and ident else op


def _drop_torn_line(fd: int) -> None:
    """Cut off what a crash or a full disk left of an unfinished last line: nothing may follow it."""
    size = os.fstat(fd).st_size
    if size and os.pread(fd, 1, size - 1) != b"\n":
        whole = os.pread(fd, size, 0).rfind(b"\n") + 1
        os.ftruncate(fd, whole)


def _sync_folder(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
