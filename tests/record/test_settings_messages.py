"""A wrong value, key or file is one line that names what to mend."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agent_security.errors import SettingsError
from agent_security.settings import (
    Settings,
)

Load = Callable[..., Settings]


# --- messages ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"max_turns": 0}, "--max-turns: 0 is less than 1"),
        ({"max_turns": "-1"}, "--max-turns: -1 is less than 1"),
        ({"max_turns": "many"}, "--max-turns: 'many' is not a whole number"),
        ({"max_turns": True}, "--max-turns: True is not a number"),
        ({"max_turns": 1.0}, "--max-turns: 1.0 is not a whole number"),
        ({"max_cost_usd": "nan"}, "--max-cost-usd: 'nan' is not a finite number"),
        ({"max_cost_usd": -1}, "--max-cost-usd: -1 is less than 0"),
        ({"tool_timeout": "10x"}, "--tool-timeout: '10x' is not a time: write seconds, 90s, 10m or 2h"),
        ({"tool_timeout": "-3"}, "--tool-timeout: -3 is less than 1"),
        ({"tool_timeout": 0}, "--tool-timeout: 0 is less than 1"),
        ({"mode": "yolo"}, "--mode: 'yolo' is none of default, acceptEdits, dangerouslySkipPermissions"),
        ({"require": ("fs", "gpu")}, "--require: 'gpu' is none of fs, net, env, kill, limits, view"),
        ({"allow_domain": ("*",)}, "--allow-domain: '*' is no domain: write a name, *.name or one of"),
        ({"allow_domain": ("*.com",)}, "--allow-domain: '*.com' would open a whole top-level domain"),
        ({"allow_domain": ("169.254.169.254",)}, "--allow-domain: '169.254.169.254' is no domain"),
        ({"base_url": "https://u:p@h/v1"}, "--base-url: not an http or https address without user"),
        ({"shell.permit": ("curl",)}, "shell.permit: may not be set on the command line"),
        ({"max_context_tokens": "all"}, "--max-context-tokens: 'all' is not a whole number"),
    ],
)
def test_a_wrong_value_is_one_line_that_names_the_flag(
    load: Load, flags: dict[str, object], message: str
) -> None:
    with pytest.raises(SettingsError) as raised:
        load(flags)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_times_may_carry_a_unit(load: Load) -> None:
    assert [load({"deadline": text}).deadline for text in ("90", "90s", "10m", "2h", "1.5m")] == [
        90,
        90,
        600,
        7200,
        90,
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "max_turns = 3\nmax-turns = 4\n",
            "user.toml: line 2: max-turns: no such key; did you mean max_turns?",
        ),
        (
            "[permissions]\nsandboxd = 'ask'\n",
            "line 2: permissions.sandboxd: no such key; did you mean permissions.sandboxed?",
        ),
        ("base_url = 'x'\n", "line 1: base_url: no such key; did you mean provider.base_url?"),
        ("a = 1\n\nb = \n", "user.toml: line 3: "),
        ("a = 1\na = 2\n", "user.toml: line 2: "),
        ("a = '''", "user.toml: line 1: "),
        ("\nx = '\ud83c'", "user.toml: line 2: not UTF-8"),
        ("[mode]\nx = 1\n", "line 2: mode.x: no such key"),
        ("max_turns = '3x'\n", "user.toml: line 1: max_turns: '3x' is not a whole number"),
        ("add_dir = ['relative']\n", "user.toml: line 1: add_dir: 'relative' is not an absolute path"),
        ("working_dir = '/x'\n", "working_dir: may be set by command line only"),
        ("[permissions]\ndeny = 'Bash'\n", "user.toml: line 2: permissions.deny: not a list of rules"),
        ("[permissions]\ndeny = [1]\n", "user.toml: line 2: permissions.deny: a rule is a text"),
        (
            "[provider]\napi_key = 'abc'\n",
            "provider.api_key: no such key; did you mean provider.api_key_env?",
        ),
        (
            "[provider]\napi_key_env = 'not-a-name'\n",
            "provider.api_key_env: not the name of an environment variable",
        ),
    ],
)
def test_a_wrong_file_names_itself_its_line_and_its_key(
    load: Load, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "home" / "user.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(SettingsError) as raised:
        load()
    assert message in str(raised.value)


def test_a_secret_put_in_the_wrong_place_is_not_repeated(load: Load) -> None:
    secret = "s3cret-" + "value"
    for key in ("api_key", "api_key_env"):
        with pytest.raises(SettingsError) as raised:
            load(user=f"[provider]\n{key} = '{secret}'\n")
        assert secret not in str(raised.value)
    with pytest.raises(SettingsError) as raised:
        load(None, {"AGENT_SECURITY_API_KEY": secret})
    assert secret not in str(raised.value)


def test_an_unknown_variable_is_an_error_and_an_empty_one_is_not_set(load: Load) -> None:
    with pytest.raises(
        SettingsError,
        match=r"AGENT_SECURITY_MAX_TURN: no such variable; did you mean AGENT_SECURITY_MAX_TURNS\?",
    ):
        load(None, {"AGENT_SECURITY_MAX_TURN": "3"})
    with pytest.raises(SettingsError, match="AGENT_SECURITY_SHELL_PERMIT"):
        load(None, {"AGENT_SECURITY_SHELL_PERMIT": "curl"})
    assert load(None, {"AGENT_SECURITY_MAX_TURNS": "", "AGENT_SECURITY_STATE": "/x"}).max_turns == 40


def test_a_settings_file_named_on_the_command_line_takes_the_users_place(load: Load, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("max_turns = 3\n")
    assert (
        load({"settings": str(tmp_path / "own.toml")}, user="max_turns = 8\nmode = 'acceptEdits'\n").mode
        == "default"
    )
    with pytest.raises(SettingsError, match="no such file"):
        load({"settings": str(tmp_path / "missing.toml")})


def test_the_users_file_may_not_lie_in_the_workspace(load: Load, tmp_path: Path) -> None:
    inside = tmp_path / "workspace" / "mine.toml"
    inside.write_text("")
    with pytest.raises(SettingsError, match="--settings: lies in the workspace"):
        load({"settings": str(inside)})
    (tmp_path / "link.toml").symlink_to(inside)
    with pytest.raises(SettingsError, match="--settings: lies in the workspace"):
        load({"settings": str(tmp_path / "link.toml")})


def test_the_log_may_lie_neither_in_the_workspace_nor_in_an_added_folder(load: Load, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="--audit-log: the log may not lie"):
        load({"audit_log": str(tmp_path / "workspace" / "a.jsonl")})
    with pytest.raises(SettingsError, match="--audit-log: the log may not lie"):
        load({"audit_log": str(tmp_path / "data" / "a.jsonl"), "add_dir": (str(tmp_path / "data"),)})


def test_the_digest_follows_every_value_and_rule(load: Load) -> None:
    plain = load()
    assert plain.digest == Settings().digest
    assert load({"max_turns": 3}).digest != plain.digest
    assert load(user='[permissions]\ndeny = ["Bash"]\n').digest != plain.digest
