"""The specification's eight flags with their defaults, and every flag of CONTRACTS §2."""

from __future__ import annotations

import pytest

from agent_security.settings import KEYS, Key, Settings

BY_FLAG: dict[str, Key] = {key.option: key for key in KEYS.values() if key.flag}


@pytest.mark.parametrize(
    ("flag", "default", "section"),
    [
        ("--tools", (), "§2.1"),
        ("--tool-timeout", 120, "§4.3"),
        ("--llm-timeout", 120, "§4.3"),
        ("--max-turns", 40, "§4.1"),
        ("--max-tool-calls", 200, "§4.1"),
        ("--max-context-tokens", 24_000, "§4.2"),
        ("--max-cost-usd", 5.00, "§4.4"),
        ("--approve-plan", False, "§6.2"),
    ],
)
def test_a_flag_of_the_document_has_its_default_and_section(flag: str, default: object, section: str) -> None:
    key = BY_FLAG[flag]
    assert (key.default, key.section) == (default, section)
    assert getattr(Settings(), key.field) == default


def test_no_other_flag_claims_to_be_the_documents() -> None:
    assert sum(bool(key.section) for key in KEYS.values()) == 8


def test_every_flag_of_the_contract_is_in_the_table() -> None:
    more = """--mode --profile --model --base-url --sandbox --require -C/--working-dir --add-dir --apply
        --allow-domain --context --output-format -c/--continue -r/--resume --audit-log --artifacts --deadline
        --settings -p/--print"""
    assert set(more.split()) <= {key.flag for key in KEYS.values()}


def test_no_flag_takes_a_key() -> None:
    assert not [
        flag for flag in BY_FLAG if "key" in flag or "token" in flag.replace("--max-context-tokens", "")
    ]


def test_flags_fields_and_variables_are_each_unique() -> None:
    for names in (
        [key.flag for key in KEYS.values() if key.flag],
        [key.field for key in KEYS.values()],
        [key.env for key in KEYS.values() if key.env],
    ):
        assert len(names) == len(set(names))
