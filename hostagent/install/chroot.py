"""Mounts for programs in an image that is not running: the kernel's file systems, a few devices, the name servers.

For a process with mounts of its own (`hostagent.sandbox.namespaces.own_mounts`), which end with it.
"""

# An image's resolv.conf is of where it will run, or a link into an empty /run, so this machine's is mounted over it. An image
# without any has no name servers: a repository by name is unreachable, refused before anything changes.

import contextlib
import os
import stat
from collections.abc import Iterator

from hostagent.core.smallfile import read_small
from hostagent.host.paths import Root
from hostagent.sandbox import mounting
from hostagent.sandbox.mounting import at

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"}
_RESOLVER, _MAX_RESOLVER = "/etc/resolv.conf", 65536
_OWN_RESOLVER = "/run/hostagent-resolv.conf"


def furnish(root: Root) -> None:
    """Mount /proc, /sys (only to read), /dev with its pts and shm, /run; not where the image has no such directory. Raises ``OSError``."""
    with contextlib.suppress(FileNotFoundError), _place(root, "/proc") as place:
        mounting.file_system("proc", place)
    with contextlib.suppress(FileNotFoundError), _place(root, "/sys") as place:
        mounting.bind("/sys", place)
    with contextlib.suppress(FileNotFoundError), _place(root, "/sys") as place:
        mounting.only_to_read(place)
    with contextlib.suppress(FileNotFoundError), _place(root, "/run") as place:
        mounting.file_system("tmpfs", place, "mode=755", programs=True)
    with contextlib.suppress(FileNotFoundError), _place(root, "/dev") as place:
        mounting.devices(place, "mode=755")
    with contextlib.suppress(FileNotFoundError), _place(root, "/dev") as place:
        _make_devices(place)
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        _name_servers(root)


def _make_devices(directory: str) -> None:
    """Bind existing nodes: a container may not make new ones."""
    for name in _DEVICES:
        if os.path.exists(f"/dev/{name}"):
            os.close(os.open(f"{directory}/{name}", os.O_CREAT | os.O_EXCL | os.O_CLOEXEC))
            mounting.bind(f"/dev/{name}", f"{directory}/{name}")
    for name, target in _LINKS.items():
        os.symlink(target, f"{directory}/{name}")
    for name in ("pts", "shm"):
        os.mkdir(f"{directory}/{name}")
    mounting.devices(f"{directory}/pts", "newinstance,ptmxmode=666,mode=620,gid=5", "devpts")
    mounting.file_system("tmpfs", f"{directory}/shm", "mode=1777")


def _name_servers(root: Root) -> None:
    """Mount this machine's resolv.conf: an image's own is for where it will run, or a link into an empty /run."""
    try:
        text = read_small(_RESOLVER, _MAX_RESOLVER)
    except OSError:
        return
    with _place(root, "/run") as place:
        own = f"{place}/{os.path.basename(_OWN_RESOLVER)}"
        with open(own, "wb") as stream:
            stream.write(text)
        os.chmod(own, 0o644)
    try:
        found = root.open(_RESOLVER, os.O_PATH)
    except FileNotFoundError:
        _make_target(root, text)
        return
    try:
        if stat.S_ISREG(os.fstat(found).st_mode):
            own_place = root.open(_OWN_RESOLVER, os.O_PATH)
            mounting.bind(at(own_place), at(found))
            os.close(own_place)
    finally:
        os.close(found)


def _make_target(root: Root, text: bytes) -> None:
    """Write the target of a resolv.conf that links into /run. With no link, or one that leads elsewhere, nothing can be mounted."""
    link = root.open(_RESOLVER, os.O_PATH, follow=False)
    try:
        target = os.path.normpath(os.path.join("/etc", os.readlink("", dir_fd=link)))
    finally:
        os.close(link)
    if not target.startswith("/run/"):
        return
    with _place(root, "/run") as place:
        path = f"{place}/{target.removeprefix('/run/')}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as stream:
            stream.write(text)
        os.chmod(path, 0o644)


@contextlib.contextmanager
def _place(root: Root, path: str) -> Iterator[str]:
    """A path of the directory through its descriptor, which only this process can redirect."""
    descriptor = root.open(path, os.O_PATH | os.O_DIRECTORY)
    try:
        yield at(descriptor)
    finally:
        os.close(descriptor)
