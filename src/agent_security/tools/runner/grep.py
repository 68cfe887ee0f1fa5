"""grep: `rg` where it stands inside, else the worker's own search with the same results (CONTRACTS §1).

Neither a pattern nor a file of the repository becomes an option: `rg --no-config -e PATTERN -- PATH`.
Both skip `.git` and what the `.gitignore` files of the searched tree leave out.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Any

from . import own_search
from .beneath import Place, ToolError
from .ignore import has_odd_ignore_file
from .own_search import Hit

RG = "/usr/bin/rg"
MOST_BYTES = 28_000
LINE_CHARS = 400
DEFAULT_RESULTS, MOST_RESULTS, MOST_CONTEXT = 200, 2000, 20
RG_WORDS = (
    *("--no-config", "--no-messages", "--color=never", "--no-heading", "--with-filename", "--line-number"),
    *("--null", "--sort=path", "--hidden", "--glob=!.git", "--max-columns=2000", "--max-columns-preview"),
    *(
        "--no-require-git",
        "--no-ignore-global",
        "--no-ignore-parent",
        "--no-ignore-exclude",
        "--no-ignore-dot",
    ),
)


def run(args: dict[str, Any], place: Place, *, rg: str = RG) -> dict[str, Any]:
    """`pattern`, `path`, `glob`, `ignore_case`, `context` (lines), `max_results`."""
    real = place.resolve(str(args.get("path") or "."))
    _refuse_odd(real, place)
    context = min(int(args.get("context") or 0), MOST_CONTEXT)
    by_rg = os.path.exists(rg) and not has_odd_ignore_file(real)
    search = _with_rg(rg, args, real, context) if by_rg else own_search.search(args, real, context)
    most = min(int(args.get("max_results") or DEFAULT_RESULTS), MOST_RESULTS)
    hits = (hit for hit in search if place.masked(hit.path) is None)
    return {"text": _written(hits, place, most, context) or f"no matches in {place.shown(real)}"}


def _refuse_odd(real: str, place: Place) -> None:
    try:
        mode = os.stat(real).st_mode
    except OSError:
        raise ToolError(f"{place.shown(real)} does not exist") from None
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise ToolError(f"{place.shown(real)} is neither a file nor a folder")


def _written(hits: Iterator[Hit], place: Place, most: int, context: int) -> str:
    """`path:line:text` for matches, `path-line-text` for context, `--` between groups; bounded."""
    lines: list[str] = []
    matches, room, before = 0, MOST_BYTES, ("", 0)
    for hit in hits:
        matches += hit.is_match
        mark = ":" if hit.is_match else "-"
        line = f"{place.shown(hit.path)}{mark}{hit.line}{mark}{_cut(hit.text)}"
        room -= len(line.encode("utf-8", "replace")) + 1
        if matches > most or room < 0:
            lines.append("[there is more: narrow the pattern, the path or the glob]")
            break
        if context and before[0] and before != (hit.path, hit.line - 1):
            lines.append("--")
        lines.append(line)
        before = (hit.path, hit.line)
    return "\n".join(lines)


def _cut(text: str) -> str:
    text = text.rstrip("\r\n")
    over = len(text) - LINE_CHARS
    return text if over <= 0 else f"{text[:LINE_CHARS]} [… {over} more characters]"


def _with_rg(rg: str, args: dict[str, Any], real: str, context: int) -> Iterator[Hit]:
    import subprocess  # only here: it doubles the worker's start

    words = [rg, *RG_WORDS, f"--context={context}"]
    words += ["--ignore-case"] if args.get("ignore_case") else []
    words += [f"--glob={args['glob']}"] if args.get("glob") else []
    process = subprocess.Popen(
        [*words, "-e", str(args["pattern"]), "--", real],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=real if os.path.isdir(real) else os.path.dirname(real),  # what a glob is relative to
    )
    with process:
        try:
            for raw in process.stdout or ():
                if (hit := _parsed(raw)) is not None:
                    yield hit
            error = process.stderr.read(2000) if process.stderr else b""
        finally:
            process.kill()
    if process.returncode == 2 and error:
        raise ToolError(f"the search failed: {error.decode('utf-8', 'replace').strip()}")


def _parsed(raw: bytes) -> Hit | None:
    """One line `path NUL number mark text`; None for separators and notes on binary files."""
    path, nul, rest = raw.partition(b"\0")
    digits = len(rest) - len(rest.lstrip(b"0123456789"))
    if not nul or not digits or rest[digits : digits + 1] not in (b":", b"-"):
        return None
    text = rest[digits + 1 :].decode("utf-8", "replace")
    return Hit(os.fsdecode(path), int(rest[:digits]), rest[digits : digits + 1] == b":", text)
