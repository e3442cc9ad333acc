"""What may lie below a root where files are expected. Each row changes a healthy tree; paths are those of this machine."""

import os
import random
import shutil
import socket
import stat
import struct
import zlib
from pathlib import Path

from tests.attack.held_tapes import EVIL

SECRET = "S3CRET-0F-THE-0UTSIDE"
_OUTSIDE = f'ID=debian\nPRETTY_NAME="{SECRET}"\n{SECRET}\n'
_ODD_NAME = b"\x1b[2J\n<script>\xff\xfe\xe2\x80\xae"
#: Directories that are listed, in which any program may put a file.
_LISTED = (
    "etc/apt/sources.list.d",
    "etc/apt/preferences.d",
    "etc/modprobe.d",
    "etc/systemd/system/multi-user.target.wants",
    "run/udev",
    "etc/cdi",
)


def files(root):
    """Every regular file of the tree, but what is of the stub of NVML itself."""
    for directory, _, names in os.walk(root):
        for name in names:
            path = Path(directory, name)
            if stat.S_ISREG(path.lstat().st_mode) and "stub-nvml" not in name and "libnvidia-ml" not in name:
                yield path


def replaced(make):
    def change(root):
        for path in list(files(root)):
            path.unlink()
            make(path, root)

    return change


def filled(content):
    def make(path, _):
        path.write_bytes(content(path) if callable(content) else content)

    return replaced(make)


def truncated(size):
    def make(path, _):
        with path.open("wb") as stream:
            stream.truncate(size)

    return replaced(make)


def node(kind, major=0, minor=0):
    return replaced(lambda path, _: os.mknod(path, kind | 0o666, os.makedev(major, minor)))


def listening(path, _):
    with socket.socket(socket.AF_UNIX) as made:
        os.chdir(path.parent)  # its name may have 107 bytes, its path more
        made.bind(path.name)


def outside(root):
    """A file that nobody may read from inside, beside the root."""
    path = root.parent / "outside"
    path.write_text(_OUTSIDE)
    return path


def up(path, root):
    path.symlink_to("../" * 30 + str(outside(root))[1:])


def two_links(path, _):
    path.symlink_to(f"{path.name}.b")
    path.with_name(f"{path.name}.b").symlink_to(path.name)


def many_names(root):
    for place in _LISTED:
        (root / place).mkdir(parents=True, exist_ok=True)
        for number in range(1000):
            (root / place / f"{number}.conf").touch()


def odd_names(root):
    for place in _LISTED:
        (root / place).mkdir(parents=True, exist_ok=True)
        for name in (
            _ODD_NAME,
            b"x" * 250,
            b"-rf.conf",
            b"~.list",
            b"\xff.conf",
            EVIL.replace("/", "").replace("\0", "").encode()[:200] + b".conf",
        ):
            Path(os.fsdecode(os.fsencode(root / place) + b"/" + name)).write_text(f"options nvidia {EVIL}\n")


def directories(target):
    """The first directories are links, which a careless reader follows out."""

    def change(root):
        for name in ("etc", "proc", "sys", "var"):
            shutil.rmtree(root / name)
            (root / name).symlink_to(target if target == name else f"{target}/{name}")

    return change


def around(root):
    for name in ("usr", "etc", "boot"):
        shutil.rmtree(root / name)
    (root / "usr").symlink_to("etc")
    (root / "etc").symlink_to("boot/../usr")
    (root / "boot").symlink_to("/boot/./boot")


def deep(root):
    at = root / "etc/systemd/system"
    for _ in range(50):
        at = at / ("d" * 50 + ".wants")
        at.mkdir(parents=True)


def rpm(change):
    def make(root):
        place = root / "var/lib/rpm"
        place.mkdir(parents=True)
        shutil.rmtree(root / "var/lib/dpkg")
        (root / "etc/os-release").unlink(missing_ok=True)
        (root / "etc/os-release").write_text("ID=rocky\nVERSION_ID=9.5\nID_LIKE='rhel centos fedora'\n")
        change(place)

    return make


def _sparse_database(place):
    for name in ("rpmdb.sqlite", "rpmdb.sqlite-wal", "Packages", "Packages.db", "Index.db", "x"):
        with (place / name).open("wb") as stream:
            stream.write(b"SQLite format 3\0")
            stream.truncate(500 << 20)


def modules(root, content):
    first, *others = [path for path in files(root) if ".ko" in path.name]
    first.write_bytes(content)
    for path in others:
        path.unlink()
        path.hardlink_to(first)


def sections(root):
    """An ELF file that is nothing but headers of sections, of which the first says how many."""
    rows = (127 << 20) // 64 - 1
    header = struct.pack("<4sBBB9xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 1, 62, 1, 0, 0, 64, 0, 64, 0, 0, 64, 0, 0)
    modules(root, header + struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, rows, 0, 0, 0, 0) + b"\x7f" * (64 * (rows - 1)))


def bombs(root):
    made = zlib.compressobj(9, wbits=31)
    modules(root, b"".join(made.compress(bytes(1 << 20)) for _ in range(200)) + made.flush())


def os_release(content):
    def change(root):
        (root / "etc/os-release").unlink(missing_ok=True)
        (root / "etc/os-release").write_bytes(content)

    return change


def keyrings(root):
    for path in list(files(root)):
        if "keyring" in path.name or path.suffix in (".gpg", ".asc"):
            path.write_bytes(b"-----BEGIN PGP A-----:\n" * 45_000)


_NOISE = random.Random(7).randbytes(4096)

#: Every file replaced: no evidence is left, so nothing is ready.
BARE = {
    "FIFOs": node(stat.S_IFIFO),
    "directories": replaced(lambda path, _: path.mkdir()),
    "/dev/zero": node(stat.S_IFCHR, 1, 5),
    "/dev/random": node(stat.S_IFCHR, 1, 8),
    "/dev/tty": node(stat.S_IFCHR, 5, 0),
    "block devices": node(stat.S_IFBLK, 7, 0),
    "sockets": replaced(listening),
    "links out": replaced(lambda path, root: path.symlink_to(outside(root))),
    "links up and out": replaced(up),
    "links to themselves": replaced(lambda path, _: path.symlink_to(path.name)),
    "links in a circle": replaced(two_links),
    "links to /proc/self/fd/0": replaced(lambda path, _: path.symlink_to("/proc/self/fd/0")),
    "1 TiB of nothing each": truncated(1 << 40),
    "64 KiB of nothing each": truncated(1 << 16),
    "empty": filled(b""),
    "noise": filled(_NOISE),
    "one long line": filled(b"A" * 100_000),
    "evil": filled(EVIL.encode() * 20),
    "gone": replaced(lambda _path, _root: None),
    "directories that lead out": directories("../../../../../.."),
    "directories that lead to /": directories(""),
    "directories in a circle": around,
}

#: One thing is odd, and the rest as it was.
ODD = {
    "6,000 names": many_names,
    "odd names": odd_names,
    "deep directories": deep,
    "os-release of one word": os_release(b"x" * (1 << 20)),
    "os-release of quotes": os_release(b'ID="' + b"\\'\"" * 100_000),
    "keyrings of heads": keyrings,
    "a sparse rpm database": rpm(_sparse_database),
    "an rpm database that is a directory": rpm(lambda place: (place / "rpmdb.sqlite").mkdir()),
    "an rpm database of noise": rpm(lambda place: (place / "rpmdb.sqlite").write_bytes(_NOISE)),
    "an rpm database that is a FIFO": rpm(lambda place: os.mkfifo(place / "rpmdb.sqlite")),
    "modules of sections": sections,
    "modules that unpack to 200 MiB": bombs,
}

#: Those of them that are long and nothing else.
LONG = ("os-release of one word", "os-release of quotes", "keyrings of heads", "6,000 names")
