"""Whatever stands in a settings file, a variable or a rule: it is read, or refused with a SettingsError."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_security.errors import SettingsError
from agent_security.paths import Scope
from agent_security.permissions import Rules, parse_rule
from agent_security.settings import KEYS, RULE_KEYS, Settings, load_settings

NAMES = st.sampled_from([*KEYS, *RULE_KEYS, "ceiling.modes", "ceiling.require", "ceiling.max_turns", "nope"])
VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    | st.sampled_from(["ci", "allow", "auto", "10m", "Bash(ls:*)", "@pypi", "~/x", "fs"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["rule", "match", "not_match", "x"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
WORDS = st.text(alphabet="BashReadEditWebFetch()*:/.~@!#[]{}\\ $'\"\n\0=-,domainsha256", max_size=60)


def toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + "}"
    return '"none"' if value is None else json.dumps(value).replace("NaN", "nan").replace("Infinity", "inf")


def load(flags: dict[str, Any] | None = None, env: dict[str, str] | None = None, **files: bytes) -> None:
    """Settings come out, or a SettingsError of one line; nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / f"{name}.toml" for name in ("managed", "user")}
        project = Path(folder) / "project"
        project.mkdir()
        paths["project"] = project / ".agent-security.toml"
        for name, data in files.items():
            paths[name].write_bytes(data)
        with contextlib.suppress(SettingsError):
            found = load_settings(
                flags=flags or {},
                workspace=str(project),
                env={"HOME": folder} | (env or {}),
                user_file=str(paths["user"]),
                managed_file=str(paths["managed"]),
            )
            assert isinstance(found, Settings)
            assert len(found.digest) == 64


@given(st.binary(max_size=200), st.sampled_from(["managed", "user", "project"]))
def test_any_bytes_as_a_file(data: bytes, level: str) -> None:
    load(**{level: data})


@given(st.dictionaries(NAMES, VALUES, max_size=5), st.sampled_from(["managed", "user", "project"]))
def test_any_value_of_any_key(values: dict[str, Any], level: str) -> None:
    text = "\n".join(f"{name} = {toml(value)}" for name, value in values.items())
    load(**{level: text.encode("utf-8", "replace")})


@given(st.sampled_from([key.env for key in KEYS.values() if key.env]), st.text(max_size=40))
def test_any_variable(name: str, value: str) -> None:
    load(env={name: value})


@given(st.dictionaries(st.sampled_from(list(KEYS)), VALUES, max_size=4))
def test_any_flag(flags: dict[str, Any]) -> None:
    load(flags)


@given(WORDS | st.text(max_size=60), st.sampled_from(["allow", "ask", "deny", "x"]), WORDS)
def test_any_rule_is_read_or_refused_and_then_judges(text: str, action: str, other: str) -> None:
    with contextlib.suppress(SettingsError):
        rule = parse_rule(text, action, "fuzz")
        scope = Scope("/nonexistent/workspace", home="/nonexistent/home")
        for tool, args in (("run_bash", {"command": other}), ("read_file", {"path": other})):
            Rules(**{action: (rule,)}).first(action, tool, args, scope)  # type: ignore[arg-type]
