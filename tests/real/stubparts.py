"""What driver packages of every distribution carry: libraries, module sources, firmware, programs, units."""

import hashlib
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from tests.real.stubdebs import Program
from tests.real.stubkernels import KERNELS, RUNNING, module

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
MODULES = ("nvidia", "nvidia-uvm", "nvidia-modeset", "nvidia-drm", "nvidia-peermem")
_LICENSES = {"open": "Dual MIT/GPL", "proprietary": "NVIDIA"}
_UNIT = "[Unit]\nDescription={description}\n[Service]\nExecStart=/usr/bin/{program}\n[Install]\nWantedBy=multi-user.target\n"


@cache
def library(soname: str) -> bytes:
    """A real shared library of that name, with nothing in it."""
    with tempfile.TemporaryDirectory() as place:
        made = Path(place, "made.so")
        subprocess.run(["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{soname}", "-o", made, "-x", "c", "-"], input=b"int made;", check=True)
        return made.read_bytes()


def libraries(version: str, *names: str) -> dict[str, "bytes | str"]:
    """``libcuda``: the versioned file and its link."""
    files: dict[str, bytes | str] = {}
    for name in names:
        files[f"{LIBRARIES}/{name}.so.{version}"] = library(f"{name}.so.1")
        files[f"{LIBRARIES}/{name}.so.1"] = f"{name}.so.{version}"
    return files


def built(version: str, flavour: str, release: str, directory: str, *, signer: str = "") -> dict[str, "bytes | str"]:
    """The modules of one kernel."""
    source = hashlib.sha256(f"{version}-{flavour}".encode()).hexdigest()[:23].upper()
    more = {"version": version, "license": _LICENSES[flavour], "srcversion": source}
    depends = {"nvidia-uvm": "nvidia", "nvidia-modeset": "nvidia", "nvidia-drm": "nvidia-modeset,nvidia", "nvidia-peermem": "nvidia"}
    return {
        f"{directory}/{name}.ko": module(
            name.replace("-", "_"),
            release,
            signer=signer,
            depends=depends.get(name, ""),
            firmware=f"nvidia/{version}/gsp_ga10x.bin",
            **more,
        )
        for name in MODULES
    }


def sources(version: str, flavour: str) -> dict[str, "bytes | str"]:
    """What DKMS builds from: the modules of every kernel there is, made beforehand. Without headers it has nothing to build against."""
    place = f"/usr/src/nvidia-{version}"
    files: dict[str, bytes | str] = {}
    for release in (*KERNELS["debian"], *KERNELS["ubuntu"], RUNNING):
        files |= built(version, flavour, release, f"{place}/made/{release}")
    lines = [f'PACKAGE_NAME="nvidia"\nPACKAGE_VERSION="{version}"\nAUTOINSTALL="yes"\nCLEAN="true"']
    lines.append('MAKE[0]="cp made/${kernelver}/*.ko ."')
    for number, name in enumerate(MODULES):
        lines.append(f'BUILT_MODULE_NAME[{number}]="{name}"\nDEST_MODULE_LOCATION[{number}]="/kernel/drivers/video"\nSTRIP[{number}]="no"')
    return {**files, f"{place}/dkms.conf": "\n".join([*lines, ""]).encode()}


def dkms_scripts(version: str) -> dict[str, str]:
    """As debhelper's dh_dkms writes them."""
    return {
        "postinst": f'if [ "$1" = configure ]; then /usr/lib/dkms/common.postinst nvidia {version} /usr/share/nvidia "" "$2"; fi',
        "prerm": f'if [ "$1" != failed-upgrade ] && [ -e /var/lib/dkms/nvidia/{version} ]; then dkms remove -m nvidia -v {version} --all; fi',
    }


def firmware(version: str) -> dict[str, "bytes | str"]:
    return {f"/usr/lib/firmware/nvidia/{version}/gsp_{chip}.bin": b"made\n" for chip in ("ga10x", "tu10x")}


def daemon(program: str, unit: str = "", *, description: str = "made") -> dict[str, "bytes | str"]:
    """A program that does nothing, and its unit."""
    text = _UNIT.format(description=description, program=program)
    return {
        f"/usr/bin/{program}": Program(b"#!/bin/sh\nexec sleep infinity\n"),
        f"/usr/lib/systemd/system/{unit or program}.service": text.encode(),
    }


def program(name: str, text: str = "exit 0") -> dict[str, "bytes | str"]:
    return {f"/usr/bin/{name}": Program(f"#!/bin/sh\n{text}\n".encode())}


def smi() -> dict[str, "bytes | str"]:
    """``nvidia-smi``, which knows the module that is loaded and one GPU."""
    lines = (
        "version=$(cat /sys/module/nvidia/version 2>/dev/null) || {",
        '  echo "NVIDIA-SMI has failed because it couldn\'t communicate with the NVIDIA driver."; exit 9',
        "}",
        "case $* in",
        "  -L) echo 'GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-4000-8000-000000000001)' ;;",
        '  *driver_version*) echo "$version" ;;',
        "esac",
    )
    return program("nvidia-smi", "\n".join(lines))
