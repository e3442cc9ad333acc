"""The programs that remedies name: the package of each, and which words of a command its help must have.

Where a program is on this machine its own help or manual is asked (`tests/test_all_remedies.py`). Of the others nothing here was run: the
package and the source beside it are what was read, on the vendor's pages or in the package's file list, in 2026-11.
"""

import re

#: Program: (package that has it, where that was read). "shell" is a builtin.
PACKAGES = {
    "uniq": ("coreutils", "uniq(1)"),
    "systemd-cgls": ("systemd", "systemd-cgls(1)"),
    "ps": ("procps, procps-ng", "ps(1)"),
    "lsof": ("lsof", "lsof(8); not run"),
    "ipmitool": ("ipmitool", "ipmitool(1); not run"),
    "docker": ("docker-ce-cli, docker.io", "docker system prune; not run"),
    "podman": ("podman", "podman-system-prune(1); not run"),
    "crictl": ("cri-tools", "crictl of kubernetes-sigs/cri-tools; not run"),
    "apt-get": ("apt", "apt-get(8)"),
    "apt-mark": ("apt", "apt-mark(8)"),
    "chronyc": ("chrony", "chronyc(1); not run"),
    "cloud-init": ("cloud-init", "cloud-init documentation, cloud-init status; not run"),
    "containerd": ("containerd, containerd.io", "containerd(8)"),
    "cpupower": ("linux-tools-common, linux-cpupower, kernel-tools", "cpupower-frequency-set(1); not run"),
    "dcgmi": ("datacenter-gpu-manager", "NVIDIA DCGM User Guide, DCGM Diagnostics; not run"),
    "dkms": ("dkms", "dkms(8)"),
    "dnf": ("dnf; its plugin versionlock", "dnf(8), DNF versionlock plugin; not run"),
    "dockerd": ("docker-ce, docker.io", "dockerd(8); not run"),
    "dpkg": ("dpkg", "dpkg(1)"),
    "dracut": ("dracut", "dracut(8); not run"),
    "du": ("coreutils", "du(1)"),
    "echo": ("shell", "POSIX"),
    "fmpm": ("nvidia-fabricmanager", "NVIDIA Fabric Manager User Guide, section Partition Management; not run"),
    "grep": ("grep", "grep(1)"),
    "hostagent": ("hostagent", "hostagent check --help"),
    "hostnamectl": ("systemd", "hostnamectl(1)"),
    "ip": ("iproute2, iproute", "ip-link(8)"),
    "journalctl": ("systemd", "journalctl(1)"),
    "ldconfig": ("libc-bin, glibc", "ldconfig(8)"),
    "ls": ("coreutils", "ls(1)"),
    "lspci": ("pciutils", "lspci(8)"),
    "microk8s": ("snap microk8s", "MicroK8s, command reference: enable; not run"),
    "mkdir": ("coreutils", "mkdir(1)"),
    "modprobe": ("kmod", "modprobe(8)"),
    "mokutil": ("mokutil", "mokutil(1); not run"),
    "mount": ("mount, util-linux", "mount(8)"),
    "mv": ("coreutils", "mv(1)"),
    "ntpq": ("ntpsec, ntp", "ntpq(8); not run"),
    "nvidia-bug-report.sh": ("nvidia-utils, nvidia-driver-cuda", "NVIDIA driver README, appendix on nvidia-bug-report.sh; not run"),
    "nvidia-ctk": ("nvidia-container-toolkit-base", "NVIDIA Container Toolkit documentation; not run"),
    "nvidia-modprobe": ("nvidia-modprobe", "nvidia-modprobe(1); not run"),
    "nvidia-smi": ("nvidia-utils, nvidia-driver-cuda", "nvidia-smi(1); not run"),
    "nvidia-uninstall": ("NVIDIA's .run file", "NVIDIA driver README, chapter Installing; not run"),
    "printf": ("shell", "POSIX"),
    "mlnx_qos": ("mlnx-tools, of DOCA-OFED", "mlnx_qos of Mellanox/mlnx-tools; not run"),
    "rdma": ("iproute2, iproute", "rdma-system(8)"),
    "rm": ("coreutils", "rm(1)"),
    "scontrol": ("slurm-client, slurm", "scontrol(1)"),
    "setsebool": ("policycoreutils", "setsebool(8); not run"),
    "snap": ("snapd", "snap(8); not run"),
    "sort": ("coreutils", "sort(1)"),
    "ss": ("iproute2, iproute", "ss(8)"),
    "sysctl": ("procps, procps-ng", "sysctl(8)"),
    "systemctl": ("systemd", "systemctl(1)"),
    "tail": ("coreutils", "tail(1)"),
    "talosctl": ("of an administrator's machine", "siderolabs/talos, talosctl service; not run"),
    "tdnf": ("tdnf", "its own help; not run"),
    "timedatectl": ("systemd", "timedatectl(1)"),
    "update-alternatives": ("dpkg", "update-alternatives(1)"),
    "update-initramfs": ("initramfs-tools", "update-initramfs(8)"),
    "zypper": ("zypper", "zypper(8); not run"),
}
#: Of distributions and devices that no recorded host and no case has with that finding.
NOT_LOOKED_AT = frozenset(
    ("microk8s", "chronyc", "mokutil", "ntpq", "tdnf", "zypper", "timedatectl", "setsebool", "nvidia-bug-report.sh", "dockerd")
)


def programs(command):
    """The programs that a shell would start.

    >>> programs("rm -f /dev/nvidia-uvm && nvidia-modprobe -c0 -u"), programs("du --inodes -x / | sort -n | tail")
    (['rm', 'nvidia-modprobe'], ['du', 'sort', 'tail'])
    """
    return [part.split()[0] for part in re.split(r" && | \| ", command) if part.strip()]


def _of(command, program):
    """The words of the part that starts this program."""
    part = next(one for one in re.split(r" && | \| ", command) if one.split()[0] == program)
    return part.partition(">")[0].split()[1:]


def _options(program):
    return lambda command: [word.partition("=")[0] for word in _of(command, program) if word.startswith("-") and not word[1:].isdigit()]


def _verb(program):
    """And the first word that is no option."""
    return lambda command: [*_options(program)(command), *[word for word in _of(command, program) if not word.startswith("-")][:1]]


#: What the help of each has to have.
WORDS = {
    **{name: _options(name) for name in ("dpkg", "du", "journalctl", "mkdir", "mount", "rm", "sort", "tail", "modprobe")},
    **{name: _verb(name) for name in ("apt-get", "apt-mark", "dkms", "hostnamectl", "systemctl", "timedatectl")},
    **{name: _options(name) for name in ("update-initramfs", "update-alternatives", "lspci")},
}
