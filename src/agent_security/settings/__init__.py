"""Settings of one run: typed values, where each came from, and the rules of all levels (CONTRACTS §6).

    managed.toml > command line > AGENT_SECURITY_* > user's config.toml > project's .agent-security.toml

This module and secret_management.py are the only ones that read the environment.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pwd
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from agent_security.errors import SettingsError
from agent_security.settings.files import RuleText, env_layer, file_layer, flag_layer, project_layer
from agent_security.settings.keys import CEILINGS, ENV_PREFIX, KEYS, PROFILES, RULE_KEYS, Key, Level
from agent_security.settings.merge import merge, within

__all__ = [
    "CEILINGS",
    "KEYS",
    "MANAGED_FILE",
    "PROFILES",
    "RULE_KEYS",
    "Key",
    "Level",
    "ProviderEnv",
    "RuleText",
    "Settings",
    "home_dir",
    "load_settings",
    "no_color",
    "provider_env",
    "state_dir",
    "terminal_size",
    "user_settings_file",
]

MANAGED_FILE = "/etc/agent-security/managed.toml"


@dataclass(frozen=True, slots=True)
class Settings:
    """Every key's value; `Settings()` is the shipped defaults and reads nothing."""

    working_dir: str = ""
    headless: bool = False
    output_format: str = "text"
    continue_newest: bool = False
    resume: str = ""
    context: tuple[str, ...] = ()
    artifacts: str = ""
    settings: str = ""
    mode: str = "default"
    profile: str = ""
    tools: tuple[str, ...] = ()
    """Tool names, () for all. Whether they exist is for the registry to say."""
    approve_plan: bool = False
    permissions_sandboxed: str = "ask"
    permissions_runs_later: str = "ask"
    shell_permit: tuple[str, ...] = ()
    sandbox: str = "auto"
    require: tuple[str, ...] = ()
    add_dir: tuple[str, ...] = ()
    allow_domain: tuple[str, ...] = ()
    apply: str = "auto"
    changes_deletions: int = 20
    changes_untracked_deletions: int = 0
    changes_max_files: int = 100_000
    changes_max_bytes: int = 4 * 1024**3
    changes_max_file_bytes: int = 1024**3
    tool_timeout: float = 120.0
    llm_timeout: float = 120.0
    max_turns: int = 40
    max_tool_calls: int = 200
    max_context_tokens: int | str = 24_000
    """Tokens, or "auto"."""
    max_cost_usd: float = 5.0
    deadline: float | None = None
    """Seconds, or None for no end."""
    provider_model: str = ""
    provider_base_url: str = ""
    provider_api_key_env: str = "OPENAI_API_KEY"
    price_in: float = 0.0
    price_out: float = 0.0
    audit_log: str = ""
    rollback_keep_days: int = 7
    rules: tuple[RuleText, ...] = ()
    """Rules of all levels; permissions.py reads and orders them."""
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Key -> who set it: a file's path, "command line", "environment", "profile ci", "default"."""

    @classmethod
    def load(cls, *, flags: Mapping[str, object] | None = None, workspace: str | None = None) -> Settings:
        """As `load_settings`, with this machine's files and environment (CONTRACTS §7)."""
        return load_settings(flags=flags or {}, workspace=workspace)

    @property
    def digest(self) -> str:
        """SHA-256 over every value and rule, for the log."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("rules", "sources")}
        rules = [(rule.action, rule.text) for rule in self.rules]
        text = json.dumps([values, rules], sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def load_settings(
    *,
    flags: Mapping[str, object],
    workspace: str | None,
    env: Mapping[str, str] | None = None,
    user_file: str | None = None,
    managed_file: str | None = None,
) -> Settings:
    """The settings of a run. None stands for this machine's own environment and files.

    `flags` maps a key, field or flag name to its value; None and () mean: not given. Raises
    SettingsError with one line that names the file, flag or variable.
    """
    env = os.environ if env is None else env
    home = str(home_dir(env))
    given = flag_layer(flags, home)
    own = _user_path(given.values.get("settings", ""), user_file, env, workspace)
    layers = [
        file_layer(managed_file or MANAGED_FILE, Level.MANAGED, home),
        given,
        env_layer(env, home),
        file_layer(own, Level.USER, home, must_exist=bool(given.values.get("settings"))),
    ]
    if workspace is not None:
        layers.append(project_layer(workspace))
    values, sources = merge(layers)
    found = Settings(
        **{KEYS[name].field: value for name, value in values.items()},
        rules=tuple(rule for layer in layers for rule in layer.rules),
        sources=sources,
    )
    _keep_log_out(found, workspace, given.name_of("audit.log"))
    return found


def _user_path(named: str, user_file: str | None, env: Mapping[str, str], workspace: str | None) -> str:
    """The user's file, or the one `--settings` names; never one the model can write."""
    if named and workspace is not None and within(named, workspace):
        raise SettingsError("--settings: lies in the workspace, where the model can change it")
    return named or user_file or str(user_settings_file(env))


def _keep_log_out(found: Settings, workspace: str | None, name: str) -> None:
    """No log inside what the model sees or changes (CONTRACTS §5)."""
    for folder in (workspace, *found.add_dir):
        if found.audit_log and folder and within(found.audit_log, folder):
            raise SettingsError(f"{name}: the log may not lie in the workspace or an added folder")


# --- the environment ------------------------------------------------------------------------------


def home_dir(env: Mapping[str, str] | None = None) -> Path:
    """The person's home: HOME where it is absolute, else the password database's."""
    home = (os.environ if env is None else env).get("HOME", "")
    return Path(home) if os.path.isabs(home) else Path(pwd.getpwuid(os.geteuid()).pw_dir)


def user_settings_file(env: Mapping[str, str] | None = None) -> Path:
    """`~/.config/agent-security/config.toml`, or under XDG_CONFIG_HOME."""
    return _xdg("XDG_CONFIG_HOME", ".config", env) / "agent-security" / "config.toml"


def state_dir(env: Mapping[str, str] | None = None) -> Path:
    """Where sessions are kept: AGENT_SECURITY_STATE, or the platform's state directory.

    Raises SettingsError for a relative AGENT_SECURITY_STATE: it would follow the working directory.
    """
    own = (os.environ if env is None else env).get(f"{ENV_PREFIX}STATE", "")
    if own and not os.path.isabs(own):
        raise SettingsError(f"{ENV_PREFIX}STATE: {own!r} is not an absolute path")
    if own:
        return Path(own)
    if sys.platform == "linux":
        return _xdg("XDG_STATE_HOME", ".local/state", env) / "agent-security"
    from platformdirs import user_state_path  # slow to import, and not needed on Linux

    return user_state_path("agent-security", appauthor=False)


def _xdg(variable: str, default: str, env: Mapping[str, str] | None) -> Path:
    """A base directory; a relative one is ignored, as the XDG specification says."""
    named = (os.environ if env is None else env).get(variable, "")
    return Path(named) if os.path.isabs(named) else home_dir(env) / default


@dataclass(frozen=True, slots=True)
class ProviderEnv:
    """What the environment says about the model's endpoint. The key is in no repr."""

    base_url: str = ""
    api_key: str = field(default="", repr=False)
    proxy: str = field(default="", repr=False)
    """For requests to the provider only; it may carry a password."""
    ca_file: str = ""


def provider_env(env: Mapping[str, str] | None = None, *, key_name: str = "OPENAI_API_KEY") -> ProviderEnv:
    """OPENAI_BASE_URL, the key from `key_name`, HTTPS_PROXY and SSL_CERT_FILE, "" where unset."""
    env = os.environ if env is None else env
    names = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
    proxy = next((env[name] for name in names if env.get(name)), "")
    key = env.get(key_name, "").strip()
    return ProviderEnv(env.get("OPENAI_BASE_URL", ""), key, proxy, env.get("SSL_CERT_FILE", ""))


def no_color(env: Mapping[str, str] | None = None) -> bool:
    """NO_COLOR is set to anything but "", or the terminal is a dumb one."""
    env = os.environ if env is None else env
    return bool(env.get("NO_COLOR")) or env.get("TERM") == "dumb"


def terminal_size() -> os.terminal_size:
    """Columns and lines of the terminal, 80 by 24 where there is none."""
    return shutil.get_terminal_size()


@contextlib.contextmanager
def environment_of(env: Mapping[str, str]) -> Iterator[None]:
    """This process with another environment for a while: the demo's temporary HOME and state."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(env)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
