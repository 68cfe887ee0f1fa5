"""Caps, result cap and cost: limits the model has no vote on."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_security.history import valid_history
from agent_security.ports import Usage
from agent_security.resource_limits import (
    MAX_TOOL_RESULT_BYTES,
    CostTracker,
    IterationCaps,
    cap_tool_result,
    stop_message,
)

# --- caps -------------------------------------------------------------------------------------------


def test_the_defaults_are_forty_turns_and_two_hundred_calls() -> None:
    caps = IterationCaps()
    assert [bool(caps.count_turn()) for _ in range(41)].index(True) == 40
    assert [bool(caps.count_tool_call()) for _ in range(201)].index(True) == 200
    assert (caps.turns, caps.tool_calls) == (40, 200)


def test_a_new_user_message_resets_turns_and_not_tool_calls() -> None:
    caps = IterationCaps(1, 1)
    caps.count_turn()
    caps.count_tool_call()
    caps.reset_turn()
    assert caps.count_turn() == ""
    assert "tool calls" in caps.count_tool_call()


def test_a_person_may_grant_more_and_nobody_less() -> None:
    caps = IterationCaps(1, 1)
    caps.count_turn()
    caps.grant(turns=1)
    assert caps.count_turn() == ""
    with pytest.raises(ValueError, match="adds"):
        caps.grant(tool_calls=-1)


def test_the_stop_message_names_the_reason_and_may_stand_anywhere_in_a_history() -> None:
    message = stop_message("the cap is reached")
    assert "the cap is reached" in message["content"]
    assert "summary" in message["content"]
    assert (
        valid_history([{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}, message])
        == []
    )


# --- results ----------------------------------------------------------------------------------------


def test_a_result_within_the_limit_is_untouched() -> None:
    text = "x" * MAX_TOOL_RESULT_BYTES
    assert cap_tool_result(text) == text


def test_a_longer_result_keeps_start_and_end_and_says_how_to_page_on() -> None:
    text = "".join(f"line {n}\n" for n in range(20_000))
    capped = cap_tool_result(text)
    assert len(capped.encode()) <= MAX_TOOL_RESULT_BYTES
    assert capped.startswith("line 0\n")
    assert capped.endswith("line 19999\n")
    assert "read_file with offset and limit" in capped
    assert f"of {len(text)} bytes" in capped


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(min_size=1, max_size=3).filter(lambda s: s.isprintable()), st.integers(0, 3_000))
def test_no_character_is_ever_cut(unit: str, limit: int) -> None:
    text = unit * 2_000
    capped = cap_tool_result(text, limit)
    assert len(capped.encode()) <= max(limit, 0) or capped == text
    assert "\ufffd" not in capped or "\ufffd" in unit
    start, _, rest = capped.partition("\n[harness]")
    assert text.startswith(start)
    if rest:
        assert text.endswith(rest.partition("\n")[2])


# --- cost -------------------------------------------------------------------------------------------


def test_cost_is_per_thousand_tokens_and_the_cap_fires_when_it_is_reached() -> None:
    cost = CostTracker(max_cost_usd=1.0, price_in=0.1, price_out=0.2)
    cost.record_usage(Usage(4_000, 2_500))
    assert cost.total_cost_usd == pytest.approx(0.9)
    assert cost.check() is None
    cost.record_usage({"prompt_tokens": 1_000, "completion_tokens": 0})
    assert "$1.0000 spent of $1.00" in str(cost.check())
    assert (cost.calls, cost.total_tokens_in, cost.total_tokens_out) == (2, 5_000, 2_500)


def test_lo_055_missing_usage_is_estimated_and_marked() -> None:
    cost = CostTracker(price_in=1.0)
    cost.record_usage(None, estimated_in=500, estimated_out=20)
    assert (cost.total_tokens_in, cost.total_tokens_out, cost.estimated) == (500, 20, True)
    assert "estimated" in cost.summary()


NONSENSE = st.one_of(
    st.none(), st.booleans(), st.text(), st.integers(-(10**20), 10**20), st.floats(), st.lists(st.integers())
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(["prompt_tokens", "completion_tokens"]), NONSENSE))
def test_lo_057_no_report_makes_the_cost_go_down_or_endless(usage: dict[str, object]) -> None:
    cost = CostTracker(price_in=1.0, price_out=1.0)
    cost.record_usage(Usage(1_000, 1_000))
    before = cost.total_cost_usd
    cost.record_usage(usage, estimated_in=-3)
    assert before <= cost.total_cost_usd < 10**12
    assert cost.total_tokens_in >= 1_000


def test_the_worst_case_of_the_next_request_is_kept_under_the_cap() -> None:
    cost = CostTracker(max_cost_usd=1.0, price_in=0.1, price_out=0.1)
    cost.record_usage(Usage(5_000, 0))
    assert cost.reserve(4_000, 1_000) == ""
    assert "reserved_usd" not in cost.limit_fields()
    assert "$0.5000 of $1.00" in cost.reserve(4_000, 1_001)
    assert cost.limit_fields()["reserved_usd"] == pytest.approx(0.5001)


def test_a_cap_of_nothing_lets_free_models_through_alone() -> None:
    free, priced = CostTracker(0.0), CostTracker(0.0, price_in=0.1)
    free.record_usage(Usage(10**6, 10**6))
    assert free.check() is None
    assert free.reserve(10**6, 10**6) == ""
    assert priced.reserve(1, 0) != ""
    assert not free.priced


def test_the_summary_breaks_the_cost_down() -> None:
    cost = CostTracker(5.0, price_in=0.1, price_out=0.2)
    cost.record_usage(Usage(1_234, 100))
    assert cost.summary() == "calls: 1 · tokens in: 1,234 · tokens out: 100 · cost: $0.1434 of $5.00"
    assert "unknown" in CostTracker().summary()
