"""What the letters of a path already show, before any file system is asked (§2.3 layer 1)."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from functools import lru_cache

from agent_security.decision import Check
from agent_security.protected_paths import Tier, run_later

__all__ = ["judge_path_text", "judge_pattern_text", "literal_prefix", "protected_spelling"]

_HOME_FORM = re.compile(
    r"~(?:/|$)|~[A-Za-z_+-][\w.-]*(?:/|$)|\$\{?HOME\b|%(?:USERPROFILE|HOMEPATH|APPDATA)%", re.I
)
_DRIVE = re.compile(r"[A-Za-z]:(?:[\\/]|$)")
_IGNORED = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
"""What HFS+ and others leave out of a name when they compare."""


def judge_path_text(path: object) -> Check:
    """Refuse what is no path, or stands for one place here and for another elsewhere."""
    if not isinstance(path, str) or not path.strip():
        return Check(False, "path_malformed: the path is empty")
    if "\0" in path:
        return Check(False, "path_malformed: the path holds NUL")
    if _HOME_FORM.match(path):
        return Check(
            False, "path_home: ~ and $HOME are not expanded; for a file of that name write ./ before it"
        )
    return _judge_windows_forms(path)


def _judge_windows_forms(path: str) -> Check:
    parts = re.split(r"[\\/]", path)
    if "\\" in path and (path.startswith("\\") or ".." in parts):
        return Check(False, "path_windows: backslashes lead out on another system; use / between folders")
    if _DRIVE.match(path):
        return Check(False, "path_windows: a drive letter is no path here")
    if any("::$" in part or part.lower().endswith(":$data") for part in parts):
        return Check(False, "path_windows: a stream suffix is no file name here")
    return Check(True)


@lru_cache(maxsize=4096)
def protected_spelling(path: str) -> str:
    """The protected path that a workspace-relative path is a second spelling of, or "".

    `.GIT/config`, `.git./config`, `.g<zero-width>it/config`, `GIT~1/config` and `.vscode:x/settings.json`
    name the real thing on file systems that fold case, drop characters or know streams.
    """
    parts = path.split("/")
    folded = [_fold(part) for part in parts]
    protected = run_later("/".join(folded))
    if protected is None or protected.tier is not Tier.FIRST:
        return ""
    for i, (part, plain) in enumerate(zip(parts, folded, strict=True)):
        if part == plain or not plain.startswith(".") or part in protected.pattern.split("/"):
            continue
        without = "/".join([*folded[:i], "x", *folded[i + 1 :]])
        rest = run_later(without)
        if rest is None or rest.tier is not Tier.FIRST:
            return "/".join(folded)
    return ""


def _fold(part: str) -> str:
    plain = _IGNORED.sub("", unicodedata.normalize("NFKC", part)).casefold()
    plain = plain.partition(":")[0] or plain
    plain = plain.rstrip(". ") or plain
    short = re.fullmatch(r"(git|vscode|claude|cursor|idea)~[0-9]", plain)
    return f".{short[1]}" if short else plain


def judge_pattern_text(pattern: object) -> Check:
    """A glob pattern may not climb out, whatever way it writes `..`."""
    if not isinstance(pattern, str) or not pattern.strip():
        return Check(False, "path_malformed: the pattern is empty")
    if pattern.startswith("/"):
        return Check(False, "path_outside: the pattern is absolute")
    plain = re.sub(r"\[([^\]!^])\]", r"\1", pattern).replace("\\.", ".")
    if ".." in re.split(r"[\\/{},()|]", plain):
        return Check(False, "path_outside: the pattern climbs out with ..")
    return judge_path_text(pattern)


def literal_prefix(pattern: str) -> str:
    """The folders of a pattern before its first wildcard: what a search would walk into first."""
    parts = pattern.split("/")
    plain = next((i for i, part in enumerate(parts) if re.search(r"[*?\[{]", part)), len(parts))
    return posixpath.join(*parts[:plain]) if plain else "."
