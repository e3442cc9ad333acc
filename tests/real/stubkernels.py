"""Kernels, their headers, and what DKMS depends on: stubs that a distribution's archive would have."""

import os
from collections.abc import Iterator

from tests.real.stubdebs import Deb, Program
from tests.trees.formats import kernel_module

#: The kernel that runs here: in a root that is live, it is the host's.
RUNNING = os.uname().release
#: By distribution: its kernels, the older first, and the package that names the newest.
KERNELS = {"debian": ("6.1.0-40-amd64", "6.1.0-41-amd64"), "ubuntu": ("6.8.0-87-generic", "6.8.0-90-generic")}
META = {"debian": "amd64", "ubuntu": "generic"}
VERSIONS = {
    "6.1.0-40-amd64": "6.1.153-1",
    "6.1.0-41-amd64": "6.1.158-1",
    "6.8.0-87-generic": "6.8.0-87.88",
    "6.8.0-90-generic": "6.8.0-90.91",
    RUNNING: "1.0-1",
}
_INITRAMFS = "update-initramfs -{} -k {} >/dev/null"


def vermagic(release: str) -> str:
    return f"{release} SMP preempt mod_unload modversions "


def module(name: str, release: str, *, signer: str = "", **more: str) -> bytes:
    """A made kernel module, which depmod and modinfo read."""
    return kernel_module({"license": "GPL", **more, "name": name, "vermagic": vermagic(release)}, signer=signer)


def kernels(distribution: str) -> Iterator[Deb]:
    for release in KERNELS[distribution]:
        yield _image(distribution, release)
        yield from _headers(distribution, release)
    yield _image(distribution, RUNNING)
    yield from _headers(distribution, RUNNING)
    flavour, newest = META[distribution], KERNELS[distribution][-1]
    for release in KERNELS[distribution]:
        version = VERSIONS[release] if distribution == "debian" else VERSIONS[release].replace("-", ".")
        yield Deb(f"linux-image-{flavour}", version, {"Depends": f"linux-image-{release}"})
        yield Deb(f"linux-headers-{flavour}", version, {"Depends": f"linux-headers-{release}"})
    if distribution == "ubuntu":
        yield Deb("linux-generic", VERSIONS[newest].replace("-", "."), {"Depends": "linux-image-generic, linux-headers-generic"})


def _image(distribution: str, release: str) -> Deb:
    signer = "Debian Secure Boot CA" if distribution == "debian" else "Canonical Ltd. Kernel Module Signing"
    modules = f"/usr/lib/modules/{release}"
    files = {
        f"/boot/vmlinuz-{release}": b"made kernel\n",
        f"/boot/config-{release}": b"CONFIG_MODULES=y\nCONFIG_RD_GZIP=y\nCONFIG_RD_ZSTD=y\n",
        f"/boot/System.map-{release}": b"ffffffff81000000 T _text\n",
        f"{modules}/modules.builtin": b"",
        f"{modules}/modules.builtin.modinfo": b"",
        f"{modules}/modules.order": b"kernel/drivers/gpu/drm/nouveau/nouveau.ko\n",
        f"{modules}/kernel/drivers/gpu/drm/nouveau/nouveau.ko": module("nouveau", release, signer=signer),
    }
    scripts = {
        "postinst": f"depmod -a {release}\n{_INITRAMFS.format('c', release)}",
        "postrm": f'if [ "$1" = remove ]; then rm -f /boot/initrd.img-{release} {modules}/modules.[adsw]* {modules}/modules.builtin.*; fi',
    }
    return Deb(f"linux-image-{release}", VERSIONS[release], {"Depends": "kmod, initramfs-tools", "Section": "kernel"}, files, scripts)


def _headers(distribution: str, release: str) -> Iterator[Deb]:
    common = f"linux-headers-{release.rpartition('-')[0]}" + ("-common" if distribution == "debian" else "")
    source = f"/usr/src/linux-headers-{release}"
    compiler = "linux-compiler-gcc-12-x86" if distribution == "debian" else "gcc-13"
    yield Deb(common, VERSIONS[release], {"Section": "kernel"}, {f"/usr/src/{common}/Makefile": b"# common\n"}, arch="all")
    yield Deb(
        f"linux-headers-{release}",
        VERSIONS[release],
        {"Depends": f"{common}, {compiler}", "Section": "kernel"},
        {
            f"{source}/Makefile": b"# made\n",
            f"{source}/include/generated/utsrelease.h": f'#define UTS_RELEASE "{release}"\n'.encode(),
            f"{source}/.config": b"CONFIG_MODULES=y\nCONFIG_RD_GZIP=y\nCONFIG_RD_ZSTD=y\n",
            f"/usr/lib/modules/{release}/build": source,
        },
    )


def tools(distribution: str) -> Iterator[Deb]:
    """What the real dkms and the headers depend on."""
    version, major = ("4:12.2.0-3", "12") if distribution == "debian" else ("4:13.2.0-7ubuntu1", "13")
    program = {f"/usr/bin/gcc-{major}": Program(b"#!/bin/sh\nexit 0\n")}
    yield Deb("gcc", version, {"Depends": f"gcc-{major}", "Provides": "c-compiler"}, {"/usr/bin/gcc": f"gcc-{major}"})
    yield Deb(f"gcc-{major}", f"{major}.2.0-14", {"Provides": "c-compiler"}, program)
    if distribution == "debian":
        yield Deb("linux-compiler-gcc-12-x86", "6.1.158-1", {"Depends": "gcc-12"})
    for name, version in (("make", "4.3-4.1"), ("patch", "2.7.6-7"), ("dpkg-dev", "1.21.22")):
        yield Deb(name, version, {}, {f"/usr/bin/{name}": Program(b"#!/bin/sh\nexit 0\n")} if name != "dpkg-dev" else {})
