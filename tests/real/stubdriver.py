"""Driver packages: NVIDIA's repositories for Debian 12 and Ubuntu 24.04, and what Debian and Ubuntu have themselves.

Names and dependencies: NVIDIA Driver Installation Guide; package pages of Ubuntu (nvidia-graphics-drivers-580-server, linux-restricted-modules)
and Debian (nvidia-open-gpu-kernel-modules). State of 2026-08. Contents are made.
"""

from collections.abc import Iterator

from tests.real import stubparts as parts
from tests.real.stubdebs import Deb
from tests.real.stubkernels import KERNELS, VERSIONS

#: What NVIDIA's repositories have, the oldest first.
CUDA = ("570.211.01", "580.126.20", "580.159.03", "580.178.04", "590.48.01", "595.58.03")
#: What Ubuntu's archive has of branch 580.
SERVER = ("580.126.09", "580.159.03")
#: What Debian 12 has.
DEBIAN = "535.261.03"
_COMPUTE = ("libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler", "libnvidia-nvvm")


def cuda(distribution: str) -> Iterator[Deb]:
    for version in CUDA:
        yield from (_cuda_debian if distribution == "debian" else _cuda_ubuntu)(version)
        yield from _switches(version, f"{version}-1{'' if distribution == 'debian' else 'ubuntu1'}")
    yield Deb("nvlsm", "2026.02.6-1", {}, parts.program("nvlsm"))
    for branch in sorted({version.partition(".")[0] for version in CUDA}):
        pin = f"Package: *nvidia*\nPin: version {branch}.*\nPin-Priority: 1000\n".encode()
        name = f"nvidia-driver-pinning-{branch}"
        yield Deb(
            name,
            f"{branch}-1",
            {"Provides": "nvidia-driver-pinning", "Conflicts": "nvidia-driver-pinning"},
            {f"/etc/apt/preferences.d/{name}": pin},
            arch="all",
        )


def _switches(version: str, full: str) -> Iterator[Deb]:
    """From 580 on these have no branch in their names."""
    branch = version.partition(".")[0]
    end = f"-{branch}" if branch < "580" else ""
    yield Deb(f"nvidia-fabricmanager{end}", full, {}, parts.daemon("nv-fabricmanager", "nvidia-fabricmanager"))
    yield Deb(f"libnvidia-nscq{end}", full, {}, parts.libraries(version, "libnvidia-nscq"))
    yield Deb(f"libnvsdm{end}", full, {}, parts.libraries(version, "libnvsdm"))
    yield Deb(f"nvidia-imex{end}", full, {}, parts.daemon("nvidia-imex"))


def _cuda_debian(version: str) -> Iterator[Deb]:
    full = f"{version}-1"
    for flavour, name, other in (
        ("open", "nvidia-kernel-open-dkms", "nvidia-kernel-dkms"),
        ("proprietary", "nvidia-kernel-dkms", "nvidia-kernel-open-dkms"),
    ):
        fields = {
            "Depends": f"dkms, firmware-nvidia-gsp (= {full}), nvidia-kernel-support (= {full})",
            "Provides": f"nvidia-kernel-{version}",
            "Conflicts": other,
        }
        yield Deb(name, full, fields, parts.sources(version, flavour), parts.dkms_scripts(version))
    yield Deb("firmware-nvidia-gsp", full, {}, parts.firmware(version))
    yield Deb(
        "nvidia-kernel-support",
        full,
        {"Depends": f"nvidia-modprobe (= {full})"},
        {"/etc/modprobe.d/nvidia.conf": b"# made\n"},
        conffiles=("/etc/modprobe.d/nvidia.conf",),
    )
    yield Deb("nvidia-modprobe", full, {}, parts.program("nvidia-modprobe"))
    yield Deb("nvidia-persistenced", full, {}, parts.daemon("nvidia-persistenced"))
    yield Deb("libcuda1", full, {}, parts.libraries(version, "libcuda", "libnvidia-ptxjitcompiler", "libnvidia-nvvm"))
    yield Deb("libnvidia-ml1", full, {}, parts.libraries(version, "libnvidia-ml"))
    needs = ", ".join(f"{name} (= {full})" for name in ("libcuda1", "libnvidia-ml1", "nvidia-persistenced", "nvidia-modprobe"))
    kernel = f"nvidia-kernel-open-dkms (= {full}) | nvidia-kernel-dkms (= {full})"
    yield Deb("nvidia-driver-cuda", full, {"Depends": f"{needs}, {kernel}"}, parts.smi())
    yield Deb("nvidia-driver-libs", full, {}, parts.libraries(version, "libnvidia-glcore"))
    yield Deb("nvidia-driver", full, {"Depends": f"nvidia-driver-libs (= {full}), {kernel}"})
    yield Deb(
        "nvidia-open", full, {"Depends": f"nvidia-driver (= {full}), nvidia-driver-cuda (= {full}), nvidia-kernel-open-dkms (= {full})"}
    )
    yield Deb("cuda-drivers", full, {"Depends": f"nvidia-driver (= {full}), nvidia-driver-cuda (= {full}), nvidia-kernel-dkms (= {full})"})


def _cuda_ubuntu(version: str) -> Iterator[Deb]:
    branch, full = version.partition(".")[0], f"{version}-1ubuntu1"
    end = f"-{branch}" if branch < "590" else ""
    yield from _ubuntu(version, full, end)
    yield Deb("nvidia-modprobe", full, {}, parts.program("nvidia-modprobe"))
    if branch >= "590":
        yield Deb("nvidia-persistenced", full, {}, parts.daemon("nvidia-persistenced"))
    else:
        yield Deb(f"nvidia-compute-utils{end}", full, {"Provides": "nvidia-persistenced"}, parts.daemon("nvidia-persistenced"))
    for meta, flavour in (("nvidia-open", "-open"), ("cuda-drivers", "")):
        yield Deb(meta, full, {"Depends": f"nvidia-driver{end}{flavour} (= {full})"})


def _ubuntu(version: str, full: str, end: str) -> Iterator[Deb]:
    """The names of both origins: ``end`` is -580, -580-server or nothing."""
    branch = version.partition(".")[0]
    common = f"nvidia-kernel-common{end}"
    firmware = f"nvidia-firmware{end or '-' + branch}-{version}"
    yield Deb(firmware, full, {"Provides": "nvidia-firmware"}, parts.firmware(version))
    provides = f"{common}-{version}"
    yield Deb(
        common,
        full,
        {"Depends": f"{firmware} (= {full})", "Provides": provides},
        {f"/usr/lib/modprobe.d/nvidia-kernel-common{end}.conf": b"# made\n"},
    )
    older = (
        {}
        if end
        else {"Conflicts": "libnvidia-compute-570, libnvidia-compute-580", "Replaces": "libnvidia-compute-570, libnvidia-compute-580"}
    )
    family = {"Provides": "libnvidia-compute", "Conflicts": "libnvidia-compute", "Replaces": "libnvidia-compute"} if end else older
    yield Deb(f"libnvidia-compute{end}", full, {"Depends": provides, **family}, parts.libraries(version, *_COMPUTE))
    yield Deb(f"libnvidia-cfg1{end}", full, {}, parts.libraries(version, "libnvidia-cfg") if end.endswith("-server") else {})
    yield Deb(
        f"nvidia-utils{end}",
        full,
        {"Depends": f"libnvidia-compute{end} (= {full})", "Conflicts": "nvidia-smi", "Provides": "nvidia-smi"},
        parts.smi(),
    )
    for flavour, name in (("open", "-open"), ("proprietary", "")):
        source = f"nvidia-kernel-source{end}{name}"
        yield Deb(source, full, {"Provides": "nvidia-kernel-source", "Conflicts": "nvidia-kernel-source"}, parts.sources(version, flavour))
        needs = {"Depends": f"{source} (= {full}), dkms, {provides}", "Provides": "nvidia-dkms-kernel", "Conflicts": "nvidia-dkms-kernel"}
        yield Deb(f"nvidia-dkms{end}{name}", full, needs, {}, parts.dkms_scripts(version))
        libraries = f"libnvidia-compute{end} (= {full}), nvidia-utils{end} (= {full})"
        yield Deb(
            f"nvidia-driver{end}{name}", full, {"Depends": f"{libraries}, libnvidia-gl{end} (= {full}), nvidia-dkms{end}{name} (= {full})"}
        )
    yield Deb(f"libnvidia-gl{end}", full, {}, parts.libraries(version, "libnvidia-glcore"))


def archive(distribution: str) -> Iterator[Deb]:
    """What the distribution has itself."""
    yield from _debian() if distribution == "debian" else _server()


def _debian() -> Iterator[Deb]:
    full = f"{DEBIAN}-1~deb12u1"
    for flavour, name in (("open", "nvidia-open-kernel"), ("proprietary", "nvidia-kernel")):
        fields = {"Depends": f"dkms, firmware-nvidia-gsp (= {full}), {name}-support (= {full})"}
        yield Deb(f"{name}-dkms", full, fields, parts.sources(DEBIAN, flavour), parts.dkms_scripts(DEBIAN))
        yield Deb(f"{name}-support", full)
    yield Deb("firmware-nvidia-gsp", full, {}, parts.firmware(DEBIAN))
    yield Deb("libcuda1", full, {}, parts.libraries(DEBIAN, "libcuda", "libnvidia-ptxjitcompiler"))
    yield Deb("libnvidia-ml1", full, {}, parts.libraries(DEBIAN, "libnvidia-ml"))
    yield Deb("nvidia-smi", full, {"Depends": f"libnvidia-ml1 (= {full})"}, parts.smi())
    yield Deb(
        "nvidia-driver",
        full,
        {"Depends": f"libcuda1 (= {full}), nvidia-smi (= {full}), nvidia-kernel-dkms (= {full}) | nvidia-open-kernel-dkms (= {full})"},
    )
    yield Deb("nvidia-persistenced", "535.171.04-1~deb12u1", {}, parts.daemon("nvidia-persistenced"))
    yield Deb("nvidia-modprobe", "535.161.07-1~deb12u1", {}, parts.program("nvidia-modprobe"))


def _server() -> Iterator[Deb]:
    for version in SERVER:
        full, end = f"{version}-0ubuntu0.24.04.1", "-580-server"
        yield from _ubuntu(version, full, end)
        yield Deb(f"nvidia-compute-utils{end}", full, {}, parts.daemon("nvidia-persistenced"))
        utils = f"libnvidia-compute{end} (= {full}), nvidia-compute-utils{end} (= {full}), nvidia-kernel-common{end} (= {full})"
        for name in ("-open", ""):
            yield Deb(f"nvidia-headless-no-dkms{end}{name}", full, {"Depends": utils})
            yield Deb(
                f"nvidia-headless{end}{name}", full, {"Depends": f"nvidia-headless-no-dkms{end}{name}, nvidia-dkms{end}{name} (= {full})"}
            )
        exact = f"nvidia-kernel-common-580-server-{version}"
        yield Deb("nvidia-fabricmanager-580", full, {"Depends": exact}, parts.daemon("nv-fabricmanager", "nvidia-fabricmanager"))
        yield Deb("libnvidia-nscq-580", full, {}, parts.libraries(version, "libnvidia-nscq"))
    yield from _precompiled(SERVER[-1])


def _precompiled(version: str) -> Iterator[Deb]:
    """linux-restricted-modules has the newest driver for each kernel, and a package that names the newest kernel's."""
    exact = f"nvidia-kernel-common-580-server-{version}"
    for flavour, name in (("open", "-server-open"), ("proprietary", "-server")):
        stem = f"linux-modules-nvidia-580{name}"
        for release in KERNELS["ubuntu"]:
            place = f"/usr/lib/modules/{release}/kernel/nvidia-580{name}"
            files = parts.built(version, flavour, release, place, signer="Canonical Ltd. Kernel Module Signing")
            scripts = {
                "postinst": f"depmod -a {release}",
                "postrm": f"if [ -e /lib/modules/{release}/modules.order ]; then depmod -a {release}; fi",
            }
            fields = {"Depends": f"linux-image-{release}, {exact}", "Provides": f"nvidia-prebuilt-kernel-580{name}"}
            yield Deb(f"{stem}-{release}", f"{VERSIONS[release]}+1", fields, files, scripts)
            meta = VERSIONS[release].replace("-", ".")
            yield Deb(f"{stem}-generic", f"{meta}+1", {"Depends": f"{stem}-{release} (= {VERSIONS[release]}+1), linux-image-generic"})
