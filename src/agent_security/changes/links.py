"""Whether a link leads out of the workspace, judged by its words and against the tree (DESIGN §3.2)."""

from __future__ import annotations

from collections.abc import Callable, Collection

_MAX_HOPS = 40


def leads_out(
    path: str, target: str, link_at: Callable[[str], str | None], roots: Collection[str], workspace: str = ""
) -> str:
    """Why the link at `path` leads out of the workspace, or "".

    `link_at` gives the target of the link that will stand at a path. `roots` are absolute
    folders that a link may point into all the same. An absolute target below `workspace`, as
    many tools write it, is judged as if it were said from the root.
    """
    folder = path.rpartition("/")[0]
    if workspace and target.startswith(f"{workspace}/"):
        folder, target = "", target[len(workspace) + 1 :].lstrip("/") or "."
    if why := _by_words(folder, target, roots):
        return why
    return "" if target.startswith("/") else _by_tree(folder, target, link_at, roots)


def _by_words(folder: str, target: str, roots: Collection[str]) -> str:
    parts = [part for part in target.split("/") if part not in ("", ".")]
    if not target or "\0" in target:
        return "a link to nothing"
    if target.startswith("/"):
        inside = ".." not in parts and any(target.startswith(f"{root}/") for root in roots)
        return "" if inside else f"an absolute link, to {target}"
    ups = parts.count("..")
    if parts[:ups].count("..") != ups:
        # `a/../..` stays inside only as long as `a` is what it is today
        return f"a link that goes up after going down, to {target}"
    depth = len(folder.split("/")) if folder else 0
    return f"a link out of the workspace, to {target}" if ups > depth else ""


def _by_tree(folder: str, target: str, link_at: Callable[[str], str | None], roots: Collection[str]) -> str:
    """Walk the target as the kernel would, through the links that will stand on the way."""
    at = folder.split("/") if folder else []
    waiting = target.split("/")
    hops = 0
    while waiting:
        part = waiting.pop(0)
        if part in ("", "."):
            continue
        if part == "..":
            if not at:
                return f"a link out of the workspace, to {target}"
            at.pop()
            continue
        beyond = link_at("/".join([*at, part]))
        if beyond is None:
            at.append(part)
            continue
        hops += 1
        if hops > _MAX_HOPS:
            return ""  # a circle leads nowhere
        if beyond.startswith("/"):
            why = _by_words("", beyond, roots)
            return why and f"a link through {part}, which is {why}"
        waiting = beyond.split("/") + waiting
    return ""
