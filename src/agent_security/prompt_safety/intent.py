"""§1.4: does this call mention something sensitive that the person did not? (D6)

`ok` is what the specification documents. The code says how much it weighs: `intent_drift` where
the word is a command that would run, a path, a host or a URL, and is asked about;
`intent_mention` where it stands in content, patterns or prose, and is only recorded.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from agent_security.decision import Check
from agent_security.shell import parse_line

HIGH_RISK_TOOLS = frozenset({"run_bash", "write_file", "edit_file", "webfetch"})
_TARGETS = frozenset({"path", "file_path", "url"})
"""Arguments that are a path or an address as a whole."""

_COMMANDS = frozenset(
    {
        "curl", "wget", "sudo", "su", "doas", "nc", "ncat", "netcat", "scp", "sftp", "rsync", "ssh-add",
        "gpg",
    }
)  # fmt: skip
SENSITIVE: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (word, re.compile(pattern, re.IGNORECASE))
    for word, pattern in (
        ("rm -rf", r"\brm\s+-(?:\w*r\w*f|\w*f\w*r|r\s+-f|f\s+-r)"),
        *((name, rf"(?<![\w.-]){re.escape(name)}(?![\w-])") for name in sorted(_COMMANDS)),
        (".env", r"(?<!\w)\.env(?!\w|\.(?:example|sample|template|dist)\b)"),
        *(
            (name, rf"(?<!\w){re.escape(name)}(?!\w)")
            for name in (".ssh", ".aws", ".netrc", ".npmrc", ".pypirc")
        ),
        *(
            (name, rf"(?<!\w){re.escape(name)}(?!\w)")
            for name in (".git-credentials", ".kube", ".gnupg", ".docker")
        ),
        *((name, rf"\b{name}\b") for name in ("id_rsa", "id_ed25519", "authorized_keys")),
        *((name, rf"{name}\b") for name in ("/etc/passwd", "/etc/shadow")),
        ("169.254.169.254", r"(?<![\d.])169\.254\.169\.254(?!\.?[\w-])"),
        ("metadata host", r"\bmetadata\.(?:google\.internal|azure\.com)\b"),
        ("password", r"(?<![a-z0-9])(?:passwords?|passwd|passphrase)(?![a-z0-9])"),
        ("secret", r"(?<![a-z0-9])secrets?(?![a-z0-9])"),
        ("token", r"(?<![a-z0-9])token(?![a-z0-9])"),
        ("api_key", r"(?<![a-z0-9])api[_ -]?keys?(?![a-z0-9])"),
        ("credential", r"(?<![a-z0-9])credentials?(?![a-z0-9])"),
        ("private_key", r"(?<![a-z0-9])private[_ -]keys?(?![a-z0-9])"),
    )
)
_WORDS_OF_PROSE = frozenset({"password", "secret", "token", "api_key", "credential", "private_key"})
"""Words that code and prose are full of: they weigh only as part of a path or address."""
_PLACE = re.compile(r"[/.:@~]|^\$")


def intent_check(user_goal: str, scratchpad: str, tool_name: str, tool_args: Mapping[str, Any]) -> Check:
    """§1.4. `scratchpad` is what was written there before anything untrusted was read (D6)."""
    if tool_name not in HIGH_RISK_TOOLS:
        return Check(True)
    known = f"{user_goal}\n{scratchpad}"
    words = [(word, weighs) for word, weighs in _mentions(tool_args) if not _given(word, known)]
    if not words:
        return Check(True)
    word, weighs = max(words, key=lambda found: found[1])
    code = "intent_drift" if weighs else "intent_mention"
    return Check(False, f"{code}: {tool_name} refers to `{word}`, which the request does not mention")


def _given(word: str, known: str) -> bool:
    pattern = dict(SENSITIVE)[word]
    return pattern.search(known) is not None


def _mentions(tool_args: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """(word, whether it is a command, path, host or URL) for every sensitive word of the arguments."""
    for name, value in _leaves(tool_args):
        for word, pattern in SENSITIVE:
            if pattern.search(value):
                yield word, name in _TARGETS or (name == "command" and _acts(word, pattern, value))


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, str(key))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _leaves(inner, name)


def _acts(word: str, pattern: re.Pattern[str], command: str) -> bool:
    """Whether the word is a command that would run, or stands in a word that is a path or address."""
    line = parse_line(command)
    if line.problem or (line.opaque and word not in _WORDS_OF_PROSE):
        return True
    if word in _COMMANDS:
        return any(ran.name == word for ran in line.commands)
    if word == "rm -rf":
        return any(ran.name == "rm" for ran in line.commands)
    return any(pattern.search(part) and _is_place(part) for part in _shell_words(command))


def _is_place(part: str) -> bool:
    return _PLACE.search(part) is not None and not any(char.isspace() for char in part)


def _shell_words(command: str) -> Iterator[str]:
    """Words of a line; what `-c` or eval is given is a line again."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    for before, word in zip(["", *words], words, strict=False):
        nested = before == "eval" or (before.startswith("-") and before.endswith("c"))
        yield from word.split() if nested else [word]
