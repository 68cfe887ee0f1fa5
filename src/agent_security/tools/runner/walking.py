"""A sorted walk of the searched tree, for glob_files and grep's own search."""

from __future__ import annotations

import os
from collections.abc import Iterator

from .ignore import Ignore

MOST_ENTRIES = 500_000


class Walk:
    """Files and links below `root`, sorted, without `.git` and what `.gitignore` leaves out."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.ignored = 0
        """How many files and folders `.gitignore` left out."""
        self.cut_short = False
        self._ignore = Ignore(root)

    def files(self) -> Iterator[str]:
        """Paths relative to the root, parents' files before those of sub-folders of the same rank."""
        waiting, seen = [""], 0
        while waiting:
            folder = waiting.pop()
            below: list[str] = []
            for name, is_folder in _entries(os.path.join(self.root, folder)):
                path = f"{folder}/{name}" if folder else name
                seen += 1
                if name == ".git":
                    continue
                if self._ignore.ignored(path, is_folder):
                    self.ignored += 1
                elif is_folder:
                    below.append(path)
                else:
                    yield path
            if seen > MOST_ENTRIES:
                self.cut_short = True
                return
            waiting += reversed(below)


def _entries(folder: str) -> list[tuple[str, bool]]:
    try:
        with os.scandir(folder) as entries:
            kept = [e for e in entries if e.is_dir(follow_symlinks=False) or e.is_file() or e.is_symlink()]
            return sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in kept)
    except OSError:
        return []
