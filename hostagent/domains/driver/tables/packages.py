"""Packages of NVIDIA's driver by distribution, origin, delivery of the kernel module, flavour and branch.

Sources: NVIDIA Driver Installation Guide, releases 580, 590 and 620 (sections of each distribution, Kernel Modules, Version Locking,
Recent Updates: the rename of Ubuntu's packages at 590); NVIDIA/gpu-driver-container (debian13/install.sh, ubuntu24.04: fabric manager,
NSCQ, NVSDM, IMEX and nvlsm, without the branch from 580 on, libnvsdm on x86_64 alone); package pages of Ubuntu (the -server series,
linux-modules-nvidia-*) and Debian; awslabs/amazon-eks-ami and Azure/azhpc-images (dnf streams, Azure Linux); SUSE, "Installing NVIDIA
GPU drivers on SUSE Linux Enterprise". Read 2026-11. In braces: the branch, the kernel's release, the kernel's flavour.
"""

import re
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from hostagent.core.tables.pci import Flavour
from hostagent.domains.packages.tables.names import TOOLKIT_PACKAGES, driver_part, driver_stem, is_driver_version

Origin = Literal["cuda", "distribution"]
Delivery = Literal["precompiled", "dkms"]

_RED_HAT = ("rhel", "rocky", "almalinux", "centos", "ol")
#: The first branches without a branch in the names of CUDA repositories' add-ons, and of Ubuntu's packages there.
_PLAIN_ADDONS, _PLAIN_UBUNTU = 580, 590


class PackageSet(NamedTuple):
    """Packages of one installation method. ``common`` goes with either flavour's packages; ``full`` adds the libraries for desktops.

    ``optional`` has the driver's version too, and is installed if the origin has it. ``per_kernel`` and ``meta`` carry the module of one
    kernel, and of the newest one of its flavour: they have the kernel's version. ``first`` and ``last`` are branches; 0: no limit.
    """

    systems: tuple[str, ...]  # "ubuntu", or "rhel 9": os-release's ID and major version
    origin: Origin
    delivery: Delivery
    common: tuple[str, ...]
    module: "dict[Flavour, tuple[str, ...]]"
    full: "dict[Flavour, tuple[str, ...]]"
    optional: tuple[str, ...] = ()
    per_kernel: "dict[Flavour, str]" = {}  # noqa: RUF012 (never written to)
    meta: "dict[Flavour, str]" = {}  # noqa: RUF012 (never written to)
    stream: "dict[Flavour, str]" = {}  # noqa: RUF012 (never written to)
    first: int = 0
    last: int = 0  # the newest branch that has these names


_EL_8_9 = (*(f"{one} {major}" for one in _RED_HAT for major in ("8", "9")), "amzn 2023")
_EL_10 = tuple(f"{one} 10" for one in _RED_HAT)
_METAS: "dict[Flavour, tuple[str, ...]]" = {"open": ("nvidia-open",), "proprietary": ("cuda-drivers",)}
_KMOD: "dict[Flavour, tuple[str, ...]]" = {"open": ("kmod-nvidia-open-dkms",), "proprietary": ("kmod-nvidia-latest-dkms",)}


def _ubuntu(series: str, delivery: Delivery) -> PackageSet:
    """Ubuntu's own packages: the series for servers, and the one without a suffix."""
    ends: dict[Flavour, str] = {"open": f"{{b}}{series}-open", "proprietary": f"{{b}}{series}"}
    headless = "nvidia-headless" if delivery == "dkms" else "nvidia-headless-no-dkms"
    signed = ends if delivery == "precompiled" else {}
    return PackageSet(
        systems=("ubuntu",),
        origin="distribution",
        delivery=delivery,
        common=(f"nvidia-utils-{{b}}{series}",),
        module={flavour: (f"{headless}-{end}",) for flavour, end in ends.items()},
        full={flavour: (f"nvidia-driver-{end}",) for flavour, end in ends.items()},
        optional=(f"nvidia-compute-utils-{{b}}{series}",),
        per_kernel={flavour: f"linux-modules-nvidia-{end}-{{k}}" for flavour, end in signed.items()},
        meta={flavour: f"linux-modules-nvidia-{end}-{{f}}" for flavour, end in signed.items()},
    )


#: The first match counts: NVIDIA's repository, then packages with signed modules, then the series for servers.
PACKAGE_SETS = (
    PackageSet(
        ("ubuntu",), "cuda", "dkms", ("libnvidia-compute-{b}", "nvidia-utils-{b}"),
        {"open": ("nvidia-dkms-{b}-open",), "proprietary": ("nvidia-dkms-{b}",)}, _METAS,
        optional=("nvidia-compute-utils-{b}", "nvidia-modprobe"), last=_PLAIN_UBUNTU - 1,
    ),
    PackageSet(
        ("ubuntu",), "cuda", "dkms", ("libnvidia-compute", "nvidia-utils"),
        {"open": ("nvidia-dkms-open",), "proprietary": ("nvidia-dkms",)}, _METAS,
        optional=("nvidia-compute-utils", "nvidia-persistenced", "nvidia-modprobe"), first=_PLAIN_UBUNTU,
    ),
    *(_ubuntu(series, delivery) for series in ("-server", "") for delivery in ("precompiled", "dkms")),
    PackageSet(
        ("debian",), "cuda", "dkms", ("nvidia-driver-cuda",),
        {"open": ("nvidia-kernel-open-dkms",), "proprietary": ("nvidia-kernel-dkms",)}, _METAS,
        optional=("nvidia-persistenced", "nvidia-modprobe", "libcuda1", "libnvidia-ml1", "firmware-nvidia-gsp", "nvidia-kernel-support"),
    ),
    PackageSet(
        ("debian",), "distribution", "dkms", ("libcuda1", "libnvidia-ml1", "nvidia-smi"),
        {"open": ("nvidia-open-kernel-dkms",), "proprietary": ("nvidia-kernel-dkms",)},
        {"open": ("nvidia-driver",), "proprietary": ("nvidia-driver",)}, optional=("firmware-nvidia-gsp",),
    ),
    PackageSet(
        _EL_8_9, "cuda", "dkms", ("nvidia-driver-cuda",), _KMOD, _METAS, optional=("nvidia-persistenced", "nvidia-modprobe"),
        stream={"open": "{b}-open", "proprietary": "{b}-dkms"},
    ),
    PackageSet(
        _EL_8_9, "cuda", "precompiled", ("nvidia-driver-cuda",), {"proprietary": ()}, {"proprietary": ("cuda-drivers",)},
        optional=("nvidia-persistenced", "nvidia-modprobe"), per_kernel={"proprietary": "kmod-nvidia-{v}-{r}"},
        stream={"proprietary": "{b}"},
    ),
    PackageSet(_EL_10, "cuda", "dkms", ("nvidia-driver-cuda",), _KMOD, _METAS, optional=("nvidia-persistenced", "nvidia-modprobe")),
    PackageSet(
        ("sles 15", "opensuse-leap 15"), "cuda", "precompiled", ("nvidia-compute-utils-G06", "nvidia-persistenced"),
        {"open": ("nv-prefer-signed-open-driver",), "proprietary": ("nvidia-compute-G06", "nvidia-driver-G06")}, _METAS,
    ),
    PackageSet(
        ("azurelinux 3",), "distribution", "precompiled", (), {"open": ("cuda-open",), "proprietary": ("cuda",)},
        {"open": (), "proprietary": ()},
    ),
    PackageSet(("azurelinux 3", "azurelinux 4", "fedora"), "cuda", "dkms", ("nvidia-open",), {"open": ()}, {"open": ()}),
)  # fmt: skip

#: Patterns of pins, for apt's preferences and dnf's locks. They also match the toolkit, which has no version that is the driver's, so a
#: pin does not affect it.
PINNED = ("*nvidia*", "libcuda1", "libcudadebugger1", "libnvcuvid1", "libnvoptix1", "libnvsdm*", "libxnvctrl0", "cuda-drivers*")
#: Packages that contain only a pin of their branch.
PINNING = "nvidia-driver-pinning-"

#: Bytes that an installation needs in addition to its packages: DKMS's tree of source, objects and logs, and one initramfs. Rounded up
#: from builds of 570 and 580 on Debian 12 and Ubuntu 24.04.
DKMS_BYTES, INITRAMFS_BYTES = 400 << 20, 100 << 20


class Host(NamedTuple):
    """Properties of a host on which its package names depend."""

    id: str  # os-release's
    version_id: str
    arch: str  # x86_64, aarch64

    @property
    def is_apt(self) -> bool:
        return self.id in ("debian", "ubuntu")


def package_sets(host: Host, origin: str, delivery: str, branch: str) -> tuple[PackageSet, ...]:
    """The package sets of this system and branch; "" and "auto" match any origin or delivery. () if this release knows none.

    >>> [one.delivery for one in package_sets(Host("ubuntu", "24.04", "x86_64"), "distribution", "auto", "580")]
    ['precompiled', 'dkms', 'precompiled', 'dkms']
    >>> package_sets(Host("debian", "12", "x86_64"), "cuda", "precompiled", "580")
    ()
    """
    number = int(branch) if branch.isdecimal() else 0
    system = (host.id, f"{host.id} {host.version_id.partition('.')[0]}")
    return tuple(
        one
        for one in PACKAGE_SETS
        if any(known in system for known in one.systems)
        and origin in ("", "auto", one.origin)
        and delivery in ("", "auto", one.delivery)
        and one.first <= number <= (one.last or number)
    )


def addons(host: Host, origin: str, branch: str) -> "dict[str, tuple[tuple[str, ...], tuple[str, ...]]]":
    """By feature: packages that are required at the driver's version, and those that are added if the origin has them.

    >>> addons(Host("debian", "12", "x86_64"), "cuda", "580")["nvswitch"]
    (('nvidia-fabricmanager',), ('libnvidia-nscq', 'libnvsdm'))
    >>> addons(Host("ubuntu", "22.04", "aarch64"), "cuda", "570")["nvswitch"]
    (('nvidia-fabricmanager-570',), ('libnvidia-nscq-570',))
    """
    is_plain = origin == "cuda" and branch.isdecimal() and int(branch) >= _PLAIN_ADDONS
    end = "" if is_plain else f"-{branch}"
    manager = f"nvidia-fabricmanager{end}" if is_plain or host.is_apt else "nvidia-fabric-manager"
    libraries = (f"libnvidia-nscq{end}", f"libnvsdm{end}") if host.arch == "x86_64" else (f"libnvidia-nscq{end}",)
    return {"nvswitch": ((manager,), libraries), "imex": ((f"nvidia-imex{end}",), ())}


#: The subnet manager of NVLink 5 and its dependency; their versions are not the driver's.
NVLINK5_PACKAGES = ("nvlsm", "infiniband-diags")


def kernel_flavour(release: str) -> str:
    """The suffix of a Debian or Ubuntu kernel release.

    >>> kernel_flavour("6.8.0-87-generic"), kernel_flavour("6.1.0-40-cloud-amd64"), kernel_flavour("6.12.41+deb13-amd64")
    ('generic', 'cloud-amd64', 'amd64')
    >>> kernel_flavour("6.8.0-1012-nvidia-64k"), kernel_flavour("5.14.0-570.12.1.el9_6.x86_64")
    ('nvidia-64k', '')
    """
    match = re.fullmatch(r"\d+\.\d+(?:\.\d+)?(?:-\d+)?(?:[+~][\w.~]+)*-([a-z][\w.-]*)", release)
    return match[1] if match else ""


def meta_flavour(release: str, installed: "frozenset[str]") -> str:
    """The kernel flavour in metapackage names: Ubuntu's HWE kernels have a suffix there that is not in the kernel release.

    >>> meta_flavour("6.14.0-33-generic", frozenset(["linux-image-generic-hwe-24.04"]))
    'generic-hwe-24.04'
    """
    flavour = kernel_flavour(release)
    pattern = re.compile(rf"linux-(?:image-|headers-|)({re.escape(flavour)}(?:-hwe-\d\d\.\d\d(?:-edge)?|-lts-\d\d\.\d\d|-\d\d\.\d\d)?)")
    found = sorted(match[1] for match in map(pattern.fullmatch, installed) if match and flavour)
    return flavour if flavour in found or not found else found[-1]


def module_stream(host: Host, branch: str, flavour: str, delivery: str) -> str:
    """The stream of the driver's dnf module, "" if there is no such module.

    >>> [module_stream(Host("rocky", version, "x86_64"), "580", "open", "dkms") for version in ("9.4", "10.0")]
    ['580-open', '']
    """
    streams = [one.stream for one in package_sets(host, "cuda", delivery, branch) if one.stream]
    return next((text.format(b=branch) for known in streams for name, text in known.items() if name == flavour), "")


def belongs(name: str, upstream: str) -> bool:
    """Whether an installed package is one of the driver's, at a driver version.

    >>> belongs("libnvidia-gl-580", "580.142"), belongs("nvidia-container-toolkit", "1.19.0"), belongs("nvidia-support", "20220217")
    (True, False, False)
    """
    if name in TOOLKIT_PACKAGES or name.startswith((PINNING, "linux-")):
        return False
    return is_driver_version(upstream) and (bool(driver_part(name)) or any(fnmatchcase(name, glob) for glob in PINNED))


_WITH_BRANCH = (
    "nvidia",
    "libnvidia",
    "libnvsdm",
    "cuda-drivers",
    "xserver-xorg-video-nvidia",
    "linux-modules-nvidia",
    "linux-objects-nvidia",
)


def branch_in(name: str) -> str:
    """The branch in a package's name, "" for none.

    >>> branch_in("nvidia-firmware-570-570.195.03"), branch_in("linux-modules-nvidia-570-server-open-generic"), branch_in("nvidia-smi")
    ('570', '570', '')
    """
    match = re.search(r"-(\d{3})(?=-|$)", name)
    return match[1] if match and name.startswith(_WITH_BRANCH) else ""


#: Names that imply a flavour of the module, without suffixes.
_WITH_FLAVOUR = frozenset(
    ("nvidia-dkms", "nvidia-kernel-source", "nvidia-kernel-dkms", "kmod-nvidia-dkms", "nvidia-headless", "nvidia-headless-no-dkms")
) | {"cuda-drivers", "nvidia"}


def flavour_in(name: str, *, is_ubuntu: bool) -> str:
    """The flavour of the kernel module that a package implies, "" if it fits both.

    >>> [flavour_in(name, is_ubuntu=True) for name in ("nvidia-dkms-580-open", "nvidia-driver-580", "nvidia-utils-580")]
    ['open', 'proprietary', '']
    """
    stem = driver_stem(name)
    chooses = stem in _WITH_FLAVOUR or (is_ubuntu and stem == "nvidia-driver")
    if not chooses and not name.startswith(("linux-modules-nvidia-", "linux-objects-nvidia-")):
        return ""
    return "open" if re.search(r"-open(?=-|$)", name) else "proprietary"
