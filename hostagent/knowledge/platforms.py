"""Platforms that own parts of a GPU host: by what they are recognised, where they keep the parts, and how their owner changes them.

Sources (read 2026-11): os-release of each image; awslabs/amazon-eks-ami (nodeadm, /etc/eks), Azure/AgentBaker (/opt/azure/containers),
GoogleCloudPlatform/container-engine-accelerators (installer below /home/kubernetes/bin/nvidia), bottlerocket-os/bottlerocket,
siderolabs/extensions (nvidia), flatcar/sysext-bakery, NVIDIA DGX OS user guide, NVIDIA GPU Operator (paths below /run/nvidia and
/usr/local/nvidia), Microsoft WSL (/dev/dxg, /usr/lib/wsl), NVIDIA Jetson Linux (/etc/nv_tegra_release).
"""

from collections.abc import Mapping
from typing import NamedTuple

from hostagent.vocabulary import Base, PartOwner

#: Parts whose place this release does not know.
NOWHERE = "?"
#: Of the GPU Operator: the root of its driver container, and its toolkit.
OPERATOR_DRIVER, OPERATOR_TOOLKIT = "/run/nvidia/driver", "/usr/local/nvidia/toolkit"


class Row(NamedTuple):
    """Both marks have to be there: one of `ids` or a word of the kernel's release, and one of `paths`."""

    name: str
    base: Base
    ids: tuple[str, ...]  # os-release's ID
    paths: tuple[str, ...]
    kernel: str = ""  # a word in uname -r
    owner: PartOwner = "image"  # of the driver and its libraries
    others: PartOwner = "image"  # of the toolkit and the runtime's configuration
    driver: str = ""  # place of the driver and its libraries, "" where the distribution puts them
    libraries: str = ""


#: The first that fits.
ROWS = (
    Row(
        "WSL2",
        "guest",
        (),
        ("/dev/dxg", "/usr/lib/wsl/lib"),
        kernel="microsoft",
        owner="provider",
        others="host",
        driver=NOWHERE,
        libraries="/usr/lib/wsl/lib",
    ),
    Row("Jetson Linux", "host", (), ("/etc/nv_tegra_release",), kernel="tegra", others="host", driver=NOWHERE, libraries=NOWHERE),
    Row(
        "GKE node",
        "managed",
        ("cos", "ubuntu"),
        ("/home/kubernetes",),
        owner="provider",
        others="provider",
        driver="/home/kubernetes/bin/nvidia",
        libraries="/home/kubernetes/bin/nvidia/lib64",
    ),
    Row(
        "Container-Optimized OS",
        "managed",
        ("cos",),
        ("/mnt/stateful_partition",),
        driver="/var/lib/nvidia",
        libraries="/var/lib/nvidia/lib64",
    ),
    Row(
        "Bottlerocket",
        "managed",
        ("bottlerocket",),
        ("/x86_64-bottlerocket-linux-gnu", "/aarch64-bottlerocket-linux-gnu", "/.bottlerocket"),
    ),
    Row(
        "Talos Linux",
        "managed",
        ("talos",),
        ("/usr/local/lib/containers", "/system", "/usr/local/glibc"),
        driver="/usr/local/lib",
        libraries="/usr/local/glibc/usr/lib",
    ),
    Row(
        "Flatcar Container Linux",
        "managed",
        ("flatcar",),
        ("/usr/share/flatcar", "/usr/share/update_engine"),
        driver="/opt/nvidia",
        libraries="/opt/nvidia",
    ),
    Row("Red Hat CoreOS", "managed", ("rhcos", "scos"), ("/run/ostree-booted", "/sysroot/ostree/repo", "/ostree/repo")),
    # OpenShift 4.19 and later (openshift/enhancements, split-rhcos-into-layers): os-release is RHEL's; Ignition set it up
    Row("Red Hat CoreOS", "managed", ("rhel", "centos"), ("/etc/.ignition-result.json",)),
    Row("EKS AMI", "cloud-image", ("amzn", "ubuntu", "rhel"), ("/etc/eks",)),
    Row("AKS node image", "cloud-image", ("ubuntu", "azurelinux", "mariner"), ("/opt/azure/containers",)),
    Row("DGX OS", "host", ("ubuntu",), ("/etc/dgx-release",), owner="host", others="host"),
)

#: How the owner of a part changes it: what stands where a check would tell its reader to change the host.
OWNERS_WAY: Mapping[tuple[str, str], str] = {
    ("operator", "driver"): "The GPU Operator brings the driver: change spec.driver of its ClusterPolicy, or restart this node's "
    "nvidia-driver-daemonset pod, whose log says what failed.",
    ("operator", "toolkit"): "The GPU Operator brings the toolkit: change spec.toolkit of its ClusterPolicy, or restart this node's "
    "nvidia-container-toolkit-daemonset pod.",
    (
        "operator",
        "runtime",
    ): "The GPU Operator's toolkit writes this configuration: change spec.toolkit of its ClusterPolicy "
    "(CONTAINERD_CONFIG, RUNTIME_CONFIG_SOURCE), or restart this node's nvidia-container-toolkit-daemonset pod.",
}


def owners_way(platform: str, owner: str, part: str, remedy: str) -> str:
    """What the reader may do about a part that somebody else owns; `remedy` where it is the host's own."""
    if owner == "host":
        return remedy
    if owner == "operator":
        return OWNERS_WAY["operator", "driver" if part == "libraries" else part]
    if owner == "image":
        return f"{platform} brings this part: take an image that has it right, and replace the node. Until then, on this node: {remedy}"
    return f"{platform} brings this part, and replaces what is changed by hand: recreate the node, or ask the provider."
