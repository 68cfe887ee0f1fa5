"""Which models a local Ollama serves, so that a machine with exactly one needs no setting."""

from __future__ import annotations

import http.client
import json
from urllib.parse import urlsplit

OLLAMA_URL = "http://127.0.0.1:11434"
_MAX_LIST_BYTES = 4 * 1024 * 1024


def ollama_models(base_url: str = OLLAMA_URL, *, timeout_s: float = 0.5) -> tuple[str, ...]:
    """Names of the installed models, sorted; empty where no Ollama answers there."""
    address = urlsplit(base_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port or 80, timeout=timeout_s)
    try:
        connection.request("GET", "/api/tags")
        answer = connection.getresponse()
        listed = json.loads(answer.read(_MAX_LIST_BYTES)) if answer.status == 200 else None
    except (OSError, ValueError, RecursionError, http.client.HTTPException):
        return ()
    finally:
        connection.close()
    models = listed.get("models") if isinstance(listed, dict) else None
    names = (
        (model.get("name") for model in models if isinstance(model, dict)) if isinstance(models, list) else ()
    )
    return tuple(sorted(name for name in names if isinstance(name, str) and name))
