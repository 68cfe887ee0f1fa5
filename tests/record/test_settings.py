"""Who may say what, whose word counts, and what a message says when it does not."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from agent_security.errors import SettingsError
from agent_security.settings import (
    KEYS,
    PROFILES,
    Level,
    Settings,
    home_dir,
    load_settings,
    no_color,
    provider_env,
    state_dir,
    terminal_size,
    user_settings_file,
)

Load = Callable[..., Settings]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """load("--max-turns 3"-like flags, env, user=, project=, managed= TOML texts) -> Settings."""
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    home.mkdir()
    workspace.mkdir()
    files = {
        "user": home / "user.toml",
        "project": workspace / ".agent-security.toml",
        "managed": tmp_path / "managed.toml",
    }

    def load(
        flags: dict[str, object] | None = None, env: dict[str, str] | None = None, **texts: str
    ) -> Settings:
        for name, text in texts.items():
            files[name].write_text(text)
        return load_settings(
            flags=flags or {},
            workspace=str(workspace),
            env={"HOME": str(home), **(env or {})},
            user_file=str(files["user"]),
            managed_file=str(files["managed"]),
        )

    return load


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


# --- a project only tightens ------------------------------------------------------------------------


@pytest.mark.parametrize("key", sorted(set(KEYS) - {n for n, k in KEYS.items() if Level.PROJECT in k.levels}))
def test_a_project_may_set_no_other_key_and_the_message_names_it(load: Load, key: str) -> None:
    with pytest.raises(
        SettingsError, match=rf"\.agent-security\.toml: line 1: {key}: a project's file may only"
    ):
        load(project=f'{key} = "x"\n')


def test_a_project_may_hold_no_allow_rule(load: Load) -> None:
    with pytest.raises(SettingsError, match=r"permissions\.allow: a project's file may only"):
        load(project='[permissions]\nallow = ["Bash(curl:*)"]\n')


@pytest.mark.parametrize(
    "text", ["max_turns = 41", "max_cost_usd = 5.01", 'max_context_tokens = "auto"', "tool_timeout = 121"]
)
def test_a_project_may_not_raise_a_limit(load: Load, text: str) -> None:
    with pytest.raises(SettingsError, match=f"{text.split()[0]}: .* would raise a limit"):
        load(project=text)


def test_a_project_may_set_a_deadline_and_lower_what_a_person_raised(load: Load) -> None:
    assert load(project="deadline = 600\n").deadline == 600
    assert load({"max_turns": 100}, project="max_turns = 80\n").max_turns == 100


def test_a_project_takes_tools_away_and_gives_none(load: Load) -> None:
    assert load(project='tools = ["read_file", "grep"]\n').tools == ("read_file", "grep")
    assert load({"tools": "grep,run_bash"}, project='tools = ["read_file", "grep"]\n').tools == ("grep",)
    with pytest.raises(SettingsError, match="leaves no tool"):
        load({"tools": "run_bash"}, project='tools = ["grep"]\n')


def test_a_projects_file_that_is_a_link_a_fifo_or_too_large_is_refused(load: Load, tmp_path: Path) -> None:
    place = tmp_path / "workspace" / ".agent-security.toml"
    place.symlink_to("/dev/zero")
    with pytest.raises(SettingsError, match="not read"):
        load()
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(SettingsError, match="not read"):
        load()
    place.unlink()
    with pytest.raises(SettingsError, match="larger than"):
        load(project="#" * 300_000)


# --- ceilings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ceiling", "flags", "user", "named"),
    [
        ('modes = ["default", "acceptEdits"]', {"mode": "dangerouslySkipPermissions"}, "", "--mode: managed"),
        (
            'providers = ["https://a.example/v1"]',
            {"base_url": "https://b.example/v1"},
            "",
            "--base-url: managed",
        ),
        ('providers = ["https://a.example/v1"]', {}, "", "provider.base_url: managed"),
        ('sandboxes = ["bubblewrap"]', {"sandbox": "external"}, "", "--sandbox: managed"),
        (
            "permit = []",
            {},
            '[shell]\npermit = ["curl"]',
            "user.toml: shell.permit: managed settings allow only none",
        ),
        ('add_dirs = ["/srv"]', {"add_dir": ("/srv/../etc",)}, "", "--add-dir: managed"),
        ('domains = ["*.x.io"]', {"allow_domain": ("y.io",)}, "", "--allow-domain: managed"),
        ('sandboxed = "ask"', {"profile": "ci"}, "", "profile ci: permissions.sandboxed: managed"),
        ("max_turns = 30", {"max_turns": 31}, "", "--max-turns: 31 is more than managed settings allow"),
        (
            "max_context_tokens = 9000",
            {"max_context_tokens": "auto"},
            "",
            "--max-context-tokens: auto is more",
        ),
    ],
)
def test_nobody_exceeds_a_ceiling(
    load: Load, ceiling: str, flags: dict[str, Any], user: str, named: str
) -> None:
    with pytest.raises(SettingsError) as raised:
        load(flags, user=user, managed=f"[ceiling]\n{ceiling}\n")
    assert named in str(raised.value)


def test_what_stays_under_a_ceiling_passes_and_defaults_move_under_it(load: Load) -> None:
    managed = (
        '[ceiling]\nmodes = ["default"]\nproviders = ["https://a.example/v1/"]\nsandboxes = ["podman"]\n'
        'require = ["kill"]\npermit = ["curl"]\nadd_dirs = ["/srv"]\n'
        'domains = ["*.x.io"]\nmax_turns = 30\ndeadline = 60\n'
    )
    flags = {
        "base_url": "https://a.example/v1",
        "add_dir": ("/srv/data",),
        "allow_domain": ("a.x.io", "*.b.x.io"),
    }
    found = load(flags, managed=managed, user='[shell]\npermit = ["curl"]\n')
    assert (found.max_turns, found.deadline, found.sandbox, found.require) == (30, 60, "podman", ("kill",))
    assert found.shell_permit == ("curl",)


@pytest.mark.parametrize("level", ["user", "project"])
def test_only_the_managed_file_holds_ceilings(load: Load, level: str) -> None:
    with pytest.raises(SettingsError, match=r"ceiling\.max_turns: no such key"):
        load(**{level: "[ceiling]\nmax_turns = 1\n"})


def test_an_unknown_ceiling_names_the_nearest(load: Load) -> None:
    with pytest.raises(SettingsError, match=r"ceiling\.mode: no such key; did you mean modes\?"):
        load(managed='[ceiling]\nmode = ["default"]\n')


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
