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
    # prompt injection, §1
    "intent_drift": Code(_Q, "a sensitive command, path or address that the request does not mention"),
    "intent_mention": Code(_N, "a sensitive word in content or prose, not in the request; recorded"),
    "unnamed_host": Code(_C, "a host that the person did not name and no setting opened"),
    "unnamed_value": Code(_C, "a recipient, package or other value for a sink that the person did not give"),
    "data_in_url": Code(_C, "a long or encoded part of an address, which could carry data out"),
    "private_value": Code(_C, "a value that was kept private stands in what would be sent"),
    "leak_possible": Code(_C, "foreign text and a secret were read; an opened host would be reached"),
    "leak_sequence": Code(_N, "foreign text and a secret were read; a host nobody named would be reached"),
    # secrets, §5
    "placeholder_written": Code(_N, "a placeholder for a secret would be written into a file"),
    # effects: what a change set would do (DESIGN §3.2, D11)
    "first_tier": Code(_C, "a file that runs on the person's machine by itself, or binds the next agent"),
    "secret_file": Code(_C, "a file that holds, by its name, credentials"),
    "second_tier": Code(_Q, "a file that runs when somebody builds, tests or pushes"),
    "many_deletions": Code(_Q, "many files, or a repository's history, are deleted at once"),
    "deletes_untracked": Code(_Q, "files go whose content git does not hold"),
    "made_executable": Code(_Q, "an existing file becomes a program"),
    "link_out": Code(_N, "a link that leads out of the workspace"),
    "set_id": Code(_N, "a file that would run with another's rights"),
    "special_file": Code(_N, "a device, socket or pipe"),
    "too_large": Code(_N, "more changes or bytes than one call may make"),
    "policy": Code(_N, "the hard policy refuses it"),
    # paths, §2.3 layer 1
    "path_malformed": Code(_N, "the path is empty, too long, or holds what no file name can hold"),
    "path_home": Code(_N, "the path starts with ~ or $HOME, which file tools do not expand"),
    "path_windows": Code(_N, "the path is written in a Windows form that means something else here"),
    "path_outside": Code(_N, "the path leads out of the workspace and its added directories"),
    "path_read_only": Code(_N, "the path lies in an added directory, which is readable only"),
    "path_unresolved": Code(_N, "the path cannot be followed: a loop, a file as a folder, .. after nothing"),
    "path_special": Code(_N, "the path is a device, socket, FIFO or process file, or a folder to be written"),
    "path_look_alike": Code(_N, "the path is a second spelling of a protected name"),
    "git_config": Code(_N, "git's configuration is changed with git, where every key is judged"),
    # web, §2.3 layer 3
    "url_malformed": Code(_N, "no URL, or one that two readers would read differently"),
    "url_scheme": Code(_N, "neither http nor https"),
    "url_userinfo": Code(_N, "a name or password stands before the host"),
    "url_numeric": Code(_N, "an address in a spelling that is not four decimal numbers"),
    "url_look_alike": Code(_N, "a host name that seems to be another one"),
    "internal_host": Code(_N, "a name of loopback, of a private network or of a cloud's metadata"),
    "private_address": Code(_N, "an address that is not the public internet"),
    "unresolved": Code(_N, "the name does not resolve"),
    "unusual_port": Code(_C, "a public host on a port that is not a web port"),
    "fetch_stopped": Code(_N, "the fetch was told to stop"),
    "fetch_timeout": Code(_N, "the fetch took longer than its deadline"),
    "fetch_failed": Code(_N, "the network or the server failed"),
    "fetch_tls": Code(_N, "the server did not prove who it is"),
    "answer_too_large": Code(_N, "the answer is larger than allowed"),
    "too_many_redirects": Code(_N, "the answer redirects too often"),
    "redirect_elsewhere": Code(_N, "the answer redirects to a host that nobody opened"),
    # modes and rules, §2.2, CONTRACTS §6
    "always_confirm": Code(_C, "this cannot be taken back, so a person must say yes"),
    "rule_deny": Code(_N, "a rule of the settings denies it"),
    "rule_ask": Code(_Q, "a rule of the settings asks for it"),
    "rule_allow": Code(_N, "a rule of the settings allows it"),
    "ask_write": Code(_Q, "this mode asks before a file is changed"),
    "ask_execute": Code(_Q, "this mode asks before a command runs"),
    "opaque_network": Code(_Q, "code that no parser can judge, with a way to the network"),
    "sandboxed": Code(_N, "the settings let commands run unasked behind a proven wall"),
    "changed_unasked": Code(_N, "a command that ran unasked, as one that changes nothing, changed it"),
    "read_only_command": Code(_N, "a command known to change nothing"),
    "apply_ask": Code(_Q, "--apply ask: each change is shown before it is applied"),
    "apply_never": Code(_N, "--apply never: changes stay a patch"),
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
    "lifted_binary": Code(_C, "a program that the settings lifted off the denylist"),
    "mirror_delete": Code(_C, "a copy that deletes whatever its source does not have"),
    "emptied_file": Code(_C, "a file with content would be emptied"),
    "environment_shown": Code(_C, "the whole environment would be printed"),
    "unbounded_output": Code(_C, "output without end would be written to a file"),
    "chmod_mode": Code(_Q, "a file's mode is opened to others, or it becomes executable"),
    "opaque_code": Code(_N, "code that only the wall and its effect can judge"),
}
