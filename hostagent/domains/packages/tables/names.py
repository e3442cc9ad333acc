"""Names of NVIDIA's packages on the distributions, and the keys that sign its repositories.

Sources: NVIDIA Driver Installation Guide (package tables, "Recent Updates": the rename of the Ubuntu packages at 590,
"Version Locking"); NVIDIA Container Toolkit, packaging; Debian and Ubuntu package pages; NVIDIA cuda-repo-management
issues 30, 34, 39 and 44 (the old signing key). State of 2026-08.
"""

import re

from hostagent.facts.version import compare_upstream

#: The toolkit's packages: all four have one version. A host that uses CDI alone needs only the base package.
TOOLKIT_BASE = "nvidia-container-toolkit-base"
TOOLKIT_PACKAGES = ("libnvidia-container-tools", "libnvidia-container1", "nvidia-container-toolkit", TOOLKIT_BASE)

#: Directories of rpm's database.
RPM_DATABASES = ("/usr/lib/sysimage/rpm", "/var/lib/rpm")

#: Name prefixes of packages that are kept in the facts.
FAMILIES = (
    *("nvidia", "libnvidia", "libcuda", "libnvsdm", "cuda", "nvlsm", "mft", "firmware-nvidia", "xorg-x11-nvidia", "xorg-x11-drv-nvidia"),
    *("dkms", "kmod-", "akmod-", "kernel", "linux-image", "linux-headers", "linux-modules", "linux-objects", "linux-signatures", "doca-"),
    *("containerd", "docker", "moby-", "cri-o", "runc", "crun", "podman", "kubelet", "k3s", "rke2", "slurmd"),
    *("apt", "unattended-upgrades", "dnf-automatic"),
)

#: Suffixes that distributions add: the branch, Ubuntu's -server, the flavour, SUSE's generation.
_SUFFIXES = re.compile(r"-[0-9]{3}(?=-|$)|-server|-open|-latest|-G[0-9]{2}|-signed")
#: The packages that must have the version of the driver, without those suffixes, by what they carry.
_DRIVER_PARTS = {
    "kernel module": "nvidia-dkms nvidia-kernel-source nvidia-kernel-dkms kmod-nvidia-dkms akmod-nvidia nvidia-kmod nvidia-kmod-common",
    "firmware": "nvidia-firmware firmware-nvidia-gsp nvidia-kernel-common nvidia-kernel-support",
    "library": "libcuda1 libnvidia-ml libnvidia-ml1 libnvidia-cfg libnvidia-cfg1 libnvidia-compute libnvidia-decode libnvidia-encode "
    "libnvidia-extra libnvidia-fbc libnvidia-fbc1 libnvidia-gl libnvidia-gpucomp nvidia-compute nvidia-compute-utils nvidia-gl "
    "nvidia-video nvidia-libs nvidia-driver-libs nvidia-driver-cuda-libs xorg-x11-drv-nvidia-libs xorg-x11-drv-nvidia-cuda-libs",
    "driver": "nvidia nvidia-driver nvidia-driver-bin nvidia-driver-cuda nvidia-utils nvidia-headless nvidia-headless-no-dkms cuda-drivers "
    "nvidia-smi xorg-x11-drv-nvidia xorg-x11-drv-nvidia-cuda",
    "persistence daemon": "nvidia-persistenced",
    "modprobe": "nvidia-modprobe",
    "fabric manager": "nvidia-fabricmanager nvidia-fabric-manager",
    "NSCQ": "libnvidia-nscq",
    "NVSDM": "libnvsdm",
    "IMEX": "nvidia-imex",
}
_PART_OF = {stem: part for part, stems in _DRIVER_PARTS.items() for stem in stems.split()}
#: Packages with the version in their name, several of which may be installed: one per kernel, or one per version.
_VERSIONED_NAMES = (("kmod-nvidia-", "kernel module"), ("nvidia-firmware-", "firmware"))

#: Signed kernel modules of distributions, for use with NVIDIA's own userland: SUSE, "Installing NVIDIA GPU drivers on SUSE Linux
#: Enterprise" (nvidia-open-driver-G06-signed-kmp); AlmaLinux wiki, "NVIDIA drivers" (nvidia-open-kmod). Read 2026-11.
SIGNED_MODULE_PACKAGES = ("nvidia-open-driver-", "nvidia-open-kmod", "kmod-nvidia-open")

#: Distributions build these two from separate sources, so their versions may differ from the driver's.
SEPARATE_IN_DISTRIBUTIONS = ("persistence daemon", "modprobe")

#: Key of the CUDA repositories up to Ubuntu 24.04 and Debian 12: its binding signature is SHA-1, which sqv refuses since 2026-02-01.
CUDA_KEY_WITH_SHA1 = "a4b469963bf863cc"
#: Last eight digits of the key that replaces it (the Debian 13 repository).
CUDA_KEY_SUCCESSOR = "8793f200"

#: The dnf module of the driver on RHEL 8 and 9 and Amazon Linux 2023. Its default stream is the newest branch.
DRIVER_MODULE = "nvidia-driver"
#: Releases with that module, by os-release's ID: the first part of VERSION_ID.
_WITH_STREAMS = {**dict.fromkeys(("rhel", "rocky", "almalinux", "centos", "ol"), ("8", "9")), "amzn": ("2023",)}
#: The first apt that prefers sqv where it is installed.
_APT_WITH_SQV = "3"


#: Packages with the GSP firmware and with the compute libraries, by os-release's ID; "" is the RHEL family.
#: NVIDIA Driver Installation Guide (compute-only packages); packages of Ubuntu, Debian and SUSE, 2026-11.
_FIRMWARE = {"ubuntu": "nvidia-firmware-{branch}-{version}", "debian": "firmware-nvidia-gsp", "": "nvidia-kmod-common"}
_LIBRARIES = {
    "ubuntu": "libnvidia-compute{suffix}",
    "debian": "nvidia-driver-cuda",
    "sles": "nvidia-compute-utils-G06",
    "": "nvidia-driver-cuda",
}
_RED_HAT = frozenset(("rhel", "rocky", "almalinux", "centos", "ol", "fedora", "amzn"))
#: From this branch on NVIDIA's packages for Ubuntu have no branch in their names.
_PLAIN_NAMES_SINCE = 590


def firmware_package(id_: str, version: str) -> str:
    """The package with the firmware of this driver version, "" if unknown.

    >>> firmware_package("ubuntu", "580.178.04"), firmware_package("rocky", "580.178.04"), firmware_package("arch", "580.178.04")
    ('nvidia-firmware-580-580.178.04', 'nvidia-kmod-common', '')
    """
    return _FIRMWARE.get("" if id_ in _RED_HAT else id_ or "?", "").format(branch=version.partition(".")[0], version=version)


def library_package(id_: str, version: str) -> str:
    """The package with libcuda and libnvidia-ml of this driver version, "" if unknown.

    >>> library_package("ubuntu", "580.178.04"), library_package("ubuntu", "590.48.01"), library_package("debian", "580.178.04")
    ('libnvidia-compute-580', 'libnvidia-compute', 'nvidia-driver-cuda')
    """
    branch = version.partition(".")[0]
    suffix = f"-{branch}" if branch.isdecimal() and int(branch) < _PLAIN_NAMES_SINCE else ""
    return _LIBRARIES.get("" if id_ in _RED_HAT else id_ or "?", "").format(suffix=suffix)


def driver_stem(name: str) -> str:
    """The name of a driver package without branch, flavour and generation: equal for the same package of two branches.

    >>> driver_stem("libnvidia-compute-580-server"), driver_stem("nvidia-dkms-570-open"), driver_stem("nvidia-compute-G06")
    ('libnvidia-compute', 'nvidia-dkms', 'nvidia-compute')
    """
    return _SUFFIXES.sub("", name)


def driver_part(name: str) -> str:
    """The part of the driver in a package that must have the driver's version, "" for any other package.

    >>> driver_part("libnvidia-compute-580"), driver_part("nvidia-fabricmanager"), driver_part("kmod-nvidia-open-dkms")
    ('library', 'fabric manager', 'kernel module')
    >>> driver_part("nvidia-container-toolkit"), driver_part("nvidia-driver-pinning-580"), driver_part("nvlsm")
    ('', '', '')
    """
    stem = driver_stem(name)
    if "-kmp-" in stem and stem.startswith("nvidia-driver"):
        return "kernel module"
    several = next((part for start, part in _VERSIONED_NAMES if stem.startswith(start) and stem[len(start) : len(start) + 1].isdigit()), "")
    return _PART_OF.get(stem, several)


def is_driver_version(version: str) -> bool:
    """Whether an upstream version can be the driver's: three digits, then a dot. Helpers of Debian carry dates or versions of their own.

    >>> is_driver_version("580.142"), is_driver_version("20151021"), is_driver_version("1.2.2")
    (True, False, False)
    """
    return version.find(".") == 3


def names_driver(pattern: str) -> bool:
    """Whether a glob, as pins and locks have it, can mean a package of the driver; "src:NAME" is a source package.

    >>> names_driver("nvidia-driver-580*"), names_driver("src:nvidia-graphics-drivers-580"), names_driver("nvidia-container-*")
    (True, True, False)
    """
    start = pattern.removeprefix("src:").strip("*-")
    return start in ("", "nvidia", "libnvidia") or bool(driver_part(start)) or start.startswith("nvidia-graphics-drivers")


def several_may_be_installed(name: str) -> bool:
    """Whether the name carries a version or a kernel, so that an older one at the same time is no fault."""
    return driver_stem(name) not in _PART_OF


def prefers_sqv(apt: str) -> bool:
    """Whether a version of apt checks signatures with sqv where that is installed.

    >>> prefers_sqv("3.0.3"), prefers_sqv("2.9.8")
    (True, False)
    """
    return compare_upstream(apt, _APT_WITH_SQV) >= 0


def has_module_streams(distribution: str, version: str) -> bool:
    """Whether dnf of a distribution (ID and VERSION_ID of os-release) has module streams of NVIDIA's driver.

    >>> has_module_streams("rocky", "9.5"), has_module_streams("rhel", "10.0"), has_module_streams("amzn", "2023")
    (True, False, True)
    """
    return version.partition(".")[0] in _WITH_STREAMS.get(distribution, ())
