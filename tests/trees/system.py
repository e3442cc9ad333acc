"""The operating system of a host: identity, kernel, boot, processes, systemd units, kernel log."""

from dataclasses import dataclass

from tests.trees import formats, netdevs, topology
from tests.trees.tree import BOOTED_AT, Tree

#: os-release of each distribution, the keys that programs ask for.
OS_RELEASE = {
    "ubuntu2404": (
        'PRETTY_NAME="Ubuntu 24.04.3 LTS"\nNAME="Ubuntu"\nVERSION_ID="24.04"\nVERSION="24.04.3 LTS (Noble Numbat)"\n'
        "VERSION_CODENAME=noble\nID=ubuntu\nID_LIKE=debian\nUBUNTU_CODENAME=noble\n"
    ),
    "debian12": (
        'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\nVERSION="12 (bookworm)"\n'
        "VERSION_CODENAME=bookworm\nID=debian\n"
    ),
    "almalinux9": (
        'NAME="AlmaLinux"\nVERSION="9.6 (Sage Margay)"\nID="almalinux"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.6"\n'
        'PLATFORM_ID="platform:el9"\nPRETTY_NAME="AlmaLinux 9.6 (Sage Margay)"\n'
    ),
    "amzn2023": (
        'NAME="Amazon Linux"\nVERSION="2023"\nID="amzn"\nID_LIKE="fedora"\nVERSION_ID="2023"\nPLATFORM_ID="platform:al2023"\n'
        'PRETTY_NAME="Amazon Linux 2023.9.20251117"\n'
    ),
    "sles15": (
        'NAME="SLES"\nVERSION="15-SP6"\nVERSION_ID="15.6"\nPRETTY_NAME="SUSE Linux Enterprise Server 15 SP6"\nID="sles"\n'
        'ID_LIKE="suse"\nVARIANT_ID="sles-basic"\n'
    ),
    "cos": (
        'NAME="Container-Optimized OS"\nID=cos\nPRETTY_NAME="Container-Optimized OS from Google"\nVERSION=121\nVERSION_ID=121\n'
        "BUILD_ID=18867.294.25\n"
    ),
    "rhcos": (
        'NAME="Red Hat Enterprise Linux CoreOS"\nID="rhcos"\nID_LIKE="rhel fedora"\nVERSION="9.6.20251113-0"\nVERSION_ID="9.6"\n'
        'VARIANT="CoreOS"\nVARIANT_ID=coreos\nPRETTY_NAME="Red Hat Enterprise Linux CoreOS 9.6.20251113-0"\nOPENSHIFT_VERSION="4.20"\n'
    ),
    "talos": 'NAME="Talos"\nID=talos\nVERSION_ID=v1.11.5\nPRETTY_NAME="Talos (v1.11.5)"\n',
    "bottlerocket": (
        'NAME=Bottlerocket\nID=bottlerocket\nVERSION="1.51.0 (aws-k8s-1.34-nvidia)"\nVARIANT_ID=aws-k8s-1.34-nvidia\nVERSION_ID=1.51.0\n'
        'PRETTY_NAME="Bottlerocket OS 1.51.0 (aws-k8s-1.34-nvidia)"\n'
    ),
    "flatcar": (
        'NAME="Flatcar Container Linux by Kinvolk"\nID=flatcar\nID_LIKE=coreos\nVERSION=4459.2.1\nVERSION_ID=4459.2.1\n'
        'PRETTY_NAME="Flatcar Container Linux by Kinvolk 4459.2.1 (Oklo)"\nFLATCAR_BOARD="amd64-usr"\n'
    ),
    "ubuntu2204": (
        'PRETTY_NAME="Ubuntu 22.04.5 LTS"\nNAME="Ubuntu"\nVERSION_ID="22.04"\nVERSION="22.04.5 LTS (Jammy Jellyfish)"\n'
        "VERSION_CODENAME=jammy\nID=ubuntu\nID_LIKE=debian\nUBUNTU_CODENAME=jammy\n"
    ),
    "rocky9": (
        'NAME="Rocky Linux"\nVERSION="9.6 (Blue Onyx)"\nID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.6"\n'
        'PLATFORM_ID="platform:el9"\nPRETTY_NAME="Rocky Linux 9.6 (Blue Onyx)"\n'
    ),
}
#: What rebuilds an initramfs, by the beginning of those names (update-initramfs(8), dracut(8)).
_INITRAMFS = (
    *((name, "/usr/sbin/update-initramfs") for name in ("ubuntu", "debian")),
    *((name, "/usr/bin/dracut") for name in ("almalinux", "rocky", "amzn", "sles")),
)
#: Nodes that NVIDIA's own daemons hold open, by the names of their processes.
_NODES = {
    "nvidia-persiste": ("/dev/nvidiactl", "/dev/nvidia0"),
    "nv-fabricmanage": ("/dev/nvidia-nvswitchctl",),
    "nvidia-fabricma": ("/dev/nvidia-nvswitchctl",),
}
_UNLIMITED = "Max locked memory         unlimited            unlimited            bytes     \n"


@dataclass(frozen=True)
class Daemon:
    """A running program: what /proc says of it, and the unit in whose cgroup it is ("" for the one named by `cgroup`)."""

    pid: int
    argv: tuple[str, ...]
    unit: str = ""
    sockets: tuple[str, ...] = ()  # paths it listens on
    started_s: int = 20  # after the boot
    limits: str = _UNLIMITED
    cgroup: str = "/user.slice/user-1000.slice/session-3.scope"
    uid: int = 0
    ids: int = 1  # process ids that it has: in a container, one more
    root: str = "/"  # its root directory

    @property
    def name(self) -> str:
        return self.argv[0].rpartition("/")[2][:15]

    @property
    def place(self) -> str:
        return f"/system.slice/{self.unit}" if self.unit else self.cgroup


def install_os(tree: Tree, distribution: str, hostname: str) -> None:
    tree.write("/usr/lib/os-release", OS_RELEASE[distribution])
    tree.link("/etc/os-release", "../usr/lib/os-release")
    tree.write("/etc/hostname", f"{hostname}\n")
    tree.write("/etc/machine-id", "5b0f1d2c9e8a47b6a1c3d4e5f6071829\n")
    loader = {"x86_64": "/lib64/ld-linux-x86-64.so.2", "aarch64": "/lib/ld-linux-aarch64.so.1"}[tree.arch]
    for path in (loader, "/usr/bin/dash", "/usr/lib/systemd/systemd"):
        tree.program(path)
    tree.link("/usr/bin/sh", "dash")
    tree.link("/usr/sbin/init", "../lib/systemd/systemd")
    if tool := next((tool for start, tool in _INITRAMFS if distribution.startswith(start)), ""):
        tree.program(tool)
    tree.directory("/var/log")


def boot(tree: Tree, hostname: str, *, cmdline: str = "") -> None:
    """The running kernel: identity, command line, parameters, an EFI start with Secure Boot off."""
    kernel = "/proc/sys/kernel"
    tree.write(f"{kernel}/osrelease", f"{tree.kernel}\n")
    tree.write(f"{kernel}/hostname", f"{hostname}\n")
    tree.write(f"{kernel}/arch", f"{tree.arch}\n")
    tree.write(f"{kernel}/random/boot_id", "7d3f6a52-41c8-4b1e-9d55-0c2a8e6f9b13\n")
    tree.write("/proc/stat", f"cpu  1 0 1 1 0 0 0 0 0 0\nbtime {BOOTED_AT}\nprocesses 90210\n")
    tree.write("/proc/uptime", "885600.00 1.00\n")
    tree.write(
        "/proc/cmdline",
        f"BOOT_IMAGE=/boot/vmlinuz-{tree.kernel} root=UUID=9f1c7a30-5e2b-4d86-8f0a-6b7c1d2e3f40 ro {cmdline}".strip() + "\n",
    )
    tree.write("/proc/modules", "")
    tree.write("/proc/devices", "Character devices:\n  1 mem\n  4 tty\n  5 /dev/tty\n\nBlock devices:\n259 blkext\n")
    mounts = "/dev/nvme0n1p2 / ext4 rw,relatime 0 0\nproc /proc proc rw 0 0\nsysfs /sys sysfs rw 0 0\ntmpfs /run tmpfs rw 0 0\n"
    info = "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n23 22 0:21 / /proc rw shared:2 - proc proc rw\n"
    for pid in (1,):
        tree.write(f"/proc/{pid}/mounts", mounts)
        tree.write(f"/proc/{pid}/mountinfo", info)
    tree.link("/proc/self", "1")
    tree.link("/proc/mounts", "self/mounts")
    tree.link("/proc/net", "self/net")
    _process(tree, Daemon(1, ("/sbin/init",), cgroup="/init.scope", started_s=0), "systemd")
    _kernel_thread(tree, 2, "kthreadd")
    tree.write("/sys/module/module/parameters/sig_enforce", "N\n")
    tree.write("/sys/module/firmware_class/parameters/path", "\n")
    tree.write("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n")
    secure_boot(tree, on=False)
    tree.write("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory hugetlb pids rdma misc\n")
    tree.directory("/sys/fs/cgroup/system.slice")
    tree.directory("/run/systemd/system")  # sd_booted(3)
    tree.write("/proc/1/net/unix", "Num       RefCount Protocol Flags    Type St Inode Path\n")
    log_kernel(tree, f"Linux version {tree.kernel} (buildd@example) (gcc 13.3.0) #1 SMP")
    tree.directory("/dev/shm")
    netdevs.namespace(tree)
    topology.install(tree, (topology.Node(0, "0-55", 0),))


def secure_boot(tree: Tree, *, on: bool) -> None:
    """The firmware's variable: four bytes of attributes, then the value (Linux kernel, filesystems/efivarfs)."""
    tree.write("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", b"\x06\0\0\0" + bytes([on]))


def enrol(tree: Tree, *certificates: bytes) -> None:
    """shim's list of the machine owner's keys (UEFI specification, EFI_SIGNATURE_LIST, a list for each certificate)."""
    x509 = bytes.fromhex("a159c0a5e494a74a87b5ab155c2bf072")
    lists = (x509 + b"".join(n.to_bytes(4, "little") for n in (44 + len(one), 0, 16 + len(one))) + bytes(16) + one for one in certificates)
    tree.write("/sys/firmware/efi/mok-variables/MokListRT", b"".join(lists))


def log_kernel(tree: Tree, *messages: str) -> None:
    """More records of the kernel log (Linux kernel, ABI/testing/dev-kmsg)."""
    text = tree.text("/dev/kmsg") if tree.at("/dev/kmsg").exists() else ""
    first = text.count("\n")
    tree.write("/dev/kmsg", text + "".join(f"6,{first + at},{(first + at) * 250000},-;{message}\n" for at, message in enumerate(messages)))


def install_kernel(tree: Tree, release: str, *, headers: bool = True, files: str = "vmlinuz-{0} initrd.img-{0} config-{0}") -> None:
    """One kernel of the distribution, without any driver."""
    directory = f"/lib/modules/{release}"
    for name in ("modules.builtin", "modules.order"):
        tree.write(f"{directory}/{name}", "kernel/fs/ext4/ext4.ko\n")
    tree.write(f"{directory}/kernel/drivers/gpu/drm/nouveau/nouveau.ko.zst")
    tree.write(
        f"{directory}/kernel/drivers/net/veth.ko.zst", formats.zstd(formats.kernel_module({"vermagic": vermagic(release), "name": "veth"}))
    )
    tree.write(f"{directory}/modules.dep", "kernel/drivers/net/veth.ko.zst:\nkernel/drivers/gpu/drm/nouveau/nouveau.ko.zst:\n")
    for name in files.format(release).split():
        tree.write(f"/boot/{name}", f"{name}\n")
    if headers:
        tree.write(f"/usr/src/linux-headers-{release}/Makefile", "VERSION = 6\n")
        tree.link(f"{directory}/build", f"/usr/src/linux-headers-{release}")


def vermagic(release: str) -> str:
    """What each module built for a kernel of a distribution says of it (Linux kernel, include/linux/vermagic.h)."""
    return f"{release} SMP preempt mod_unload modversions "


def load(tree: Tree, *modules: str) -> None:
    for name in modules:
        tree.append("/proc/modules", f"{name} 16384 0 - Live 0x0000000000000000\n")
        tree.write(f"/sys/module/{name}/initstate", "live\n")


def unit(tree: Tree, name: str, text: str, *, enabled: str = "multi-user.target.wants", directory: str = "/usr/lib/systemd/system") -> None:
    """A unit file and, unless `enabled` is "", the link that ``systemctl enable`` makes."""
    tree.write(f"{directory}/{name}", text)
    if enabled:
        tree.link(f"/etc/systemd/system/{enabled}/{name}", f"{directory}/{name}")


def service(description: str, command: str, *, more: str = "", service_more: str = "") -> str:
    """The text of an ordinary unit."""
    return (
        f"[Unit]\nDescription={description}\n{more}\n[Service]\n{service_more}ExecStart={command}\nRestart=always\n\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )


def run(tree: Tree, *daemons: Daemon) -> None:
    """Start daemons: process, open sockets, cgroup (proc(5); Linux kernel, admin-guide/cgroup-v2)."""
    for one in daemons:
        directory = f"/proc/{one.pid}"
        _process(tree, one, one.name)
        tree.write(f"{directory}/limits", f"Limit                     Soft Limit           Hard Limit           Units     \n{one.limits}")
        tree.directory(f"{directory}/fd")
        for number, path in enumerate(one.sockets):
            inode = one.pid * 100 + number
            tree.link(f"{directory}/fd/{number + 3}", f"socket:[{inode}]")
            tree.append("/proc/1/net/unix", f"0000000000000000: 00000002 00000000 00010000 0001 01 {inode} {path}\n")
            tree.socket(path)
        hold(tree, one.pid, *_NODES.get(one.name, ()))
        if one.unit:
            group = f"/sys/fs/cgroup{one.place}"
            tree.append(f"{group}/cgroup.procs", f"{one.pid}\n")
            tree.write(f"{group}/cgroup.events", "populated 1\nfrozen 0\n")


def hold(tree: Tree, pid: int, *nodes: str) -> None:
    """The process has opened these device nodes."""
    for number, node in enumerate(nodes, 40):
        tree.link(f"/proc/{pid}/fd/{number}", node)


def _process(tree: Tree, one: Daemon, name: str) -> None:
    directory = f"/proc/{one.pid}"
    tree.directory(f"{directory}/fd")
    tree.write(f"{directory}/comm", f"{name}\n")
    tree.write(f"{directory}/cmdline", "".join(f"{part}\0" for part in one.argv))
    tree.write(
        f"{directory}/stat",
        f"{one.pid} ({name}) S 1 {one.pid} {one.pid} 0 -1" + " 0" * 13 + f" {one.started_s * 100}" + " 0" * 30 + "\n",
    )
    users = "".join(f"\t{one.uid}" for _ in range(4))
    ids = "".join(f"\t{number}" for number in (one.pid, *range(7, 6 + one.ids)))
    tree.write(f"{directory}/status", f"Name:\t{name}\nPid:\t{one.pid}\nPPid:\t1\nUid:{users}\nNSpid:{ids}\n")
    tree.write(f"{directory}/cgroup", f"0::{one.place}\n")
    tree.link(f"{directory}/root", one.root)
    tree.link(f"{directory}/exe", one.argv[0] if one.argv[0].startswith("/") else f"/usr/bin/{one.argv[0]}")


def _kernel_thread(tree: Tree, pid: int, name: str) -> None:
    """It has no program and no arguments, and PF_KTHREAD among its flags (proc_pid_stat(5); Linux kernel, include/linux/sched.h)."""
    tree.write(f"/proc/{pid}/comm", f"{name}\n")
    tree.directory(f"/proc/{pid}/fd")
    tree.write(f"/proc/{pid}/cmdline")
    tree.write(f"/proc/{pid}/stat", f"{pid} ({name}) S 0 0 0 0 -1 2129984" + " 0" * 43 + "\n")


def number_processes_apart(tree: Tree) -> None:
    """As in a container: the kernel's own threads are not seen."""
    tree.remove("/proc/2")


def stop(tree: Tree, pid: int, unit_name: str = "") -> None:
    """End a daemon that `run` started: its process and its cgroup go, its socket file stays."""
    tree.remove(f"/proc/{pid}")
    if unit_name:
        tree.remove(f"/sys/fs/cgroup/system.slice/{unit_name}")
