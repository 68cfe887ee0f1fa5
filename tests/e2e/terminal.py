"""The program on a pseudo-terminal."""

from __future__ import annotations

import os
import subprocess

from .program import LINE, environment, wait_until


class Terminal:
    """The program on a pseudo-terminal; what it wrote is kept whole."""

    def __init__(self, *args: str) -> None:
        self._ours, theirs = os.openpty()
        os.set_blocking(self._ours, False)
        env = environment() | {"TERM": "dumb", "PROMPT_TOOLKIT_NO_CPR": "1"}
        self._process = subprocess.Popen(
            [*LINE, *args], stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True
        )
        os.close(theirs)
        self.shown = ""

    def _read(self) -> None:
        try:
            self.shown += os.read(self._ours, 65536).decode(errors="replace")
        except (BlockingIOError, OSError):
            return

    def _shows(self, text: str) -> bool:
        self._read()
        return text in self.shown

    def wait_for(self, text: str) -> None:
        wait_until(lambda: self._shows(text), text)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def ended(self) -> int:
        wait_until(lambda: (self._read(), self._process.poll() is not None)[1], "the end")
        return self._process.returncode

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._ours)
