"""Hosts by the state of the machine around the GPU: volumes, limits, memory, SELinux. Each healthy, and with one named change.

Sources stand beside each: the published configuration or output that its files repeat.
"""

import json
from pathlib import Path

from tests.trees import clouds, hosts, others, serving, system, workers
from tests.trees.claim import PACKAGES, claims
from tests.trees.tree import Tree

_GIB = 1024**3
_IMAGES = "/var/lib/containerd"
_RAID = f"/dev/md0 {_IMAGES} xfs rw,noatime,attr2,inode64,logbufs=8,logbsize=32k,sunit=1024,swidth=2048,noquota 0 0\n"
_EXT4 = f"/dev/md0 {_IMAGES} ext4 {{}},relatime,errors=remount-ro,stripe=256 0 0\n"


def _volume(tree: Tree, row: str, *, options: str = "defaults,nofail", **space: int) -> None:
    """A volume of its own for containerd's images, as fstab has it and as it is mounted."""
    device, place, kind = row.split()[:3]
    tree.append("/proc/1/mounts", row)
    tree.write(
        "/etc/fstab",
        f"# <device> <mount point> <type> <options>\nLABEL=cloudimg-rootfs / ext4 defaults 0 1\n{device}\t{place}\t{kind}\t{options}\t0\t2\n",
    )
    tree.directory(place)
    tree.volumes[place] = {"total_bytes": 27_900 * _GIB, "free_bytes": 22_000 * _GIB, "total_inodes": 0, "free_inodes": 0, **space}


# containerd's directory on a RAID of the local disks: xfs(5), fstab(5); Kubernetes, Node-pressure Eviction (imagefs).


@claims(source="fstab(5); Kubernetes, Node-pressure Eviction, imagefs")
def volume_of_images(root: Path) -> Tree:
    """A kubeadm node with containerd's images on a RAID of its local disks."""
    tree = serving.kubeadm_beside_docker(root)
    _volume(tree, _RAID)
    return tree


@claims("host.volumes", twin="volume-of-images", source="moby/moby issue 31120")
def volume_of_images_full(root: Path) -> Tree:
    """Checkpoints that a job wrote into its container have filled the volume."""
    tree = volume_of_images(root)
    tree.volumes[_IMAGES]["free_bytes"] = 48 * 1024**2
    return tree


@claims("host.volumes", twin="volume-of-images", source="ext4(5), errors=remount-ro")
def volume_of_images_read_only(root: Path) -> Tree:
    """A disk of the RAID failed under ext4: the kernel made the volume read-only, and containerd runs on."""
    tree = serving.kubeadm_beside_docker(root)
    _volume(tree, _EXT4.format("ro"), options="errors=remount-ro", total_inodes=1_800_000_000, free_inodes=1_799_000_000)
    return tree


@claims("host.volumes", twin="volume-of-images", source="coreos/bugs issue 1396; Linux fs/xfs/xfs_log.c, xlog_force_shutdown")
def volume_of_images_shut_down(root: Path) -> Tree:
    """XFS has shut itself down after an error of its log: the volume is still listed as writable, and another disk has errors, too."""
    tree = volume_of_images(root)
    system.log_kernel(
        tree,
        "XFS (sdz1): Filesystem has been shut down due to log error (0x2).",
        "XFS (md0): log I/O error -5",
        "XFS (md0): Filesystem has been shut down due to log error (0x2).",
        "XFS (md0): Please unmount the filesystem and rectify the problem(s).",
    )
    return tree


@claims("host.volumes", twin="volume-of-images")
def volume_of_images_unmounted(root: Path) -> Tree:
    """The RAID did not come up at the last boot, and nofail let the boot go on: images go to the system's disk."""
    tree = volume_of_images(root)
    tree.edit("/proc/1/mounts", _RAID, "")
    return tree


@claims("host.disk_pressure", twin="volume-of-images", source="Kubernetes, Node-pressure Eviction")
def volume_of_images_pressure(root: Path) -> Tree:
    """An eighth of the volume is free: less than the kubelet's own 15 %."""
    tree = volume_of_images(root)
    tree.volumes[_IMAGES]["free_bytes"] = 3_500 * _GIB
    return tree


# Image-based systems: Bottlerocket, sources/api/storewolf and packages/release (local.mount, var.mount); Flatcar, disk layout;
# Red Hat CoreOS, ostree-prepare-root(1).


@claims(never=PACKAGES, source="bottlerocket-core-kit, packages/release: local.mount, var.mount, opt.mount")
def bottlerocket_mounts(root: Path) -> Tree:
    """Bottlerocket's mounts in full: a root that is never writable, and all that changes on the second disk."""
    tree = clouds.bottlerocket(root)
    second = "/dev/nvme1n1p1 {} ext4 rw,seclabel,nosuid,nodev,noatime,errors=remount-ro 0 0\n"
    rows = "/dev/dm-0 / ext4 ro,seclabel,relatime,errors=remount-ro 0 0\ntmpfs /run tmpfs rw,seclabel,nosuid,nodev,mode=755 0 0\n"
    tree.write(
        "/proc/1/mounts", rows + "".join(second.format(place) for place in ("/local", "/var", "/opt", "/mnt")) + "tmpfs /etc tmpfs rw 0 0\n"
    )
    tree.write("/sys/fs/selinux/enforce", "1")
    tree.volumes["/"] = {"total_bytes": 900 * 1024**2, "free_bytes": 0, "total_inodes": 65_536, "free_inodes": 0}
    return tree


@claims(never=PACKAGES, source="Flatcar, disk layout: USR-A, ROOT")
def flatcar_mounts(root: Path) -> Tree:
    """Flatcar's mounts in full: /usr is verified and read-only, the root file system holds the rest."""
    tree = clouds.flatcar(root)
    tree.write(
        "/proc/1/mounts",
        "/dev/nvme0n1p9 / ext4 rw,seclabel,relatime 0 0\n/dev/mapper/usr /usr ext4 ro,seclabel,relatime 0 0\n"
        "tmpfs /run tmpfs rw,seclabel,nosuid,nodev,size=6553600k,mode=755 0 0\n/dev/nvme0n1p6 /oem btrfs rw,relatime 0 0\n",
    )
    tree.volumes["/usr"] = {"total_bytes": 1_000 * 1024**2, "free_bytes": 0, "total_inodes": 260_000, "free_inodes": 240_000}
    return tree


# SELinux: container_selinux(8); containerd, docs/cri/config.md (enable_selinux); RHEL, Using SELinux.


@claims(source="dockerd(8): selinux-enabled is off by default; container_selinux(8)")
def docker_enforcing(root: Path) -> Tree:
    """Rocky Linux 9 in enforcing mode, with Docker as it comes: it labels no container, and no boolean matters. GPUs come by the hook."""
    tree = others.rhel9_module_streams(root)
    path = "/etc/docker/daemon.json"
    tree.write(path, json.dumps({key: value for key, value in json.loads(tree.text(path)).items() if "runtime" not in key}))
    for name in ("container_use_devices", "container_use_xserver_devices"):
        tree.write(f"/sys/fs/selinux/booleans/{name}", "0 0")
    tree.directory("/var/lib/selinux/targeted/active/modules/200/container")
    return tree


@claims("runtime.selinux", twin="docker-enforcing", source="NVIDIA Container Toolkit, troubleshooting; dockerd(8), selinux-enabled")
def docker_enforcing_labels(root: Path) -> Tree:
    """Docker was told to label its containers, and no policy lets them use the GPU."""
    tree = docker_enforcing(root)
    path = "/etc/docker/daemon.json"
    tree.write(path, json.dumps({**json.loads(tree.text(path)), "selinux-enabled": True}))
    return tree


# Limits: proc_sys_kernel(5); TasksMax= of a unit, systemd.resource-control(5).


@claims(source="proc_loadavg(5); systemd.resource-control(5)")
def slurm_limits(root: Path) -> Tree:
    """A Slurm worker with the kernel's own limits, and its unit without one for tasks."""
    tree = workers.slurm_gres(root)
    tree.write("/proc/loadavg", "96.20 95.81 90.02 97/9210 812345\n")
    tree.write("/proc/sys/kernel/pid_max", "4194304\n")
    tree.write("/proc/sys/kernel/threads-max", "8253000\n")
    tree.write("/proc/sys/fs/file-nr", "14112\t0\t9223372036854775807\n")
    for name, value in (("max", "262144"), ("count", "611")):
        tree.write(f"/proc/sys/net/netfilter/nf_conntrack_{name}", f"{value}\n")
    for group, most in (("system.slice", "max"), ("system.slice/slurmd.service", "max")):
        tree.write(f"/sys/fs/cgroup/{group}/pids.max", f"{most}\n")
        tree.write(f"/sys/fs/cgroup/{group}/pids.current", "412\n")
    return tree


@claims("host.limits", twin="slurm-limits")
def slurm_limits_used_up(root: Path) -> Tree:
    """The limit of process ids is the old 32768, and jobs have used it up."""
    tree = slurm_limits(root)
    tree.write("/proc/loadavg", "96.20 95.81 90.02 97/32761 32012\n")
    tree.write("/proc/sys/kernel/pid_max", "32768\n")
    return tree


# The host's memory: Linux kernel, ABI/testing/sysfs-devices-edac.


def _memory(tree: Tree, errors: "dict[tuple[int, int], int]") -> None:
    """Eight controllers of skx_edac, with thousands of corrected errors."""
    for controller in range(8):
        folder = f"/sys/devices/system/edac/mc/mc{controller}"
        mine = {module: count for (at, module), count in errors.items() if at == controller}
        counts = {"mc_name": f"Skylake Socket#{controller // 4} IMC#{controller % 4}", "ce_count": "4410", "ce_noinfo_count": "0"}
        for name, value in {**counts, "ue_count": sum(mine.values()), "ue_noinfo_count": 0}.items():
            tree.write(f"{folder}/{name}", f"{value}\n")
        for module in range(2):
            label = f"CPU_SrcID#{controller // 4}_MC#{controller % 4}_Chan#{module}_DIMM#0"
            for name, value in {"dimm_label": label, "dimm_ce_count": 2205, "dimm_ue_count": mine.get(module, 0)}.items():
                tree.write(f"{folder}/dimm{module}/{name}", f"{value}\n")


@claims(source="Linux kernel, ABI/testing/sysfs-devices-edac")
def hgx_memory(root: Path) -> Tree:
    """HGX H100 with EDAC, which counts corrected errors alone."""
    tree = hosts.hgx_h100(root)
    _memory(tree, {})
    return tree


@claims("host.memory_errors", twin="hgx-h100-edac", source="mej/nhc pull request 23")
def hgx_memory_error(root: Path) -> Tree:
    """One uncorrected error in a module of the second socket."""
    tree = hgx_memory(root)
    _memory(tree, {(6, 1): 1})
    tree.program("/usr/bin/ipmitool")
    return tree


RECIPES = {
    "volume-of-images": volume_of_images,
    "volume-of-images-full": volume_of_images_full,
    "volume-of-images-read-only": volume_of_images_read_only,
    "volume-of-images-shut-down": volume_of_images_shut_down,
    "volume-of-images-unmounted": volume_of_images_unmounted,
    "volume-of-images-pressure": volume_of_images_pressure,
    "docker-enforcing": docker_enforcing,
    "docker-enforcing-labels": docker_enforcing_labels,
    "slurm-limits": slurm_limits,
    "slurm-limits-used-up": slurm_limits_used_up,
    "hgx-h100-edac": hgx_memory,
    "hgx-h100-edac-uncorrected": hgx_memory_error,
}
#: Of systems that their provider replaces as a whole: no version is wanted of them.
MANAGED = {"bottlerocket-mounts": bottlerocket_mounts, "flatcar-mounts": flatcar_mounts}
