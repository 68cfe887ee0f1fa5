"""One session's turns with the model; guidance and the person's material enter with the first."""

from __future__ import annotations

import time
from collections.abc import Sequence

from agent_security.agent import Agent
from agent_security.loop.documents import Document, workspace_guidance
from agent_security.loop.turn import TurnOutcome
from agent_security.ports import Provider
from agent_security.session import Session


class Turns:
    """Raises SystemPromptError at the start where the system prompt would carry a secret (§5.1)."""

    def __init__(
        self,
        session: Session,
        provider: Provider,
        documents: Sequence[Document] = (),
        *,
        deadline_s: float | None = None,
        stream: bool = False,
    ) -> None:
        ends_at = None if deadline_s is None else time.monotonic() + deadline_s
        self._agent = Agent(session, provider, stream=stream, deadline_at=ends_at)
        guidance = workspace_guidance(session)
        self._documents = [*([guidance] if guidance else []), *documents]

    def say(self, prompt: str) -> TurnOutcome:
        """One message of the person, worked on to its end. Raises AuditError."""
        documents, self._documents = self._documents, []
        return self._agent.run_turn(prompt, documents)
