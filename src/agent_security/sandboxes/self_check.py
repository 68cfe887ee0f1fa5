"""Proof by effect: one sandbox over canaries, and a look at what really happened (DESIGN §3.8).

Arguments prove nothing; the kernel, the container around us or another version of bwrap may ignore
them. So the check tries to read, reach and outlive, and only what failed is guaranteed.
"""

from __future__ import annotations

import os
import secrets
import select
import socket
from dataclasses import dataclass

from agent_security.errors import AgentSecurityError, SandboxError
from agent_security.ports import Guarantees
from agent_security.sandboxes.binary import Bwrap
from agent_security.sandboxes.line import Line, inside_env
from agent_security.sandboxes.mounts import add_system
from agent_security.sandboxes.place import Place
from agent_security.sandboxes.process import Stop, run
from agent_security.sandboxes.removal import remove_tree
from agent_security.sandboxes.running import Running
from agent_security.sandboxes.view import CallView, new_view

DEADLINE_S = 20.0
CANARY_BYTES = 32
PROBE = r"""
canary=$1 port=$2 held=$3
{ read -r line < "$canary" || [ -n "$line" ] && echo "fs $line"; } 2>/dev/null
{ echo x > "$canary"; } 2>/dev/null
(exec 4<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || echo net-unreached
while IFS= read -r -d '' one; do echo "env $one"; done < /proc/1/environ
while IFS= read -r -d '' one; do echo "env $one"; done < /proc/self/environ
while read -r key value _; do [ "$key$value" = Seccomp:2 ] && echo filtered; done < /proc/self/status
echo new > made 2>/dev/null; rm kept 2>/dev/null; [ -e kept ] || echo view-removed
trap '' HUP TERM
(setsid sleep 1000 >/dev/null 2>&1 &) ; setsid sleep 1000 >/dev/null 2>&1 &
echo end
"""


@dataclass(frozen=True, slots=True)
class Proof:
    """What the check saw; `problem` is bwrap's own word where no sandbox came to be."""

    guarantees: Guarantees
    problem: str = ""


def prove(place: Place, bwrap: Bwrap, *, with_view: bool) -> Proof:
    """Run the probe once, over a small workspace of its own in the private folders."""
    folder = place.new_call()
    listener = socket.create_server(("127.0.0.1", 0))
    held_read, held_write = os.pipe2(os.O_CLOEXEC)
    try:
        workspace, canary = os.path.join(folder, "tree"), os.path.join(folder, "canary")
        _lay_out(place, workspace, canary)
        view = new_view(place, workspace) if with_view else None
        said = _probe(place, bwrap, view, workspace, canary, listener.getsockname()[1], held_write)
        os.close(held_write)
        held_write = -1
        return Proof(_judge(said, listener, held_read, view, workspace, canary))
    except (AgentSecurityError, OSError) as error:
        return Proof(Guarantees(), str(error))
    finally:
        listener.close()
        for fd in (held_read, held_write):
            if fd >= 0:
                os.close(fd)
        remove_tree(folder)


def _lay_out(place: Place, workspace: str, canary: str) -> None:
    place.owned(workspace)
    for path in (os.path.join(workspace, "kept"), canary):
        with open(path, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(CANARY_BYTES // 2))
        place.identity.own(path)


def _probe(
    place: Place, bwrap: Bwrap, view: CallView | None, workspace: str, canary: str, port: int, held: int
) -> list[str]:
    stop = Stop()
    try:
        with Line(place.identity) as line:
            add_system(line, place)
            line.add("--size", "1048576", "--tmpfs", "/tmp")
            if view is not None:
                view.mount(line, workspace, "")
            else:
                line.add("--bind", workspace, workspace)
            line.add("--chdir", workspace)
            command = [
                "/bin/bash",
                "--noprofile",
                "--norc",
                "-c",
                PROBE,
                "probe",
                canary,
                str(port),
                str(held),
            ]
            env = inside_env({}, {}, "/usr/bin:/bin", "/tmp")
            finished = run(
                Running(line, bwrap, command, env, pass_fds=(held,), bash=True),
                timeout_s=DEADLINE_S,
                stop=stop,
            )
    finally:
        stop.close()
    said = finished.output.text().splitlines()
    if "end" not in said or "filtered" not in said:
        raise SandboxError(f"the self-check did not finish: {finished.output.text()[:300]}")
    return said


def _judge(
    said: list[str],
    listener: socket.socket,
    held_read: int,
    view: CallView | None,
    workspace: str,
    canary: str,
) -> Guarantees:
    heard = bool(select.select([listener], [], [], 0)[0])
    given = inside_env({}, {}, "/usr/bin:/bin", "/tmp")
    names = {line[4:].partition("=")[0] for line in said if line.startswith("env ")}
    tree_kept = os.listdir(workspace) == ["kept"]
    return Guarantees(
        fs=not any(line.startswith("fs ") for line in said) and os.path.getsize(canary) == CANARY_BYTES,
        net="net-unreached" in said and not heard,
        env=names <= {*given, "BASH_ENV", "PWD", "SHLVL", "_", "OLDPWD"},
        kill=_everybody_let_go(held_read),
        limits=False,
        view=view is not None and "view-removed" in said and tree_kept and _recorded(view),
    )


def _everybody_let_go(held_read: int) -> bool:
    """The probe's daemons held the other end of this pipe: its end means that all of them are dead."""
    ready = select.select([held_read], [], [], 0)[0]
    return bool(ready) and os.read(held_read, 1) == b""


def _recorded(view: CallView) -> bool:
    """The upper folder lists exactly what the probe did: one file made, one removed."""
    return sorted(os.listdir(view.upper)) == ["kept", "made"]
