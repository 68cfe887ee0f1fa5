"""The /etc of every sandbox: one small folder made at session start and mounted as a whole.

Twenty-seven single mounts cost 6 ms a command, one costs nothing to speak of. What is copied is a
fixed list, and of it only what everybody may read: no shadow, no keys, no client's configuration
with a token in it.
"""

from __future__ import annotations

import os
import shutil
import stat

from agent_security.sandboxes.identity import Identity

HOME = "/home/agent"
"""The session's own home, as seen from inside."""
FILES = (
    *("debian_version", "inputrc", "ld.so.cache", "ld.so.conf", "locale.alias", "localtime", "login.defs"),
    *("lsb-release", "magic", "mime.types", "nsswitch.conf", "os-release", "protocols", "services"),
    *("shells", "ssl/openssl.cnf", "timezone"),
)
FOLDERS = (
    *("fonts", "java-8-openjdk", "java-11-openjdk", "java-17-openjdk", "java-21-openjdk", "java-25-openjdk"),
    *("ld.so.conf.d", "maven", "perl", "terminfo"),
)
"""Copied; small ones."""
MOUNTED = ("alternatives", "ca-certificates", "crypto-policies", "pki/ca-trust", "pki/tls/certs", "ssl/certs")
"""Mounted on top, each at its place: large ones."""
MOST_FILES = 500
MOST_BYTES = 4 * 1024 * 1024


def make_etc(folder: str, identity: Identity) -> None:
    """Fill `folder`, which is new and stays ours: the sandbox's user can read it and change nothing."""
    os.mkdir(folder, 0o755)
    os.chmod(folder, 0o755)
    for name, text in _accounts(identity).items():
        _write(os.path.join(folder, name), text.encode())
    for name in FILES:
        _copy(f"/etc/{name}", os.path.join(folder, name))
    for name in FOLDERS:
        _copy_folder(f"/etc/{name}", os.path.join(folder, name))
    for name in MOUNTED:
        if os.path.isdir(f"/etc/{name}"):
            os.makedirs(os.path.join(folder, name), mode=0o755, exist_ok=True)
    if os.path.islink("/etc/mtab"):
        os.symlink("/proc/mounts", os.path.join(folder, "mtab"))


def etc_words(folder: str) -> list[str]:
    """The mounts: the folder, and on it the large ones of the machine."""
    words = ["--ro-bind", folder, "/etc"]
    for name in MOUNTED:
        if os.path.isdir(os.path.join(folder, name)):
            words += ["--ro-bind", f"/etc/{name}", f"/etc/{name}"]
    return words


def inside_uid(identity: Identity) -> int:
    """Root looks like an ordinary user inside: tools that refuse root, or trust it, behave."""
    return identity.uid or 1000


def _accounts(identity: Identity) -> dict[str, str]:
    """A password file of three, so that the person's name and home are not inside."""
    uid, gid = inside_uid(identity), identity.gid or 1000
    if identity.uid == 0:
        gid = 1000
    nobody = "" if uid == 65534 else "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    nogroup = "" if gid == 65534 else "nogroup:x:65534:\n"
    root = "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
    return {
        "passwd": f"{root}agent:x:{uid}:{gid}:agent:{HOME}:/bin/bash\n{nobody}",
        "group": f"root:x:0:\nagent:x:{gid}:\n{nogroup}",
        "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
        "hostname": "sandbox\n",
    }


def _copy(source: str, dest: str) -> None:
    """A regular file that everybody may read, links followed. Others are passed by."""
    try:
        found = os.stat(source)
        if not stat.S_ISREG(found.st_mode) or not found.st_mode & stat.S_IROTH or found.st_size > MOST_BYTES:
            return
        os.makedirs(os.path.dirname(dest), mode=0o755, exist_ok=True)
        shutil.copyfile(source, dest)
        os.chmod(dest, 0o644)
    except OSError:
        return


def _copy_folder(source: str, dest: str) -> None:
    copied = 0
    for folder, _, names in os.walk(source):
        for name in names:
            copied += 1
            if copied > MOST_FILES:
                return
            path = os.path.join(folder, name)
            _copy(path, os.path.join(dest, os.path.relpath(path, source)))


def _write(path: str, data: bytes) -> None:
    with open(path, "xb") as file:
        file.write(data)
    os.chmod(path, 0o644)
