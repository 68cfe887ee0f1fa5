"""Every error this package raises on purpose.

    AgentSecurityError
    ├── UsageError             wrong use: arguments, names, files           exit 2
    │   └── SettingsError      a settings file or key that cannot be obeyed  exit 2
    ├── NotBuiltError          a part that is not built yet, and says so    exit 2
    ├── SystemPromptError      the system prompt carries a secret (§5.1); also a RuntimeError
    ├── SandboxError           the wall could not be built, or broke
    │   ├── SandboxUnavailable  nothing here gives the walls required       exit 4
    │   └── DockerSandboxError  the specification's name; raised by every backend's run
    │       └── SandboxTimeout  the call ran past its time (§4.3)
    ├── ChangeError            a change set could not be read, applied or undone
    ├── AuditError             the log cannot be written: nothing may run
    ├── NetError               a fetch was refused or failed; carries its code
    ├── ProviderError          the model's endpoint failed                  exit 6
    │   └── ContextLengthError  the messages do not fit the model's window
    └── Aborted                the session was told to stop (§6.3)

A refusal is not an error: it is a `Decision`.
"""

from __future__ import annotations


class AgentSecurityError(Exception):
    """Base of every error this package raises on purpose."""


class UsageError(AgentSecurityError):
    """Wrong use: an argument, a name or a file that cannot be what was meant."""


class SettingsError(UsageError):
    """A settings file, variable or key that cannot be obeyed; the message names it."""


class NotBuiltError(AgentSecurityError):
    """This part is not built yet. It refuses rather than pretend."""


class SystemPromptError(AgentSecurityError, RuntimeError):
    """The system prompt would carry a secret to the model (§5.1)."""


class SandboxError(AgentSecurityError):
    """The wall could not be built, or broke during a call."""


class SandboxUnavailable(SandboxError):
    """No sandbox of this machine gives the walls that are required.

    `remedy` is the line to type, or "" where there is none.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class DockerSandboxError(SandboxError):
    """A call inside the sandbox failed for the sandbox's reasons, not the command's."""


class SandboxTimeout(DockerSandboxError):
    """The call ran past its time and every process of it was ended (§4.3)."""


class ChangeError(AgentSecurityError):
    """A change set could not be read, applied or undone; nothing was half done."""


class AuditError(AgentSecurityError):
    """The audit log cannot be written, so nothing may run."""


class NetError(AgentSecurityError):
    """A fetch was refused, or the network failed (§2.3). The message reads `code: sentence`."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(f"{code}: {sentence}")
        self.code = code


class ProviderError(AgentSecurityError):
    """The model's endpoint failed. `retryable` says whether a later try may succeed."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class ContextLengthError(ProviderError):
    """The messages do not fit the model's window: trim once and try again, then give up."""


class Aborted(AgentSecurityError):
    """The session was told to stop (§6.3)."""
