"""The system prompt holds no secret and nothing that would put one there (§5.1, D19)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agent_security.errors import SystemPromptError
from agent_security.secret_management.environment import host_environment, is_matchable, secret_env_rule
from agent_security.secret_management.scan import scan_text

_INTERPOLATION = re.compile(
    r"\bos\s*\.\s*(?:environb?|getenvb?)\b|\b(?:environ|getenv)\s*[\[(]|\bprocess\.env\b|\$\{env:"
)
_ORDINARY = re.compile(r"[A-Za-z]+")


def audit_system_prompt(prompt: str, env: Mapping[str, str] | None = None) -> list[str]:
    """What is wrong with a prompt, one sentence each, none with a value in it; [] is fine.

    Names match as whole words, case-sensitive. A name that is an ordinary word (`TOKEN`) counts
    only as `$NAME` or beside an interpolation.
    """
    warnings = [
        f"the prompt reads the environment: {found}" for found in sorted(set(_INTERPOLATION.findall(prompt)))
    ]
    for name, value in sorted(host_environment(env).items()):
        if not secret_env_rule(name, value):
            continue
        if _named(name, prompt):
            warnings.append(f"the prompt names the secret variable {name}")
        if is_matchable(value) and value in prompt:
            warnings.append(f"the prompt holds the value of {name}")
    rules = sorted({finding.rule for finding in scan_text(prompt)})
    return warnings + [f"the prompt holds what looks like a secret ({rule})" for rule in rules]


def _named(name: str, prompt: str) -> bool:
    word = rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])"
    if _ORDINARY.fullmatch(name):
        word = (
            rf"\$\{{?{re.escape(name)}(?![A-Za-z0-9_])|environ[^\n]{{0,20}}{word}|getenv[^\n]{{0,20}}{word}"
        )
    return re.search(word, prompt) is not None


def refuse_secret_prompt(prompt: str, env: Mapping[str, str] | None = None) -> None:
    """Raises SystemPromptError where `audit_system_prompt` finds anything. Run before every start."""
    if warnings := audit_system_prompt(prompt, env):
        raise SystemPromptError("the system prompt is refused: " + "; ".join(warnings))
