"""The system-call filter of every sandbox, as classic BPF made with `struct` alone (DESIGN §3.1).

It takes away what no build, test or interpreter needs and what past kernel escapes began with:
new namespaces, mounts, other processes' memory, kernel keyrings, bpf, io_uring, and every socket
family but unix, IPv4 and IPv6. What it cannot see (pointers) it refuses whole: `clone3` answers
ENOSYS, and every C library then falls back to `clone`, whose flags stand in a register.
"""

from __future__ import annotations

import errno
import functools
import platform
import struct
from dataclasses import dataclass, field
from typing import NamedTuple

from agent_security.errors import SandboxUnavailable
from agent_security.sandboxes.syscall_numbers import AARCH64, COMMON, EPERM_CALLS, X86_64

ALLOW, ERRNO, KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _ARG0, _ARG1 = 0, 4, 16, 24
"""Offsets in `struct seccomp_data`; arguments are read by their low word, as the kernel does here."""

NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET together."""
ALLOWED_FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET, AF_INET6. A list of what is allowed: vsock may lead to the machine's host."""
TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX push key strokes into a terminal."""


class Machine(NamedTuple):
    """One architecture: its audit number and its system-call numbers by name."""

    audit: int
    numbers: dict[str, int]


MACHINES = {
    "x86_64": Machine(0xC000003E, X86_64 | COMMON),
    "aarch64": Machine(0xC00000B7, AARCH64 | COMMON),
}


@dataclass
class _Program:
    """Instructions in order. Jumps count forward, from the next instruction."""

    code: list[tuple[int, int, int, int]] = field(default_factory=list)

    def load(self, offset: int) -> None:
        self.code.append((_LOAD, 0, 0, offset))

    def jump(self, test: int, value: int, if_true: int, if_false: int) -> None:
        self.code.append((test, if_true, if_false, value))

    def answer(self, action: int) -> None:
        self.code.append((_RETURN, 0, 0, action))

    def refuse_number(self, number: int, error: int) -> None:
        self.jump(_EQUAL, number, 0, 1)
        self.answer(ERRNO | error)

    def packed(self) -> bytes:
        return b"".join(struct.pack("<HBBI", *one) for one in self.code)


def filter_for(machine: str) -> bytes:
    """The filter for one architecture, ready for `bwrap --seccomp FD`.

    Raises SandboxUnavailable for an architecture whose numbers are not known here.
    """
    if machine not in MACHINES:
        known = ", ".join(sorted(MACHINES))
        raise SandboxUnavailable(f"no system-call filter for {machine!r}; known are {known}")
    audit, numbers = MACHINES[machine]
    program = _Program()
    _only_this_machine(program, audit)
    for name in EPERM_CALLS:
        if name in numbers:
            program.refuse_number(numbers[name], errno.EPERM)
    for name in ("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"):
        program.refuse_number(numbers[name], errno.ENOSYS)
    _no_new_namespaces(program, numbers["clone"])
    _listed_families(program, numbers["socket"])
    _no_terminal_input(program, numbers["ioctl"])
    program.answer(ALLOW)
    return program.packed()


@functools.cache
def filter_here() -> bytes:
    """The filter for the machine this process runs on."""
    return filter_for(platform.machine())


def _only_this_machine(program: _Program, audit: int) -> None:
    """32-bit calls carry other numbers, and so would slip through; they end the process."""
    program.load(_ARCH)
    program.jump(_EQUAL, audit, 1, 0)
    program.answer(KILL_PROCESS)
    program.load(_NUMBER)
    if audit == MACHINES["x86_64"].audit:
        program.jump(_AT_LEAST, 0x40000000, 0, 1)  # x32, a second table of numbers
        program.answer(ERRNO | errno.ENOSYS)


def _no_new_namespaces(program: _Program, clone: int) -> None:
    program.jump(_EQUAL, clone, 0, 4)
    program.load(_ARG0)
    program.jump(_ANY_BIT, NEW_NAMESPACES, 0, 1)
    program.answer(ERRNO | errno.EPERM)
    program.load(_NUMBER)


def _listed_families(program: _Program, socket: int) -> None:
    count = len(ALLOWED_FAMILIES)
    program.jump(_EQUAL, socket, 0, count + 3)
    program.load(_ARG0)
    for index, family in enumerate(ALLOWED_FAMILIES):
        program.jump(_EQUAL, family, count - index, 0)
    program.answer(ERRNO | errno.EAFNOSUPPORT)
    program.load(_NUMBER)


def _no_terminal_input(program: _Program, ioctl: int) -> None:
    program.jump(_EQUAL, ioctl, 0, 4)
    program.load(_ARG1)
    program.jump(_EQUAL, TERMINAL_INPUT[0], 1, 0)
    program.jump(_EQUAL, TERMINAL_INPUT[1], 0, 1)
    program.answer(ERRNO | errno.EPERM)
