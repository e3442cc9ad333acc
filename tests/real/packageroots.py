"""The .deb and .rpm of hostagent, and fresh Debians to install them into."""

import fcntl
import hashlib
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from release import packages
from release.stage import stage
from tests.real import installroots
from tests.real.conftest import need_real
from tests.real.machine import Machine

SUITES = ("bookworm", "trixie")
ROOT = Path(__file__).parents[2]
OLD, NEW, EPOCH = "0.0.9", "0.1.0", 1_700_000_000
#: A directory that only the older version has: a module, which is compiled, in a package of its own.
GONE = "hostagent/gone/relic.py"


class Built(NamedTuple):
    """`NEW` and `OLD`: the same code under two versions, and in the old one a module more."""

    folder: Path

    def file(self, kind: str, version: str = NEW) -> Path:
        (found,) = self.folder.glob(f"{version}/*.{kind}")
        return found


def need_nfpm() -> None:
    need_real("nfpm/nfpm", "bash tests/real/install_nfpm.sh")


def small_stage(folder: Path) -> Path:
    """A site directory of hostagent alone: what man pages, completion and unit are made from."""
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "hostagent", folder / "hostagent", ignore=skipped)
    shutil.copytree(ROOT / "daemonset", folder / "hostagent/_daemonset", ignore=skipped)
    shutil.copytree(ROOT / "checks/hostagent_checks", folder / "hostagent_checks", ignore=skipped)
    return folder


def built(folder: Path) -> Built:
    """Built once, for all processes that share `folder`."""
    need_nfpm()
    with open(folder / "packages.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made, site = folder / "packages", folder / "site"
        if not made.exists():
            stage("x86_64", site)
            packages.build(site, "x86_64", folder / "part" / NEW, NEW, EPOCH)
            (site / GONE).parent.mkdir()
            (site / GONE).write_text("", encoding="utf-8")
            packages.build(site, "x86_64", folder / "part" / OLD, OLD, EPOCH)
            os.rename(folder / "part", made)
            shutil.rmtree(site)
    return Built(made)


class PackageRoot(installroots.Root):
    """A copy of the root `source` at `path`, which packages are installed into."""

    def __init__(self, path: Path, source: Path) -> None:
        self.path = path
        subprocess.run(["cp", "-a", "--reflink=auto", source, path], check=True)
        shutil.rmtree(path / "dev")
        (path / "dev/pts").mkdir(parents=True)
        for name, (major, minor) in installroots._NODES.items():
            os.mknod(path / "dev" / name, stat.S_IFCHR | 0o666, os.makedev(major, minor))
            os.chmod(path / "dev" / name, 0o666)

    def put(self, *files: Path) -> None:
        for one in files:
            shutil.copy(one, self.path / "srv")

    def text(self, path: str) -> str:
        return (self.path / path.lstrip("/")).read_text(encoding="utf-8")

    def names(self) -> set[str]:
        """Every file, but for what package managers keep of their work."""
        found = installroots.tree(self.path, "etc", "opt", "usr", "var/lib", "var/cache", contents=False)
        return {one for one in found if not _WORK.match(one)}


_WORK = re.compile(r"var/(lib|cache)/(dpkg|apt|rpm|dnf)(/|$)|etc/ld\.so\.cache|usr/lib/python3.*/__pycache__(/|$)")


@contextmanager
def fresh_debian(suite: str) -> Iterator[PackageRoot]:
    """No Python, no hostagent, no network; apt finds Python in /srv."""
    with installroots.place() as where:
        root = PackageRoot(where / "root", _made("package-roots", "install_package_roots.sh") / suite)
        (root.path / "etc/dpkg/dpkg.cfg.d/quick").write_text("force-unsafe-io\n", encoding="utf-8")
        root.run("apt-get", "-q", "-o", "APT::Sandbox::User=root", "update")
        yield root


@contextmanager
def with_dnf() -> Iterator[PackageRoot]:
    """dnf, and rpm with a database of its own, on Debian's files."""
    with installroots.place() as where:
        yield PackageRoot(where / "root", _made("rpm-root", "install_rpm_root.sh"))


def _made(name: str, script: str) -> Path:
    key = hashlib.sha256(Path(__file__).with_name(script).read_bytes()).hexdigest()[:16]
    return Path(need_real(f"{name}-{key}", installroots.HOW))


class PlainMachine(Machine):
    """A machine with nothing of ours but what a package brings."""

    def __init__(self, root: PackageRoot) -> None:
        super().__init__(root.path)
        self._binds = ()
        (root.path / "usr/local/bin/hostagent").unlink()
