"""The loop (§4): ask the model, take its calls down the road, until it answers or a limit says stop.

The harness owns every limit; the model never votes on one. The history is valid after each step, so
whatever ends a turn (an answer, a limit, a failure, Ctrl-C), the next one can begin.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from agent_security.calls import ToolResult
from agent_security.errors import Aborted, ProviderError
from agent_security.loop.asking import Asker, model_schemas
from agent_security.loop.conversation import INTERRUPTED, Conversation
from agent_security.loop.documents import Document, wrapped
from agent_security.loop.system_prompt import system_prompt
from agent_security.loop.toolcalls import ReadCall, answer_call, read_calls
from agent_security.loop.turn import CUT, TurnOutcome
from agent_security.ports import Provider, Reply
from agent_security.prompt_safety import fresh_nonce, wrap_user_input
from agent_security.resource_limits import stop_message
from agent_security.session import Session

MAX_EMPTY_REPLIES = 3
MAX_CALLS_PER_REPLY = 128


class Agent:
    """One session's conversation with one model, one user turn at a time."""

    def __init__(
        self,
        session: Session,
        provider: Provider,
        *,
        conversation: Conversation | None = None,
        stream: bool = False,
        deadline_at: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`conversation` is an earlier one to go on with; `deadline_at` is on `clock`.

        Raises SystemPromptError where the system prompt would carry a secret (§5.1).
        """
        self.session = session
        self.provider = provider
        self.conversation = conversation or Conversation()
        self.conversation.set_system(
            system_prompt(session.tools, session.mode, plan_required=session.plan.required)
        )
        self._schemas = model_schemas(session.tools)
        self._asker = Asker(
            session, provider, self.conversation, stream=stream, deadline_at=deadline_at, clock=clock
        )

    def run_turn(self, prompt: str, documents: Sequence[Document] = ()) -> TurnOutcome:
        """One message of the person, worked on to its end. Raises AuditError: no log, no work."""
        self._begin(prompt, documents)
        try:
            outcome = self._work()
        except KeyboardInterrupt:
            self.session.sandbox.kill()
            self.session.audit.log("turn_interrupted", reason="Ctrl-C")
            outcome = self._stopped("aborted", "interrupted by the person")
        finally:
            self.conversation.close_turn("this turn ended without an answer")
        self.session.listener.notice("turn_end", outcome=outcome)
        return outcome

    def _begin(self, prompt: str, documents: Sequence[Document]) -> None:
        session = self.session
        self._asker.requests = 0
        session.caps.reset_turn()
        session.plan.approved = False
        for document in documents:
            content = wrapped(document, session)
            session.audit.log("document", source=document.source, content=content)
            self.conversation.add_document(content)
        session.audit.log("user_message", content=prompt)
        session.goals.append(prompt)
        session.provenance.note_person(prompt)
        self.conversation.add_user(wrap_user_input(prompt, nonce=fresh_nonce()))

    # --- the loop ---------------------------------------------------------------------------------

    def _work(self) -> TurnOutcome:
        session, empty = self.session, 0
        while True:
            # 1 stop if due: told to, out of time, out of turns, out of money
            if session.abort.triggered:
                return self._aborted(session.abort.reason)
            if self._asker.out_of_time:
                return self._stopped("error_deadline", "the time for this run is over")
            if reason := session.caps.count_turn():
                session.audit.log("iteration_cap_hit", scope="per_turn", turns=session.caps.turns)
                return self._summarised("error_max_turns", reason)
            if reason := session.cost.check() or "":
                return self._cost_limit(reason)
            # 2 get the context under its budget, then ask
            try:
                reply = self._asker.ask(self._schemas)
            except Aborted:
                return self._aborted(session.abort.reason or "stopped")
            except ProviderError as error:
                return self._provider_failed(error)
            # 3 read the calls; text is never one
            calls = read_calls(
                reply.tool_calls[:MAX_CALLS_PER_REPLY], session.tools, self.conversation.used_ids
            )
            self._asker.record(reply, calls)
            if not calls and not reply.content.strip():
                empty += 1
                if empty == MAX_EMPTY_REPLIES or reply.finish_reason == "content_filter":
                    return self._no_answer(reply)
                continue
            empty = 0
            self.conversation.add_reply(reply, calls)
            if not calls:
                return self._answered(reply)
            # 4 take them down the road, in the model's order
            results = self._take(calls)
            if reason := _capped(results):
                return self._summarised("error_max_tool_calls", reason)
            if reply.finish_reason == "length":
                self.conversation.add_note(CUT)

    def _take(self, calls: Sequence[ReadCall]) -> list[ToolResult]:
        """Every call gets exactly one result, whatever happens on the way."""
        results = []
        try:
            for call in calls:
                results.append(answer_call(call, self.session))
                self.conversation.add_result(call.call.id, results[-1].content)
        finally:
            self.conversation.answer_open(INTERRUPTED)
        return results

    # --- how a turn ends --------------------------------------------------------------------------

    def _answered(self, reply: Reply) -> TurnOutcome:
        if reply.finish_reason == "content_filter":
            return self._no_answer(reply)
        notices = (
            ("the answer was cut at the model's length limit",) if reply.finish_reason == "length" else ()
        )
        return self._outcome("success", reply.content, notices=notices)

    def _no_answer(self, reply: Reply) -> TurnOutcome:
        if reply.finish_reason == "content_filter":
            reason = "the provider's content filter stopped this answer"
        else:
            reason = f"the model gave no answer, {MAX_EMPTY_REPLIES} times in a row"
        self.conversation.close_turn(reason)
        return self._outcome("error_during_execution", reply.content or f"Stopped: {reason}.", reason)

    def _aborted(self, reason: str) -> TurnOutcome:
        self.session.audit.log_session_abort(reason)
        return self._stopped("aborted", reason)

    def _cost_limit(self, reason: str) -> TurnOutcome:
        self.session.audit.log("cost_limit_hit", **self.session.cost.limit_fields())
        return self._stopped("error_max_budget_usd", reason)

    def _provider_failed(self, error: ProviderError) -> TurnOutcome:
        self._asker.note_error(error)
        self.conversation.close_turn(str(error))
        return self._outcome("error_provider", f"Stopped: {error}.", str(error), retryable=error.retryable)

    def _stopped(self, kind: str, reason: str) -> TurnOutcome:
        """No further request: the history says why, for the turn after this one."""
        self.conversation.add_note(stop_message(reason)["content"])
        self.conversation.close_turn(reason)
        return self._outcome(kind, f"Stopped: {reason}.", reason)

    def _summarised(self, kind: str, reason: str) -> TurnOutcome:
        """One last request, without tools; then the turn ends, whatever the model says (§4.1)."""
        self.conversation.add_note(stop_message(reason)["content"])
        text = ""
        if not self.session.cost.check():
            try:
                reply = self._asker.ask(())
                self._asker.record(reply, ())
                text = reply.content.strip()
            except Aborted:
                return self._aborted(self.session.abort.reason or "stopped")
            except ProviderError as error:
                self._asker.note_error(error)
        if text:
            self.conversation.add_reply(reply, ())
        self.conversation.close_turn(reason)
        return self._outcome(kind, text or f"Stopped: {reason}.", reason)

    def _outcome(
        self,
        kind: str,
        text: str,
        reason: str = "",
        *,
        retryable: bool = False,
        notices: tuple[str, ...] = (),
    ) -> TurnOutcome:
        return TurnOutcome(kind, text, reason, retryable, self._asker.requests, notices)


def _capped(results: Sequence[ToolResult]) -> str:
    """Why the session's cap on tool calls refused one of these, or ""."""
    return next((result.decision.reason for result in results if result.decision.code == "tool_call_cap"), "")
