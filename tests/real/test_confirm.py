"""The commands by which a page says that its finding can be confirmed: shells parse them, and the programs that are here know their options."""

import os
import re
import shutil
import subprocess

import pytest

from hostagent.engine.catalogue import OURS, load
from tests.over import over
from tests.real.conftest import need_real

CHECKS = load([OURS])
COMMANDS = sorted({line for one in CHECKS for line in one.confirm})
#: What a reader fills in, and what stands for it here.
FILLED = {"address": "0000:00:00.0", "kernel": os.uname().release, "package": "bash", "file": "/bin/sh", "interface": "lo", "unit": "cron"}
#: Each of these only shows something. apt-get is the one that fetches lists: what it says of a key it says nowhere else.
READERS = re.compile(
    r"(?:apt-cache|apt-config|apt-get|apt-mark|ausearch|cat|chronyc|cloud-init|containerd|crictl|crio|ctr|cut|df|dkms|dmesg|dnf|docker|"
    r"dcb|dockerd|dpkg|find|fuser|getenforce|getsebool|grep|grubby|head|hostnamectl|ibv_devinfo|ip|journalctl|kubelet|ldconfig|ls|lsinitramfs|"
    r"lsinitrd|lsmod|mlnx_qos|"
    r"lspci|modinfo|modprobe|mokutil|needs-restarting|nv-fabricmanager|nvcc|nvidia-ctk|nvidia-imex|nvidia-imex-ctl|nvidia-smi|pgrep|"
    r"rdma|rpm|scontrol|setpci|slurmd|sort|ss|sysctl|systemctl|tail|timedatectl|uname|uptime|xargs|zypper)"
)
#: Options and words by which these programs would change something, but for apt-get's.
CHANGES = re.compile(
    r"^(?:systemctl (?!status|show|is-enabled|cat|list-timers)|modprobe (?!-c)|dnf (?!list|module list|versionlock list|history info)"
    r"|apt-mark (?!showhold)|apt-get (?!update)|zypper (?!locks)|rpm -(?!q)|dpkg (?!-l|-S|--audit)|nvidia-ctk (?!cdi list|config|--version)"
    r"|kubelet (?!--v)|ldconfig(?! -p)|cloud-init (?!status)|chronyc (?!tracking)|mokutil (?!--sb)|docker (?!info)|dockerd (?!--v)|containerd (?!config dump|--v)"
    r"|ip (?!(?:-[a-z0-9]+ )*(?:link|addr|address|route|neigh|rule)(?: show| list|$))|rdma (?!system show|link show|dev show)|dcb (?!.*show)|setpci .*=|sysctl .*(?:-w|=)|mlnx_qos .*-[-ptfsrc](?![a-z]*how)"
    r"|scontrol (?!show)|slurmd (?!-[CGV]$)"
    r"|crio (?!status|--v)|find .* -(?:delete|exec)|nvidia-smi -(?:[rae]|pm|mig|pl|c)\b|fuser .*-k|dmesg .*-[cC])"
)
#: These are safe to run anywhere, and quick.
HERE = {
    "apt-cache",
    "apt-config",
    "apt-mark",
    "df",
    "dpkg",
    "grep",
    "journalctl",
    "ldconfig",
    "lspci",
    "modinfo",
    "rpm",
    "ss",
    "systemctl",
    "uname",
}
REFUSED = re.compile(
    r"invalid option|unrecognized|unknown (?:option|flag|command|operation)|invalid operation|usage:|-p requires|no such option",
    re.IGNORECASE,
)


def plain(command):
    """Without what is said to the reader, filled in."""
    code = re.sub(r"\s+# .*$", "", command)
    return re.sub(r"<(\w+)>", lambda found: FILLED[found[1]], code)


def programs(command):
    for piece in re.split(r"\|(?![^']*'(?:[^']*'[^']*')*[^']*$)|;", plain(command)):
        yield re.sub(r"\$\(.*?\)", "", piece).split()[0].rpartition("/")[2], piece.strip()


@over("command", COMMANDS)
def test_a_command_of_a_page_is_a_command_that_shows_and_changes_nothing(command):
    parsed = subprocess.run(["bash", "-n", "-c", plain(command)], capture_output=True, text=True, check=False)
    assert (parsed.returncode, parsed.stderr) == (0, "")
    for name, piece in programs(command):
        assert READERS.fullmatch(name)
        assert not CHANGES.match(piece), piece
    assert "sudo" not in command


@pytest.mark.parametrize(
    "command", [one for one in COMMANDS if {name for name, _ in programs(one)} <= HERE | {"head", "cut", "sort", "tail"}]
)
def test_the_real_program_knows_the_options(command):
    missing = [name for name, _ in programs(command) if not shutil.which(name)]
    if missing:
        need_real(missing[0], "apt-get install pciutils kmod rpm systemd iproute2")
    done = subprocess.run(
        ["bash", "-c", plain(command)], capture_output=True, text=True, check=False, timeout=60, env={**os.environ, "LC_ALL": "C"}
    )
    assert not REFUSED.search(done.stderr), done.stderr
    assert done.returncode != 127


def test_the_real_nvidia_smi_knows_the_parts_and_fields_that_are_asked_for():
    root = need_real("debian-bookworm-open", "bash tests/real/install_debian.sh")
    said = subprocess.run(
        ["chroot", root, "/usr/lib/nvidia/current/nvidia-smi", "--help"], capture_output=True, text=True, check=False
    ).stdout
    parts = {name for command in COMMANDS for name in re.findall(r"^nvidia-smi -q -i <address> -d (\w+)", command)}
    options = {name for command in COMMANDS for name in re.findall(r"^nvidia-smi (-\w)\b", command)}
    assert parts
    assert {name for name in parts if not re.search(rf"\b{name}\b", said)} == set()
    assert {name for name in options if not re.search(rf"^\s+{name},", said, re.MULTILINE)} == set()


def test_the_real_nvidia_ctk_lists_devices():
    program = need_real("nvidia-ctk/nvidia-ctk", "bash tests/real/install_nvidia_ctk.sh")
    for command in ("cdi list", "config", "--version"):
        assert any(f"nvidia-ctk {command}" in line for line in COMMANDS)
        assert subprocess.run([program, *command.split()], capture_output=True, check=False, timeout=60).returncode == 0
