"""Every case of tests/cases/path.jsonl, on a real tree in a temporary directory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gate_cases import judged, load, word

from agent_security.descriptors import open_root, parent_of, read_regular
from agent_security.paths import Scope, judge_path

PATH_CASES = load("path")

NOT_THE_GATES = {
    "PA-045": "a race after the judgement; test_a_folder_swapped_for_a_link... below holds it",
    "PA-047": "a race after the judgement; test_a_file_swapped_for_a_link... below holds it",
    "PA-049": "rollback is no tool; test_a_folder_swapped_for_a_link... below holds its descriptors",
    "PA-052": "changes are applied by rename, so the other name keeps its bytes",
    "PA-097": "a search skips what is no regular file; the call itself is fine (the file worker's tests)",
}
"""Cases whose danger lies after the judgement: what holds them is named, and they are not counted here."""


class Tree:
    """The cases' world under a temporary directory: /srv/proj, /home/dev, /outside, /tmp."""

    def __init__(self, top: Path) -> None:
        self.top = top.resolve()
        for folder in (
            "srv/proj/src/pkg",
            "srv/proj/docs/..hidden",
            "srv/proj/.git/hooks",
            "srv/proj/sub/.git",
        ):
            (self.top / folder).mkdir(parents=True)
        for folder in (
            "srv/proj/sub/.vscode",
            "srv/proj-evil",
            "srv/projX",
            "home/dev",
            "outside/sub",
            "tmp/claude",
        ):
            (self.top / folder).mkdir(parents=True)
        for name in (
            "README.md",
            "src/app.py",
            "docs/..hidden/x.md",
            ".git/config",
            ".git/HEAD",
            "logo.png",
            ".env",
        ):
            self.file(f"srv/proj/{name}")
        for name in (".mcp.json", "package.json", "Makefile", "setup.py", "sub/.vscode/launch.json"):
            self.file(f"srv/proj/{name}")
        for name in ("srv/projX/secret", "srv/proj-evil/secret.txt", "outside/x", "home/dev/.bashrc"):
            self.file(name)

    @property
    def proj(self) -> Path:
        return self.top / "srv/proj"

    def file(self, name: str) -> Path:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("old\n")
        return path

    def link(self, name: str, target: str) -> None:
        path = self.top / name
        path.unlink(missing_ok=True)
        os.symlink(self.moved(target), path)

    def moved(self, text: str) -> str:
        """A path of the case as it stands in this tree; the system's own folders stay."""
        for root in ("/srv", "/home/dev", "/outside", "/tmp", "/private"):
            if text == root or text.startswith((f"{root}/", f"{root}-")):
                return f"{self.top}{text}"
        return text


def _big(tree: Tree) -> None:
    with (tree.proj / "big.bin").open("wb") as file:
        file.truncate(5_000_000_000)


def _hard_links(tree: Tree) -> None:
    store = tree.file("home/dev/store")
    module = tree.proj / "node_modules/x"
    module.mkdir(parents=True)
    for name in ("index.js", "a.js", "b.js"):
        os.link(store, module / name)


def _linked_cwd(tree: Tree) -> None:
    (tree.top / "private/tmp/wd").mkdir(parents=True)
    tree.link("tmp/wd", "/private/tmp/wd")


LAYOUTS: dict[str, Callable[[Tree], object]] = {
    "PA-018": lambda tree: tree.file("srv/proj/%2e%2e/x"),
    "PA-030": lambda tree: tree.link("srv/proj/link_passwd", "/etc/passwd"),
    "PA-032": lambda tree: tree.link("srv/proj/lib", "/outside"),
    "PA-034": lambda tree: tree.link("srv/proj/a", "/outside/missing"),
    "PA-036": lambda tree: [tree.link("srv/proj/loop", "loop2"), tree.link("srv/proj/loop2", "loop")],
    "PA-038": _linked_cwd,
    "PA-040": lambda tree: tree.link("srv/proj/d", "/outside/sub"),
    "PA-042": lambda tree: tree.link("srv/proj/data", "/home/dev"),
    "PA-044": lambda tree: tree.link("tmp/claude/response.md", "/home/dev/.bashrc"),
    "PA-053": _hard_links,
    "PA-059": lambda tree: tree.file("srv/proj/~/evil.txt"),
    "PA-072": lambda tree: Path(os.fsdecode(os.fsencode(tree.proj) + b"/caf\xe9.txt")).write_text("x"),
    "PA-101": lambda tree: os.mkfifo(tree.proj / "pipe"),
    "PA-104": _big,
}


def _args(tree: Tree, args: dict[str, Any]) -> dict[str, Any]:
    return {
        key: tree.moved(value) if key == "path" and isinstance(value, str) else value
        for key, value in args.items()
    }


@pytest.mark.parametrize(
    "case", [c for c in PATH_CASES if c["id"] not in NOT_THE_GATES], ids=lambda case: case["id"]
)
def test_path_case(case: dict[str, Any], tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    LAYOUTS.get(case["id"], lambda tree: None)(tree)
    cwd = tree.moved(case["context"]["cwd"].split(" ")[0])
    decision = judged(case["tool"], _args(tree, case["args"]), cwd, home=str(tree.top / "home/dev"))
    assert word(decision) in case["accept"], f"{case['why']}: {decision.code}: {decision.reason}"


def test_every_layout_a_case_names_is_built() -> None:
    named = {c["id"] for c in PATH_CASES if "layout" in c["context"]}
    assert named - set(LAYOUTS) <= set(NOT_THE_GATES)


def test_a_folder_swapped_for_a_link_after_the_judgement_is_refused_at_the_opening(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    (tree.proj / "a").mkdir()
    assert judge_path("a/x.txt", Scope(str(tree.proj)), write=True).ok
    (tree.proj / "a").rmdir()
    tree.link("srv/proj/a", "/outside")
    root = open_root(str(tree.proj))
    try:
        with pytest.raises(OSError), parent_of(root, "a/x.txt", create=True):
            pytest.fail("the swapped folder was entered")
    finally:
        os.close(root)
    assert sorted(os.listdir(tree.top / "outside")) == ["sub", "x"]


def test_a_file_swapped_for_a_link_after_the_judgement_is_not_read(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.file("srv/proj/x.txt")
    assert judge_path("x.txt", Scope(str(tree.proj)), write=False).ok
    tree.link("srv/proj/x.txt", "/outside/x")
    root = open_root(str(tree.proj))
    try:
        with pytest.raises(OSError):
            read_regular(root, "x.txt", 1000)
    finally:
        os.close(root)
