"""What a command inside cannot read, reach or become. Every probe runs inside the sandbox only."""

from __future__ import annotations

import os
import select
import socket
from pathlib import Path
from typing import Any

import pytest

CANARY = "canary-" + "of-the-person"


def test_a_secret_of_home_is_not_there(any_project: Any) -> None:
    output = any_project.run("cat ../private.txt ../.ssh/id_fake; ls -a ..; ls -a /root /home")
    assert CANARY not in output.text
    assert "id_fake" not in output.text.replace("../.ssh/id_fake", "")


def test_home_inside_is_the_sessions_own_and_lasts_between_commands(any_project: Any) -> None:
    any_project.run("echo kept > ~/note; echo kept > /tmp/note")
    assert any_project.run("cat ~/note /tmp/note").text == "kept\nkept\n"
    assert not (any_project.home / "note").exists()


def test_the_host_environment_is_nowhere_inside(any_project: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("FAKE_API_KEY", CANARY)
    output = any_project.run(
        "env; tr '\\0' '\\n' < /proc/1/environ; cat /proc/*/environ; tr '\\0' ' ' < /proc/1/cmdline"
    )
    assert CANARY not in output.text
    assert "FAKE_API_KEY" not in output.text


def test_the_given_environment_is_inside_and_in_no_command_line(project: Any) -> None:
    project.open(container_env={"AGENT_SESSION_TOKEN": CANARY, "PATH": "/nowhere", "LD_PRELOAD_NOT": "x"})
    assert project.run('echo "$AGENT_SESSION_TOKEN"').text == CANARY + "\n"
    assert CANARY not in project.run("cat /proc/*/cmdline | tr '\\0' ' '").text
    assert "/nowhere" not in project.run('echo "$PATH"').text


def test_no_command_line_inside_shows_a_path_of_the_private_folders(project: Any) -> None:
    assert "state" not in project.run("tr '\\0' ' ' < /proc/1/cmdline").text


def test_a_listener_of_the_host_is_not_reached(any_project: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        output = any_project.run(f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo REACHED")
        assert output.exit_code != 0
        assert "REACHED" not in output.text
        assert not select.select([listener], [], [], 0)[0]


def test_loopback_inside_works_for_a_server_started_and_stopped_in_one_command(project: Any) -> None:
    code = (
        "import http.server,threading,urllib.request as u\n"
        "s=http.server.HTTPServer(('127.0.0.1',0),http.server.SimpleHTTPRequestHandler)\n"
        "threading.Thread(target=s.serve_forever,daemon=True).start()\n"
        "print(u.urlopen(f'http://127.0.0.1:{s.server_port}/probe.py').status)\n"
    )
    assert project.python(code).text.splitlines()[-1] == "200"


@pytest.mark.parametrize("kind", ["abstract", "path"])
def test_unix_sockets_of_the_host_are_not_reached(any_project: Any, kind: str) -> None:
    path = str(any_project.home / "host.sock")
    address = f"\0agent-security-test-{os.getpid()}" if kind == "abstract" else path
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        if kind == "path":
            os.chmod(path, 0o777)
        listener.listen()
        output = any_project.python(
            f"import socket\ns=socket.socket(socket.AF_UNIX)\ntry:\n s.connect({address!r})\n"
            " print('REACHED')\nexcept OSError as e: print('refused')\n"
        )
        assert output.text == "refused\n"
        assert not select.select([listener], [], [], 0)[0]


@pytest.mark.parametrize("family", ["AF_VSOCK", "AF_NETLINK", "AF_PACKET", "AF_ALG"])
def test_other_socket_families_are_refused(project: Any, family: str) -> None:
    output = project.python(
        f"import socket\nkind = 5 if '{family}' == 'AF_ALG' else socket.SOCK_RAW\n"
        f"try:\n socket.socket(socket.{family}, kind)\n"
        " print('MADE')\nexcept OSError as e: print(e.errno)\n"
    )
    assert output.text == "97\n"  # EAFNOSUPPORT


CALLS = {
    "ptrace": "(101, 16, os.getppid(), 0, 0)",
    "keyctl": "(250, 0, -3, 0)",
    "bpf": "(321, 0, 0, 0)",
    "userfaultfd": "(323, 0)",
    "perf_event_open": "(298, 0, 0, -1, -1, 0)",
    "unshare": "(272, 0x10000000)",
    "setns": "(308, 0, 0)",
    "mount": "(165, 0, 0, 0, 0, 0)",
    "process_vm_readv": "(310, os.getppid(), 0, 0, 0, 0, 0)",
    "clone of a user namespace": "(56, 0x10000011, 0, 0, 0, 0)",
    "open_by_handle_at": "(304, 0, 0, 0)",
    "TIOCSTI": "(16, 0, 0x5412, 0)",
}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of x86-64")
@pytest.mark.parametrize("name", CALLS)
def test_a_dangerous_call_is_refused_by_the_filter(project: Any, name: str) -> None:
    output = project.python(
        "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        f"r = libc.syscall(*{CALLS[name]})\n"
        "os._exit(0) if r == 0 else print(r, ctypes.get_errno())\n"
    )
    assert output.text == "-1 1\n"  # EPERM


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of x86-64")
@pytest.mark.parametrize("number", [425, 426, 427, 435])
def test_io_uring_and_clone3_are_as_if_the_kernel_had_none(project: Any, number: int) -> None:
    output = project.python(
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        f"print(libc.syscall({number}, 0, 0, 0), ctypes.get_errno())\n"
    )
    assert output.text == "-1 38\n"  # ENOSYS


def test_a_nested_user_namespace_is_refused(project: Any) -> None:
    assert project.run("unshare -Ur true").exit_code != 0


def test_kernel_settings_are_not_writable_inside(any_project: Any) -> None:
    names = ("sys/kernel/core_pattern", "sysrq-trigger", "sys/vm/drop_caches", "1/mem", "self/mem")
    files = " ".join(f"/proc/{name}" for name in names)
    output = any_project.run(f"for f in {files}; do [ -w $f ] && echo WRITABLE $f; done; echo end")
    assert output.text == "end\n"


def test_no_capability_and_no_new_privilege_is_left(any_project: Any) -> None:
    output = any_project.run(
        "grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status /proc/1/status"
    )
    values = {line.split(":", 1)[1].replace("\t", "") for line in output.text.splitlines()}
    assert values == {
        "CapEff:0000000000000000",
        "CapPrm:0000000000000000",
        "CapBnd:0000000000000000",
        "NoNewPrivs:1",
        "Seccomp:2",
    }


def test_the_command_is_never_root_inside(any_project: Any) -> None:
    assert int(any_project.run("id -u").text) != 0


def test_set_id_programs_give_nothing_and_devices_cannot_be_made(any_project: Any) -> None:
    output = any_project.run(
        "cp /usr/bin/id ./id && chmod 6755 ./id && ./id -u; mknod node b 7 0; mknod zero c 1 5; ls /dev"
    )
    assert output.text.splitlines()[0] == any_project.run("id -u").text.strip()
    assert not any(change.path in ("node", "zero") for change in output.changes.changes)
    assert "sda" not in output.text
    assert "kvm" not in output.text


def test_system_folders_and_the_root_are_read_only(any_project: Any) -> None:
    folders = "/usr /usr/bin /etc / /opt /dev /run /home /var"
    output = any_project.run(f"for d in {folders}; do touch $d/x 2>/dev/null && echo $d; done; echo end")
    assert output.text == "end\n"


def test_shadow_and_keys_of_etc_are_not_inside(any_project: Any) -> None:
    output = any_project.run(
        "cat /etc/shadow /etc/gshadow /etc/sudoers; ls /etc/ssl/private /etc/ssh; cat /etc/passwd"
    )
    accounts = [line for line in output.text.splitlines() if line.count(":") == 6]
    assert {line.split(":")[0] for line in accounts} <= {"root", "agent", "nobody"}
    assert "$y$" not in output.text


def test_a_link_out_of_the_workspace_leads_nowhere(any_project: Any) -> None:
    os.symlink(any_project.home / "private.txt", any_project.tree / "leak")
    os.symlink("/etc", any_project.tree / "etc")
    any_project.hand_over()
    assert CANARY not in any_project.run("cat leak; ls -R etc/ssh").text
    assert "leads out of the workspace" in any_project.tool("read_file", path="leak").text
    assert "leads out of the workspace" in any_project.tool("write_file", path="etc/new", content="x").text


def test_a_link_to_home_made_in_tmp_is_no_mount_point(project: Any) -> None:
    """The workspace lies below /tmp in this test, whose folders a command can change."""
    top = str(project.tree).split("/")[2]
    assert project.tree.is_relative_to("/tmp")
    project.run(f"mv /tmp/{top} /tmp/away; ln -s /home/agent /tmp/{top}")
    assert project.run("pwd; touch here").text == f"{project.tree}\n"
    assert project.run("ls ~").text == ""


def test_added_folders_can_be_read_and_not_written(any_project: Any) -> None:
    beside = any_project.base / "beside"
    beside.mkdir(mode=0o755)
    (beside / "doc.txt").write_text("beside")
    any_project.open(added_dirs=(str(beside),))
    assert any_project.run(f"cat {beside}/doc.txt; echo x > {beside}/doc.txt").exit_code != 0
    assert any_project.tool("read_file", path=f"{beside}/doc.txt").text == "     1\tbeside"
    assert (beside / "doc.txt").read_text() == "beside"


@pytest.mark.parametrize(
    "command",
    [
        "git --version",
        "python3 -c 'import ssl, sqlite3, subprocess; subprocess.run([\"true\"], check=True); print(1)'",
        "node -e 'setTimeout(() => console.log(1), 1)'",
        "printf 'int main(void){return 0;}' > /tmp/x.c && gcc /tmp/x.c -o /tmp/x && /tmp/x",
        "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [1]))'",
    ],
    ids=lambda command: command.split()[0] + str(len(command)),
)
def test_everyday_tools_work(any_project: Any, command: str) -> None:
    tool = command.split()[0] if not command.startswith("printf") else "gcc"
    if not Path(f"/usr/bin/{tool}").exists():
        pytest.skip(f"no {tool} on this machine")
    output = any_project.run(command)
    assert output.exit_code == 0, output.text


def test_locales_names_and_time_zones_work(project: Any) -> None:
    output = project.run(
        "id -un; getent passwd $(id -u) | cut -d: -f6; getent hosts localhost >/dev/null && date +%Z"
    )
    assert output.text.splitlines()[:2] == ["agent", "/home/agent"]
    assert len(output.text.splitlines()) == 3
