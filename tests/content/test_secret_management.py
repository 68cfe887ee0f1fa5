"""§5.1 to §5.3: environment, prompt, container, credentials."""

from __future__ import annotations

import copy
import pickle
import secrets
from pathlib import Path

import pytest

from agent_security.errors import SystemPromptError
from agent_security.prompt_safety import TRUST_BOUNDARIES, tag_explanation
from agent_security.secret_management import (
    ALLOWED_CONTAINER_ENV,
    CREDENTIAL_MOUNT_PATHS,
    SessionCredentials,
    audit_system_prompt,
    build_container_env,
    check_credential_mounts,
    known_secret_values,
    refuse_secret_prompt,
    scan_environment_for_secrets,
)

ENV = {
    "MY_API_KEY": "k",
    "DB_PASSWORD": "p",
    "GITHUB_TOKEN": "t",
    "EDITOR": "vi",
    "PATH": "/usr/bin",
    "LANG": "C",
}


def test_the_environment_scan_finds_the_documents_three() -> None:
    assert scan_environment_for_secrets(ENV) == ["DB_PASSWORD", "GITHUB_TOKEN", "MY_API_KEY"]


def test_the_environment_scan_reads_the_process_unless_given_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TEST_API_KEY", "x")
    assert "SOME_TEST_API_KEY" in scan_environment_for_secrets()


def test_words_that_only_contain_a_telling_word_are_no_secrets() -> None:
    names = ("KEYBOARD_LAYOUT", "TOKENIZERS_PARALLELISM", "MONKEY", "COMPASS", "PWD")
    assert scan_environment_for_secrets(dict.fromkeys(names, "1")) == []
    assert scan_environment_for_secrets({"PGPASSWORD": "x", "DATABASE_URL": "x"}) == [
        "DATABASE_URL",
        "PGPASSWORD",
    ]


@pytest.mark.parametrize(
    "prompt",
    [
        'key is {os.environ["API_KEY"]}',
        "key is {os.getenv('API_KEY')}",
        "use MY_API_KEY to sign in",
        "the password is $PASSWORD",
    ],
)
def test_a_prompt_that_reads_or_names_a_secret_is_refused(prompt: str) -> None:
    env = {**ENV, "PASSWORD": "x"}
    assert audit_system_prompt(prompt, env)
    with pytest.raises(SystemPromptError):
        refuse_secret_prompt(prompt, env)
    with pytest.raises(RuntimeError):
        refuse_secret_prompt(prompt, env)


def test_a_prompt_that_holds_a_value_is_refused_without_showing_it() -> None:
    value = "v" + secrets.token_hex(12)
    warnings = audit_system_prompt(f"sign in with {value}", {"MY_API_KEY": value})
    assert warnings
    assert value not in " ".join(warnings)


def test_ordinary_words_do_not_stop_the_start() -> None:
    env = {"TOKEN": "x", "PASSWORD": "y", "MY_API_KEY": "z"}
    assert audit_system_prompt("Never reveal a TOKEN, PASSWORD or my_api_key. MY_API_KEYS too.", env) == []


def test_the_harness_own_words_pass_the_audit() -> None:
    refuse_secret_prompt(
        TRUST_BOUNDARIES + tag_explanation(), {**ENV, "KEY": "k", "SECRETS": "s", "A_KEY": "n"}
    )


def test_the_container_gets_the_allowed_names_and_its_own_values() -> None:
    built = build_container_env(
        "id", "tok", env={**ENV, "HOME": "/home/person", "TERM": "xterm", "LC_ALL": "C; rm"}
    )
    assert set(built) <= ALLOWED_CONTAINER_ENV
    assert built["AGENT_SESSION_ID"] == "id"
    assert built["AGENT_SESSION_TOKEN"] == "tok"
    assert built["HOME"] != "/home/person"
    assert built["PATH"] != ENV["PATH"]
    assert "LC_ALL" not in built
    assert built["LANG"] == "C"


def test_credential_folders_that_exist_are_reported(tmp_path: Path) -> None:
    assert check_credential_mounts(str(tmp_path)) == []
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".netrc").write_text("")
    assert check_credential_mounts(str(tmp_path)) == ["~/.ssh", "~/.netrc"]
    assert set(check_credential_mounts()) <= set(CREDENTIAL_MOUNT_PATHS)


def test_credentials_are_unique_rotate_and_show_in_nothing() -> None:
    one, other = SessionCredentials(), SessionCredentials()
    assert one.session_id != other.session_id
    assert (len(one.session_id), len(one.session_token)) == (16, 43)
    token = one.session_token
    assert not one.revoked
    for shown in (repr(one), str(one), f"{one}", format(one)):
        assert token not in shown
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            leave(one)
    with pytest.raises(TypeError):
        vars(one)
    one.revoke()
    assert one.revoked
    assert one.session_token != token


def test_only_specific_values_are_looked_for() -> None:
    env = {"A_TOKEN": "password", "B_TOKEN": "short1", "C_TOKEN": "/home/x/token1", "D_TOKEN": "abc123def456"}
    assert list(known_secret_values(env)) == ["abc123def456"]
