"""Roots that are installed into: Debian 12, and one shaped as Ubuntu 24.04, each with the made repositories in it.

Both are Debian 12 underneath. The second has Ubuntu's os-release, kernel and package names; its apt, dpkg, dkms and systemd are Debian's.
"""

import fcntl
import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.real.conftest import CACHE, need_real
from tests.real.stubcontainerd import containerd
from tests.real.stubdebs import SWITCHES, Unwanted, publish, without, write
from tests.real.stubkernels import KERNELS, META
from tests.real.stubrepo import ORIGINS, Repository, repository

HOW = "sudo bash tests/real/install.sh"
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root"}
_OS_RELEASE = """PRETTY_NAME="Ubuntu 24.04.3 LTS"
NAME="Ubuntu"
VERSION_ID="24.04"
VERSION="24.04.3 LTS (Noble Numbat)"
VERSION_CODENAME=noble
ID=ubuntu
ID_LIKE=debian
UBUNTU_CODENAME=noble
"""
_NODES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0)}
_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"}
STUB = "srv/stub"


def base() -> Path:
    key = hashlib.sha256(Path(__file__).with_name("install_roots.sh").read_bytes()).hexdigest()[:16]
    return Path(need_real(f"install-roots-{key}", HOW))


class Root:
    """A clone at `path`, which a test may do anything to."""

    def __init__(self, path: Path, distribution: str, stubs: Repository) -> None:
        self.path, self.distribution, self.stubs = path, distribution, stubs
        self.kernel = KERNELS[distribution][0]

    def run(self, *argv: str, check: bool = True, timeout: float = 120) -> "subprocess.CompletedProcess[str]":
        """A program of the root, as an administrator in it would run it."""
        inside = 'mount -t proc proc "$0/proc" && mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts" && exec chroot "$0" "$@"'
        command = ["unshare", "--mount", "--fork", "--kill-child", "sh", "-c", inside, str(self.path), *argv]
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=timeout, check=False)
        assert done.returncode == 0 or not check, f"{argv}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done

    def apt(self, *words: str) -> None:
        self.run("apt-get", "-y", "-q", "--no-install-recommends", "--allow-downgrades", *words)

    def switch(self, package: str, word: str, script: str = "postinst") -> None:
        """What a maintainer script does: fail, hang, full, lie, a number of seconds; "" as it should."""
        path = self.path / SWITCHES.lstrip("/") / f"{package}.{script}"
        if word:
            path.write_text(word, encoding="utf-8")
        else:
            path.unlink(missing_ok=True)

    def publish(self, name: str, unwanted: Unwanted | None = None, *, key: str = "", digest: str = "SHA512") -> None:
        """A repository of the root again: without some packages, or signed otherwise."""
        place = self.path / STUB / name
        kept = (
            without(self.stubs.paragraphs[self.distribution][name], unwanted)
            if unwanted
            else self.stubs.paragraphs[self.distribution][name]
        )
        signer = key or ("archive" if name == "archive" else "good")
        publish(place, kept, self.path / STUB / "pool", self.stubs.keys, origin=ORIGINS[name], key=signer, digest=digest)

    def use_repositories(self) -> None:
        """As an administrator would have done it: NVIDIA's two repositories in apt's sources."""
        for name in ("cuda", "toolkit"):
            shutil.copy(self.stubs.keys.path("good"), self.path / f"usr/share/keyrings/stub-{name}.gpg")
            self.source(name, f"stub-{name}")
        self.apt("update")

    def source(self, name: str, keyring: str) -> None:
        text = f"Types: deb\nURIs: file:/{STUB}/{name}\nSuites: ./\nSigned-By: /usr/share/keyrings/{keyring}.gpg\n"
        (self.path / f"etc/apt/sources.list.d/{name}.sources").write_text(text, encoding="utf-8")

    def profile(self, place: Path, more: str = "", install: str = "") -> Path:
        """A profile whose repositories are those of the root. `install`: more lines below that key, `more`: more keys."""
        key = self.stubs.keys.path("good")
        rows = "".join(f"    {name}: {{url: 'file:/{STUB}/{name}', key: '{key}'}}\n" for name in ("cuda", "toolkit"))
        path = place / "profile.yaml"
        indented = "".join(f"  {line}\n" for line in install.splitlines())
        path.write_text(f"schema_version: '1.3'\nname: made\ninstall:\n{indented}  repositories:\n{rows}{more}", encoding="utf-8")
        return path

    def packages(self) -> dict[str, str]:
        """Installed packages with state and version."""
        lines = self.run("dpkg-query", "-W", "-f", "${binary:Package} ${db:Status-Abbrev}${Version}\n").stdout.splitlines()
        return dict(line.split(" ", 1) for line in lines)


def tree(path: Path, *places: str, contents: bool = True) -> dict[str, tuple[object, ...]]:
    """Every file below `places` of a root: type, mode, owner, link, and the hash of what is in it."""
    found: dict[str, tuple[object, ...]] = {}
    for place in places or ("",):
        for directory, names, files in os.walk(path / place):
            for name in (*names, *files):
                one = Path(directory, name)
                status = one.lstat()
                what: object = ""
                if stat.S_ISLNK(status.st_mode):
                    what = os.readlink(one)
                elif stat.S_ISREG(status.st_mode) and contents:
                    what = _hash(one, status)
                found[str(one.relative_to(path))] = (status.st_mode, status.st_uid, status.st_gid, what)
    return found


_HASHES: dict[tuple[int, int, int, int, int], str] = {}


def _hash(path: Path, status: os.stat_result) -> str:
    """Of what is in a file, read once: every write gives it another time of change, which no program can set."""
    key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    if key not in _HASHES:
        _HASHES[key] = hashlib.sha256(path.read_bytes()).hexdigest()
    return _HASHES[key]


@contextmanager
def place() -> Iterator[Path]:
    """A directory in memory, where a root is copied in a third of a second."""
    memory = "/dev/shm"
    where = memory if os.path.isdir(memory) and shutil.disk_usage(memory).free > 4 << 30 else None
    with tempfile.TemporaryDirectory(prefix="hostagent-root-", dir=where) as made:
        os.chmod(made, 0o755)
        yield Path(made)


def clone(distribution: str, place: Path, name: str = "root") -> Root:
    """A root of its own."""
    stubs = repository(base())
    made = _prepared(distribution, stubs)
    path = place / name
    subprocess.run(["cp", "-a", "--reflink=auto", made, path], check=True)
    subprocess.run(["cp", "-a", "--reflink=auto", stubs.pools[distribution], path / STUB / "pool"], check=True)
    return Root(path, distribution, stubs)


def _prepared(distribution: str, stubs: Repository) -> Path:
    """Built once: the base with a kernel of the distribution, its name, and the repositories' indexes."""
    key = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
    target = stubs.place / f"root-{distribution}-{key}"
    with open(Path(CACHE, "stubrepo.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            part = Path(f"{target}-part")
            shutil.rmtree(part, ignore_errors=True)
            _prepare(Root(part, distribution, stubs))
            os.rename(part, target)
    return target


def _shrink_initramfs(path: Path) -> None:
    """update-initramfs is the real one; what no plan looks for in its image (udev, fsck, keyboards) is left out: a third of its time."""
    for name in ("dmsetup", "fsck", "keymap", "resume", "thermal", "udev"):
        (path / "usr/share/initramfs-tools/hooks" / name).unlink()
    (path / "etc/initramfs-tools/conf.d/quick").write_text("COMPRESS=gzip\nCOMPRESSLEVEL=1\nMODULES=list\n", encoding="utf-8")


def _prepare(root: Root) -> None:
    path = root.path
    subprocess.run(["cp", "-a", base() / "base", path], check=True)
    for name, (major, minor) in _NODES.items():
        os.mknod(path / "dev" / name, stat.S_IFCHR | 0o666, os.makedev(major, minor))
        os.chmod(path / "dev" / name, 0o666)
    for name, target in _LINKS.items():
        (path / "dev" / name).symlink_to(target)
    (path / "dev/pts").mkdir()
    if root.distribution == "ubuntu":
        (path / "usr/lib/os-release").write_text(_OS_RELEASE, encoding="utf-8")
    (path / "etc/dpkg/dpkg.cfg.d").mkdir(exist_ok=True)
    (path / "etc/dpkg/dpkg.cfg.d/quick").write_text("force-unsafe-io\n", encoding="utf-8")
    _shrink_initramfs(path)
    (path / SWITCHES.lstrip("/")).mkdir(parents=True)
    subprocess.run(["cp", "-a", root.stubs.pools[root.distribution], path / STUB / "pool"], check=True)
    for name in ("cuda", "toolkit", "archive"):
        root.publish(name)
    keyring = f"{root.distribution}-archive-keyring"
    shutil.copy(root.stubs.keys.path("archive"), path / f"usr/share/keyrings/{keyring}.gpg")
    root.source("archive", keyring)
    root.apt("update")
    release, flavour = root.kernel, META[root.distribution]
    version = root.run("apt-cache", "madison", f"linux-image-{flavour}").stdout.splitlines()[-1].split("|")[1].strip()
    root.apt("install", f"linux-image-{flavour}={version}", f"linux-image-{release}")
    shutil.rmtree(path / STUB / "pool")
    with tempfile.TemporaryDirectory() as local:
        package = containerd(root.distribution)
        write(package, Path(local))
        shutil.copy(Path(local, package.filename), path / "tmp/containerd.deb")
    root.run("dpkg", "-i", "/tmp/containerd.deb")
    root.run("systemctl", "--root=/", "enable", "containerd")
    (path / "tmp/containerd.deb").unlink()
