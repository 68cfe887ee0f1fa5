"""The models: an OpenAI-compatible endpoint, a local Ollama, or a script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from agent_security.errors import UsageError
from agent_security.ports import Provider
from agent_security.providers.ollama import OLLAMA_URL, ollama_models
from agent_security.providers.openai import DEFAULT_BASE_URL, OnRetry, OpenAIProvider
from agent_security.providers.retries import Backoff
from agent_security.providers.scripted import ScriptedProvider

__all__ = [
    "DEFAULT_BASE_URL",
    "OLLAMA_URL",
    "Backoff",
    "OnRetry",
    "OpenAIProvider",
    "ScriptedProvider",
    "TellsRetries",
    "ollama_models",
    "open_provider",
]

_SCRIPT = "script:"


@runtime_checkable
class TellsRetries(Protocol):
    """A provider that tries again by itself and tells whoever listens (the loop audits each)."""

    on_retry: OnRetry | None


def open_provider(
    model: str = "",
    base_url: str = "",
    api_key: str = "",
    *,
    proxy: str = "",
    ca_file: str = "",
    variables: Mapping[str, str] | None = None,
    ollama_url: str = OLLAMA_URL,
) -> Provider:
    """The provider a person's settings name; connects to nothing but, without a model, a local Ollama.

    `script:FILE` is a script, whose `${variables}` are given here. Without a model the one model of a
    local Ollama is used. Raises UsageError with the line to type where that leaves no choice.
    """
    if model.startswith(_SCRIPT):
        return ScriptedProvider.from_file(model.removeprefix(_SCRIPT), variables=variables)
    if not model and not base_url:
        return OpenAIProvider(_only_local_model(ollama_url), base_url=f"{ollama_url}/v1")
    if not model:
        raise UsageError(f"no model is named for {base_url}: add --model NAME")
    if not api_key and not base_url:
        raise UsageError(f"no API key for {DEFAULT_BASE_URL}: set OPENAI_API_KEY, or name another --base-url")
    return OpenAIProvider(model, base_url=base_url, api_key=api_key, proxy=proxy, ca_file=ca_file)


def _only_local_model(ollama_url: str) -> str:
    models = ollama_models(ollama_url)
    if len(models) == 1:
        return models[0]
    if models:
        lines = "\n".join(f"  --base-url {ollama_url}/v1 --model {name}" for name in models[:20])
        raise UsageError(f"no model is named, and the local Ollama has {len(models)}. Choose one:\n{lines}")
    raise UsageError(
        "no model is named and no local Ollama answers. Type: agent-security --model NAME --base-url URL, "
        "or set OPENAI_API_KEY and add --model NAME. Without any model: agent-security demo"
    )
