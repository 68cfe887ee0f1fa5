"""The rows of the table of wrappers; `shell_wrappers.py` says how each kind is unwrapped."""

from __future__ import annotations

from agent_security.shell_getopt import names
from agent_security.shell_wrappers import (
    SHELLS,
    Unwrap,
    Wrapper,
    after,
    applet,
    each_code,
    env,
    find,
    joined,
    only_code,
    parallel,
    rest,
    shell,
    unless,
    verb,
)


def _row(programs: str, unwrap: Unwrap, match: str, not_match: str = "") -> Wrapper:
    """`match` and `not_match` hold one line each, or several parted by ` ;; `."""
    lines = [tuple(line for line in text.split(" ;; ") if line) for text in (match, not_match)]
    return Wrapper(names(programs), unwrap, *lines)


WRAPPERS: tuple[Wrapper, ...] = (
    _row("env", env, "env id ;; env -i A=1 id ;; env -u X -C sub id ;; env -S 'A=1 id'", "env ;; env A=1"),
    _row(
        " ".join(sorted(SHELLS)),
        shell,
        "sh -c id ;; bash -euxo pipefail -c id ;; bash --norc -c 'id'",
        "sh x.sh",
    ),
    _row("nice", rest("-n --adjustment"), "nice id ;; nice -n 5 id ;; nice -5 id ;; nice --adj 5 id", "nice"),
    _row(
        "nohup setsid unbuffer catchsegv eatmydata fakeroot dumb-init "
        "torify torsocks dbus-run-session caffeinate",
        rest(flags="-c --ctty -f --fork -w --wait -p -i -s -d -m"),
        "nohup id ;; setsid -w id",
        "nohup",
    ),
    _row(
        "timeout",
        rest("-s --signal -k --kill-after", "--preserve-status --foreground -v --verbose -p -f", skip=1),
        "timeout 5 id ;; timeout -s KILL 5 id ;; timeout --sig=9 5 id",
        "timeout 5",
    ),
    _row("stdbuf", rest("-i --input -o --output -e --error"), "stdbuf -oL id ;; stdbuf -o L id"),
    _row(
        "command",
        unless("-v", "-V", behind=rest(flags="-p")),
        "command id ;; command -p id",
        "command -v id ;; command -V id",
    ),
    _row("builtin", rest(), "builtin id", "builtin"),
    _row("exec", rest("-a", "-c -l"), "exec id ;; exec -a x id", "exec"),
    _row(
        "time",
        rest("-f --format -o --output", "-p -v -a --append --verbose --portability"),
        "/usr/bin/time -v id",
    ),
    _row("busybox toybox", applet, "busybox id ;; toybox id", "busybox"),
    _row(
        "xargs",
        rest(
            "-a --arg-file -d --delimiter -E -I -L --max-lines -n --max-args -P --max-procs -s --max-chars"
            " --process-slot-var --replace",
            "-0 --null -r --no-run-if-empty -t --verbose -p -x -o -i -e -l",
        ),
        "xargs id ;; xargs -0 -n 1 id ;; xargs -I{} id {} ;; xargs --max-a 1 id",
        "xargs",
    ),
    _row(
        "find gfind",
        find,
        "find . -exec id {} \\; ;; find . -execdir id {} + ;; find . -okdir id \\;",
        "find .",
    ),
    _row("fd fdfind", find, "fd x -exec id", "fd -e py"),
    _row(
        "watch", joined("-n --interval -q --equexit", "-d -t -b -e -g -c -x -p"), "watch id ;; watch -n 1 id"
    ),
    _row("parallel sem", parallel, "parallel ::: id ;; parallel -j 2 id ::: a", "parallel"),
    _row(
        "script",
        only_code("-c --command", "-I --log-in -O --log-out -B --log-io -T --log-timing -E --echo -m -o"),
        "script -c id /dev/null ;; script -qec id x",
        "script x",
    ),
    _row(
        "ssh",
        joined(
            "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w",
            "-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y",
            skip=1,
        ),
        "ssh host id ;; ssh -p 22 host id",
        "ssh host",
    ),
    _row(
        "flock",
        rest(
            "-w --timeout --wait -E --conflict-exit-code", "-n -x -s -u -o -e -F", skip=1, code="-c --command"
        ),
        "flock lock id ;; flock -n lock -c id",
    ),
    _row(
        "chroot",
        rest("--userspec --groups", "--skip-chdir", skip=1),
        "chroot / id ;; chroot --userspec=a / id",
    ),
    _row(
        "unshare nsenter",
        rest(
            "-S --setuid -G --setgid -R --root -w --wd -t --target --kill-child --map-user"
            " --propagation --setgroups",
            "-r -U -m -n -p -f -i -u -C -T -c -a -e -Z",
        ),
        "unshare -r id ;; unshare -rm --mount-proc id",
    ),
    _row(
        "ionice",
        unless("-p", "-P", "-u", behind=rest("-c --class -n --classdata", "-t")),
        "ionice -c 3 id ;; ionice -c3 id",
        "ionice -p 1",
    ),
    _row("taskset", rest(flags="-a -c --cpu-list", skip=1), "taskset -c 0 id ;; taskset 0x1 id"),
    _row("chrt", rest("-T -P -D --sched-runtime", "-b -d -f -i -o -r -R", skip=1), "chrt -f 5 id"),
    _row("numactl", rest("-N -m -i -C -l --membind --cpunodebind --interleave"), "numactl -N 0 id"),
    _row("prlimit", rest(), "prlimit --nofile=10 id"),
    _row("setarch", rest(flags="-R -3 -v", skip=1), "setarch x86_64 id"),
    _row("setarch linux32 linux64 i386 x86_64", rest(flags="-R -3 -v"), "setarch -3 id ;; linux64 id"),
    _row("setpriv", rest("--reuid --regid --groups --bounding-set"), "setpriv --no-new-privs id"),
    _row(
        "strace ltrace",
        rest(
            "-e -o --output -p -s -S -u -a -E -I -b -P -X -n",
            "-f -ff -c -C -d -i -q -r -t -tt -T -v -x -y -k -D",
        ),
        "strace id ;; strace -f -o out id ;; ltrace id",
        "strace -p 5",
    ),
    _row(
        "perf",
        verb("stat record trace", rest("-e -o --output -F -c -g -p", "-a -v")),
        "perf stat -e x id",
        "perf report",
    ),
    _row("valgrind rr rlwrap heaptrack faketime libtool", rest("--log-file"), "valgrind --tool=massif id"),
    _row("gdb lldb cgdb", after("--args"), "gdb --args id"),
    _row("doas", rest("-u -C", "-n -s -L"), "doas id ;; doas -u a id"),
    _row(
        "sudo",
        rest(
            "-u --user -g --group -h --host -p --prompt -C -r -t -T -D --chdir -R --chroot",
            "-A -b -E -e -H -K -k -l -n -P -S -s -v -V -i",
        ),
        "sudo id ;; sudo -u a -n id",
    ),
    _row(
        "su runuser",
        rest("-g -G -s --shell -w", "-l -m -p -f -P", code="-c --command --session-command"),
        "su -c id ;; su - root -c id ;; runuser -u a -c id",
    ),
    _row("runuser pkexec", rest("-u --user", "--disable-internal-agent"), "runuser -u a id ;; pkexec id"),
    _row("start-stop-daemon", after("--", "-x --exec -a --startas"), "start-stop-daemon -S -x id --"),
    _row("xvfb-run", rest("-e -f -n -p -s -w", "-a -l"), "xvfb-run -a id"),
    _row(
        "systemd-run systemd-inhibit",
        rest("-p --property -u --unit -E --setenv -M --uid --gid", "-t -P -q -G -S"),
        "systemd-run --user id",
    ),
    _row(
        "cgexec chpst softlimit cpulimit trickle proxychains "
        "proxychains4 firejail proot choom retry uclampset",
        rest("-g -u -U -b -m -e -n -l"),
        "proxychains id ;; chpst -u a id",
    ),
    _row(
        "ld.so ld-linux.so.2 ld-linux-x86-64.so.2 "
        "ld-linux-aarch64.so.1 ld-musl-x86_64.so.1 ld-musl-aarch64.so.1",
        rest("--library-path --preload --audit --argv0 --inhibit-rpath", "--inhibit-cache --list"),
        "ld.so id",
    ),
    _row("entr", rest(flags="-r -c -d -n -p -s -z -a"), "entr -r id"),
    _row(
        "hyperfine",
        each_code(
            "-m --min-runs -M --max-runs -r --runs -w --warmup -n --command-name -L"
            " --parameter-list --export-json --export-markdown --export-csv -S --shell -i",
            "-p --prepare -s --setup -c --cleanup",
        ),
        "hyperfine id ;; hyperfine -m 3 id",
    ),
    _row("concurrently", each_code("-n --names -c --prefix-colors -p"), "concurrently id"),
    _row(
        "tmux screen",
        verb(
            "new-session new neww new-window split-window send-keys",
            joined("-s -t -n -c -x -y -e -F", "-d -A -P -h -v"),
        ),
        "tmux new-session -d id",
        "tmux ls",
    ),
    _row(
        "uv",
        verb(
            "run",
            rest(
                "--with --extra --group -p --python --directory --project --env-file --index --package"
                " --with-requirements --with-editable --only-group --no-group",
                "-q -v --no-sync --frozen"
                " --no-project --isolated --locked --all-extras --dev -m --module --offline",
            ),
        ),
        "uv run id ;; uv run --with x id",
        "uv sync ;; uv pip install x",
    ),
    _row(
        "poetry pipenv pdm hatch rye pixi mise dotenvx",
        verb("run exec x", rest("-e --env -p -C --directory")),
        "poetry run id ;; mise exec -- id",
        "poetry install",
    ),
    _row(
        "conda mamba micromamba",
        verb("run", rest("-n --name -p --prefix --cwd", "--no-capture-output --live-stream")),
        "conda run -n x id",
        "conda list",
    ),
    _row("bundle", verb("exec", rest()), "bundle exec id", "bundle install"),
    _row("direnv", verb("exec", rest(skip=1)), "direnv exec . id"),
    _row("nix-shell nix", rest(code="--run --command"), "nix-shell --run id"),
    _row("dotenv", rest("-f --file -e", skip=0), "dotenv -f .env id"),
    _row("coverage", verb("run", rest("--source -m --rcfile")), ""),
    _row("sg newgrp", rest(skip=1, code="-c"), "sg group -c id"),
    _row("capsh", after("--"), ""),
    _row(
        "flatpak-spawn distrobox-host-exec host-spawn", rest("--env --directory"), "flatpak-spawn --host id"
    ),
    _row(
        "git",
        verb(
            "filter-branch",
            only_code(
                "--env-filter --tree-filter --index-filter --parent-filter --msg-filter"
                " --commit-filter --tag-name-filter --setup",
                "-d --original",
            ),
        ),
        "git filter-branch --tree-filter id",
        "git filter-branch",
    ),
    _row(
        "npx",
        only_code("-c --call", "-p --package -w --workspace"),
        "npx -c id ;; npx -p x --call=id",
        "npx id",
    ),
    _row(
        "npm pnpm yarn",
        verb("exec x", only_code("-c --call --shell-mode", "-w --workspace --package")),
        "npm exec -c id ;; npm x --call id",
        "npm install",
    ),
    _row(
        "npm pnpm yarn",
        verb("exec x", rest("-w --workspace --package -p", "-y --yes")),
        "npm exec -- id",
        "npm run x",
    ),
    _row("git", verb("bisect", verb("run", rest())), "git bisect run id", "git bisect good ;; git status"),
)

BY_NAME: dict[str, tuple[Wrapper, ...]] = {
    name: tuple(row for row in WRAPPERS if name in row.programs) for row in WRAPPERS for name in row.programs
}
