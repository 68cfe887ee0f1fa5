"""Every settings key in one table: type, default, who may set it, flag, variable, one line of help.

`--help` and the documents are generated from it; a test holds the flags of the specification and
of CONTRACTS §2 to it. A key's field in `Settings` is its name with "." as "_".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from agent_security.settings.values import (
    FLAG,
    PATH,
    TEXT,
    URL,
    VARIABLE,
    Kind,
    amount,
    binary,
    choice,
    domain,
    identifier,
    one_of,
    plain,
    seconds,
    several,
    tokens,
    whole,
)

WALLS = ("fs", "net", "env", "kill", "limits", "view")
MODES = ("default", "acceptEdits", "dangerouslySkipPermissions")
SANDBOXES = ("auto", "bubblewrap", "docker", "podman", "landlock", "external")
ENV_PREFIX = "AGENT_SECURITY_"


class Level(StrEnum):
    """Who set a value, strictest say first: the order of precedence of scalars (CONTRACTS §6)."""

    MANAGED = "managed"
    FLAG = "command line"
    ENV = "environment"
    USER = "user"
    PROJECT = "project"
    DEFAULT = "default"


_ALL = frozenset({Level.MANAGED, Level.FLAG, Level.ENV, Level.USER})
_LIMIT = _ALL | {Level.PROJECT}
_RUN = frozenset({Level.FLAG})
_FILE = frozenset({Level.MANAGED, Level.USER})


@dataclass(frozen=True, slots=True)
class Key:
    """One row. `union` lists add up over the levels; the first level that sets another key wins."""

    name: str
    kind: Kind
    default: Any
    levels: frozenset[Level]
    flag: str
    help: str
    union: bool = False
    section: str = ""
    """The specification's section, where it is one of its flags."""

    def __post_init__(self) -> None:
        if not self.field.isidentifier():
            raise ValueError(f"{self.name!r} cannot be a field")

    @property
    def field(self) -> str:
        return self.name.replace(".", "_")

    @property
    def env(self) -> str:
        """The variable's name, or "" where a variable may not set this key."""
        return ENV_PREFIX + self.field.upper() if Level.ENV in self.levels else ""

    @property
    def option(self) -> str:
        """The long flag alone: `--working-dir` of `-C/--working-dir`; "" where there is none."""
        return self.flag.split("/")[-1]

    @property
    def parameter(self) -> str:
        """The flag as a Python name: `working_dir`."""
        return self.option.lstrip("-").replace("-", "_")


_DAY_S = 86_400

_ROWS = (
    # this run
    Key("working_dir", PATH, "", _RUN, "-C/--working-dir", "The project to work on (default: here)."),
    Key("headless", FLAG, False, _RUN, "-p/--print", "Run headless: no questions, the result on stdout."),
    Key(
        "output_format",
        choice("text", "json", "stream-json"),
        "text",
        _ALL,
        "--output-format",
        "What headless prints.",
    ),
    Key(
        "continue_newest",
        FLAG,
        False,
        _RUN,
        "-c/--continue",
        "Go on with the newest session of this project.",
    ),
    Key("resume", TEXT, "", _RUN, "-r/--resume", "Go on with this session."),
    Key(
        "context",
        several(plain, "paths", paths=True),
        (),
        _RUN,
        "--context",
        "A file to read as task text, without authority.",
    ),
    Key("artifacts", PATH, "", _RUN, "--artifacts", "A folder for the result, the patch and the log."),
    Key("settings", PATH, "", _RUN, "--settings", "A file in place of the user's settings file."),
    # who asks and who decides
    Key("mode", choice(*MODES), "default", _ALL, "--mode", "The permission mode."),
    Key("profile", choice("", "ci"), "", _ALL, "--profile", "A named set of settings: ci."),
    Key(
        "tools",
        several(identifier, "tool names"),
        (),
        _LIMIT,
        "--tools",
        "The tools the model may use (default: all).",
        section="§2.1",
    ),
    Key(
        "approve_plan",
        FLAG,
        False,
        _ALL,
        "--approve-plan",
        "A person approves the plan before the first action.",
        section="§6.2",
    ),
    Key(
        "permissions.sandboxed",
        choice("ask", "allow"),
        "ask",
        _ALL,
        "",
        "allow: commands run unasked where the wall is proven.",
    ),
    Key(
        "permissions.runs_later",
        choice("ask", "list"),
        "ask",
        _ALL,
        "",
        "list: build and CI files change unasked and are listed.",
    ),
    Key(
        "shell.permit",
        several(binary, "program names"),
        (),
        _FILE,
        "",
        "Denied programs that a person may confirm.",
        union=True,
    ),
    # walls
    Key("sandbox", choice(*SANDBOXES), "auto", _ALL, "--sandbox", "The wall's kind."),
    Key(
        "require",
        several(one_of(*WALLS), "guarantees"),
        (),
        _ALL,
        "--require",
        "Guarantees without which nothing starts.",
        union=True,
    ),
    Key(
        "add_dir",
        several(plain, "folders", paths=True),
        (),
        _ALL,
        "--add-dir",
        "A further folder the model may read.",
        union=True,
    ),
    Key(
        "allow_domain",
        several(domain, "domains"),
        (),
        _ALL,
        "--allow-domain",
        "A domain that is open: name, *.name or preset.",
        union=True,
    ),
    Key("apply", choice("auto", "ask", "never"), "auto", _ALL, "--apply", "How changes reach the project."),
    # what one call may change before a person is asked, or it is refused
    Key(
        "changes.deletions",
        whole(0, 1_000_000),
        20,
        _LIMIT,
        "",
        "Deleted files above which a call is asked about.",
    ),
    Key(
        "changes.untracked_deletions",
        whole(0, 1_000_000),
        0,
        _LIMIT,
        "",
        "Deleted files that git never had above which a call is asked about.",
    ),
    Key(
        "changes.max_files",
        whole(1, 10_000_000),
        100_000,
        _LIMIT,
        "",
        "Changes of one call; more are refused.",
    ),
    Key(
        "changes.max_bytes",
        whole(1, 1024**5),
        4 * 1024**3,
        _LIMIT,
        "",
        "Bytes of one call's changes; more are refused.",
    ),
    Key(
        "changes.max_file_bytes",
        whole(1, 1024**5),
        1024**3,
        _LIMIT,
        "",
        "Bytes of one changed file; more are refused.",
    ),
    # limits
    Key(
        "tool_timeout",
        seconds(1, _DAY_S),
        120.0,
        _LIMIT,
        "--tool-timeout",
        "Seconds a tool call may take.",
        section="§4.3",
    ),
    Key(
        "llm_timeout",
        seconds(1, _DAY_S),
        120.0,
        _LIMIT,
        "--llm-timeout",
        "Seconds a request to the model may take.",
        section="§4.3",
    ),
    Key(
        "max_turns",
        whole(1, 100_000),
        40,
        _LIMIT,
        "--max-turns",
        "Model responses a user message may take.",
        section="§4.1",
    ),
    Key(
        "max_tool_calls",
        whole(1, 1_000_000),
        200,
        _LIMIT,
        "--max-tool-calls",
        "Tool calls a session may make.",
        section="§4.1",
    ),
    Key(
        "max_context_tokens",
        tokens(1_000, 100_000_000),
        24_000,
        _LIMIT,
        "--max-context-tokens",
        "Tokens before the history is trimmed, or auto: the model's window.",
        section="§4.2",
    ),
    Key(
        "max_cost_usd",
        amount(0, 1_000_000),
        5.0,
        _LIMIT,
        "--max-cost-usd",
        "What a session may cost, in USD.",
        section="§4.4",
    ),
    Key("deadline", seconds(1, 365 * _DAY_S), None, _LIMIT, "--deadline", "Seconds the whole run may take."),
    # the model
    Key("provider.model", TEXT, "", _ALL, "--model", "The model's name."),
    Key("provider.base_url", URL, "", _ALL, "--base-url", "The endpoint's address."),
    Key("provider.api_key_env", VARIABLE, "OPENAI_API_KEY", _ALL, "", "The variable that holds the key."),
    Key("price_in", amount(0, 1_000), 0.0, _ALL, "--price-in", "USD per 1,000 tokens sent."),
    Key("price_out", amount(0, 1_000), 0.0, _ALL, "--price-out", "USD per 1,000 tokens received."),
    # records
    Key("audit.log", PATH, "", _ALL, "--audit-log", "The log's file (default: in the state directory)."),
    Key("rollback.keep_days", whole(0, 3_650), 7, _ALL, "", "Days that undo data of a session is kept."),
)

KEYS: dict[str, Key] = {row.name: row for row in _ROWS}

RULE_KEYS = ("permissions.deny", "permissions.ask", "permissions.allow")
"""Lists of rules; those of all files are pooled. Not in KEYS: they are no scalars and no flags."""

PROFILES: dict[str, dict[str, Any]] = {
    "ci": {
        "mode": "acceptEdits",
        "permissions.sandboxed": "allow",
        "permissions.runs_later": "list",
        "require": ("fs", "net", "env", "kill"),
    }
}
"""What a profile sets; it stands right below the level that chose it."""

CEILINGS: dict[str, Kind] = {
    "modes": several(one_of(*MODES), "modes"),
    "providers": several(plain, "addresses"),
    "sandboxes": several(one_of(*SANDBOXES), "sandboxes"),
    "require": several(one_of(*WALLS), "guarantees"),
    "permit": several(binary, "program names"),
    "add_dirs": several(plain, "folders", paths=True),
    "domains": several(domain, "domains"),
    "sandboxed": choice("ask", "allow"),
    **{name: key.kind for name, key in KEYS.items() if key.kind.ordered and Level.PROJECT in key.levels},
}
"""Keys of the managed file's `[ceiling]`: what nobody below may exceed (CONTRACTS §6)."""
