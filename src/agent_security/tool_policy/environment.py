"""Variables that make other programs run or load something: one table, each with values that are harmless."""

from __future__ import annotations

import re

from agent_security.decision import Check
from agent_security.shell.words import SEARCH, Word

_PROGRAM = r"(?:/usr/bin/)?(?:cat|less|more|head|tail|true|:|echo|nano|vi|vim|vim? -f|code --wait|less -\w+|)"

EXEC_VARIABLES: tuple[tuple[str, str, str], ...] = (
    (r"PATH", r"(?:(?:\ufddc|/usr/(?:local/)?s?bin|/s?bin)(?::|$))+", "decides which programs run"),
    (
        r"LD_PRELOAD|LD_AUDIT|LD_DEBUG_OUTPUT|DYLD_INSERT_LIBRARIES|LD_PROFILE",
        r"",
        "loads code into every program",
    ),
    (
        r"BASH_ENV|ENV|PROMPT_COMMAND|PS0|PS4|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|ZDOTDIR",
        r"[\w./ +-]{0,0}|[^$`/]*[+>] ?",
        "makes a shell run something",
    ),
    (r"PYTHONSTARTUP|PYTHONHOME|PYTHONBREAKPOINT|PYTHONINSPECT", r"0?", "makes Python run something"),
    (r"PERL5OPT|PERL5DB|PERL5LIB|RUBYOPT|RUBYLIB", r"-W\w*|-w", "makes an interpreter load something"),
    (
        r"NODE_OPTIONS",
        r"(?!.*(?:--require|-r\b|--import|--loader|--experimental-loader|--inspect)).*",
        "makes Node load something",
    ),
    (
        r"JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS",
        r"(?!.*(?:-javaagent|-agent|OnError|OnOutOfMemory)).*",
        "makes Java load something",
    ),
    (r"GOFLAGS", r"(?!.*(?:-exec|-toolexec|-vettool|-overlay|-modfile)).*", "makes go run something"),
    (r"LESSOPEN|LESSCLOSE|LESSKEYIN", r"", "makes less run a program"),
    (
        r"PAGER|MANPAGER|GIT_PAGER|GH_PAGER|BAT_PAGER|AWS_PAGER|SYSTEMD_PAGER|PSQL_PAGER|DELTA_PAGER",
        _PROGRAM,
        "names a pager",
    ),
    (r"EDITOR|VISUAL|GIT_EDITOR|GIT_SEQUENCE_EDITOR|FCEDIT|SUDO_EDITOR", _PROGRAM, "names an editor"),
    (r"BROWSER", _PROGRAM, "names a browser"),
    (
        r"GIT_SSH|GIT_SSH_COMMAND|GIT_EXTERNAL_DIFF|GIT_PROXY_COMMAND|GIT_EXEC_PATH|GIT_TEMPLATE_DIR|SSH_ASKPASS",
        r"",
        "makes git run a program",
    ),
    (r"GIT_ASKPASS", r"(?:/usr/bin/|/bin/)?(?:true|echo|false)|", "makes git run a program"),
    (
        r"GIT_CONFIG_PARAMETERS|GIT_CONFIG_COUNT|GIT_CONFIG_KEY_\d+|GIT_CONFIG_VALUE_\d+",
        r"0?",
        "gives git settings unseen",
    ),
    (r"GIT_CONFIG(_GLOBAL|_SYSTEM)?", r"/dev/null|", "leads git to other settings"),
    (r"GIT_ALLOW_PROTOCOL", r"(?!.*\bext\b).*", "opens git's ext transport"),
    (
        r"MAKEFLAGS|GNUMAKEFLAGS|MFLAGS",
        r"-?j?\d*|-[a-zA-Z0-9]*|--jobs=\d+|--no-print-directory",
        "gives make settings unseen",
    ),
    (
        r"TAR_OPTIONS|RSYNC_RSH|RSYNC_CONNECT_PROG|CVS_RSH|ZIPOPT|GZIP|MANOPT|MANROFFOPT|TEXINPUTS_COMMAND",
        r"ssh|-\d|",
        "makes a program run another",
    ),
    (
        r"GCC_EXEC_PREFIX|COMPILER_PATH|RUSTC_WRAPPER|RUSTC_WORKSPACE_WRAPPER|CARGO_BUILD_RUSTC_WRAPPER",
        r"sccache|ccache|",
        "makes a compiler run something",
    ),
    (
        r"npm_config_(?:script[-_]shell|node[-_]options|git|shell)|NPM_CONFIG_SCRIPT_SHELL",
        r"",
        "makes npm run something",
    ),
    (
        r"PIP_INDEX_URL|PIP_EXTRA_INDEX_URL|UV_INDEX_URL|UV_DEFAULT_INDEX|NPM_CONFIG_REGISTRY|npm_config_registry",
        r"https://(?:pypi\.org|registry\.npmjs\.org)(?:/.*)?|",
        "leads an installer to another index",
    ),
    (r"HISTFILE|HISTCONTROL|HISTSIZE", r"[\w/.-]*", "changes the history"),
    (
        r"GLIBC_TUNABLES|LOCPATH|MALLOC_CHECK_FILE|GCONV_PATH|NLSPATH|RESOLV_HOST_CONF|TERMINFO_EVIL",
        r"",
        "attacks the loader",
    ),
    (
        r"PG_PAGER|PSQLRC|SQLITERC|MYSQL_HOME|OPENSSL_CONF|OPENSSL_ENGINES|CURL_HOME|WGETRC|INPUTRC|XDG_CONFIG_HOME_EVIL",
        r"/dev/null|",
        "leads a program to other settings",
    ),
)
"""(names, values that are harmless, what it does); patterns must match whole."""

_TABLE = tuple((re.compile(names), re.compile(values), why) for names, values, why in EXEC_VARIABLES)
PATH_VARIABLES = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"}
    | {"GIT_TRACE", "GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE_SETUP", "GIT_TRACE_PERFORMANCE", "CDPATH"}
)
"""Variables whose value is a path that git writes to, or that `cd` searches."""


def _settled(value: Word) -> bool:
    return Word(value.value.replace(SEARCH, "")).known


def check_variable(name: str, value: Word) -> Check:
    """One assignment, exported or not: the shell hands on what was exported before."""
    for pattern, harmless, why in _TABLE:
        if pattern.fullmatch(name) and not (_settled(value) and harmless.fullmatch(value.value)):
            return Check(False, f"exec_environment: setting {name} {why}")
    return Check(True)
