"""Secrets and credentials (§5): found in the environment, kept out of the prompt and the container,
made anew for each session, and redacted from everything that is read.

The walls (a clean environment, no credential mounts) are what protects; patterns are best effort.
"""

from agent_security.secret_management.container import (
    ALLOWED_CONTAINER_ENV,
    CREDENTIAL_MOUNT_PATHS,
    build_container_env,
    check_credential_mounts,
)
from agent_security.secret_management.credentials import SessionCredentials
from agent_security.secret_management.environment import (
    known_secret_values,
    scan_environment_for_secrets,
    secret_env_rule,
)
from agent_security.secret_management.prompt_audit import audit_system_prompt, refuse_secret_prompt
from agent_security.secret_management.redaction import Redactor, contains_placeholder, unescape_placeholders
from agent_security.secret_management.scan import SecretFinding, scan_text

__all__ = [
    "ALLOWED_CONTAINER_ENV",
    "CREDENTIAL_MOUNT_PATHS",
    "Redactor",
    "SecretFinding",
    "SessionCredentials",
    "audit_system_prompt",
    "build_container_env",
    "check_credential_mounts",
    "contains_placeholder",
    "known_secret_values",
    "refuse_secret_prompt",
    "scan_environment_for_secrets",
    "scan_text",
    "secret_env_rule",
    "unescape_placeholders",
]
