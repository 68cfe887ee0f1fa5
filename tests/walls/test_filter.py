"""The system-call filter, run by a small interpreter, so that both architectures are judged on one."""

from __future__ import annotations

import platform
import struct

import pytest

from agent_security.errors import SandboxUnavailable
from agent_security.sandboxes import seccomp

# --- the filter, for both architectures -----------------------------------------------------------------


def _judge(program: bytes, audit: int, number: int, args: tuple[int, ...] = ()) -> int:
    """Run a classic BPF program over one system call, as the kernel would."""
    data = struct.pack("<iIQ6Q", number, audit, 0, *(args + (0,) * (6 - len(args))))
    code = [struct.unpack_from("<HBBI", program, offset) for offset in range(0, len(program), 8)]
    accumulator = at = 0
    while True:
        operation, if_true, if_false, value = code[at]
        at += 1
        if operation == 0x06:
            return int(value)
        if operation == 0x20:
            accumulator = struct.unpack_from("<I", data, value)[0]
            continue
        holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[
            operation
        ]
        at += if_true if holds else if_false


ALLOWED, EPERM, ENOSYS, NO_FAMILY = 0x7FFF0000, 0x50001, 0x50026, 0x50061


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_judges_every_listed_call_on_both_architectures(machine: str) -> None:
    program = seccomp.filter_for(machine)
    audit, numbers = seccomp.MACHINES[machine]
    for name in seccomp.EPERM_CALLS:
        if name in numbers:
            assert _judge(program, audit, numbers[name]) == EPERM, name
    for name in ("clone3", "io_uring_setup"):
        assert _judge(program, audit, numbers[name]) == ENOSYS
    assert _judge(program, audit, 0) == ALLOWED
    assert _judge(program, audit ^ 0x40000000, 0) == 0x80000000


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("socket", (1, 1), ALLOWED),
        ("socket", (2, 1), ALLOWED),
        ("socket", (10, 1), ALLOWED),
        ("socket", (40, 1), NO_FAMILY),
        ("socket", (16, 3), NO_FAMILY),
        ("socket", (1 << 32 | 40, 1), NO_FAMILY),
        ("clone", (0x11,), ALLOWED),
        ("clone", (0x3D0F00,), ALLOWED),
        ("clone", (0x10000011,), EPERM),
        ("clone", (0x20011,), EPERM),
        ("ioctl", (0, 0x5401), ALLOWED),
        ("ioctl", (0, 0x5412), EPERM),
        ("ioctl", (0, 0xFFFF_FFFF_0000_5412), EPERM),
        ("ioctl", (0, 0x541C), EPERM),
    ],
)
def test_the_filter_looks_at_arguments(machine: str, name: str, args: tuple[int, ...], expected: int) -> None:
    program = seccomp.filter_for(machine)
    audit, numbers = seccomp.MACHINES[machine]
    assert _judge(program, audit, numbers[name], args) == expected


def test_the_second_table_of_x86_64_is_closed() -> None:
    assert _judge(seccomp.filter_for("x86_64"), 0xC000003E, 0x40000000) == ENOSYS


def test_an_unknown_architecture_is_refused() -> None:
    with pytest.raises(SandboxUnavailable):
        seccomp.filter_for("pdp11")
    assert seccomp.filter_for(platform.machine()) if platform.machine() in seccomp.MACHINES else True
