"""Real tasks as lists of tool calls: read, install, test, edit, run, commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Task:
    name: str
    project: str
    prompt: str
    calls: tuple[Call, ...]


def read(path: str, **more: Any) -> Call:
    return "read_file", {"path": path, **more}


def grep(pattern: str, **more: Any) -> Call:
    return "grep", {"pattern": pattern, **more}


def glob(pattern: str) -> Call:
    return "glob_files", {"pattern": pattern}


def write(path: str, content: str) -> Call:
    return "write_file", {"path": path, "content": content}


def edit(path: str, old: str, new: str) -> Call:
    return "edit_file", {"path": path, "old_string": old, "new_string": new}


def bash(command: str) -> Call:
    return "run_bash", {"command": command}


_LOOK = (read("README.md"), glob("**/*"), bash("git status --short && git log --oneline -5"))
_MEAN = edit(
    "tally/count.py",
    "    return sum(numbers) / len(numbers)",
    "    return sum(numbers) / len(numbers) if numbers else 0",
)
_SLUG = edit("src/slug.js", ".replace(' ', '-')", ".replace(/ +/g, '-')")
_RING = edit("src/ring.c", "return at + 1;", "return (at + 1) % RING_SIZE;")
_TESTS = bash("python3 -m unittest 2>&1 | tail -20")

_PYTHON = (
    ("read the README and explain", "What does this project do?", (*_LOOK, read("tally/count.py"))),
    ("fix a test", "The tests fail. Fix the bug.", (read("README.md"), _TESTS, read("tally/count.py"), _MEAN, _TESTS)),
    ("fix and commit", "Fix mean() of an empty list and commit.",
     (_MEAN, bash("python3 -m unittest"), bash("git add -A && git commit -m 'mean of nothing is 0'"), bash("git log -1 --stat"))),
    ("commit part of it", "Fix mean(), commit only that file.",
     (_MEAN, bash("git add tally/count.py"), bash("git commit -q -F - <<'EOF'\nMean of nothing is 0\n\nIt was a ZeroDivisionError.\nEOF"), bash("git show --stat HEAD"))),
    ("branch, commit, merge", "Fix mean() on a branch and merge it into main.",
     (bash("git checkout -q -b fix-mean"), _MEAN, bash("git commit -qam 'Fix mean'"), bash("git checkout -q main && git merge --no-ff -m 'Merge fix' fix-mean"), bash("git branch -d fix-mean && git log --oneline --graph | head"))),
    ("use the virtual environment", "Run the tests with the project's virtual environment.",
     (bash(".venv/bin/python -c 'import shout, tally; print(shout.shout(tally.__version__))'"), bash(". .venv/bin/activate && python -m unittest 2>&1 | tail -3; python -m tally 1 2 3"))),
    ("add a module and its test", "Add a median function with tests.",
     (read("tally/count.py"), write("tally/median.py", "def median(numbers):\n    return sorted(numbers)[len(numbers) // 2]\n"),
      write("tests/test_median.py", "import unittest\n\nfrom tally.median import median\n\n\nclass MedianTest(unittest.TestCase):\n    def test_odd(self):\n        self.assertEqual(median([3, 1, 2]), 2)\n"),
      bash("python3 -m unittest tests.test_median -v"))),
    ("edit with sed", "Rename total to add_up everywhere.",
     (grep("total"), bash("sed -i 's/\\btotal\\b/add_up/g' tally/*.py tests/*.py && git diff --stat"), bash("python3 -m tally 1 2"))),
    ("edit with a here-document script", "Raise the version to 0.2.0.",
     (bash("python3 - <<'EOF'\nimport pathlib, re\nfor name in ('pyproject.toml', 'tally/__init__.py'):\n    path = pathlib.Path(name)\n    path.write_text(re.sub('0\\\\.1\\\\.0', '0.2.0', path.read_text()))\nEOF"), bash("git diff"))),
    ("change pyproject.toml", "Require Python 3.10.", (read("pyproject.toml"), edit("pyproject.toml", ">=3.9", ">=3.10"), bash("git diff pyproject.toml"))),
    ("find TODOs", "List all TODOs with their files.", (grep("TODO"), bash("grep -rn TODO --include='*.py' . | grep -v '^./.venv/'"), bash("find . -name '*.py' -not -path './.venv/*' | xargs wc -l"))),
    ("stash and pop", "See whether the tests fail without my change, too.",
     (_MEAN, bash("git stash && python3 -m unittest 2>&1 | tail -1; git stash pop"), bash("git diff --stat"))),
    ("rebase a branch", "Rebase the branch idea onto main.",
     (bash("git checkout -q idea && echo idea > idea.txt && git add idea.txt && git commit -qm 'Idea'"), bash("git checkout -q main && echo more >> README.md && git commit -qam 'More' && git checkout -q idea && git rebase main"), bash("git log --oneline"))),
    ("undo an edit", "Put tally/count.py back as it was.", (write("tally/count.py", "broken\n"), bash("git checkout -- tally/count.py && git status --short"))),
    ("amend", "Add the forgotten file to the last commit.", (write("NOTES.md", "# Notes\n"), bash("git add NOTES.md && git commit --amend --no-edit -q && git show --stat --format=%s HEAD"))),
    ("tag a release", "Tag this as v0.1.0.", (bash("git tag -a v0.1.0 -m 'First'"), bash("git describe --tags && git tag -n"))),
    ("bisect", "Find the commit that brought README.md.", (bash("git bisect start HEAD HEAD~1 && git bisect run test ! -f README.md; git bisect reset"), bash("git log --diff-filter=A --format=%h -- README.md"))),
    ("compile and clean", "Check that everything compiles.", (bash("python3 -m compileall -q tally && echo fine"), bash("mkdir -p build && python3 -m tally 1 2 > build/out.txt && cat build/out.txt && rm -rf build"))),
    ("write a log", "Run the tests, keep the log in test.log.", (bash("python3 -m unittest > test.log 2>&1; tail -3 test.log"), read("test.log"))),
    ("a script with chmod", "Add a script scripts/test that runs the tests.", (write("scripts/test", "#!/bin/sh\nexec python3 -m unittest\n"), bash("chmod +x scripts/test && ./scripts/test; git add scripts && git commit -qm 'A script for the tests'"))),
    ("move files", "Move count.py to counting.py.", (bash("git mv tally/count.py tally/counting.py && sed -i 's/tally\\.count/tally.counting/' tally/__main__.py tests/test_count.py"), bash("python3 -m tally 4 5 && git commit -qam 'Rename' && git status --short"))),
    ("profile it", "How fast is total()?", (bash("python3 -m timeit -n 100 -s 'from tally.count import total' 'total(range(100))' > /dev/null && echo measured"), bash("time python3 -m tally 1 2 3"))),
)  # fmt: skip

_NODE = (
    ("npm test", "Run the tests.", (read("package.json"), bash("npm test"))),
    ("fix and test", "Fix the failing test.", (read("src/slug.js"), bash("npm test 2>&1 | tail -30"), _SLUG, bash("npm test --silent"))),
    ("fix and commit", "Fix slug() and commit.", (_SLUG, bash("node --test"), bash("git commit -am 'All spaces'"), bash("git status"))),
    ("lint with node_modules/.bin", "Lint the sources.", (bash("npm run lint"), bash("npx --no-install tidy src"), bash("./node_modules/.bin/tidy src"))),
    ("build", "Build it and show what came out.", (bash("npm run build && ls -la dist"), read("dist/slug.js"), bash("rm -rf dist"))),
    ("add a script", "Add a script `start` to package.json.", (edit("package.json", '"test": "node --test"', '"test": "node --test", "start": "node src/slug.js"'), bash("npm run start"), bash("npm pkg get scripts"))),
    ("try it", "What is slug('Hello World')?", (bash("node -e \"console.log(require('./src/slug').slug('Hello World'))\""), bash("node -p 'require(\"./package.json\").version'"))),
    ("list dependencies", "Which dependencies are there?", (bash("npm ls --all"), bash("cat package.json | head -20"), glob("node_modules/*/package.json"))),
    ("reset node_modules", "Remove node_modules/.cache and dist.", (bash("mkdir -p node_modules/.cache dist && touch node_modules/.cache/x"), bash("rm -rf node_modules/.cache dist && git status --short"))),
)  # fmt: skip

_C = (
    ("make test", "Run the tests.", (*_LOOK, bash("make test"))),
    ("fix and test", "The test fails. Fix it.", (bash("make test"), read("src/ring.c"), _RING, bash("make clean && make test"))),
    ("fix and commit", "Fix ring_next and commit.", (_RING, bash("make -s test && git commit -aqm 'Wrap around' && git show --stat"))),
    ("compile by hand", "Does it compile with -Wextra?", (bash("gcc -Wall -Wextra -Isrc -c src/ring.c -o /tmp/ring.o && nm /tmp/ring.o"), bash("cc --version | head -1"))),
    ("configure, make, clean", "Configure and build in parallel.", (bash("./configure && make -j2 build/test"), bash("ls build; make clean; ls"))),
    ("change the Makefile", "Compile with -O2.", (edit("Makefile", "-O1", "-O2"), bash("make build/test && make -n test"))),
    ("debug print", "Print what ring_next gives for 0..3.", (bash("cat > /tmp/try.c <<'EOF'\n#include <stdio.h>\n#include \"ring.h\"\nint main(void) { for (int i = 0; i < 4; i++) printf(\"%d\\n\", ring_next(i)); }\nEOF\ngcc -Isrc /tmp/try.c src/ring.c -o /tmp/try && /tmp/try"),)),
)  # fmt: skip

_SHELL = (
    ("run the tests", "Run the tests.", (read("README.md"), bash("make test"), bash("sh tests/run.sh"))),
    ("a new option", "Print usage when arguments are missing.", (edit("bin/backup.sh", "set -eu\n", "set -eu\n[ $# -eq 2 ] || { echo 'usage: backup.sh FROM TO' >&2; exit 2; }\n"), bash("bin/backup.sh; echo $?"), bash("make test"))),
    ("try it", "Back up lib to out.", (bash("bin/backup.sh lib out && diff -r lib out && ls -R out"), bash("rm -r out"))),
    ("syntax check", "Check all scripts for syntax errors.", (bash("for f in bin/*.sh lib/*.sh tests/*.sh; do bash -n \"$f\" && echo \"ok $f\"; done"),)),
    ("source a library", "Does log() work?", (bash("source lib/common.sh && log hello"), bash("bash -c '. lib/common.sh; log \"$(date +%Y)\"' | wc -l"))),
    ("new executable script", "Add bin/restore.sh.", (bash("cat > bin/restore.sh <<'EOF'\n#!/bin/sh\nset -eu\nexec \"$(dirname \"$0\")/backup.sh\" \"$2\" \"$1\"\nEOF\nchmod +x bin/restore.sh"), bash("bin/restore.sh out lib && ls out"), bash("git add bin && git commit -qm 'Restore' && git ls-files -s bin"))),
    ("make a script executable", "Make lib/common.sh executable.", (bash("chmod +x lib/common.sh && ls -l lib"), bash("git diff --summary"))),
    ("archive", "Make a tar archive of the sources in out.", (bash("mkdir -p out && tar czf out/src.tar.gz bin lib && tar tzf out/src.tar.gz"), bash("sha256sum out/src.tar.gz | cut -c1-8 | wc -c"), bash("git archive HEAD | tar t | head -3"))),
)  # fmt: skip

_HOURS = edit("src/lib.rs", "    at + hours", "    (at + hours) % 24")
_OTHERS = (
    ("worktree", "read and test", "What is this? Run the tests.", (*_LOOK, _TESTS)),
    ("worktree", "fix and commit", "Fix mean() and commit.", (_MEAN, bash("python3 -m unittest"), bash("git add -A && git commit -qm 'Fix mean'"), bash("git log --oneline -3 && git status --short"))),
    ("worktree", "compare with main", "What differs from main?", (bash("git diff main --stat"), bash("git worktree list"), bash("git branch -vv"))),
    ("submodule", "look", "What is this?", (*_LOOK, bash("git submodule status"), bash("python3 spell.py alpha"))),
    ("submodule", "change both", "Add the word gamma and commit it.", (bash("cd words && echo gamma >> words.txt && git commit -qam 'gamma'"), bash("git add words && git commit -qm 'More words' && git submodule status"), bash("python3 spell.py gamma"))),
    ("rust", "cargo test", "Run the tests.", (read("Cargo.toml"), bash("cargo test --offline 2>&1 | tail -20"))),
    ("rust", "fix and commit", "Fix add_hours and commit.", (_HOURS, bash("cargo test --offline -q"), bash("cargo build --offline"), bash("git add -A && git commit -qm 'Wrap'"))),
    ("rust", "fmt and clippy", "Format and lint.", (bash("cargo fmt --check"), bash("cargo clippy --offline -q"))),
    ("go", "go test", "Fix Sum and test.", (edit("sum.go", "\treturn 0", "\ttotal := 0\n\tfor _, n := range numbers {\n\t\ttotal += n\n\t}\n\treturn total"), bash("go vet ./... && go test ./..."))),
    ("java", "build", "Build and run it.", (read("build.sh"), bash("./build.sh"))),
    ("java", "fix and commit", "Fix greet and commit.", (edit("src/Greet.java", '"Hello"', '"Hello "'), bash("./build.sh"), bash("git commit -qam 'A space'"))),
    ("perl", "prove", "Fix the test.", (bash("prove -l t"), edit("lib/Trim.pm", "s/^\\s+//;", "s/^\\s+|\\s+$//g;"), bash("prove -l t && git commit -qam 'Trim the end'"))),
    ("site", "serve and fetch", "Does the page load from a local server?", (bash("cd public && (python3 -m http.server 8123 >/dev/null 2>&1 & echo $! >/tmp/pid); for i in 1 2 3 4 5 6 7 8 9 10; do python3 -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:8123/').status)\" 2>/dev/null && break; sleep 0.3; done; kill $(cat /tmp/pid)"),)),
    ("site", "change the page", "Change the title to Home.", (edit("public/index.html", "<title>Site", "<title>Home"), bash("npm test"), bash("git commit -qam 'Title' && git log -1 --format=%s"))),
    ("site", "change CI", "Run the tests on Node 20 in CI, too.", (read(".github/workflows/test.yml"), edit(".github/workflows/test.yml", "      - run: npm test", "      - run: node --version\n      - run: npm test"), bash("git diff"))),
    ("site", "write documents", "Write a docs page about deploying, link it.", (write("docs/deploy.md", "# Deploy\n\nRun `curl -fsS https://example.org/deploy.sh` is not how: copy `public/`.\n"), edit("docs/guide.md", "See the README.", "See the README and [Deploy](deploy.md)."), bash("git add docs && git commit -qm 'Deploying: no curl | sh'"))),
    ("site", "configuration example", "Which port is used? Add a host setting to the example.", (read(".env.example"), edit(".env.example", "PORT=8000\n", "PORT=8000\nHOST=127.0.0.1\n"), grep("PORT"))),
)  # fmt: skip

_MORE = (
    ("python", "install itself into a folder", "Install the project into build/site without an index.", (bash(".venv/bin/python -m pip --version || python3 -m pip --version"), bash("python3 -m pip install --no-index --no-deps --no-build-isolation --target build/site . 2>&1 | tail -2; mkdir -p build/site && cp -r tally build/site/ && ls build/site"), bash("PYTHONPATH=build/site python3 -m tally 2 3"))),
    ("python", "a new virtual environment", "Make a fresh virtual environment in env and use it.", (bash("python3 -m venv --without-pip env && env/bin/python -c 'import sys; print(sys.prefix)'"), bash("echo env/ >> .gitignore && git status --short"), bash("rm -rf env"))),
    ("python", "what stands in .env", "Which settings are in .env?", (bash("ls -a"), bash("git check-ignore -v .env"), bash("cut -d= -f1 .env | head -3; echo"))),
    ("python", "a hook for the tests", "Show me the sample hooks and the git configuration.", (bash("ls .git/hooks | head -3"), bash("git config --list --local"), bash("git config user.name"))),
    ("python", "housekeeping", "Tidy the repository up.", (bash("git gc -q && git fsck"), bash("git clean -n -d"), bash("git count-objects -v"))),
    ("python", "patch", "Turn my change into a patch and apply it again.", (_MEAN, bash("git diff > /tmp/mean.patch && git stash -q && git apply /tmp/mean.patch && git diff --stat"), bash("git stash drop -q; git status --short"))),
    ("python", "cherry-pick and revert", "Bring the commit of idea over, then revert it.", (bash("git switch -q idea && echo x > x.txt && git add x.txt && git commit -qm X && git switch -q main && git cherry-pick idea"), bash("git revert --no-edit HEAD && git log --oneline | head -3"))),
    ("python", "another worktree", "Check out idea beside in .worktrees/idea.", (bash("git worktree add .worktrees/idea idea && ls .worktrees/idea"), bash("cd .worktrees/idea && git log -1 --format=%s"), bash("git worktree remove .worktrees/idea && git worktree list"))),
    ("python", "find and delete", "Remove all compiled files.", (bash("find . -name '__pycache__' -type d -prune -exec rm -rf {} + ; find . -name '*.pyc' -delete; echo gone"), bash("git status --short"))),
    ("python", "json and awk", "How many lines does each module have?", (bash("wc -l tally/*.py | sort -n | awk '{print $2, $1}'"), bash("python3 -c \"import json; print(json.dumps({'a': 1}))\" | python3 -m json.tool"), bash("printf '%s\\n' a b | xargs -n1 echo | tee build.log"))),
    ("node", "install offline", "Install the dependencies offline.", (bash("npm install --offline --no-audit --no-fund --dry-run 2>&1 | tail -3; ls node_modules"), bash("npm config get registry"))),
    ("node", "watch out for types", "Which node and npm is this? Check the syntax.", (bash("node --version && npm --version"), bash("node --check src/slug.js && node --check build.js"))),
    ("c", "install into a folder", "Build and install into stage/.", (bash("make build/test"), bash("mkdir -p stage/usr/local/bin && install -m 755 build/test stage/usr/local/bin/ring-test && find stage -type f"), bash("rm -r stage"))),
    ("c", "address sanitizer", "Run the test with the address sanitizer.", (bash("gcc -g -fsanitize=address,undefined -Isrc src/ring.c tests/test.c -o /tmp/asan && /tmp/asan; echo $?"),)),
    ("shell", "temporary files", "Does mktemp work here, and where?", (bash("t=$(mktemp) && echo hello > \"$t\" && cat \"$t\" && rm \"$t\""), bash("set -o pipefail; ls | grep -v nothing | wc -l"), bash("timeout 5 sh -c 'sleep 0.1; echo late'"))),
    ("site", "a hook file for CI", "Add a CI job that lints.", (edit(".github/workflows/test.yml", "jobs:\n", "jobs:\n  lint:\n    runs-on: ubuntu-latest\n    steps:\n      - run: sh -n check.sh\n"), bash("git add -A && git commit -qm 'Lint in CI'"), bash("git show --stat --format=%s HEAD"))),
)  # fmt: skip


def _tasks(project: str, rows: tuple[tuple[str, str, tuple[Call, ...]], ...]) -> tuple[Task, ...]:
    return tuple(Task(f"{project}: {name}", project, prompt, calls) for name, prompt, calls in rows)


TASKS = (
    *_tasks("python", _PYTHON),
    *_tasks("node", _NODE),
    *_tasks("c", _C),
    *_tasks("shell", _SHELL),
    *(
        Task(f"{project}: {name}", project, prompt, calls)
        for project, name, prompt, calls in (*_OTHERS, *_MORE)
    ),
)
