"""Which variables of an environment are secrets, by name and by value (§5.1, D12).

The one place of this control that reads the process's own environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from agent_security.secret_management.scan import scan_text

_SECRET_WORDS = frozenset(
    {
        "SECRET", "SECRETS", "TOKEN", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE", "PASSWORT",
        "PASS", "PWD", "PW", "CREDENTIAL", "CREDENTIALS", "CREDS", "APIKEY", "AUTH", "KEY", "PAT",
        "JWT", "SIGNING", "PRIVATEKEY", "DSN", "COOKIE", "ASKPASS", "PASSFILE", "SIGNATURE", "SALT",
        "PEM", "KEYFILE", "KEYTAB",
    }
)  # fmt: skip
_ENDINGS = (
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "SECRET",
    "TOKEN",
    "APIKEY",
    "CREDENTIALS",
    "PASSFILE",
    "ASKPASS",
)
"""Endings that need no boundary before them (`PGPASSWORD`); KEY is none of them (`MONKEY`)."""
_HARMLESS_KEY = frozenset(
    {
        "PUBLIC", "FOREIGN", "PRIMARY", "SORT", "PARTITION", "CACHE", "HOT", "META",
    }
)  # fmt: skip
_MEASURES = frozenset(
    {
        "ALGORITHM", "ATTEMPTS", "CHECKS", "COUNT", "ENABLED", "EXPIRY", "FLOW", "FORMAT", "LAYOUT",
        "LENGTH", "LIMIT", "MODE", "REPEAT", "SIZE", "TIMEOUT", "TTL", "TYPE",
    }
)  # fmt: skip
_HARMLESS_NAMES = frozenset({"PWD", "OLDPWD", "XAUTHORITY"})
_REACH = frozenset(
    {"DOCKER_HOST", "DOCKER_CONFIG", "KUBECONFIG", "SSH_AUTH_SOCK", "SSH_ASKPASS", "GIT_ASKPASS",
     "SUDO_ASKPASS", "GPG_AGENT_INFO", "NETRC", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE",
     "DATABASE_URL", "MONGODB_URI"}
)  # fmt: skip
"""Variables that give the use of a credential, or stand for one, under a name that does not say so."""
_USER_IN_URL = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


def host_environment(env: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """`env`, or the process's own."""
    return os.environ if env is None else env


def secret_env_rule(name: str, value: str = "") -> str:
    """Why a variable counts as a secret, as a stable word, or "" where it does not."""
    if name.upper() in _HARMLESS_NAMES:
        return ""
    if name.upper() in _REACH:
        return "gives_access"
    if _telling(name):
        return "name"
    if value and (_USER_IN_URL.search(value) or scan_text(value)):
        return "value"
    return "index_credential" if name.startswith("BUNDLE_") and ":" in value else ""


def _telling(name: str) -> bool:
    words = [word.upper() for word in _BOUNDARY.split(name) if word]
    if not words or words[-1] in _MEASURES:
        return False
    return any(_secret_word(before, word) for before, word in zip(["", *words], words, strict=False))


def _secret_word(before: str, word: str) -> bool:
    if word == "KEY":
        return before not in _HARMLESS_KEY
    return word in _SECRET_WORDS or word.endswith(_ENDINGS)


def scan_environment_for_secrets(env: Mapping[str, str] | None = None) -> list[str]:
    """Names of the variables that look like secrets, sorted; never a value (§5.1)."""
    return sorted(name for name, value in host_environment(env).items() if secret_env_rule(name, value))


def known_secret_values(env: Mapping[str, str] | None = None) -> Iterator[str]:
    """Values of those variables that can be matched exactly: 8 characters or more, not an ordinary word."""
    for name, value in host_environment(env).items():
        if secret_env_rule(name, value) and is_matchable(value):
            yield value


def is_matchable(value: str) -> bool:
    """Whether a value is specific enough to be looked for wherever it may stand."""
    return len(value) >= 8 and not value.isalpha() and not value.startswith(("/", "~"))
