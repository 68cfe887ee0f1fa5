"""Read a script of `ScriptedProvider` and say exactly what is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent_security.errors import UsageError

Turn = Mapping[str, Any]
"""One turn; its keys are those of `_KEYS`."""

_KEYS = ("say", "call", "calls", "raw", "when", "else", "finish_reason", "usage")
_ACTS = ("say", "call", "calls", "raw")
_MAX_SCRIPT_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Script:
    turns: list[Turn]
    model: str = ""


def read_script(path: str) -> Script:
    """A script from a YAML or JSON file. Raises UsageError naming the file and what is wrong with it."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_MAX_SCRIPT_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise UsageError(f"{path}: the script cannot be read: {why}") from None
    data = _parsed(path, text)
    if isinstance(data, list):
        data = {"turns": data}
    if not isinstance(data, dict) or not isinstance(data.get("turns"), list):
        raise UsageError(f"{path}: a script is a list of turns, or a mapping with `turns:`")
    if unknown := sorted(set(map(str, data)) - {"turns", "model"}):
        raise UsageError(f"{path}: unknown key {unknown[0]!r}; a script has `turns` and `model`")
    for number, turn in enumerate(data["turns"], 1):
        check_turn(turn, f"{path}: turn {number}")
    return Script(data["turns"], str(data.get("model") or ""))


def _parsed(path: str, text: str) -> Any:
    try:
        if path.endswith(".json"):
            return json.loads(text)
        import yaml  # only scripts need it

        return yaml.safe_load(text)
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply") from None
    except Exception as error:  # yaml.YAMLError, whose module is not imported for JSON
        if isinstance(error, ValueError) or type(error).__module__.startswith("yaml"):
            raise UsageError(f"{path}: {' '.join(str(error).split())}") from None
        raise


def check_turn(turn: object, where: str) -> None:
    """Raises UsageError, which starts with `where`, for a turn that cannot be played."""
    if not isinstance(turn, Mapping):
        raise UsageError(f"{where}: a turn is a mapping with one of {', '.join(_ACTS)}")
    if unknown := [key for key in turn if key not in _KEYS]:
        raise UsageError(f"{where}: unknown key {unknown[0]!r}; a turn has {', '.join(_KEYS)}")
    if not any(act in turn for act in _ACTS):
        raise UsageError(f"{where}: nothing to do; give one of {', '.join(_ACTS)}")
    _check_calls(turn, where)
    if "raw" in turn and not isinstance(turn["raw"], Mapping):
        raise UsageError(f"{where}: `raw` is an assistant message, so a mapping")
    if "when" in turn:
        try:
            re.compile(turn["when"])
        except (re.error, TypeError) as error:
            raise UsageError(f"{where}: `when` is no regular expression: {error}") from None
    if "else" in turn:
        check_turn(turn["else"], f"{where}, else")


def _check_calls(turn: Turn, where: str) -> None:
    if "call" in turn and "calls" in turn:
        raise UsageError(f"{where}: give `call` or `calls`, not both")
    calls = [turn["call"]] if "call" in turn else turn.get("calls", [])
    if not isinstance(calls, list):
        raise UsageError(f"{where}: `calls` is a list of {{tool: {{argument: value}}}}")
    for call in calls:
        if not (isinstance(call, Mapping) and len(call) == 1 and all(isinstance(name, str) for name in call)):
            raise UsageError(f"{where}: a call is {{tool: {{argument: value}}}}, one tool each")
        if not isinstance(next(iter(call.values())), Mapping | str | None):
            raise UsageError(f"{where}: the arguments of {next(iter(call))} are a mapping")
