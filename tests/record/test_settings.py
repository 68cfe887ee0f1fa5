"""Whose word counts: precedence, pooled lists and rules, profiles, the environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from agent_security.errors import SettingsError
from agent_security.settings import (
    KEYS,
    PROFILES,
    Settings,
    home_dir,
    no_color,
    provider_env,
    state_dir,
    terminal_size,
    user_settings_file,
)

Load = Callable[..., Settings]


def test_defaults_alone_are_the_settings_of_an_empty_machine(load: Load) -> None:
    assert load() == Settings()


def test_the_table_and_the_dataclass_agree() -> None:
    values = {
        f.name: getattr(Settings(), f.name) for f in fields(Settings) if f.name not in ("rules", "sources")
    }
    assert values == {key.field: key.default for key in KEYS.values()}


def test_every_key_has_help_and_every_default_and_profile_passes_its_own_check() -> None:
    for key in KEYS.values():
        assert key.help
        assert key.levels
        if key.default not in (None, ""):
            assert key.kind.parse(key.default) == key.default
    for name, value in ((n, v) for profile in PROFILES.values() for n, v in profile.items()):
        assert KEYS[name].kind.parse(value) == value


# --- precedence -------------------------------------------------------------------------------------


def test_managed_then_command_line_then_environment_then_user_then_project(load: Load) -> None:
    texts = {"project": "max_turns = 9\n"}
    assert load(**texts).max_turns == 9
    texts["user"] = "max_turns = 8\n"
    assert load(**texts).max_turns == 8
    assert load(None, {"AGENT_SECURITY_MAX_TURNS": "7"}, **texts).max_turns == 7
    assert load({"max_turns": 6}, {"AGENT_SECURITY_MAX_TURNS": "7"}, **texts).max_turns == 6
    texts["managed"] = "max_turns = 5\n"
    found = load({"max_turns": 6}, {"AGENT_SECURITY_MAX_TURNS": "7"}, **texts)
    assert found.max_turns == 5
    assert found.sources["max_turns"].endswith("managed.toml")
    assert found.sources["mode"] == "default"


def test_lists_of_folders_domains_and_walls_add_up(load: Load) -> None:
    found = load(
        {"add_dir": ("/a",), "require": ("fs", "net"), "allow_domain": ("@pypi",)},
        user='add_dir = ["/b", "/a"]\nrequire = ["fs", "env"]\n'
        'allow_domain = ["Docs.Python.org", "*.x.io"]\n',
    )
    assert found.add_dir == ("/a", "/b")
    assert found.require == ("fs", "net", "env")
    assert found.allow_domain == ("@pypi", "docs.python.org", "*.x.io")


def test_rules_of_all_levels_are_pooled_with_their_source(load: Load) -> None:
    rule = '[permissions]\ndeny = ["Read(./{0})"]\n'
    found = load(
        project=rule.format("p"), user=rule.format("u") + 'allow = ["Bash(ls)"]\n', managed=rule.format("m")
    )
    assert [(r.action, r.text) for r in found.rules] == [
        ("deny", "Read(./m)"),
        ("deny", "Read(./u)"),
        ("allow", "Bash(ls)"),
        ("deny", "Read(./p)"),
    ]
    assert [r.source.partition(":")[0] for r in found.rules] == ["managed", "user", "user", "project"]


def test_a_rule_may_carry_examples(load: Load) -> None:
    text = '[permissions]\nallow = [{rule = "Bash(git:*)", match = ["git diff"], not_match = ["gitk"]}]\n'
    (rule,) = load(user=text).rules
    assert (rule.text, rule.match, rule.not_match) == ("Bash(git:*)", ("git diff",), ("gitk",))
    with pytest.raises(SettingsError, match=r"line 2: permissions.allow: no such key in a rule: matches"):
        load(user='[permissions]\nallow = [{rule = "x", matches = []}]\n')


def test_none_and_an_empty_list_of_flags_mean_not_given(load: Load) -> None:
    assert load({"max_turns": None, "add_dir": ()}, user="max_turns = 8\n").max_turns == 8
    assert load({"approve_plan": None}, user="approve_plan = true\n").approve_plan is True


def test_a_flag_may_be_named_by_key_field_or_option(load: Load) -> None:
    for name in ("provider.model", "provider_model", "model"):
        assert load({name: "m"}).provider_model == "m"
    assert load({"audit_log": "/x/a.jsonl"}).audit_log == "/x/a.jsonl"
    with pytest.raises(SettingsError, match=r"max_turn: no such setting; did you mean max_turns\?"):
        load({"max_turn": 1})


def test_the_openai_address_means_what_it_means_elsewhere(load: Load) -> None:
    env = {"OPENAI_BASE_URL": "https://a.example/v1"}
    assert load(None, env).provider_base_url == "https://a.example/v1"
    assert (
        load(None, {**env, "AGENT_SECURITY_PROVIDER_BASE_URL": "https://b.example"}).provider_base_url
        == "https://b.example"
    )
    assert load({"base_url": "https://c.example"}, env).provider_base_url == "https://c.example"


# --- profiles ---------------------------------------------------------------------------------------


def test_profile_ci_is_accept_edits_with_a_proven_wall(load: Load) -> None:
    found = load({"profile": "ci"})
    assert (found.mode, found.permissions_sandboxed, found.permissions_runs_later) == (
        "acceptEdits",
        "allow",
        "list",
    )
    assert found.require == ("fs", "net", "env", "kill")
    assert found.sources["mode"] == "profile ci"


def test_a_profile_stands_right_below_the_level_that_chose_it(load: Load) -> None:
    assert load({"profile": "ci", "mode": "default"}).mode == "default"
    assert load({"profile": "ci"}, user='mode = "default"\n').mode == "acceptEdits"
    assert load({"mode": "default"}, user='profile = "ci"\n').mode == "default"


# --- the environment --------------------------------------------------------------------------------


def test_home_is_the_variables_where_it_is_absolute_else_the_databases() -> None:
    assert home_dir({"HOME": "/home/dev"}) == Path("/home/dev")
    assert home_dir({"HOME": "relative"}) == home_dir({})
    assert home_dir({}).is_absolute()


def test_state_and_settings_follow_the_platform_and_the_variable() -> None:
    home = {"HOME": "/home/dev"}
    assert state_dir({**home, "AGENT_SECURITY_STATE": "/var/x"}) == Path("/var/x")
    assert state_dir({**home, "XDG_STATE_HOME": "/s"}) == Path("/s/agent-security")
    assert state_dir({**home, "XDG_STATE_HOME": "rel"}) == Path("/home/dev/.local/state/agent-security")
    assert user_settings_file(home) == Path("/home/dev/.config/agent-security/config.toml")
    with pytest.raises(SettingsError, match="AGENT_SECURITY_STATE"):
        state_dir({"AGENT_SECURITY_STATE": "here"})


def test_the_providers_key_is_read_and_never_shown() -> None:
    env = {
        "OPENAI_API_KEY": " k1 ",
        "OTHER": "k2",
        "HTTPS_PROXY": "http://u:pw@p",
        "SSL_CERT_FILE": "/ca.pem",
    }
    found = provider_env(env)
    assert (found.api_key, found.base_url, found.ca_file) == ("k1", "", "/ca.pem")
    assert provider_env(env, key_name="OTHER").api_key == "k2"
    assert "k1" not in repr(found)
    assert "pw" not in repr(found)


def test_no_color_and_a_dumb_terminal_want_plain_text() -> None:
    assert [no_color(env) for env in ({}, {"NO_COLOR": ""}, {"NO_COLOR": "0"}, {"TERM": "dumb"})] == [
        False,
        False,
        True,
        True,
    ]
    assert terminal_size().columns > 0
