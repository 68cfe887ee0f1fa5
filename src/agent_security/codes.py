"""Every `code` a decision can carry, with the kind of question it is and what it means.

One row a code; the documents print this table, and a test holds that no module uses a word
that is not in it. Codes are stable: scripts rely on them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What sort of question an ASK is."""

    NONE = ""
    QUESTION = "question"
    """A person would be asked; rules, modes and "always" may answer it."""
    CONFIRM = "confirm"
    """A person must say yes; nothing else answers it, and no mode skips it."""


class Code(NamedTuple):
    kind: Kind
    meaning: str


_N, _Q, _C = Kind.NONE, Kind.QUESTION, Kind.CONFIRM

CODES: dict[str, Code] = {
    # every gate
    "ok": Code(_N, "no objection"),
    "no_gate": Code(_N, "no gate answered, which is a refusal"),
    "gate_error": Code(_N, "a gate broke, which is a refusal"),
    # spine
    "aborted": Code(_N, "the session is being stopped"),
    "tool_call_cap": Code(_N, "the session's cap on tool calls is reached"),
    "refused_by_person": Code(_N, "a person said no"),
    "nobody_to_ask": Code(_N, "a question came up and nobody was there to answer it"),
    "approved": Code(_N, "a person said yes"),
    # validation, §3.1
    "unknown_tool": Code(_N, "no tool of that name is active in this session"),
    "bad_arguments": Code(_N, "the arguments do not fit the tool's schema"),
    # plan, §6.2
    "plan_first": Code(_C, "--approve-plan is on and this turn's plan has no approval yet"),
    # shell, §2.2 and §2.3 layer 2
    "hidden_text": Code(_N, "characters a person cannot see, or that the shell reads otherwise"),
    "denied_binary": Code(_N, "a program of the shell's denylist would run"),
    "denied_pattern": Code(_N, "a command of the shell's denylist would run"),
    "broad_delete": Code(_N, "a recursive delete of root, home, a parent, the workspace or the unknown"),
    "shell_path": Code(_N, "a command reads or writes outside the workspace"),
    "hidden_execution": Code(_N, "an option, a setting or a script's own command starts a program unseen"),
    "exec_environment": Code(_N, "a variable that makes other programs run or load something"),
    "run_time_code": Code(_N, "shell code that only the run knows would be run"),
    "run_from_address": Code(_N, "an interpreter is given an address for its program"),
    "shell_network": Code(_N, "a program or a redirection that connects to the network directly"),
    "foreign_remote": Code(_N, "a push to an address instead of a remote of the repository"),
    "upload": Code(_N, "a local file would be sent to a service"),
    "credential_command": Code(_N, "a command that prints or takes credentials"),
    "environment_leak": Code(_N, "the whole environment would be encoded or stored"),
    "chmod_open": Code(_N, "a mode that lets everybody write, or a set-id bit"),
    "kill_outside": Code(_N, "a signal to the harness, or to everything"),
    "fork_bomb": Code(_N, "processes without end"),
    "first_tier_write": Code(_N, "a file that runs by itself is changed with the file tools, which show it"),
    "unparsable": Code(_C, "the command line cannot be parsed"),
    "too_deep": Code(_C, "commands are nested too deeply to be judged"),
    "dynamic_command": Code(_C, "which command runs is known only at run time"),
    "destructive_git": Code(_C, "a git command that destroys history or uncommitted work"),
    "destructive_remote": Code(_C, "data, infrastructure or a release elsewhere would be changed for good"),
    "install_from_address": Code(_C, "code from an address, or of a package nobody installed, would run"),
    "always_confirm": Code(_C, "this cannot be taken back, so a person must say yes"),
    "lifted_binary": Code(_C, "a program that the settings lifted off the denylist"),
    "mirror_delete": Code(_C, "a copy that deletes whatever its source does not have"),
    "emptied_file": Code(_C, "a file with content would be emptied"),
    "environment_shown": Code(_C, "the whole environment would be printed"),
    "unbounded_output": Code(_C, "output without end would be written to a file"),
    "secret_file": Code(_C, "a file that holds secrets"),
    "chmod_mode": Code(_Q, "a file's mode is opened to others, or it becomes executable"),
    "opaque_code": Code(_N, "code that only the wall and its effect can judge"),
}
