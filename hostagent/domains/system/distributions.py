"""Distributions NVIDIA publishes driver packages for, and boards that are virtual.

Sources: NVIDIA's network repository tree for CUDA and drivers and NVIDIA Driver Installation Guide, releases 580 to 620
(table of Linux system requirements, read 2026-11); systemd-detect-virt(1).
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
