"""The oracle: commands found are commands run. Lines run behind bubblewrap, with stubs that record argv."""

from __future__ import annotations

import pytest
from behind_bwrap import STUBS, run_inside, why_not
from lines import Lines

from agent_security.shell import parse_line

BATCHES, BATCH = 6, 10


@pytest.fixture(autouse=True)
def _wall() -> None:
    if reason := why_not():
        pytest.skip(reason)


def found_in(line: str) -> set[tuple[str, ...]]:
    """The stub calls that the parser finds, each as its argv."""
    parsed = parse_line(line)
    assert parsed.problem == "", line
    return {(c.name, *(word.value for word in c.args)) for c in parsed.commands if c.name in STUBS}


@pytest.mark.parametrize("batch", range(BATCHES))
def test_commands_found_are_commands_run(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        line = Lines(seed).line()
        found, ran = found_in(line), set(run_inside(line).commands)
        assert ran <= found, f"missed in {line!r}"
        # a trap that another trap replaces is found and never runs: too much is a question at worst
        assert found == ran or "trap" in line, f"never run in {line!r}"


@pytest.mark.parametrize(
    "line",
    [
        "find . -maxdepth 0 -exec sh -c 's0 \"$@\"' _ a \\;",
        "printf 's0 a\\ns1 b\\n' | while read -r x; do $x; done",
        "x='s0 a'; eval \"$x\"",
        "env -S 's0 a b'",
        "mawk 'BEGIN{system(\"s0 a\")}'",
        "sed -n '1e s0 a' /usr/bin/env",
        "echo x | sed 's/x/s0 a/e'",
        "sort --compress-prog=s0 -S 1k /usr/bin/env >/dev/null; s1 x",
        "tar cf /dev/null --checkpoint=1 --checkpoint-act=exec='s0 a' /usr/bin/env",
        "echo a b | xargs -n1 s0",
        "echo a | xargs -I@ s0 x@y",
        "printf 's0 a' | bash -s",
        "cat <<E | bash\ns0 a\nE",
        "bash -s <<< 's0 a'",
        "s0(){ /stubs/s1 in; }; s0; command s0 out",
        "shopt -s expand_aliases\nalias q='s0 a'\nq",
    ],
)
def test_no_road_to_a_command_is_missed(line: str) -> None:
    names = {argv[0] for argv in run_inside(line).commands}
    found = {command.name for command in parse_line(line).commands}
    hidden = any(
        command.where.startswith("option:") and not command.name for command in parse_line(line).commands
    )
    assert names
    assert names <= found or hidden
