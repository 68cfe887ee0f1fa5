"""What a sandbox said, in bounded memory, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field

HEAD_BYTES = TAIL_BYTES = 256 * 1024
"""Kept of an output: its beginning and its end. Well above what the model is shown, so that
redaction sees every byte around the later cut."""


@dataclass
class Kept:
    """The head and tail of a stream of any length, in bounded memory."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    total: int = 0

    def add(self, chunk: bytes) -> None:
        self.total += len(chunk)
        room = HEAD_BYTES - len(self.head)
        if room > 0:
            self.head += chunk[:room]
            chunk = chunk[room:]
        self.tail += chunk
        if len(self.tail) > 2 * TAIL_BYTES:
            del self.tail[:-TAIL_BYTES]

    def text(self) -> str:
        """Bytes that are not UTF-8 become U+FFFD; what was left out is said."""
        tail = self.tail[-TAIL_BYTES:]
        left_out = self.total - len(self.head) - len(tail)
        if left_out <= 0:
            return (self.head + tail).decode("utf-8", "replace")
        middle = f"\n[… {left_out} bytes left out …]\n"
        return self.head.decode("utf-8", "replace") + middle + tail.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Finished:
    """How a sandbox ended. `exit_code` is the shell's: 128 and the signal for one that was killed."""

    exit_code: int
    output: Kept

    @property
    def signal(self) -> int:
        return self.exit_code - 128 if 128 < self.exit_code < 193 else 0
