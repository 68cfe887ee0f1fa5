"""The specification's lists (§2.2, §2.3), its entries kept, applied to the commands that would run (D1).

`DOCUMENT_BINARIES` are the document's own; `MORE_BINARIES` are the same things by other names, each
with its reason. `chmod` is on the document's list and judged by its mode (D2).
"""

from __future__ import annotations

from agent_security.shell.getopt import names

DESTRUCTIVE_TOOLS: frozenset[str] = frozenset({"run_bash", "write_file", "edit_file"})
"""Any call of these changes something outside the agent's memory."""

ALWAYS_CONFIRM_TOOLS: frozenset[str] = frozenset()
"""Tools where any call needs a yes. Empty; kept for tools to come."""

ALWAYS_CONFIRM_ARG_PATTERNS: tuple[tuple[str, str], ...] = (
    ("run_bash", r"^rm\s+(-\w*[rR]\w*\s+|-\w+\s+|--\S+\s+)*(/|~|\*|\$HOME|\.\.)(\s|$)"),
    ("run_bash", r"^git\s+(-\S+\s+(\S+\s+)?)*push\s+(\S+\s+)*(-f|--force)\b"),
    ("run_bash", r"^(sudo|su)(\s|$)"),
    ("run_bash", r"^docker(\s|$)"),
    ("run_bash", r"^chmod\s+(-\S+\s+)*0*777\b"),
    ("run_bash", r"^(curl|wget|nc|netcat|ncat)(\s|$)"),
    ("write_file", r'"content":\s*""'),
)
"""(tool, pattern). For `run_bash` the pattern is matched against each command that would run, never
against the text around it; for other tools against the arguments as JSON."""

BROAD_DELETE = "recursive delete of a broad target"
"""Where a scope is known, `deletes.py` judges this by what the words really name (D3)."""

SHELL_DENYLIST_PATTERNS: tuple[tuple[str, str], ...] = (
    (r"^rm(?=.*\s(-\w*[rR]|--r))\s+(\S+\s+)*(/|~|\*|\$HOME|\.\.)/?\**(\s|$)", BROAD_DELETE),
    (r"^(>|>>|>\||&>|&>>|<>)/etc/", "redirect into system files"),
    (r"^mkfs(\.\w+)?(\s|$)", "formats a file system"),
    (r"^dd\s+(\S+\s+)*(if|of)=", "raw disk write"),
    (
        r"^(>|>>|>\||&>|&>>|<>)/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|dm-|loop|mem|kmem|port)",
        "write to a device",
    ),
    (r"^history\s+(-\w+\s+)*-\w*[cdw]", "wipes the history"),
    (r"^(export|declare|typeset|readonly|local)\s+(-\S+\s+)*PATH\+?=", "overrides PATH"),
)
"""(pattern, what it is), matched against each command that would run and each redirection of it.
The document's fork bomb, `eval` and `exec` are judged by the shape of the line (D1)."""

DOCUMENT_BINARIES: frozenset[str] = names(
    "docker sudo su nc netcat ncat curl wget chmod chown mkfs dd shutdown "
    "reboot halt poweroff systemctl service crontab at"
)

MORE_BINARIES: dict[str, frozenset[str]] = {
    "becomes another user": names(
        "doas pkexec runuser sg newgrp setpriv capsh gosu su-exec sudoedit visudo run0"
    ),
    "starts or enters a container, a namespace or a machine": names(
        "podman nerdctl ctr crictl runc crun lxc lxc-attach lxd incus "
        "machinectl systemd-nspawn docker-compose buildah"
        " singularity apptainer nsenter unshare chroot qemu-system-x86_64 "
        "vagrant multipass virsh kexec dockerd containerd"
        " flatpak-spawn distrobox-host-exec host-spawn"
    ),
    "connects to the network directly": names(
        "socat telnet ftp tftp sftp scp ssh mosh autossh sshpass sshfs "
        "nslookup dig host drill delv finger whois mail mailx"
        " sendmail mutt msmtp swaks http https httpie xh curlie aria2c "
        "axel lynx w3m links elinks lwp-request lwp-download"
        " GET POST HEAD ngrok cloudflared localtunnel lt bore chisel frpc "
        "frps rathole zrok tailscale nmap masscan zmap"
        " openvpn wg wg-quick rclone gsutil s3cmd mc lftp ncftp rsh "
        "rlogin rcp uucp telnetd sshd croc wormhole"
        " transfer ffsend websocat grpcurl iodine dnscat ssh-copy-id "
        "nc.openbsd nc.traditional busybox-wget curl.exe wget2"
        " puf snarf fetch smbclient rpcclient ldapsearch snmpwalk irssi weechat"
    ),
    "changes owners": names("chgrp"),
    "formats, partitions or writes a disk": names(
        "mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat "
        "mkfs.fat mkfs.ntfs mke2fs mkswap fdisk sfdisk cfdisk"
        " gdisk sgdisk parted wipefs blkdiscard hdparm nvme dmsetup "
        "cryptsetup lvremove vgremove pvremove losetup badblocks"
        " debugfs tune2fs resize2fs mdadm dcfldd ddrescue partx swapon "
        "swapoff mount umount pivot_root fstrim dc3dd"
    ),
    "stops or changes the machine": names(
        "init telinit systemd-run systemd-inhibit loginctl insmod rmmod "
        "modprobe sysctl iptables ip6tables nft ufw ip"
        " ifconfig route tc useradd userdel usermod groupadd passwd "
        "chpasswd adduser deluser setcap update-rc.d chkconfig"
        " rc-service initctl launchctl hostnamectl timedatectl setenforce "
        "auditctl journalctl-vacuum swaplabel grub-install"
        " efibootmgr"
    ),
    "runs something later": names("atd batch anacron incrontab fcron cron crond systemd-cron"),
}
"""The same dangers under other names, by reason."""

SHELL_DENYLIST_BINARIES: frozenset[str] = DOCUMENT_BINARIES | frozenset().union(*MORE_BINARIES.values())

JUDGED_BY_ARGUMENTS: frozenset[str] = names("chmod")
"""On the denylist, and let through where their arguments are harmless (D2)."""

HARMLESS_FORMS: dict[str, str] = {
    "ip": r"^ip\s+(-\S+\s+)*(a|addr|address|r|route|l|link|-V)?(\s+(show|list|ls))?$",
    "ifconfig": r"^ifconfig(\s+-a)?$",
    "mount": r"^mount$",
    "sysctl": r"^sysctl\s+(-n\s+|-a\b)?[\w.]*$",
    "ssh": r"^ssh\s+-V$",
    "init": r"^$",
}
"""Forms of a denied program that only look."""

WEB_DENYLIST_HOSTS: frozenset[str] = frozenset(
    {"169.254.169.254", "metadata.google.internal", "metadata.azure.com", "0.0.0.0", "::1", "localhost"}
)
"""The document's hosts; `net.judge_url` refuses them and their kind in every spelling (D10)."""


def why_denied(name: str) -> str:
    """What a binary of the denylist does, for the refusal's sentence."""
    for why, binaries in MORE_BINARIES.items():
        if name in binaries:
            return why
    return "is on the denylist"
