"""The rows of the table of wrappers; `shell_wrappers.py` says how each kind is unwrapped."""

from __future__ import annotations

from agent_security.shell.runner_rows import RUNNERS
from agent_security.shell.wrappers import (
    SHELLS,
    Wrapper,
    after,
    applet,
    each_code,
    env,
    fd,
    find,
    joined,
    npx,
    only_code,
    parallel,
    rest,
    row,
    shell,
    unless,
    verb,
)

WRAPPERS: tuple[Wrapper, ...] = (
    row(
        "env",
        env,
        "env id ;; env -i A=1 id ;; env -u X -C sub id ;; env -S 'A=1 id' ;; env - id"
        " ;; env --block-signal id",
        "env ;; env A=1 ;; env -",
    ),
    row(
        " ".join(sorted(SHELLS)),
        shell,
        "sh -c id ;; bash -euxo pipefail -c id ;; bash --norc -c 'id'",
        "sh x.sh",
    ),
    row("nice", rest("-n --adjustment"), "nice id ;; nice -n 5 id ;; nice -5 id ;; nice --adj 5 id", "nice"),
    row(
        "nohup setsid unbuffer catchsegv eatmydata fakeroot dumb-init "
        "torify torsocks dbus-run-session dbus-launch caffeinate fakechroot multitime uname26 chronic ifne "
        "systemd-cat",
        rest(flags="-c --ctty -f --fork -w --wait -p -i -s -d -m"),
        "nohup id ;; setsid -w id",
        "nohup",
    ),
    row(
        "timeout",
        rest("-s --signal -k --kill-after", "--preserve-status --foreground -v --verbose -p -f", skip=1),
        "timeout 5 id ;; timeout -s KILL 5 id ;; timeout --sig=9 5 id",
        "timeout 5",
    ),
    row("stdbuf", rest("-i --input -o --output -e --error"), "stdbuf -oL id ;; stdbuf -o L id"),
    row(
        "command",
        unless("-v", "-V", behind=rest(flags="-p")),
        "command id ;; command -p id",
        "command -v id ;; command -V id",
    ),
    row("builtin", rest(), "builtin id", "builtin"),
    row("exec", rest("-a", "-c -l"), "exec id ;; exec -a x id", "exec"),
    row(
        "time",
        rest("-f --format -o --output", "-p -v -a --append --verbose --portability"),
        "/usr/bin/time -v id",
    ),
    row("busybox toybox", applet, "busybox id ;; toybox id", "busybox"),
    row(
        "xargs",
        rest(
            "-a --arg-file -d --delimiter -E -I -L --max-lines -n --max-args -P --max-procs -s --max-chars"
            " --process-slot-var --replace",
            "-0 --null -r --no-run-if-empty -t --verbose -p -x -o -i -e -l",
        ),
        "xargs id ;; xargs -0 -n 1 id ;; xargs -I{} id {} ;; xargs --max-a 1 id",
        "xargs",
    ),
    row(
        "find gfind",
        find,
        "find . -exec id {} \\; ;; find . -execdir id {} + ;; find . -okdir id \\;",
        "find .",
    ),
    row("fd fdfind", fd, "fd x -x id ;; fd -e py -X id ;; fd . --exec id", "fd -e py ;; fd x -t f"),
    row(
        "watch", joined("-n --interval -q --equexit", "-d -t -b -e -g -c -x -p"), "watch id ;; watch -n 1 id"
    ),
    row("parallel sem", parallel, "parallel ::: id ;; parallel -j 2 id ::: a", "parallel"),
    row(
        "script",
        only_code("-c --command", "-I --log-in -O --log-out -B --log-io -T --log-timing -E --echo -m -o"),
        "script -c id /dev/null ;; script -qec id x",
        "script x",
    ),
    row(
        "ssh",
        joined(
            "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w",
            "-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y",
            skip=1,
        ),
        "ssh host id ;; ssh -p 22 host id",
        "ssh host",
    ),
    row(
        "flock",
        rest(
            "-w --timeout --wait -E --conflict-exit-code", "-n -x -s -u -o -e -F", skip=1, code="-c --command"
        ),
        "flock lock id ;; flock -n lock -c id",
    ),
    row(
        "chroot",
        rest("--userspec --groups", "--skip-chdir", skip=1),
        "chroot / id ;; chroot --userspec=a / id",
    ),
    row(
        "unshare nsenter",
        rest(
            "-S --setuid -G --setgid -R --root -w --wd -t --target --kill-child --map-user"
            " --propagation --setgroups",
            "-r -U -m -n -p -f -i -u -C -T -c -a -e -Z",
        ),
        "unshare -r id ;; unshare -rm --mount-proc id",
    ),
    row(
        "ionice",
        unless("-p", "-P", "-u", behind=rest("-c --class -n --classdata", "-t")),
        "ionice -c 3 id ;; ionice -c3 id",
        "ionice -p 1",
    ),
    row("taskset", rest(flags="-a -c --cpu-list", skip=1), "taskset -c 0 id ;; taskset 0x1 id"),
    row("chrt", rest("-T -P -D --sched-runtime", "-b -d -f -i -o -r -R", skip=1), "chrt -f 5 id"),
    row("numactl", rest("-N -m -i -C -l --membind --cpunodebind --interleave"), "numactl -N 0 id"),
    row("prlimit", rest(), "prlimit --nofile=10 id"),
    row("setarch", rest(flags="-R -3 -v", skip=1), "setarch x86_64 id"),
    row("setarch linux32 linux64 i386 x86_64", rest(flags="-R -3 -v"), "setarch -3 id ;; linux64 id"),
    row("setpriv", rest("--reuid --regid --groups --bounding-set"), "setpriv --no-new-privs id"),
    row(
        "strace ltrace",
        rest(
            "-e -o --output -p -s -S -u -a -E -I -b -P -X -n",
            "-f -ff -c -C -d -i -q -r -t -tt -T -v -x -y -k -D",
        ),
        "strace id ;; strace -f -o out id ;; ltrace id",
        "strace -p 5",
    ),
    row(
        "perf",
        verb("stat record trace", rest("-e -o --output -F -c -g -p", "-a -v")),
        "perf stat -e x id",
        "perf report",
    ),
    row("valgrind rr rlwrap heaptrack libtool", rest("--log-file"), "valgrind --tool=massif id"),
    row(
        "faketime",
        rest(flags="-f --exclude-monotonic", skip=1),
        "faketime '2020-01-01' id ;; faketime -f +1d id",
    ),
    row("dtach abduco", rest("-e -r", "-n -c -A -N -z -E -f", skip=1), "dtach -n sock id ;; abduco -c x id"),
    row("mispipe", each_code(), "mispipe id cat"),
    row(
        "csh tcsh elvish xonsh nu pwsh",
        only_code("-c -Command --commands", "-o"),
        "tcsh -c id ;; nu -c id ;; csh -fc id",
        "csh x.csh",
    ),
    row("gdb lldb cgdb", after("--args"), "gdb --args id"),
    row("doas", rest("-u -C", "-n -s -L"), "doas id ;; doas -u a id"),
    row(
        "sudo",
        rest(
            "-u --user -g --group -h --host -p --prompt -C -r -t -T -D --chdir -R --chroot",
            "-A -b -E -e -H -K -k -l -n -P -S -s -v -V -i",
        ),
        "sudo id ;; sudo -u a -n id",
    ),
    row(
        "su runuser",
        rest("-g -G -s --shell -w", "-l -m -p -f -P", code="-c --command --session-command"),
        "su -c id ;; su - root -c id ;; runuser -u a -c id",
    ),
    row("runuser pkexec", rest("-u --user", "--disable-internal-agent"), "runuser -u a id ;; pkexec id"),
    row("start-stop-daemon", after("--", "-x --exec -a --startas"), "start-stop-daemon -S -x id --"),
    row("xvfb-run", rest("-e -f -n -p -s -w", "-a -l"), "xvfb-run -a id"),
    row(
        "systemd-run systemd-inhibit",
        rest("-p --property -u --unit -E --setenv -M --uid --gid", "-t -P -q -G -S"),
        "systemd-run --user id",
    ),
    row(
        "cgexec chpst softlimit cpulimit trickle proxychains "
        "proxychains4 firejail proot choom retry uclampset",
        rest("-g -u -U -b -m -e -n -l"),
        "proxychains id ;; chpst -u a id",
    ),
    row(
        "ld.so ld-linux.so.2 ld-linux-x86-64.so.2 "
        "ld-linux-aarch64.so.1 ld-musl-x86_64.so.1 ld-musl-aarch64.so.1",
        rest("--library-path --preload --audit --argv0 --inhibit-rpath", "--inhibit-cache --list"),
        "ld.so id",
    ),
    row("entr", rest(flags="-r -c -d -n -p -s -z -a"), "entr -r id"),
    row(
        "hyperfine",
        each_code(
            "-m --min-runs -M --max-runs -r --runs -w --warmup -n --command-name -L"
            " --parameter-list --export-json --export-markdown --export-csv -S --shell -i",
            "-p --prepare -s --setup -c --cleanup",
        ),
        "hyperfine id ;; hyperfine -m 3 id",
    ),
    row("concurrently", each_code("-n --names -c --prefix-colors -p"), "concurrently id"),
    row(
        "tmux screen",
        verb(
            "new-session new neww new-window split-window send-keys",
            joined("-s -t -n -c -x -y -e -F", "-d -A -P -h -v"),
        ),
        "tmux new-session -d id",
        "tmux ls",
    ),
    row("cross-env env-cmd cross-env-shell", env, "cross-env A=1 id"),
    row(
        "screen", rest("-S -t -c -h -s -T -p -X", "-d -m -D -R -L -q -a -A -O"), "screen -dm id", "screen -ls"
    ),
    row(
        "watchexec reflex modd",
        rest(
            "-w --watch -e --exts -i --ignore -f --filter -s --signal -r -g", "-r --restart -c --clear -n -p"
        ),
        "watchexec -e py id",
    ),
    row(
        "nodemon",
        only_code("-x --exec", "-w --watch -e --ext -i --ignore --delay"),
        "nodemon --exec id",
        "nodemon x.js",
    ),
    row("npx", npx, "npx nodemon -x id ;; npx concurrently id ;; npx --no dotenv id", "npx eslint ."),
    *RUNNERS,
)

BY_NAME: dict[str, tuple[Wrapper, ...]] = {
    name: tuple(row for row in WRAPPERS if name in row.programs) for row in WRAPPERS for name in row.programs
}
