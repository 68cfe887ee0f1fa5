"""The estimate is near, learns from the server, and costs the same in a long session."""

from __future__ import annotations

import pytest
from record_conversations import SYSTEM, pairs, said, user

from agent_security.history import Message
from agent_security.resource_limits import ContextBudget, context_budget
from agent_security.resource_limits.token_estimate import text_tokens

# --- measuring --------------------------------------------------------------------------------------


def test_only_what_is_new_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[Message] = []
    real = context_budget.message_tokens
    monkeypatch.setattr(context_budget, "message_tokens", lambda m: measured.append(m) or real(m))
    history = [SYSTEM, user("go"), *pairs(500)]
    budget = ContextBudget(10**9)
    budget.estimate(history)
    measured.clear()
    history += pairs(1)
    grown = budget.estimate(history)
    assert len(measured) == 2
    assert grown == ContextBudget(10**9).estimate(list(history))


def test_a_replaced_list_or_start_is_measured_anew() -> None:
    budget = ContextBudget(10**9)
    history = [SYSTEM, user("go"), said("x" * 4_000)]
    large = budget.estimate(history)
    history[:] = [SYSTEM, user("go")]
    assert budget.estimate(history) < large
    history[0] = {"role": "system", "content": "y" * 9_000}
    assert budget.estimate(history) > large


@pytest.mark.parametrize(
    ("text", "per_char"),
    [
        ("The quick brown fox jumps over the lazy dog, and then it rests for a while. ", 0.26),
        ("    def read(self, path: str) -> bytes:\n        return self.files[path].data\n", 0.24),
        ('{"id":12,"name":"alpha","tags":["a","b"],"ok":true,"size":40960},', 0.44),
        ("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", 0.57),
        ("我们必须在提交之前运行所有的测试并检查结果是否正确", 0.81),
    ],
)
def test_the_estimate_is_near_measured_counts_for_each_kind_of_text(text: str, per_char: float) -> None:
    text *= 50
    assert text_tokens(text) / (len(text) * per_char) == pytest.approx(1, abs=0.25)


def test_deep_indentation_is_cheap() -> None:
    assert text_tokens(" " * 4_000) < 4_000 / 4 / 4


def test_the_servers_usage_scales_the_estimate_within_bounds() -> None:
    history = [SYSTEM, user("word " * 2_000)]
    budget = ContextBudget()
    raw = budget.estimate(history)
    budget.calibrate({"prompt_tokens": raw * 2})
    assert budget.estimate(history) == pytest.approx(raw * 2, rel=0.01)
    budget.calibrate({"prompt_tokens": raw * 1_000})
    assert budget.scale <= 3


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": "NaN"},
        {"prompt_tokens": -5},
        {"prompt_tokens": None},
        {"prompt_tokens": True},
    ],
)
def test_nonsense_usage_teaches_nothing(usage: object) -> None:
    budget = ContextBudget()
    budget.estimate([SYSTEM, user("word " * 2_000)])
    budget.calibrate(usage)
    assert budget.scale == 1.0


def test_tool_schemas_and_images_count() -> None:
    budget = ContextBudget()
    bare = budget.estimate([SYSTEM])
    budget.use_tools([{"type": "function", "function": {"name": "t", "description": "d" * 2_000}}])
    assert budget.estimate([SYSTEM]) > bare + 400
    picture = {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": "data:" + "x" * 10**6}}],
    }
    assert 1_000 < ContextBudget().estimate([picture]) < 2_000
