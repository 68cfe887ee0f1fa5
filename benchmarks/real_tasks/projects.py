"""Small but real projects of several languages, made by the benchmark itself: git with a history, a tracked
.vscode, an untracked .env, sample hooks, a worktree, a submodule, a virtual environment, node_modules/.bin.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Ground:
    """Where one play takes place: `base` holds the person's home and the project."""

    base: Path

    @property
    def home(self) -> Path:
        return self.base / "home"

    def env(self) -> dict[str, str]:
        """What a person's own shell would give a command; used for making projects and for bare runs."""
        return {
            "HOME": str(self.home),
            "PATH": f"{rust_bin()}/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PAGER": "cat",
        }

    def run(self, where: Path, *words: str) -> None:
        subprocess.run(words, cwd=where, env=self.env(), check=True, capture_output=True)

    def files(self, root: Path, files: Mapping[str, str]) -> None:
        """Text files; a name that ends in `*` is made executable."""
        for name, text in files.items():
            path = root / name.rstrip("*")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text).lstrip("\n"))
            path.chmod(0o755 if name.endswith("*") else 0o644)

    def repository(self, root: Path, first: Mapping[str, str], then: Mapping[str, str]) -> None:
        """Two commits and a branch."""
        root.mkdir(parents=True, exist_ok=True)
        self.run(root, "git", "init", "-q", "-b", "main")
        for message, files in (("Begin", first), ("Describe and test it", then)):
            self.files(root, files)
            self.run(root, "git", "add", "-A")
            self.run(root, "git", "commit", "-q", "-m", message)
        self.run(root, "git", "branch", "idea")


def rust_home() -> Path:
    return Path(os.environ.get("RUSTUP_HOME") or Path("~/.rustup").expanduser())


def _rust() -> list[Path]:
    return sorted(rust_home().glob("toolchains/stable-*"))


def rust_bin() -> str:
    found = _rust()
    return f"{found[0]}/bin:" if found else ""


def make_ground(base: Path) -> Ground:
    """A home with a git identity, as every developer has one, and the toolchains of this machine."""
    ground = Ground(base)
    ground.home.mkdir(parents=True)
    (ground.home / ".gitconfig").write_text("[user]\n\tname = Kim Doe\n\temail = kim@example.org\n")
    if _rust():
        (ground.home / ".rustup").mkdir()
        (ground.home / ".rustup" / "settings.toml").write_text(f'default_toolchain = "{_rust()[0].name}"\n')
        (ground.home / ".rustup" / "toolchains").symlink_to(rust_home() / "toolchains")
    return ground


VSCODE = {".vscode/settings.json": '{"editor.tabSize": 4}\n', ".editorconfig": "root = true\n"}


def python(ground: Ground) -> Path:
    root = ground.home / "src" / "tally"
    first = {
        "pyproject.toml": """
            [project]
            name = "tally"
            version = "0.1.0"
            requires-python = ">=3.9"

            [build-system]
            requires = ["setuptools"]
            build-backend = "setuptools.build_meta"
            """,
        "tally/__init__.py": '"""Count things."""\n\n__version__ = "0.1.0"\n',
        "tally/count.py": """
            \"\"\"Counting.\"\"\"


            def mean(numbers):
                return sum(numbers) / len(numbers)


            def total(numbers):
                # TODO: floats
                return sum(numbers)
            """,
        "tally/__main__.py": """
            import sys

            from tally.count import total

            print(total(int(word) for word in sys.argv[1:]))
            """,
        ".gitignore": "__pycache__/\n.venv/\n.env\nbuild/\n*.log\n",
        **VSCODE,
    }
    then = {
        "README.md": "# tally\n\nCounts. Tests: `python3 -m unittest`. Settings stand in `.env`.\n",
        "tests/__init__.py": "",
        "tests/test_count.py": """
            import unittest

            from tally.count import mean, total


            class CountTest(unittest.TestCase):
                def test_total(self):
                    self.assertEqual(total([1, 2, 3]), 6)

                def test_mean_of_nothing(self):
                    self.assertEqual(mean([]), 0)


            if __name__ == "__main__":
                unittest.main()
            """,
        "conftest.py": "",
    }
    ground.repository(root, first, then)
    (root / ".env").write_text("DATABASE_PASSWORD=only-for-" + "this-test\n")
    _virtual_environment(ground, root)
    return root


def _virtual_environment(ground: Ground, root: Path) -> None:
    ground.run(root, "/usr/bin/python3", "-m", "venv", "--without-pip", ".venv")
    site = next((root / ".venv" / "lib").glob("python3*/site-packages"))
    ground.files(site, {"shout/__init__.py": "def shout(text):\n    return text.upper()\n"})
    (site / "tally_here.pth").write_text(f"{root}\n")


def worktree(ground: Ground) -> Path:
    """A linked worktree: its git folder lies in another clone."""
    main = python(ground)
    ground.run(main, "git", "worktree", "add", "-q", "-b", "feature", "../tally-feature")
    return main.parent / "tally-feature"


def submodule(ground: Ground) -> Path:
    """A project with a submodule that is checked out."""
    library = ground.home / "src" / "words"
    ground.repository(library, {"words.txt": "alpha\nbeta\n"}, {"README.md": "# words\n"})
    root = ground.home / "src" / "speller"
    first = {
        "spell.py": "import sys\n\nWORDS = set(open('words/words.txt').read().split())\n"
        "print(all(word in WORDS for word in sys.argv[1:]))\n",
        **VSCODE,
    }
    ground.repository(root, first, {"README.md": "# speller\n\nTry `python3 spell.py alpha`.\n"})
    allow = ("-c", "protocol.file.allow=always")
    ground.run(root, "git", *allow, "submodule", "-q", "add", str(library), "words")
    ground.run(root, "git", "commit", "-q", "-m", "Use the list of words")
    return root


def node(ground: Ground) -> Path:
    root = ground.home / "src" / "slug"
    first = {
        "package.json": """
            {
              "name": "slug",
              "version": "1.0.0",
              "private": true,
              "scripts": {"test": "node --test", "lint": "tidy src", "build": "node build.js"},
              "devDependencies": {"tidy": "1.0.0"}
            }
            """,
        "src/slug.js": "'use strict';\n\nfunction slug(text) {\n  return text.toLowerCase().replace(' ', '-');\n}\n"
        "\nmodule.exports = { slug };\n",
        "build.js": "const fs = require('fs');\nfs.mkdirSync('dist', { recursive: true });\n"
        "fs.copyFileSync('src/slug.js', 'dist/slug.js');\nconsole.log('built');\n",
        ".gitignore": "node_modules/\ndist/\n.env\n",
        **VSCODE,
    }
    then = {
        "README.md": "# slug\n\n`npm test`, `npm run lint`, `npm run build`.\n",
        "test/slug.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\n"
        "const { slug } = require('../src/slug.js');\n\n"
        "test('one space', () => assert.strictEqual(slug('A b'), 'a-b'));\n"
        "test('two spaces', () => assert.strictEqual(slug('A b c'), 'a-b-c'));\n",
    }
    ground.repository(root, first, then)
    (root / ".env").write_text("API_" + "TOKEN=nothing-real\n")
    tidy = {
        "node_modules/tidy/package.json": '{"name": "tidy", "version": "1.0.0", "bin": "cli.js"}\n',
        "node_modules/tidy/cli.js*": "#!/usr/bin/env node\nconsole.log('tidy: ' + process.argv.slice(2).join(' '));\n",
    }
    ground.files(root, tidy)
    (root / "node_modules" / ".bin").mkdir()
    (root / "node_modules" / ".bin" / "tidy").symlink_to("../tidy/cli.js")
    return root


def c(ground: Ground) -> Path:
    root = ground.home / "src" / "ring"
    first = {
        "Makefile": """
            CFLAGS = -Wall -O1

            build/test: src/ring.c tests/test.c src/ring.h
            \tmkdir -p build
            \t$(CC) $(CFLAGS) -Isrc -o $@ src/ring.c tests/test.c

            test: build/test
            \t./build/test

            clean:
            \trm -rf build

            .PHONY: test clean
            """,
        "src/ring.h": "#define RING_SIZE 4\nint ring_next(int at);\n",
        "src/ring.c": '#include "ring.h"\n\nint ring_next(int at) { return at + 1; }\n',
        "tests/test.c": '#include <stdio.h>\n#include "ring.h"\n\nint main(void) {\n'
        '    if (ring_next(3) != 0) { printf("FAILED: ring_next(3) is %d\\n", ring_next(3)); return 1; }\n'
        '    printf("ok\\n");\n    return 0;\n}\n',
        ".gitignore": "build/\n",
        **VSCODE,
    }
    then = {
        "README.md": "# ring\n\n`make test` builds and tests.\n",
        "configure*": "#!/bin/sh\necho configured\n",
    }
    ground.repository(root, first, then)
    return root


def shell(ground: Ground) -> Path:
    root = ground.home / "src" / "backup"
    first = {
        "bin/backup.sh*": '#!/bin/sh\n# backup.sh FROM TO\nset -eu\nmkdir -p "$2"\ncp -R "$1"/. "$2"\necho "saved $1"\n',
        "lib/common.sh": 'log() {\n    echo "[log] $*"\n}\n',
        "Makefile": "test:\n\tsh tests/run.sh\n\nall: test\n",
        ".gitignore": "out/\n",
        **VSCODE,
    }
    then = {
        "README.md": "# backup\n\nShell scripts. `make test` or `sh tests/run.sh`.\n",
        "tests/run.sh*": '#!/bin/sh\nset -eu\nhere=$(mktemp -d)\ntrap \'rm -rf "$here"\' EXIT\nmkdir "$here/a"\n'
        'echo one > "$here/a/one"\nbin/backup.sh "$here/a" "$here/b" > /dev/null\n'
        'cmp "$here/a/one" "$here/b/one"\necho "all passed"\n',
    }
    ground.repository(root, first, then)
    return root


def rust(ground: Ground) -> Path:
    root = ground.home / "src" / "wrap"
    first = {
        "Cargo.toml": '[package]\nname = "wrap"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs": "/// Adds around the clock.\npub fn add_hours(at: u32, hours: u32) -> u32 {\n    at + hours\n}\n\n"
        "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn wraps() {\n"
        "        assert_eq!(add_hours(23, 2), 1);\n    }\n}\n",
        ".gitignore": "/target\n",
    }
    ground.repository(root, first, {"README.md": "# wrap\n\n`cargo test --offline`\n"})
    return root


def go(ground: Ground) -> Path:
    root = ground.home / "src" / "sum"
    first = {
        "go.mod": "module example.org/sum\n\ngo 1.20\n",
        "sum.go": "package sum\n\nfunc Sum(numbers ...int) int {\n\treturn 0\n}\n",
        "sum_test.go": 'package sum\n\nimport "testing"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n'
        "\t\tt.Fatal(Sum(1, 2))\n\t}\n}\n",
    }
    ground.repository(root, first, {"README.md": "# sum\n\n`go test ./...`\n"})
    return root


def java(ground: Ground) -> Path:
    root = ground.home / "src" / "greet"
    first = {
        "src/Greet.java": 'public class Greet {\n    static String greet(String name) {\n        return "Hello" + name;\n'
        "    }\n\n    public static void main(String[] args) {\n"
        '        if (!greet("Kim").equals("Hello Kim")) {\n            System.out.println("FAILED: " + greet("Kim"));\n'
        '            System.exit(1);\n        }\n        System.out.println("ok");\n    }\n}\n',
        "build.sh*": "#!/bin/sh\nset -eu\nmkdir -p out\njavac -d out src/*.java\njava -cp out Greet\n",
        ".gitignore": "out/\n",
    }
    ground.repository(root, first, {"README.md": "# greet\n\n`./build.sh` builds and tests.\n"})
    return root


def perl(ground: Ground) -> Path:
    root = ground.home / "src" / "trim"
    first = {
        "lib/Trim.pm": "package Trim;\nuse strict;\nsub trim { my $s = shift; $s =~ s/^\\s+//; return $s }\n1;\n",
        "t/trim.t": "use strict;\nuse lib 'lib';\nuse Test::More tests => 1;\nuse Trim;\nis(Trim::trim(' a '), 'a');\n",
    }
    ground.repository(root, first, {"README.md": "# trim\n\n`prove -l t`\n"})
    return root


def site(ground: Ground) -> Path:
    root = ground.home / "src" / "site"
    first = {
        "public/index.html": "<!doctype html>\n<title>Site</title>\n<p>Hello\n",
        "public/style.css": "p { color: black }\n",
        "package.json": '{"name": "site", "private": true, "scripts": {"test": "sh check.sh"}}\n',
        "check.sh*": "#!/bin/sh\ngrep -q '<title>' public/index.html && echo fine\n",
        ".github/workflows/test.yml": "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n"
        "      - uses: actions/checkout@v4\n      - run: npm test\n",
        **VSCODE,
    }
    then = {"README.md": "# site\n\nServe `public/`.\n", "docs/guide.md": "# Guide\n\nSee the README.\n"}
    ground.repository(root, first, then)
    (root / ".env.example").write_text("PORT=8000\n")
    return root


NEEDS: dict[str, tuple[str, ...]] = {
    "python": ("git", "python3"),
    "worktree": ("git", "python3"),
    "submodule": ("git", "python3"),
    "node": ("git", "node", "npm"),
    "c": ("git", "make", "gcc"),
    "shell": ("git", "make"),
    "rust": ("git", "cargo"),
    "go": ("git", "go"),
    "java": ("git", "javac"),
    "perl": ("git", "prove"),
    "site": ("git", "python3", "npm"),
}
"""Project -> the programs without which its tasks are skipped."""

BUILDERS: dict[str, Callable[[Ground], Path]] = {
    builder.__name__: builder
    for builder in (python, worktree, submodule, node, c, shell, rust, go, java, perl, site)
}


def missing(project: str) -> str:
    """The program that this machine lacks for a project, or ""."""
    path = f"{rust_bin()}/usr/local/bin:/usr/bin:/bin"
    return next((name for name in NEEDS[project] if shutil.which(name, path=path) is None), "")
