"""Which commands of a line need a way out, and whether the line is made of such alone (DESIGN §3.6)."""

from __future__ import annotations

from agent_security.shell import Command, parse_line
from agent_security.shell.getopt import names
from agent_security.shell.git import parse
from agent_security.tool_policy.git import NETWORK_VERBS
from agent_security.tool_policy.install import PACKAGE_MANAGERS
from agent_security.tool_policy.lists import MORE_BINARIES

CLIENTS = names(
    "curl wget gh glab aws gcloud az kubectl helm terraform tofu heroku vercel netlify fly flyctl rsync ping"
)
_DIRECT = MORE_BINARIES["connects to the network directly"] | CLIENTS | names("nc netcat ncat")
_OFFLINE = names("--offline --no-index --frozen-offline --prefer-offline-only")


def network_commands(command: str) -> tuple[str, ...]:
    """The commands of a line that may use the network, in order: `git push`, `npm`, `gh`."""
    found = (_network_name(each) for each in parse_line(command).commands)
    return tuple(dict.fromkeys(name for name in found if name))


def _network_name(command: Command) -> str:
    if command.name == "git":
        verb = parse(command.args).verb
        return f"git {verb}" if verb in NETWORK_VERBS else ""
    if command.name in PACKAGE_MANAGERS:
        return "" if any(word.value in _OFFLINE for word in command.args) else command.name
    if any(r.target.starts("/dev/tcp/", "/dev/udp/") for r in command.redirects):
        return "/dev/tcp"
    return command.name if command.name in _DIRECT else ""
