"""The line editor of the terminal session: history, completion of slash commands, several lines."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, get_app
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from agent_security.frontends.slash import SLASHES
from agent_security.settings import state_dir
from agent_security.wiring.workspace import private_folder

ReadLine = Callable[[], str]
"""The person's next message. Raises EOFError at the end, KeyboardInterrupt for Ctrl-C."""

_LOOK_S = 0.2


def prompt_reader(leave: Callable[[], bool]) -> ReadLine:
    """Reads a message; ends as at the end of input once `leave()` is true (SIGTERM while it waits)."""
    reader: PromptSession[str] = PromptSession(
        "> ",
        history=FileHistory(str(_history_file())),
        completer=WordCompleter([row.name for row in SLASHES], sentence=True),
        complete_while_typing=False,
        key_bindings=_keys(),
    )

    def start_watching() -> None:
        threading.Thread(target=_watch, args=(get_app(), leave), name="prompt-watch", daemon=True).start()

    return lambda: reader.prompt(pre_run=start_watching)


def _watch(app: Application[Any], leave: Callable[[], bool]) -> None:
    """End the prompt from outside its loop, once."""

    def end() -> None:
        if app.is_running and not app.is_done:
            app.exit(exception=EOFError)

    while app.is_running:
        if leave() and app.loop is not None:
            app.loop.call_soon_threadsafe(end)
            return
        time.sleep(_LOOK_S)


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys


def _history_file() -> Path:
    """Kept beside the sessions, readable by the person alone."""
    path = private_folder(Path(state_dir())) / "history"
    path.touch(mode=0o600, exist_ok=True)
    path.chmod(0o600)
    return path
