"""The CUDA toolkit as NVIDIA's repositories have it: its package, the one with nvcc, and the one that says where /usr/local/cuda leads.

Names and versions: NVIDIA CUDA Installation Guide; cuda-toolkit-config-common's scripts (alternatives). State of 2026-08. Contents are made.
"""

import json
from collections.abc import Iterator

from tests.real.stubdebs import Deb, Program

#: By version of the toolkit: that of its nvcc.
TOOLKITS = {"12.9.1": "12.9.86", "13.0.1": "13.0.48", "13.0.2": "13.0.88"}
_NVCC = """#!/bin/sh
echo 'nvcc: NVIDIA (R) Cuda compiler driver'
echo 'Copyright (c) 2005-2025 NVIDIA Corporation'
echo 'Cuda compilation tools, release {release}, V{version}'
"""
_LINKS = """if [ "$1" = configure ]; then
  update-alternatives --install /usr/local/cuda cuda {place} {priority}
  update-alternatives --install /usr/local/cuda-{major} cuda-{major} {place} {priority}
fi
"""
_NO_LINKS = """if [ "$1" = remove ]; then
  update-alternatives --remove cuda {place}
  update-alternatives --remove cuda-{major} {place}
fi
"""


def toolkits() -> Iterator[Deb]:
    for version, compiler in TOOLKITS.items():
        yield from _toolkit(version, compiler)


def _toolkit(version: str, compiler: str) -> Iterator[Deb]:
    release = ".".join(version.split(".")[:2])
    major = release.partition(".")[0]
    end, place = release.replace(".", "-"), f"/usr/local/cuda-{release}"
    said = {"cuda": {"name": "CUDA SDK", "version": version}, "cuda_nvcc": {"name": "CUDA NVCC", "version": compiler}}
    needs = f"cuda-nvcc-{end} (>= {compiler}), cuda-toolkit-{end}-config-common"
    yield Deb(
        f"cuda-toolkit-{end}", f"{version}-1", {"Depends": needs}, {f"{place}/version.json": f"{json.dumps(said, indent=3)}\n".encode()}
    )
    nvcc = Program(_NVCC.format(release=release, version=compiler).encode())
    yield Deb(f"cuda-nvcc-{end}", f"{compiler}-1", {}, {f"{place}/bin/nvcc": nvcc})
    priority = release.replace(".", "")
    scripts = {"postinst": _LINKS.format(place=place, priority=priority, major=major), "prerm": _NO_LINKS.format(place=place, major=major)}
    yield Deb(f"cuda-toolkit-{end}-config-common", f"{compiler}-1", {}, {}, scripts, arch="all")
