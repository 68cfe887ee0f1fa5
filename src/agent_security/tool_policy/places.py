"""Where a word of a command leads, and whether a command may read or write there (§2.3, DESIGN §1).

Inside the workspace everything is ordinary. Outside, system folders and toolchains may be read,
the session's own /tmp may be written; the rest is refused. Text that only the run knows is taken
as a plain name, so `/etc/$X` is in /etc and `src/*/../../..` leaves.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from dataclasses import replace

from agent_security.decision import Check
from agent_security.paths import Scope, judge_path
from agent_security.protected_paths import Tier, is_secret_file, run_later
from agent_security.shell.getopt import names
from agent_security.shell.words import GLOBS, HOME, NONCHARACTERS, PIPE, ROOT, RUN_TIME, SOME, UNKNOWN, Word

OK = Check(True)

READABLE: tuple[tuple[str, str], ...] = (
    (r"/(usr|lib|lib32|lib64|libx32|bin|sbin|opt|nix|snap)", "programs, headers and libraries of the system"),
    (r"/(tmp|var/tmp)", "the session's own temporary folders"),
    (r"/dev/(null|zero|full|u?random|tty|std(in|out|err)|fd|shm|ptmx)", "harmless devices"),
    (
        r"/proc/(cpuinfo|meminfo|version|uptime|loadavg|stat|filesystems|mounts|swaps|sys)",
        "facts about the machine",
    ),
    (
        r"/proc/self/(status|stat|limits|cgroup|mounts|mountinfo|fd|comm|cmdline|maps)",
        "facts about the process",
    ),
    (r"/sys/(fs/cgroup|class|devices|block|kernel/mm|module)", "facts about the machine"),
    (
        r"/etc/(os-release|lsb-release|debian_version|redhat-release|alpine-release|issue|timezone|localtime)",
        "the system",
    ),
    (
        r"/etc/(ssl/certs|ssl/openssl.cnf|ca-certificates.*|pki|mime.types|magic|services|protocols)",
        "public tables",
    ),
    (
        r"/etc/(ld.so.*|alternatives|apt/sources.*|shells|nsswitch.conf|resolv.conf|hosts|hostname|locale.*)",
        "the system",
    ),
)
"""Paths outside the workspace that a command may read, with the reason."""

WRITABLE: tuple[tuple[str, str], ...] = (
    (r"/(tmp|var/tmp|dev/shm)(/.*)?", "the session's own temporary folders"),
    (r"/dev/(null|full|tty|std(out|err)|fd/\d+)", "harmless devices"),
    (r"/proc/self/fd/\d+", "the command's own output"),
)
HOME_READABLE: tuple[tuple[str, str], ...] = (
    (
        r"\.cargo/(registry|bin)|go/pkg/mod|\.m2/repository|\.npm/_cacache|\.cache|\.gradle/caches",
        "dependency stores",
    ),
    (
        r"\.(rustup|pyenv|nvm|rbenv|sdkman|asdf|deno|bun|volta)|\.local/(bin|lib|share/(mise|uv|pnpm|pipx))",
        "toolchains",
    ),
)
_READABLE = re.compile("(?:" + "|".join(row[0] for row in READABLE) + r")(?:/.*)?")
_WRITABLE = re.compile("|".join(row[0] for row in WRITABLE))
_HOME_READABLE = re.compile("(?:" + "|".join(row[0] for row in HOME_READABLE) + r")(?:/.*)?")
_CREDENTIALS = re.compile(
    r"(?i)(^|/)(credentials(\.toml|\.json)?|\.?netrc|id_[a-z0-9]+|.*\.(pem|key|p12|pfx)|environ|mem)$"
)
_ROOTS = names("etc home root var srv proc sys dev mnt media boot run usr lib opt bin sbin tmp Users")
_HIDDEN_SECRETS = (".env", ".netrc", ".npmrc", ".pypirc", ".env.local", "id_rsa", "id_ed25519")
_PLAIN = {ord(mark): "x" for mark in NONCHARACTERS}
_DOCUMENTS = re.compile(r"(?i).*\.md$")
_MORE_FIRST_TIER = re.compile(r"(?i)(^|/)\.github/hooks/")


def resolve(word: Word, cwd: str | None, scope: Scope) -> str | None:
    """The absolute path a word names, `..` taken out, unknown parts as plain names. None: nobody can say."""
    value = word.value
    if not value or PIPE in value or value[:1] == UNKNOWN:
        return None
    if value[:1] == SOME and not re.fullmatch(f"{SOME}[^/]*", value):
        return None
    if cwd is None and not value.startswith(("/", HOME, ROOT)):
        return None
    full = posixpath.join(_absolute(cwd or ".", scope, scope.working_dir), _absolute(value, scope, ""))
    return _normal(full.translate(_PLAIN))


def _absolute(value: str, scope: Scope, base: str) -> str:
    if value.startswith(HOME):
        return scope.home_dir + value[1:]
    if value.startswith(ROOT):
        return scope.working_dir + value[1:]
    return posixpath.join(base, value)


def _normal(path: str) -> str:
    return re.sub(r"^//+", "/", posixpath.normpath(path))


def within(path: str, root: str) -> bool:
    """By letters alone."""
    root = root.rstrip("/")
    return path == root or path.startswith(root + "/")


def judge_place(word: Word, cwd: str | None, scope: Scope, *, write: bool, removes: bool = False) -> Check:
    """Whether a command may read or write what the word names; `removes`: what is written is deleted."""
    path = resolve(word, cwd, scope)
    if path is None:
        return OK
    if re.match(r"/dev/(tcp|udp)/", path):
        return Check(False, "shell_network: /dev/tcp and /dev/udp are network connections")
    if within(path, _normal(scope.working_dir)):
        return _inside(
            path, scope, write=write, removes=removes, known=not (RUN_TIME | GLOBS) & set(word.value)
        )
    if any(within(path, _normal(root)) for root in scope.added_dirs):
        return Check(
            not write, f"shell_path: {word.text} lies in an added folder, which is read only" if write else ""
        )
    if _may(path, scope, write=write):
        return OK
    verb = "writes" if write else "reads"
    return Check(
        False, f"shell_path: the command {verb} {_shown(word, path)}, which lies outside the workspace"
    )


def _shown(word: Word, path: str) -> str:
    return word.text if word.text == path else f"{word.text} ({path})"


def _inside(path: str, scope: Scope, *, write: bool, removes: bool, known: bool) -> Check:
    name = posixpath.relpath(path, _normal(scope.working_dir))
    if write and not removes and is_first_tier(name) and not _DOCUMENTS.match(name):
        return Check(
            False,
            f"first_tier_write: {name} runs by itself on the host: use write_file or edit_file, "
            "which show the change",
        )
    if not known:
        return OK
    check = judge_path(path, replace(scope, added_dirs=()) if write else scope, write=False)
    harmless = check.ok or check.reason.startswith(("path_special", "path_windows", "path_look_alike"))
    return OK if harmless else Check(False, f"shell_path: {name}: {check.sentence}")


def _may(path: str, scope: Scope, *, write: bool) -> bool:
    home = _normal(scope.home_dir)
    if write:
        return bool(_WRITABLE.fullmatch(path)) and (home in ("/", "/tmp") or not within(path, home))
    if _CREDENTIALS.search(path):
        return False
    if within(path, home) and path != home:
        return bool(_HOME_READABLE.fullmatch(posixpath.relpath(path, home)))
    return bool(_READABLE.fullmatch(path))


def is_first_tier(name: str) -> bool:
    """Whether a file of the workspace runs on the host by itself (D11)."""
    protected = run_later(name)
    return bool(protected and protected.tier is Tier.FIRST) or bool(_MORE_FIRST_TIER.search(name))


def is_document(name: str) -> bool:
    return bool(_DOCUMENTS.match(name))


def looks_like_place(word: Word) -> bool:
    """Whether an argument of a program nobody described is a path that leaves the workspace."""
    value = word.value
    if not value or "\n" in value or "://" in value:
        return False
    if value.startswith((HOME, ROOT)):
        return len(value) == 1 or value[1] == "/"
    if value.startswith("/"):
        return value.split("/")[1].translate(_PLAIN) in _ROOTS or value[1:2] in GLOBS or value == "/"
    return value == ".." or value.startswith("../") or "/../" in value


def secret_named(word: Word, cwd: str | None, scope: Scope) -> str:
    """The secret file of the workspace that the word names, or that its glob takes; "" where none."""
    path = resolve(word, cwd, scope)
    if path is None or not within(path, _normal(scope.working_dir)):
        return ""
    name = posixpath.relpath(path, _normal(scope.working_dir))
    if not word.has_glob:
        return name if is_secret_file(name) else ""
    pattern = posixpath.basename(word.text)
    caught = (
        s
        for s in _HIDDEN_SECRETS
        if pattern[:1] == s[:1] and len(pattern) > 1 and fnmatch.fnmatch(s, pattern)
    )
    return next(caught, "")


def exists(word: Word, cwd: str | None, scope: Scope) -> bool | None:
    """Whether a file with content stands there; None where nobody can say."""
    path = resolve(word, cwd, scope)
    if path is None or not word.known or not scope.look(scope.working_dir).exists:
        return None
    fact = scope.look(path)
    return None if fact.problem else fact.exists and fact.size_bytes > 0
