"""Distributions NVIDIA publishes driver packages for, and systems whose owner must change them.

Sources: NVIDIA's network repository tree for CUDA and drivers and NVIDIA Driver Installation Guide, releases 580 to 620
(table of Linux system requirements, read 2026-11); os-release(5) identifiers and marker files of each vendor (read 2026-08).
"""

from collections.abc import Mapping
from typing import NamedTuple


class Distribution(NamedTuple):
    """One os-release ID: the versions, or for a family the major versions, that have a repository."""

    id: str
    versions: tuple[str, ...]
    by_major: bool  # 9.4 counts as 9


DISTRIBUTIONS = (
    Distribution("ubuntu", ("22.04", "24.04", "26.04"), by_major=False),
    Distribution("debian", ("12", "13"), by_major=True),
    Distribution("rhel", ("8", "9", "10"), by_major=True),
    Distribution("rocky", ("8", "9", "10"), by_major=True),
    Distribution("almalinux", ("8", "9", "10"), by_major=True),
    Distribution("ol", ("8", "9", "10"), by_major=True),
    Distribution("fedora", ("42", "43", "44"), by_major=True),
    Distribution("amzn", ("2023",), by_major=True),
    Distribution("sles", ("15", "16"), by_major=True),
    Distribution("opensuse-leap", ("15", "16"), by_major=True),
    Distribution("azurelinux", ("3", "4"), by_major=True),
)

#: `uname -m` of the architectures the Linux driver exists for, with the repository's word.
ARCHITECTURES: Mapping[str, str] = {"x86_64": "x86_64", "aarch64": "sbsa"}

#: os-release ID of a system that is replaced as a whole, and its name.
MANAGED_IDS: Mapping[str, str] = {
    "cos": "Container-Optimized OS",
    "bottlerocket": "Bottlerocket",
    "talos": "Talos Linux",
    "flatcar": "Flatcar Container Linux",
    "rhcos": "Red Hat CoreOS",
    "scos": "CentOS Stream CoreOS",
    "ubuntu-core": "Ubuntu Core",
    "sl-micro": "SUSE Linux Micro",
    "sle-micro": "SUSE Linux Enterprise Micro",
}

#: os-release VARIANT_ID that says the same of an ordinary ID.
MANAGED_VARIANTS: Mapping[str, str] = {"coreos": "CoreOS"}

#: Whose driver modules are loaded from a directory of their own, so that /lib/modules has none.
MODULES_ELSEWHERE = ("Container-Optimized OS", "GKE")

#: A path whose existence shows who owns the driver or the image, the first that exists counts.
MANAGED_PATHS = (
    ("/etc/dgx-release", "DGX OS"),
    ("/etc/eks/nvidia-kmod-load.sh", "the EKS accelerated AMI"),
    ("/home/kubernetes", "GKE"),
    ("/opt/azure/containers", "AKS"),
    ("/dev/dxg", "Windows (WSL)"),
    ("/etc/nv_tegra_release", "Jetson Linux"),
    ("/run/ostree-booted", "an ostree deployment"),
    ("/sysroot/ostree/repo", "an ostree deployment"),
)


#: How the boards of virtual machines call themselves (DMI sys_vendor or product_name), as systemd-detect-virt(1) tells them.
VIRTUAL_BOARDS = (
    *("KVM", "OpenStack", "KubeVirt", "Amazon EC2", "QEMU", "VMware", "VMW", "innotek GmbH", "VirtualBox", "Xen", "Bochs", "Parallels"),
    *("BHYVE", "Hyper-V", "Apple Virtualization", "Google Compute Engine", "Virtual Machine"),
)
#: Amazon's servers without a hypervisor name their instance type.
_BARE_METAL = ".metal"


def is_virtual(vendor: str, product: str) -> bool:
    """Whether a board of this DMI sys_vendor and product_name is a virtual machine's.

    >>> is_virtual("Amazon EC2", "g4dn.xlarge"), is_virtual("Amazon EC2", "g4dn.metal"), is_virtual("Dell Inc.", "PowerEdge XE9680")
    (True, False, False)
    """
    return (vendor.startswith(VIRTUAL_BOARDS) or product.startswith(VIRTUAL_BOARDS)) and not product.endswith(_BARE_METAL)


def repository(id_: str, version_id: str) -> bool:
    """Whether NVIDIA has a repository for this os-release ID and VERSION_ID.

    >>> repository("rocky", "9.4"), repository("ubuntu", "24.10"), repository("debian", "12")
    (True, False, True)
    """
    for one in DISTRIBUTIONS:
        if one.id == id_:
            return (version_id.split(".", maxsplit=1)[0] if one.by_major else version_id) in one.versions
    return False


def versions(id_: str) -> tuple[str, ...]:
    """The versions of this distribution that have a repository, () for another distribution."""
    return next((one.versions for one in DISTRIBUTIONS if one.id == id_), ())
