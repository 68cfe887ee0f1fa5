"""The loopback server is a program of its own, so it is loaded from its file."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agent_security.session import Session

from .fakes import session_in

SERVER_FILE = Path(__file__).parents[1] / "loopback" / "server.py"


def load_server() -> ModuleType:
    name = "loopback_server"
    if name not in sys.modules:
        sys.path.append(str(SERVER_FILE.parent))  # as a program it has its own folder there
        spec = importlib.util.spec_from_file_location(name, SERVER_FILE)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture
def loopback() -> Iterator[Any]:
    """Starts a loopback server for a list of acts; all of them are stopped at the end."""
    started = []

    def start(*acts: Any) -> Any:
        server = load_server().LoopbackServer(acts)
        started.append(server.__enter__())
        return server

    yield start
    for server in started:
        server.__exit__()


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return session_in(str(tmp_path))
