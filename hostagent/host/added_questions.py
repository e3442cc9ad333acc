"""Questions that older recordings do not have.

A recording names the set of questions that its recorder knew. Of a question that came later it cannot say anything: a check that needs it
is unknown, and that counts in no verdict. A question of its own set that is missing counts.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

#: By the set that first has them: patterns of whole questions, as on a tape.
ADDED: Mapping[int, tuple[str, ...]] = {
    2: (
        r"kernel_words",
        r"nvml device \d+ peer_access",
        r"read /sys/bus/pci/devices/[^/ ]+/resource",
        r"readlink /sys/bus/pci/drivers/[^/ ]+/module",
        # Of GPUs and the bridges above them, on hosts without a card for RDMA.
        r"pci_controls .+",
        r"readlink /sys/bus/pci/devices/[^/ ]+/iommu_group",
        r"read /sys/kernel/iommu_groups/\d+/type",
        r"read /sys/devices/system/cpu/modalias",
        # kubelets and services
        r"run journalctl -b 0 .* _PID=1 MESSAGE_ID=[0-9a-f]{32}",
        r"stat /etc/kubernetes/kubelet\.conf|stat /var/lib/kubelet/kubeconfig|stat /etc/kubernetes/kubelet/kubeconfig",
        r"stat /var/lib/cloud/instance/user-data\.txt",
        r"read /sys/fs/cgroup/podruntime/(?:kubelet|runtime)/cgroup\.events",
        r"read /\S*/device-plugins/kubelet_internal_checkpoint",
        # volumes of what starts containers, SELinux of runtimes
        r"volume /.*",
        r"read /proc/1/mounts 8388608",
        r"read /\S+ (?:307200|525312)",
        r"read /etc/fstab",
        r"read /etc/enroot/enroot\.conf 65536",
        r"(?:read|realpath|readlink|stat) /etc/systemd/system/[^/ ]+\.mount",
        r"realpath /dev/\S+/\S+",
        r"stat /var/lib/selinux/\S+",
        r"read /etc/selinux/targeted/contexts/files/file_contexts\.local",
        r"read /sys/fs/selinux/booleans/container_use_xserver_devices",
        # limits of the host
        r"read /proc/(?:loadavg|meminfo 65536|1/net/stat/\w+)",
        r"read /proc/sys/(?:kernel/(?:pid_max|threads-max)|fs/file-nr|net/netfilter/\w+|net/ipv[46]/neigh/default/gc_thresh3)",
        r"read /sys/fs/cgroup/\S+/pids\.(?:max|current)",
        # errors of the host's memory
        r"(?:list|read) /sys/devices/system/edac/mc.*",
        r"stat /usr/s?bin/ipmitool",
        # MUNGE, and copies of Slurm's files
        r"(?:list|read|readlink|realpath|stat) \S*/munge\.service\S*",
        r"read /proc/1/net/unix 8388608",
        r"stat /var/\S+/conf-cache/slurm\.conf",
        r"nvml (?:confidential|drain .*)",
        r"nvml device \d+ (?:processes|memory_use|mig_devices|virtualization|license)",
        r"list /proc/driver/nvidia/capabilities/gpu\d+/mig(?:/gi\d+)?",
        r"read /usr/share/nvidia/nvswitch/fabricmanager\.cfg",
        r"read /(?:etc|run|usr|var)/.*nvidia-imex.*",  # config.cfg, and a list of nodes elsewhere
        r"tail /(?:run|var)/.*imex.*",
        r"list /var/lib/(?:k0s/)?kubelet/plugins/compute-domain\.nvidia\.com(?:/domains)?",
        r"stat /var/lib/(?:k0s/)?kubelet/plugins/compute-domain\.nvidia\.com/dra.*\.sock",
    ),
}
#: The set that this program asks.
CURRENT = max(ADDED)


def is_newer(question: str, known: int) -> bool:
    """Whether a recording of the set `known` was made before this question was asked.

    >>> is_newer("read /proc/version", 1)
    False
    """
    return known < CURRENT and bool(_pattern(known).fullmatch(question))


@lru_cache(maxsize=8)
def _pattern(known: int) -> "re.Pattern[str]":
    later = [f"(?:{one})" for added, patterns in ADDED.items() if added > known for one in patterns]
    return re.compile("|".join(later) or r"(?!)")
