"""Packages that rpm itself has built and installed, with a database of SQLite; made once and kept for other processes."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.real.conftest import CACHE, need_real

SPEC = """\
Name: {name}
Epoch: {epoch}
Version: {version}
Release: {release}
Summary: stub
License: none
Vendor: {vendor}
BuildArch: noarch
%description
stub
%files
{file}
%install
mkdir -p %{{buildroot}}/usr/lib64
{touch}
"""
#: (name, epoch, version, release, vendor)
RPMS = (
    ("nvidia-driver-cuda-libs", 3, "580.95.05", "1.el9", "NVIDIA"),
    ("kmod-nvidia-open-dkms", 3, "580.95.05", "1.el9", "NVIDIA"),
    ("nvidia-container-toolkit", 0, "1.19.0~rc.1", "1", "NVIDIA CORPORATION"),
    ("nvidia-fabricmanager", 0, "590.48.01", "1", "NVIDIA"),
    ("zlib", 0, "1.2.11", "40.el9", "Red Hat, Inc."),
)
LIBRARY = "/usr/lib64/libcuda.so.580.95.05"


def install(root: Path) -> None:
    """The root file system with `RPMS` installed, at `root`, which is not there yet. Skips the test where rpm or root is missing."""
    import pytest

    need_real("rpmbuild", "apt-get install rpm")
    if os.geteuid() != 0:
        pytest.skip("rpm --root changes its root; to enable this test run it as root")
    version = subprocess.run(["rpm", "--version"], capture_output=True, check=True).stdout
    kept = Path(CACHE) / f"rpms-{hashlib.sha256(repr((SPEC, RPMS, version)).encode()).hexdigest()[:16]}"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as made:
            _build(Path(made) / "rpmbuild", Path(made) / "root")
            try:
                (Path(made) / "root").rename(kept)
            except OSError:  # another process was first
                assert kept.exists()
    shutil.copytree(kept, root, symlinks=True)


def _build(top: Path, root: Path) -> None:
    top.mkdir()
    root.mkdir()
    specs = []
    for name, epoch, version, release, vendor in RPMS:
        is_owner = name.endswith("-libs")
        file, touch = (LIBRARY, f"touch %{{buildroot}}{LIBRARY}") if is_owner else ("", "")
        spec = top / f"{name}.spec"
        spec.write_text(SPEC.format(name=name, epoch=epoch, version=version, release=release, vendor=vendor, file=file, touch=touch))
        specs.append(str(spec))
    rpms = ["rpm", "--root", str(root), "--dbpath", "/var/lib/rpm", "--nodeps", "-i"]
    for argv in (
        ["rpmbuild", "--quiet", "--define", f"_topdir {top}", "-bb", *specs],
        [*rpms, *(f"{top}/RPMS/noarch/{name}-{version}-{release}.noarch.rpm" for name, _, version, release, _ in RPMS)],
    ):
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, (argv, done.stderr[-800:])
