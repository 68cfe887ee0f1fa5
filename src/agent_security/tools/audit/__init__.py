"""The audit log (§2.4, §6.1): written before the effect, one JSON object a line, each sealed to the last.

`audit_write.py` writes the lines, `audit_line.py` gives them their bytes, `audit_events.py` lists
the specification's events and `audit_verify.py` finds what was changed afterwards. What this chain
alone cannot show is that nobody wrote the whole log anew: hence "consistent, origin unproven".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent_security.decision import Check
from agent_security.tools.audit.events import EVENTS, Event
from agent_security.tools.audit.line import (
    MAX_ARGS_BYTES,
    MAX_LINE_BYTES,
    MAX_RESULT_BYTES,
    _truncate_for_log,
    cut_text,
)
from agent_security.tools.audit.verify import Verification, read_log, verify_log
from agent_security.tools.audit.write import AuditWriter

__all__ = [
    "EVENTS",
    "MAX_ARGS_BYTES",
    "MAX_LINE_BYTES",
    "MAX_RESULT_BYTES",
    "AuditLog",
    "Event",
    "Verification",
    "_truncate_for_log",
    "read_log",
    "verify_log",
]

Args = Mapping[str, Any] | str


class AuditLog(AuditWriter):
    """One session's log; an `AuditSink` under the specification's names (D16).

    `AuditLog(path, session_id, redact=…, clock=…)`. Opening writes `session_start`, `close` writes
    `session_end`. The document's parameters come in its order, additions are keyword-only fields.
    """

    def log_config(self, **fields: Any) -> None:
        """At start-up: the active limits, tools and walls (§2.1, §5.1).

        `session_id` is among the document's fields of this event; every line carries it anyway.
        """
        fields.pop("session_id", None)
        self.log("config", **fields)

    def log_user_message(self, content: str, **more: Any) -> None:
        self.log("user_message", content=content, **more)

    def log_assistant_message(self, content: str | None, tool_calls: Sequence[Any], **more: Any) -> None:
        self.log("assistant_message", content=content, tool_calls=list(tool_calls), **more)

    def log_permission_decision(
        self, tool: str, args: Args, mode: str, allowed: bool, reason: str, **more: Any
    ) -> None:
        """Before a tool runs or is refused (§6.1); the reason's code also stands alone."""
        code = {} if "code" in more else {"code": Check(allowed, reason).code}
        self.log(
            "permission_decision",
            tool=tool,
            args=args,
            mode=mode,
            allowed=allowed,
            reason=reason,
            **code,
            **more,
        )

    def log_tool_result(
        self,
        tool_call_id: str,
        tool: str,
        args: Args,
        permission_allowed: bool,
        result: str,
        *,
        permission_reason: str = "",
        container_error: bool = False,
        container_reason: str = "",
        intent_drift: bool = False,
        intent_reason: str = "",
        **more: Any,
    ) -> None:
        """After a tool returned (§2.4). Hash and size are of the redacted text (D21)."""
        fields = {
            "tool_call_id": tool_call_id,
            "tool": tool,
            "args": args,
            "permission_allowed": permission_allowed,
            "permission_reason": permission_reason,
            "container_error": container_error,
            "container_reason": cut_text(self._redacted(container_reason), MAX_RESULT_BYTES),
            "intent_drift": intent_drift,
            "intent_reason": intent_reason,
            **more,
        }
        self._put("tool_result", fields, _truncate_for_log(self._redacted(result)))

    def log_llm_request(
        self, model: str, message_count: int, token_estimate: int, has_tools: bool, **more: Any
    ) -> None:
        """Before each request (§6.1)."""
        self.log(
            "llm_request",
            model=model,
            message_count=message_count,
            token_estimate=token_estimate,
            has_tools=has_tools,
            **more,
        )

    def log_llm_response(
        self,
        model: str,
        finish_reason: str,
        usage: Mapping[str, int] | None,
        message_hash: str,
        tool_call_count: int,
        **more: Any,
    ) -> None:
        """After each response (§6.1); `message_hash` is SHA-256 over the message's content."""
        self.log(
            "llm_response",
            model=model,
            finish_reason=finish_reason,
            usage=usage,
            message_hash=message_hash,
            tool_call_count=tool_call_count,
            **more,
        )

    def log_validation_error(self, tool: str, args: Args, errors: Sequence[str], **more: Any) -> None:
        self.log("validation_error", tool=tool, args=args, errors=list(errors), **more)

    def log_intent_drift_suspected(self, tool: str, args: Args, reason: str, **more: Any) -> None:
        self.log("intent_drift_suspected", tool=tool, args=args, reason=reason, **more)

    def log_tool_timeout(self, tool: str, timeout_s: float, **more: Any) -> None:
        self.log("tool_timeout", tool=tool, timeout_s=timeout_s, **more)

    def log_context_trimmed(self, message_count: int, estimate_tokens: int, reason: str, **more: Any) -> None:
        self.log(
            "context_trimmed",
            message_count=message_count,
            estimate_tokens=estimate_tokens,
            reason=reason,
            **more,
        )

    def log_iteration_cap_hit(self, scope: str, **more: Any) -> None:
        """`scope` is "per_turn" (pass `turns=`) or "session" (pass `tool_calls=`) (§4.1)."""
        self.log("iteration_cap_hit", scope=scope, **more)

    def log_cost_limit_hit(
        self, cost_usd: float, cap_usd: float, tokens_in: int, tokens_out: int, calls: int, **more: Any
    ) -> None:
        self.log(
            "cost_limit_hit",
            cost_usd=cost_usd,
            cap_usd=cap_usd,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            calls=calls,
            **more,
        )

    def log_plan_approved(self, tool: str, **more: Any) -> None:
        self.log("plan_approved", tool=tool, **more)

    def log_plan_rejected(self, tool: str, **more: Any) -> None:
        self.log("plan_rejected", tool=tool, **more)

    def log_llm_call_error(self, error: str, **more: Any) -> None:
        self.log("llm_call_error", error=error, **more)

    def log_session_abort(self, reason: str, **more: Any) -> None:
        self.log("session_abort", reason=reason, **more)
