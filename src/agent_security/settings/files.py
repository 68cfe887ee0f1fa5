"""Read one level's settings: a TOML file, the variables, or the command line's values.

Everything a level says is checked against the table here, so that a message names the file, flag
or variable it came from. A project's file is hostile data: it is read through descriptors that
follow no link, bounded, and may only tighten.
"""

from __future__ import annotations

import difflib
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_security.descriptors import open_root, read_regular
from agent_security.errors import SettingsError
from agent_security.settings.keys import CEILINGS, ENV_PREFIX, KEYS, RULE_KEYS, Key, Level

PROJECT_FILE = ".agent-security.toml"
MAX_FILE_BYTES = 256 * 1024
_RESERVED_ENV = frozenset({f"{ENV_PREFIX}STATE", f"{ENV_PREFIX}DEBUG"})
_MAY_NOT = "a project's file may only hold permissions.deny, permissions.ask, fewer tools and lower limits"


@dataclass(frozen=True, slots=True)
class RuleText:
    """One rule as written; permissions.parse_rule reads it. `match` and `not_match` are examples
    (calls written like rules) that are checked at load."""

    text: str
    action: str
    source: str
    match: tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Layer:
    """What one level says. `names` maps a key to what the person would call it there."""

    level: Level
    source: str
    values: Mapping[str, Any] = field(default_factory=dict)
    rules: tuple[RuleText, ...] = ()
    ceiling: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def name_of(self, key: str) -> str:
        """`--mode`, `AGENT_SECURITY_MODE`, or `config.toml: mode`."""
        return self.names.get(key, f"{self.source}: {key}")


# --- files --------------------------------------------------------------------------------------


def project_layer(workspace: str) -> Layer:
    """The project's file; an empty layer where there is none."""
    root_fd = -1
    where = f"{workspace.rstrip('/')}/{PROJECT_FILE}"
    try:
        root_fd = open_root(workspace)
        data = read_regular(root_fd, PROJECT_FILE, MAX_FILE_BYTES)
    except FileNotFoundError:
        return Layer(Level.PROJECT, where)
    except (OSError, ValueError) as error:
        raise SettingsError(f"{where}: not read: {_why(error)}") from error
    finally:
        if root_fd >= 0:
            os.close(root_fd)
    return _file_layer(data, where, Level.PROJECT, home="")


def file_layer(path: str, level: Level, home: str, *, must_exist: bool = False) -> Layer:
    """The user's or the managed file; an empty layer where there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError("not a regular file")
            data = file.read(MAX_FILE_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        if must_exist:
            raise SettingsError(f"{path}: no such file") from error
        return Layer(level, path)
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: not read: {_why(error)}") from error
    if len(data) > MAX_FILE_BYTES:
        raise SettingsError(f"{path}: larger than {MAX_FILE_BYTES} bytes")
    return _file_layer(data, path, level, home)


def check_text(text: str, where: str) -> None:
    """Raises SettingsError where this text would not load as the user's file."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > MAX_FILE_BYTES:
        raise SettingsError(f"{where}: larger than {MAX_FILE_BYTES} bytes")
    _file_layer(data, where, Level.USER, home="/nonexistent")


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _file_layer(data: bytes, where: str, level: Level, home: str) -> Layer:
    text, tree = _parse(data, where)
    ceiling = tree.pop("ceiling", {}) if level is Level.MANAGED else {}
    values: dict[str, Any] = {}
    rules: list[RuleText] = []
    for name, raw in _flat(tree):
        at = f"{where}{_line_of(text, name)}: {name}"
        if name in RULE_KEYS:
            rules += _rules(raw, name.rpartition(".")[2], level, where, at)
        else:
            values[name] = _value(_key_for(name, level, at), raw, level, home, at)
    return Layer(level, where, values, tuple(rules), _ceiling(ceiling, where))


def _parse(data: bytes, where: str) -> tuple[str, dict[str, Any]]:
    try:
        text = data.decode("utf-8")
        return text, tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SettingsError(f"{where}: line {line}: not UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).partition(" (at ")
        line_found = re.match(r"line (\d+)", place)
        line = int(line_found[1]) if line_found else text.count("\n") + 1
        raise SettingsError(f"{where}: line {line}: {what}") from error
    except (RecursionError, ValueError) as error:
        raise SettingsError(f"{where}: cannot be read as TOML ({type(error).__name__})") from error


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """`{"shell": {"permit": …}}` as `("shell.permit", …)`."""
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _line_of(text: str, name: str) -> str:
    """` line 12`, where the key's last part is first written; "" where it cannot be told."""
    part = re.escape(name.rpartition(".")[2])
    found = re.search(rf"^[ \t]*(?:[\w.\"'-]*\.)?[\"']?{part}[\"']?[ \t]*=", text, re.MULTILINE)
    return f": line {text.count(chr(10), 0, found.start()) + 1}" if found else ""


def _key_for(name: str, level: Level, at: str) -> Key:
    key = KEYS.get(name)
    if key is None:
        raise SettingsError(f"{at}: no such key{nearest(name, [*KEYS, *RULE_KEYS])}")
    if level not in key.levels:
        only = " or ".join(str(allowed) for allowed in Level if allowed in key.levels)
        why = _MAY_NOT if level is Level.PROJECT else f"may be set by {only} only"
        raise SettingsError(f"{at}: {why}")
    return key


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean max_turns?`, or "" where nothing is near."""
    spelled = {word.lower().replace("-", "_"): word for word in known}
    leaves = {word.rpartition(".")[2]: word for word in spelled.values()}
    wanted = name.lower().replace("-", "_")
    found = difflib.get_close_matches(wanted, [*spelled, *leaves], n=1, cutoff=0.6)
    return f"; did you mean {spelled.get(found[0]) or leaves[found[0]]}?" if found else ""


def _value(key: Key, raw: object, level: Level, home: str, at: str) -> Any:
    try:
        value = key.kind.parse(raw)
        return _absolute(value, level, home) if key.kind.paths else value
    except ValueError as error:
        raise SettingsError(f"{at}: {error}") from error


def _absolute(value: Any, level: Level, home: str) -> Any:
    """Paths of the command line are relative to where it was typed; a file's must say where."""
    if isinstance(value, tuple):
        return tuple(_absolute(path, level, home) for path in value)
    if value == "~" or value.startswith("~/"):
        value = home + value[1:]
    if value and level is Level.FLAG:
        return os.path.abspath(value)
    if value and not os.path.isabs(value):
        raise ValueError(f"{value!r} is not an absolute path")
    return value


def _rules(raw: object, action: str, level: Level, source: str, at: str) -> Iterator[RuleText]:
    if level is Level.PROJECT and action == "allow":
        raise SettingsError(f"{at}: {_MAY_NOT}")
    if not isinstance(raw, list):
        raise SettingsError(f"{at}: not a list of rules")
    for item in raw:
        table = {"rule": item} if isinstance(item, str) else item
        if not isinstance(table, dict) or not isinstance(table.get("rule"), str):
            raise SettingsError(
                f'{at}: a rule is a text, or a table {{rule = "…", match = […], not_match = […]}}'
            )
        if extra := table.keys() - {"rule", "match", "not_match"}:
            raise SettingsError(f"{at}: no such key in a rule: {min(extra)}")
        examples = [_texts(table.get(name, []), f"{at}: {name}") for name in ("match", "not_match")]
        yield RuleText(table["rule"], action, f"{level}: {source}", *examples)


def _texts(raw: object, at: str) -> tuple[str, ...]:
    if not isinstance(raw, list) or not all(isinstance(item, str) for item in raw):
        raise SettingsError(f"{at}: not a list of texts")
    return tuple(raw)


def _ceiling(raw: object, where: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise SettingsError(f"{where}: ceiling: not a table")
    found: dict[str, Any] = {}
    for name, value in raw.items():
        at = f"{where}: ceiling.{name}"
        if name not in CEILINGS:
            raise SettingsError(f"{at}: no such key{nearest(name, CEILINGS)}")
        try:
            found[name] = CEILINGS[name].parse(value)
        except ValueError as error:
            raise SettingsError(f"{at}: {error}") from error
    return found


# --- variables and the command line ---------------------------------------------------------------


def env_layer(env: Mapping[str, str], home: str) -> Layer:
    """`AGENT_SECURITY_*`, and `OPENAI_BASE_URL` as elsewhere. An unknown one is an error: a limit
    that somebody believes in must not be silently missing. Empty counts as not set."""
    by_name = {key.env: key for key in KEYS.values() if key.env}
    values: dict[str, Any] = {}
    names: dict[str, str] = {}
    given = {n: v for n, v in env.items() if n.startswith(ENV_PREFIX) and v and n not in _RESERVED_ENV}
    if env.get("OPENAI_BASE_URL") and KEYS["provider.base_url"].env not in given:
        by_name["OPENAI_BASE_URL"] = KEYS["provider.base_url"]
        given["OPENAI_BASE_URL"] = env["OPENAI_BASE_URL"]
    for name, raw in given.items():
        if name not in by_name:
            raise SettingsError(f"{name}: no such variable{nearest(name, by_name)}")
        key = by_name[name]
        values[key.name] = _value(key, raw, Level.ENV, home, name)
        names[key.name] = name
    return Layer(Level.ENV, "environment", values, names=names)


def flag_layer(flags: Mapping[str, object], home: str) -> Layer:
    """The command line's values, by key, field or flag name. None and an empty list: not given."""
    by_name = {word: key for key in KEYS.values() for word in (key.parameter, key.field, key.name) if word}
    values: dict[str, Any] = {}
    names: dict[str, str] = {}
    for name, raw in flags.items():
        if raw is None or raw == () or raw == []:
            continue
        key = by_name.get(name)
        if key is None:
            raise SettingsError(f"{name}: no such setting{nearest(name, KEYS)}")
        at = key.option or key.name
        if Level.FLAG not in key.levels:
            raise SettingsError(f"{at}: may not be set on the command line")
        values[key.name] = _value(key, raw, Level.FLAG, home, at)
        names[key.name] = at
    return Layer(Level.FLAG, "command line", values, names=names)
