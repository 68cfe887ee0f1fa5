"""What the sandbox gets of the host: a handful of variables and no credential folder (§5.2)."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Mapping

from agent_security.secret_management.environment import host_environment

ALLOWED_CONTAINER_ENV = frozenset(
    {"PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "AGENT_SESSION_ID", "AGENT_SESSION_TOKEN"}
)
"""The only names the sandbox may have from the host or the harness."""

OWN_VALUES: Mapping[str, str] = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/home/agent",
    "USER": "agent",
}
"""Names that are the specification's with values that are the sandbox's own (D12)."""

_INHERITED = ("LANG", "LC_ALL", "TERM")
_PLAIN = re.compile(r"[A-Za-z0-9_.@+-]{1,64}")

CREDENTIAL_MOUNT_PATHS = (
    "~/.aws", "~/.ssh", "~/.config/gcloud", "~/.docker", "~/.netrc", "~/.kube", "~/.gnupg",
    "~/.azure", "~/.boto", "~/.cargo/credentials", "~/.cargo/credentials.toml", "~/.config/gh",
    "~/.config/glab-cli",
    "~/.config/helm", "~/.config/hub", "~/.config/op", "~/.config/rclone", "~/.config/sops",
    "~/.config/doctl",
    "~/.databrickscfg", "~/.gem/credentials", "~/.git-credentials", "~/.config/git/credentials",
    "~/.huggingface", "~/.cache/huggingface/token", "~/.local/share/keyrings", "~/.m2/settings.xml",
    "~/.mozilla", "~/.config/google-chrome", "~/.config/chromium", "~/.my.cnf", "~/.npmrc", "~/.oci",
    "~/.password-store", "~/.pgpass", "~/.pypirc", "~/.s3cfg", "~/.terraform.d", "~/.terraformrc",
    "~/.vault-token",
)  # fmt: skip
"""Never mounted into a sandbox. The first seven are the specification's."""


def build_container_env(
    session_id: str, session_token: str, *, env: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The whole environment of the sandbox. Nothing that is not in ALLOWED_CONTAINER_ENV gets in."""
    host = host_environment(env)
    inherited = {name: host[name] for name in _INHERITED if _PLAIN.fullmatch(host.get(name, ""))}
    own = {"AGENT_SESSION_ID": session_id, "AGENT_SESSION_TOKEN": session_token}
    return {**OWN_VALUES, **inherited, **own}


def check_credential_mounts(home: str | None = None) -> list[str]:
    """Which of CREDENTIAL_MOUNT_PATHS exist under `home` (default: the password database's)."""
    base = pwd.getpwuid(os.getuid()).pw_dir if home is None else home
    return [path for path in CREDENTIAL_MOUNT_PATHS if os.path.lexists(os.path.join(base, path[2:]))]
