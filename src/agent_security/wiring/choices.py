"""What the settings choose: levels, model, rules, tools. Nothing is opened here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agent_security.changes import EffectLimits
from agent_security.errors import UsageError
from agent_security.paths import Scope
from agent_security.permissions import Rules, parse_rule, tools_of
from agent_security.ports import Provider
from agent_security.providers import open_provider
from agent_security.secret_management import SessionCredentials
from agent_security.settings import Settings, load_settings, provider_env
from agent_security.tools.registry import TOOLS

DEFAULT_CONTEXT_TOKENS = 24_000

PathTest = Callable[[str], bool]
"""Asked about a path relative to the workspace."""


def settings_for(workspace: str | None, flags: Mapping[str, object]) -> Settings:
    """Every level of settings under the command line's flags (CONTRACTS §6). Raises SettingsError."""
    return load_settings(flags=flags, workspace=workspace)


def provider_for(settings: Settings, workspace: str) -> Provider:
    """The model that the settings name; the key comes from the environment alone."""
    env = provider_env(key_name=settings.provider_api_key_env)
    return open_provider(
        settings.provider_model,
        settings.provider_base_url,
        env.api_key,
        proxy=env.proxy,
        ca_file=env.ca_file,
        variables={"workspace": workspace},
    )


def rules_of(settings: Settings) -> Rules:
    """The rules of all levels, parsed. Raises SettingsError for one that cannot be read."""
    parsed = [
        parse_rule(rule.text, rule.action, rule.source, match=rule.match, not_match=rule.not_match)
        for rule in settings.rules
    ]
    by_action = {
        word: tuple(rule for rule in parsed if rule.action == word) for word in ("deny", "ask", "allow")
    }
    return Rules(**by_action)


def read_rules(rules: Rules, workspace: str) -> tuple[PathTest, PathTest | None]:
    """(granted, hidden) for the wall's mask: what `Read` rules of the person show, and what they hide.

    An allow rule grants a secret file only where it names paths: a bare `Read` is about questions.
    None where nothing is hidden, so that a large tree is not asked about file by file.
    """
    scope = Scope(working_dir=workspace)

    def granted(path: str) -> bool:
        rule = rules.first("allow", "read_file", {"path": path}, scope)
        return rule is not None and rule.pattern != ""

    def hidden(path: str) -> bool:
        return rules.first("deny", "read_file", {"path": path}, scope) is not None

    hides = any("read_file" in tools_of(rule.tool) for rule in rules.deny)
    return granted, hidden if hides else None


def effect_limits(settings: Settings) -> EffectLimits:
    """The bounds of one call's change set (`changes.*`)."""
    return EffectLimits(
        deletions=settings.changes_deletions,
        untracked_deletions=settings.changes_untracked_deletions,
        max_changes=settings.changes_max_files,
        max_bytes=settings.changes_max_bytes,
        max_file_bytes=settings.changes_max_file_bytes,
    )


def chosen_tools(settings: Settings) -> list[str]:
    """The names of `--tools`, all of them where none is given. Raises UsageError with the valid ones."""
    if unknown := [name for name in settings.tools if name not in TOOLS]:
        raise UsageError(
            f"--tools: no tool named {', '.join(unknown)}; the valid names are {', '.join(TOOLS)}"
        )
    return list(settings.tools) or list(TOOLS)


def fresh_credentials() -> SessionCredentials:
    """New credentials whose id can be typed as an argument: none that begins like an option."""
    credentials = SessionCredentials()
    while credentials.session_id.startswith("-"):
        credentials = SessionCredentials()
    return credentials


def context_tokens(settings: Settings) -> int:
    """`auto` needs the model's own window, which nobody has asked for yet: the default until then."""
    return (
        settings.max_context_tokens
        if isinstance(settings.max_context_tokens, int)
        else DEFAULT_CONTEXT_TOKENS
    )
